// What the dispatcher asks of a device: whether it is there, and launches. One backend for each device target, in
// device_<name>.cpp, which is also where Halide's run time gets its context and stream from.
#pragma once

#include "problem.h"

namespace qdq::runtime {

// What Halide's hooks and error handler know of the launch that this thread is making.
struct device_launch {
    void *context;
    void *stream;
    char message[400];  // of the first error

    [[gnu::format(printf, 2, 3)]] void keep_message(const char *format, ...);
};

struct device_backend {
    qdq_device_kind kind;
    bool has_addresses;  // data is an address, which an offset may be added to

    // Why this machine cannot run its kernels, or NULL. Found out once.
    const char *(*problem)();
    // Finds the context for a stream and a device.
    qdq_status (*enter)(device_launch &launch, const char *function, void *stream, int32_t id);
    // Whether bytes [first, end) from data on are the device's memory; else a message. A kernel that touched others
    // would break the whole context.
    bool (*has_memory)(device_launch &launch, uint64_t data, int64_t first, int64_t end);
    // Gives a buffer the device's memory, and takes it away.
    int (*wrap)(device_launch &launch, halide_buffer_t &buffer, uint64_t data);
    void (*unwrap)(device_launch &launch, halide_buffer_t &buffer);
    // Runs a plan on its tensors: puts the work into the stream.
    qdq_status (*run)(const char *function, const plan &p, const void *x, void *y, void *stream);
};

extern const device_backend device_cuda, device_opencl;

// Every backend's. A library without devices lacks it, and Halide's run time with it.
qdq_status run_on_device(const char *function, const plan &p, const void *x, void *y, void *stream);

// While it lives, Halide's errors on this thread under the launch's address go into its message; elsewhere nothing
// changes.
class launch_scope {
public:
    explicit launch_scope(device_launch &launch);
    ~launch_scope();
    launch_scope(const launch_scope &) = delete;
};

// The launch of this thread's scope if Halide's run time means it by a user context, else NULL.
device_launch *current_launch(void *user_context);

}  // namespace qdq::runtime

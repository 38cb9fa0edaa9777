// What the backends share: a launch, and how Halide's errors reach it. Halide's run time gets its context and stream
// from the backend, in device/<name>.cpp.
#pragma once

#include "plan/plan.h"
#include "targets/device_backend.h"

namespace qdq::runtime {

// What Halide's hooks and error handler know of the launch that this thread is making.
struct device_launch {
    void *context;
    void *stream;
    char message[400];  // of the first error

    [[gnu::format(printf, 2, 3)]] void keep_message(const char *format, ...);
};

// Every backend's. A library without devices lacks it, and Halide's run time with it.
qdq_status run_on_device(const char *function, const plan &p, const void *x, void *y, void *stream);

// The two halves of that, for a launch that has a scope: whether x and y are the device's memory, and the work itself.
qdq_status check_on_device(const char *function, const plan &p, const void *x, void *y, device_launch &launch);
qdq_status launch_on_device(const char *function, const plan &p, const void *x, void *y, device_launch &launch);

// While it lives, Halide's errors on this thread under the launch's address go into its message; elsewhere nothing
// changes.
class launch_scope {
public:
    explicit launch_scope(device_launch &launch);
    ~launch_scope();
    launch_scope(const launch_scope &) = delete;
};

// The launch of this thread's scope, or NULL: for a function of the driver's, which is given no user context.
device_launch *this_thread_launch();

// The launch of this thread's scope if Halide's run time means it by a user context, else NULL.
device_launch *current_launch(void *user_context);

}  // namespace qdq::runtime

// What the dispatcher asks of a device: whether it is there, and to run plans on it. One backend for each device
// target, in device/<name>.cpp.
#pragma once

#include "HalideRuntime.h"
#include "qdq/qdq.h"

#include <cstdint>

namespace qdq::runtime {

struct plan;
struct device_launch;  // device/launch.h

}  // namespace qdq::runtime

struct qdq_device_backend {
    qdq_device_kind kind;
    bool has_addresses;  // data is an address, which an offset may be added to

    // Why this machine cannot run its kernels, or NULL. Found out once.
    const char *(*problem)();
    // Finds the context for a stream and a device.
    qdq_status (*enter)(qdq::runtime::device_launch &launch, const char *function, void *stream, int32_t id);
    // Whether bytes [first, end) from data on are the device's memory; else a message. A kernel that touched others
    // would break the whole context.
    bool (*has_memory)(qdq::runtime::device_launch &launch, uint64_t data, int64_t first, int64_t end);
    // Gives a buffer the device's memory, and takes it away.
    int (*wrap)(qdq::runtime::device_launch &launch, halide_buffer_t &buffer, uint64_t data);
    void (*unwrap)(qdq::runtime::device_launch &launch, halide_buffer_t &buffer);
    // Has what is put into the stream from here on run after what is there. NULL: it does so anyway.
    int (*put_barrier)(qdq::runtime::device_launch &launch);
    // Runs a plan on its tensors: puts the work into the stream.
    qdq_status (*run)(const char *function, const qdq::runtime::plan &p, const void *x, void *y, void *stream);
};

namespace qdq::runtime {

using device_backend = qdq_device_backend;

// Tables of kernels name them, and may be in C.
extern "C" const device_backend qdq_device_cuda, qdq_device_opencl;

}  // namespace qdq::runtime

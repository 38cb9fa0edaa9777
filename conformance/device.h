// Calls on a device's tensors, from and to the host's memory: what lets one check, and one test, run on every target.
#pragma once

#include <qdq/qdq.h>

#include <cstdint>
#include <memory>
#include <string>

namespace conformance {

// A device's memory and a stream of its own. One for each kind of device, device_opencl.cpp and
// device_cuda.cpp, over the driver's functions, which neither its headers nor its library are needed for to build.
class device {
public:
    virtual ~device() = default;
    virtual qdq_device_kind kind() const = 0;
    virtual void *stream() = 0;
    virtual void *allocate(int64_t bytes) = 0;  // NULL where there is no room
    virtual void free(void *memory) = 0;
    virtual void write(void *memory, const void *from, int64_t bytes) = 0;
    virtual void read(void *memory, void *to, int64_t bytes) = 0;  // waits for the stream
    virtual void copy(void *to, void *from, int64_t bytes) = 0;    // in the stream
    virtual void finish() = 0;
    virtual void hold() = 0;  // work that is put into the stream from now on waits
    virtual void let_go() = 0;
    virtual std::string name() const = 0;
};

// NULL with a reason where this machine has none.
std::unique_ptr<device> open_device(qdq_device_kind kind, std::string &reason);
std::unique_ptr<device> open_opencl(std::string &reason);
std::unique_ptr<device> open_cuda(std::string &reason);

// How a call on a device is made: at once or by a plan, and how many bytes x and y are from the beginning of their
// memory beyond a multiple of 256.
struct device_call_options {
    bool by_plan = false;
    int64_t x_bytes = 0, y_bytes = 0;
};

// A call of the library's on the target in use, which is the device's: the tensors are copied there, with bytes around
// them, and back. Where the bytes around an output have changed, that is QDQ_DEVICE_ERROR.
qdq_status call_on_device(device &on, bool quantizes, const qdq_tensor *x, const qdq_tensor *scale,
                          const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options,
                          const device_call_options &how);

// The same of dynamic calls, whose outputs are the scale and zero point, too. Without y: qdq_compute_scales for codes
// of that type.
struct dynamic_call_on_device {
    const qdq_tensor *x, *scale, *zero_point, *y;
    qdq_dtype codes;
    const qdq_scale_options *how;
    const qdq_options *options;
};
qdq_status call_on_device(device &on, const dynamic_call_on_device &call, const device_call_options &how);

}  // namespace conformance

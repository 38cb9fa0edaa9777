#include "device.h"

#include <dlfcn.h>

#include <stdexcept>

namespace conformance {

namespace {

// By OpenCL's ABI: handles are pointers, cl_int and cl_uint 32 bits, flags and times 64.
constexpr int success = 0;
constexpr uint64_t any_device = 0xffffffff, read_write = 1;
constexpr uint32_t name_of_device = 0x102b, blocking = 1;
constexpr int32_t complete = 0;

struct driver {
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);

    template<typename Result, typename... Arguments> Result call(const char *name, Arguments... arguments) const {
        using function = Result(Arguments...);
        function *f = library != nullptr ? reinterpret_cast<function *>(dlsym(library, name)) : nullptr;
        if (f == nullptr) {
            throw std::runtime_error(std::string("no OpenCL function ") + name);
        }
        return f(arguments...);
    }
};

const driver &opencl() {
    static const driver loaded;
    return loaded;
}

class opencl_device : public device {
public:
    opencl_device(void *context, void *queue, std::string name)
        : context_(context), queue_(queue), name_(std::move(name)) {}
    ~opencl_device() override {
        opencl().call<int>("clReleaseCommandQueue", queue_);
        opencl().call<int>("clReleaseContext", context_);
    }

    qdq_device_kind kind() const override { return QDQ_DEVICE_OPENCL; }
    void *stream() override { return queue_; }
    void *allocate(int64_t bytes) override {
        return opencl().call<void *>("clCreateBuffer", context_, read_write, static_cast<size_t>(bytes), no_memory,
                                     no_error);
    }
    void free(void *memory) override { opencl().call<int>("clReleaseMemObject", memory); }
    void write(void *memory, const void *from, int64_t bytes) override {
        check(opencl().call<int>("clEnqueueWriteBuffer", queue_, memory, blocking, no_offset,
                                 static_cast<size_t>(bytes), from, 0u, no_events, no_events));
    }
    void read(void *memory, void *to, int64_t bytes) override {
        check(opencl().call<int>("clEnqueueReadBuffer", queue_, memory, blocking, no_offset, static_cast<size_t>(bytes),
                                 to, 0u, no_events, no_events));
    }
    void copy(void *to, void *from, int64_t bytes) override {
        check(opencl().call<int>("clEnqueueCopyBuffer", queue_, from, to, no_offset, no_offset,
                                 static_cast<size_t>(bytes), 0u, no_events, no_events));
    }
    void finish() override { check(opencl().call<int>("clFinish", queue_)); }
    void hold() override {
        gate_ = opencl().call<void *>("clCreateUserEvent", context_, no_error);
        check(opencl().call<int>("clEnqueueBarrierWithWaitList", queue_, 1u, &gate_, no_events));
    }
    void let_go() override {
        check(opencl().call<int>("clSetUserEventStatus", gate_, complete));
        check(opencl().call<int>("clReleaseEvent", gate_));
    }
    std::string name() const override { return name_; }

private:
    static constexpr size_t no_offset = 0;
    static constexpr void *no_memory = nullptr;
    static constexpr void **no_events = nullptr;
    static constexpr int *no_error = nullptr;

    static void check(int error) {
        if (error != success) {
            throw std::runtime_error("OpenCL's driver fails with error " + std::to_string(error));
        }
    }

    void *context_, *queue_;
    std::string name_;
    void *gate_ = nullptr;
};

}  // namespace

// The first device of the first platform.
std::unique_ptr<device> open_opencl(std::string &reason) {
    constexpr uint32_t *no_count = nullptr;
    constexpr size_t *no_size = nullptr;
    constexpr int *no_error = nullptr;
    constexpr void *nothing = nullptr;
    void *platform = nullptr, *first = nullptr;
    if (opencl().library == nullptr || opencl().call<int>("clGetPlatformIDs", 1u, &platform, no_count) != success ||
        opencl().call<int>("clGetDeviceIDs", platform, any_device, 1u, &first, no_count) != success) {
        reason = "no OpenCL device";
        return nullptr;
    }
    char name[256] = "";
    opencl().call<int>("clGetDeviceInfo", first, name_of_device, sizeof name, static_cast<void *>(name), no_size);
    void *const context = opencl().call<void *>("clCreateContext", nothing, 1u, &first, nothing, nothing, no_error);
    void *const queue = opencl().call<void *>("clCreateCommandQueue", context, first, uint64_t{0}, no_error);
    if (context == nullptr || queue == nullptr) {
        reason = "no OpenCL context";
        return nullptr;
    }
    return std::make_unique<opencl_device>(context, queue, name);
}

}  // namespace conformance

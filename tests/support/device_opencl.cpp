#include "device.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdlib>

namespace test_support {

namespace {

class opencl_device : public device {
public:
    opencl_device(cl_context context, cl_command_queue queue, std::string name)
        : context_(context), queue_(queue), name_(std::move(name)) {}
    ~opencl_device() override {
        clReleaseCommandQueue(queue_);
        clReleaseContext(context_);
    }

    qdq_device_kind kind() const override { return QDQ_DEVICE_OPENCL; }
    void *stream() override { return queue_; }
    void *allocate(int64_t bytes) override {
        return clCreateBuffer(context_, CL_MEM_READ_WRITE, static_cast<size_t>(bytes), nullptr, nullptr);
    }
    void free(void *memory) override { clReleaseMemObject(static_cast<cl_mem>(memory)); }
    void write(void *memory, const void *from, int64_t bytes) override {
        check(clEnqueueWriteBuffer(queue_, static_cast<cl_mem>(memory), CL_TRUE, 0, static_cast<size_t>(bytes), from, 0,
                                   nullptr, nullptr));
    }
    void read(void *memory, void *to, int64_t bytes) override {
        check(clEnqueueReadBuffer(queue_, static_cast<cl_mem>(memory), CL_TRUE, 0, static_cast<size_t>(bytes), to, 0,
                                  nullptr, nullptr));
    }
    void copy(void *to, void *from, int64_t bytes) override {
        check(clEnqueueCopyBuffer(queue_, static_cast<cl_mem>(from), static_cast<cl_mem>(to), 0, 0,
                                  static_cast<size_t>(bytes), 0, nullptr, nullptr));
    }
    void finish() override { check(clFinish(queue_)); }
    void hold() override {
        gate_ = clCreateUserEvent(context_, nullptr);
        check(clEnqueueBarrierWithWaitList(queue_, 1, &gate_, nullptr));
    }
    void let_go() override {
        check(clSetUserEventStatus(gate_, CL_COMPLETE));
        check(clReleaseEvent(gate_));
    }
    std::string name() const override { return name_; }

private:
    static void check(cl_int error) {
        if (error != CL_SUCCESS) {
            std::abort();
        }
    }

    cl_context context_;
    cl_command_queue queue_;
    std::string name_;
    cl_event gate_ = nullptr;
};

}  // namespace

// The first device of the first platform.
std::unique_ptr<device> open_opencl(std::string &reason) {
    cl_platform_id platform;
    cl_device_id first;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &first, nullptr) != CL_SUCCESS) {
        reason = "no OpenCL device";
        return nullptr;
    }
    char name[256] = "";
    clGetDeviceInfo(first, CL_DEVICE_NAME, sizeof name, name, nullptr);
    cl_context context = clCreateContext(nullptr, 1, &first, nullptr, nullptr, nullptr);
    cl_command_queue queue = clCreateCommandQueue(context, first, 0, nullptr);
    return std::make_unique<opencl_device>(context, queue, name);
}

}  // namespace test_support

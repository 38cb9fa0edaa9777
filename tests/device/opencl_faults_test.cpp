// OpenCL's driver refuses what a call asks of it: each is a status with a message, and the device works afterwards.
#include "device_call.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstring>
#include <thread>

namespace {

// The function that gives an error now, and the error.
struct fault {
    const char *function;
    cl_int error;
};
constexpr fault none{"", CL_SUCCESS};
fault now = none;

// The sizes that the library cannot allocate now. It allocates for a kernel's text alone, and for decompressing that.
struct sizes {
    size_t least, most;
};
constexpr sizes no_size{1, 0}, of_text{20'000, SIZE_MAX}, of_decoder{15'980, 15'980};
sizes refused = no_size;

cl_int error_of(const char *function) { return std::strcmp(function, now.function) == 0 ? now.error : CL_SUCCESS; }

// A function of the driver, but for the fault.
template<typename Signature> struct function_of_driver;
template<typename... Arguments> struct function_of_driver<cl_int(Arguments...)> {
    template<cl_int (*real)(Arguments...), const char *name> static cl_int call(Arguments... arguments) {
        const cl_int error = error_of(name);
        return error != CL_SUCCESS ? error : real(arguments...);
    }
};

}  // namespace

// The library finds the driver's functions by dlsym.
#define FAULTY(name)                                                                           \
    if (std::strcmp(function, #name) == 0) {                                                   \
        static constexpr char text[] = #name;                                                  \
        return reinterpret_cast<void *>(function_of_driver<decltype(name)>::call<name, text>); \
    }

extern "C" {
void *__real_dlsym(void *, const char *);
void *__wrap_dlsym(void *handle, const char *function) {
    FAULTY(clGetDeviceInfo)
    FAULTY(clGetCommandQueueInfo)
    FAULTY(clGetMemObjectInfo)
    FAULTY(clBuildProgram)
    FAULTY(clSetKernelArg)
    FAULTY(clEnqueueNDRangeKernel)
    return __real_dlsym(handle, function);
}

void *__real_malloc(size_t);
void *__wrap_malloc(size_t size) {
    return size >= refused.least && size <= refused.most ? nullptr : __real_malloc(size);
}
}

namespace device_test {
namespace {

class OpenclFaults : public testing::Test {
protected:
    void SetUp() override {
        std::string reason;
        own = test_support::open_device(QDQ_DEVICE_OPENCL, reason);
        ASSERT_NE(own, nullptr) << reason;
    }
    void TearDown() override { now = none; }

    // The call fails so while the driver has the fault, in a context whose kernels have not been compiled, and on a
    // thread that knows no device yet; without it, the same call is right.
    void expect_status(const fault &f, qdq_status wanted, std::initializer_list<const char *> words) {
        std::thread([&] {
            const std::vector<float> x = some_floats();
            call c(*own, x, 0.5f);
            now = f;
            EXPECT_EQ(c.run(), wanted) << f.function << ": " << qdq_last_error();
            now = none;
            for (const char *word : words) {
                EXPECT_NE(std::string(qdq_last_error()).find(word), std::string::npos) << qdq_last_error();
            }
            EXPECT_EQ(c.y_array.values<int8_t>(), std::vector<int8_t>(length, 99)) << "nothing was written";
            EXPECT_EQ(c.run(), QDQ_OK) << "the device still works: " << qdq_last_error();
            EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
        }).join();
    }

    void expect_no_memory(const sizes &of) {
        const std::vector<float> x = some_floats();
        call c(*own, x, 0.5f);
        refused = of;
        const qdq_status status = c.run();
        refused = no_size;
        EXPECT_EQ(status, QDQ_OUT_OF_MEMORY);
        EXPECT_NE(std::string(qdq_last_error()).find("OUT_OF_HOST_MEMORY"), std::string::npos) << qdq_last_error();
        EXPECT_EQ(c.run(), QDQ_OK) << "the device still works: " << qdq_last_error();
        EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
    }

    std::unique_ptr<device> own;
};

TEST_F(OpenclFaults, a_device_that_does_not_tell_its_arithmetic_is_unsupported) {
    expect_status({"clGetDeviceInfo", CL_INVALID_VALUE}, QDQ_UNSUPPORTED,
                  {"stream", "CL_DEVICE_SINGLE_FP_CONFIG", "0x87"});
}

TEST_F(OpenclFaults, a_stream_that_the_driver_does_not_know_is_refused) {
    expect_status({"clGetCommandQueueInfo", CL_INVALID_COMMAND_QUEUE}, QDQ_INVALID_ARGUMENT,
                  {"stream", "cl_command_queue"});
}

TEST_F(OpenclFaults, data_that_the_driver_does_not_know_is_refused) {
    expect_status({"clGetMemObjectInfo", CL_INVALID_MEM_OBJECT}, QDQ_DEVICE_ERROR, {"opencl", "not a cl_mem", "-38"});
}

TEST_F(OpenclFaults, a_kernel_that_the_driver_does_not_compile_is_a_device_error) {
    expect_status({"clBuildProgram", CL_BUILD_PROGRAM_FAILURE}, QDQ_DEVICE_ERROR, {"opencl", "BUILD_PROGRAM_FAILURE"});
}

TEST_F(OpenclFaults, a_kernel_for_whose_text_there_is_no_memory_is_out_of_memory) { expect_no_memory(of_text); }

TEST_F(OpenclFaults, a_kernel_for_whose_decompression_there_is_no_memory_is_out_of_memory) {
    expect_no_memory(of_decoder);
}

TEST_F(OpenclFaults, a_launch_that_the_driver_refuses_is_a_device_error) {
    expect_status({"clSetKernelArg", CL_INVALID_ARG_SIZE}, QDQ_DEVICE_ERROR, {"opencl", "clSetKernelArg"});
    expect_status({"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES}, QDQ_DEVICE_ERROR, {"opencl", "OUT_OF_RESOURCES"});
}

TEST_F(OpenclFaults, memory_that_the_driver_lacks_is_out_of_memory) {
    expect_status({"clBuildProgram", CL_OUT_OF_HOST_MEMORY}, QDQ_OUT_OF_MEMORY, {"opencl", "OUT_OF_HOST_MEMORY"});
    expect_status({"clEnqueueNDRangeKernel", CL_MEM_OBJECT_ALLOCATION_FAILURE}, QDQ_OUT_OF_MEMORY,
                  {"opencl", "MEM_OBJECT_ALLOCATION_FAILURE"});
}

}  // namespace
}  // namespace device_test

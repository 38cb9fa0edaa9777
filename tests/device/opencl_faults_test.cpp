// OpenCL's driver refuses what a call asks of it: each is a status with a message, and the device works afterwards.
#include "device_call.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

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

// What is put into a queue, in order.
std::vector<std::string> put;

cl_int error_of(const char *function) {
    if (std::strncmp(function, "clEnqueue", 9) == 0) {
        put.emplace_back(function);
    }
    return std::strcmp(function, now.function) == 0 ? now.error : CL_SUCCESS;
}

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
    FAULTY(clEnqueueBarrierWithWaitList)
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

// A dynamic call's launches follow one another, whatever the queue does with others.
class OpenclQueue : public testing::Test {
protected:
    void SetUp() override {
        cl_platform_id platform = nullptr;
        cl_device_id first = nullptr;
        ASSERT_EQ(clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
        ASSERT_EQ(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &first, nullptr), CL_SUCCESS);
        context = clCreateContext(nullptr, 1, &first, nullptr, nullptr, nullptr);
        queue = clCreateCommandQueue(context, first, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, nullptr);
        if (queue == nullptr) {
            GTEST_SKIP() << "the device has no queue that runs commands out of order";
        }
        x = memory_of(some_floats().data(), 4 * length);
        scale = memory_of(nullptr, 4);
        y = memory_of(nullptr, length);
    }
    void TearDown() override {
        now = none;
        for (const cl_mem memory : {x, scale, y}) {
            clReleaseMemObject(memory);
        }
        clReleaseCommandQueue(queue);
        clReleaseContext(context);
    }

    cl_mem memory_of(const void *from, size_t bytes) const {
        return clCreateBuffer(context, CL_MEM_READ_WRITE | (from != nullptr ? CL_MEM_COPY_HOST_PTR : 0), bytes,
                              const_cast<void *>(from), nullptr);
    }

    qdq_status run() const {
        static constexpr int64_t shape[] = {length};
        const qdq_device on{QDQ_DEVICE_OPENCL, 0, 0};
        const qdq_tensor of_x{x, QDQ_F32, 1, shape, nullptr, on}, of_scale{scale, QDQ_F32, 0, nullptr, nullptr, on},
            of_y{y, QDQ_I8, 1, shape, nullptr, on};
        qdq_options options{};
        options.stream = queue;
        return qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, nullptr, &options);
    }

    std::vector<int8_t> codes() const {
        std::vector<int8_t> all(length);
        EXPECT_EQ(clFinish(queue), CL_SUCCESS);
        EXPECT_EQ(clEnqueueReadBuffer(queue, y, CL_TRUE, 0, length, all.data(), 0, nullptr, nullptr), CL_SUCCESS);
        return all;
    }

    cl_context context = nullptr;
    cl_command_queue queue = nullptr;
    cl_mem x = nullptr, scale = nullptr, y = nullptr;
};

TEST_F(OpenclQueue, launches_of_a_call_keep_their_order) {
    put.clear();
    ASSERT_EQ(run(), QDQ_OK) << qdq_last_error();
    const std::string launch = "clEnqueueNDRangeKernel", barrier = "clEnqueueBarrierWithWaitList";
    EXPECT_EQ(put, (std::vector<std::string>{launch, barrier, launch}));
    EXPECT_EQ(codes(), quantized_on_host(some_floats(), 50.0f / 127));
}

TEST_F(OpenclQueue, a_barrier_that_the_driver_refuses_is_a_device_error) {
    ASSERT_EQ(run(), QDQ_OK) << qdq_last_error();
    now = {"clEnqueueBarrierWithWaitList", CL_OUT_OF_RESOURCES};
    EXPECT_EQ(run(), QDQ_DEVICE_ERROR);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_dynamic: target opencl: clEnqueueBarrierWithWaitList gives -5");
}

}  // namespace
}  // namespace device_test

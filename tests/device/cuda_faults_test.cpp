// What needs the driver of tests/ptx: any one of the driver's calls is refused, which gives a status with a message,
// nothing is written, and the device works afterwards; and contexts and devices that are not those of the thread.
#include "cuda_context.h"

namespace device_test {
namespace {

class CudaFaults : public testing::Test {
protected:
    static constexpr int out_of_memory = 2, launch_failed = 719;

    void SetUp() override {
        fail = function_named<void(int64_t, int)>("ptx_driver_fail");
        calls = function_named<int64_t()>("ptx_driver_calls");
        if (fail == nullptr || calls == nullptr) {
            GTEST_SKIP() << "the driver of tests/ptx is not loaded";
        }
        std::string reason;
        own = test_support::open_device(QDQ_DEVICE_CUDA, reason);
        ASSERT_NE(own, nullptr) << reason;
        ASSERT_EQ(call(*own, some_floats(), 0.5f).run(), QDQ_OK) << "the library asks once whether CUDA starts";
        own->finish();
    }

    // A call in a new context, whose driver refuses a call after so many others; false where there were not so many.
    bool try_call(int64_t after, int error) {
        bool is_reached = false;
        in_new_context([&](device &memory) {
            const std::vector<float> x = some_floats();
            call c(memory, x, 0.5f);
            fail(after, error);
            const qdq_status status = c.run();
            is_reached = calls() > after;
            fail(-1, 0);
            SCOPED_TRACE("call " + std::to_string(after) + " of the driver gives " + std::to_string(error));
            if (status == QDQ_OK) {  // what refused was not needed
                EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
            } else {
                ++refused;
                without_memory += status == QDQ_OUT_OF_MEMORY;
                EXPECT_TRUE(status == QDQ_DEVICE_ERROR || (status == QDQ_OUT_OF_MEMORY && error == out_of_memory))
                    << status;
                EXPECT_NE(std::string(qdq_last_error()).find("CUDA_ERROR_"), std::string::npos) << qdq_last_error();
                EXPECT_EQ(c.y_array.values<int8_t>(), std::vector<int8_t>(length, 99)) << "nothing was written";
            }
            EXPECT_EQ(c.run(), QDQ_OK) << "the device still works: " << qdq_last_error();
            EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
        });
        return is_reached;
    }

    static void *context_of(device &d) {
        void *context = nullptr;
        EXPECT_EQ(function_named<int(void *, void **)>("cuStreamGetCtx")(d.stream(), &context), 0);
        return context;
    }

    void (*fail)(int64_t, int) = nullptr;
    int64_t (*calls)() = nullptr;
    int refused = 0, without_memory = 0;
    std::unique_ptr<device> own;
};

TEST_F(CudaFaults, a_call_that_fails_at_any_position_is_a_status) {
    for (const int error : {launch_failed, out_of_memory}) {
        refused = without_memory = 0;
        int64_t after = 0;
        while (try_call(after, error)) {
            ++after;
        }
        EXPECT_GT(after, 10) << "the driver's calls of a first call";
        EXPECT_GT(refused, after / 2);
        EXPECT_EQ(without_memory > 0, error == out_of_memory);
    }
}

TEST_F(CudaFaults, a_stream_brings_its_context) {
    in_new_context([&](device &memory) {
        const std::vector<float> x = some_floats();
        call c(memory, x, 0.5f);
        for (void *thread_has : {context_of(*own), static_cast<void *>(nullptr)}) {
            EXPECT_EQ(function_named<int(void *)>("cuCtxSetCurrent")(thread_has), 0);
            EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
            EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
        }
    });
}

// The driver neither loads nor allocates while a stream is captured; so does a first call, of a kernel that is not
// compiled in the context yet, and a later one needs nothing of it.
TEST_F(CudaFaults, a_first_call_cannot_be_captured) {
    in_new_context([&](device &memory) {
        const std::vector<float> x = some_floats();
        call c(memory, x, 0.5f);
        void *graph = nullptr;
        ASSERT_EQ(function_named<int(void *, int)>("cuStreamBeginCapture_v2")(memory.stream(), 0), 0);
        EXPECT_EQ(c.run(), QDQ_DEVICE_ERROR);
        EXPECT_STREQ(qdq_last_error(),
                     "qdq_quantize: target cuda: a stream is captured, and a kernel's first call in a context compiles "
                     "it: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
        ASSERT_EQ(function_named<int(void *, void **)>("cuStreamEndCapture")(memory.stream(), &graph), 0);
        EXPECT_EQ(function_named<int(void *)>("cuGraphDestroy")(graph), 0);
        EXPECT_EQ(c.run(), QDQ_OK) << "the device still works: " << qdq_last_error();
        EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
    });
}

TEST_F(CudaFaults, work_goes_into_the_stream_of_the_call) {
    const std::vector<float> before = some_floats(), after = some_floats(10);
    call c(*own, before, 0.5f);
    own->hold();
    EXPECT_EQ(function_named<int(uint64_t, const void *, size_t, void *)>("cuMemcpyHtoDAsync_v2")(
                  reinterpret_cast<uint64_t>(c.x.data), after.data(), 4 * length, own->stream()),
              0);
    EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
    own->let_go();
    EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(after, 0.5f));
}

TEST_F(CudaFaults, another_device_has_its_primary_context) {
    void *second = nullptr;
    ASSERT_EQ(function_named<int(void **, int)>("cuDevicePrimaryCtxRetain")(&second, 1), 0);
    in_context memory(second, nullptr);
    const std::vector<float> x = some_floats();
    call c(memory, x, 0.5f);
    c.x.device.id = c.scale.device.id = c.y.device.id = 1;
    EXPECT_EQ(function_named<int(void *)>("cuCtxSetCurrent")(context_of(*own)), 0) << "this thread uses device 0";
    EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
    c.x.device.id = c.scale.device.id = c.y.device.id = 2;
    EXPECT_EQ(c.run(), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("device id 2 is not in 0..1"), std::string::npos) << qdq_last_error();
}

// Of any driver. The second call of a kernel may be captured: nothing is allocated, loaded or waited for.
TEST(CudaGraphs, a_call_is_captured_and_launched_again) {
    std::string reason;
    const std::unique_ptr<device> own = test_support::open_device(QDQ_DEVICE_CUDA, reason);
    if (own == nullptr) {
        GTEST_SKIP() << reason;
    }
    const std::vector<float> before = some_floats(), after = some_floats(10);
    call c(*own, before, 0.5f);
    ASSERT_EQ(c.run(), QDQ_OK) << qdq_last_error();
    ASSERT_EQ(c.y_array.values<int8_t>(), quantized_on_host(before, 0.5f));

    void *graph = nullptr, *made = nullptr;
    ASSERT_EQ(function_named<int(void *, int)>("cuStreamBeginCapture_v2")(own->stream(), 0), 0);
    EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
    ASSERT_EQ(function_named<int(void *, void **)>("cuStreamEndCapture")(own->stream(), &graph), 0);
    ASSERT_EQ(function_named<int(void **, void *, unsigned long long)>("cuGraphInstantiateWithFlags")(&made, graph, 0),
              0);

    own->write(c.x.data, after.data(), 4 * length);
    EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(before, 0.5f)) << "nothing has run";
    for (const std::vector<float> &x : {after, before}) {
        own->write(c.x.data, x.data(), 4 * length);
        ASSERT_EQ(function_named<int(void *, void *)>("cuGraphLaunch")(made, own->stream()), 0);
        EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
    }
    EXPECT_EQ(function_named<int(void *)>("cuGraphExecDestroy")(made), 0);
    EXPECT_EQ(function_named<int(void *)>("cuGraphDestroy")(graph), 0);
}

}  // namespace
}  // namespace device_test

// CUDA's driver refuses any one of its calls: a status with a message, nothing is written, and the device works
// afterwards. Runs over the driver of tests/ptx, which fails the call that it is told.
#include "device_call.h"

#include <dlfcn.h>

namespace device_test {
namespace {

// A function of the library that is loaded, or nullptr.
template<typename Function> Function *function_named(const char *name) {
    static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library != nullptr ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}

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
        void *context = nullptr, *stream = nullptr;
        EXPECT_EQ(function_named<int(void **, unsigned, int)>("cuCtxCreate_v2")(&context, 0, 0), 0);
        EXPECT_EQ(function_named<int(void **, unsigned)>("cuStreamCreate")(&stream, 1), 0);
        bool is_reached = false;
        {
            in_context memory(context, stream);
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
                EXPECT_NE(std::string(qdq_last_error()), "");
                EXPECT_EQ(c.y_array.values<int8_t>(), std::vector<int8_t>(length, 99)) << "nothing was written";
            }
            EXPECT_EQ(c.run(), QDQ_OK) << "the device still works: " << qdq_last_error();
            EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
        }
        EXPECT_EQ(function_named<int(void *)>("cuStreamDestroy_v2")(stream), 0);
        EXPECT_EQ(function_named<int(void *)>("cuCtxPopCurrent_v2")(nullptr), 0);
        return is_reached;
    }

    // The memory of a context that is none of the test's other devices.
    class in_context : public test_support::device {
    public:
        in_context(void *context, void *stream) : context_(context), stream_(stream) {}
        qdq_device_kind kind() const override { return QDQ_DEVICE_CUDA; }
        void *stream() override { return stream_; }
        void *allocate(int64_t bytes) override {
            enter();
            uint64_t address = 0;
            EXPECT_EQ(function_named<int(uint64_t *, size_t)>("cuMemAlloc_v2")(&address, static_cast<size_t>(bytes)),
                      0);
            return reinterpret_cast<void *>(address);
        }
        void free(void *memory) override {
            enter();
            EXPECT_EQ(function_named<int(uint64_t)>("cuMemFree_v2")(reinterpret_cast<uint64_t>(memory)), 0);
        }
        void write(void *memory, const void *from, int64_t bytes) override {
            enter();
            EXPECT_EQ(function_named<int(uint64_t, const void *, size_t)>("cuMemcpyHtoD_v2")(
                          reinterpret_cast<uint64_t>(memory), from, static_cast<size_t>(bytes)),
                      0);
        }
        void read(void *memory, void *to, int64_t bytes) override {
            enter();
            EXPECT_EQ(function_named<int(void *, uint64_t, size_t)>("cuMemcpyDtoH_v2")(
                          to, reinterpret_cast<uint64_t>(memory), static_cast<size_t>(bytes)),
                      0);
        }
        void copy(void *, void *, int64_t) override {}
        void finish() override {}
        void hold() override {}
        void let_go() override {}
        std::string name() const override { return "another context"; }

    private:
        void enter() { EXPECT_EQ(function_named<int(void *)>("cuCtxSetCurrent")(context_), 0); }

        void *context_, *stream_;
    };

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

}  // namespace
}  // namespace device_test

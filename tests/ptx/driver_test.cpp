// The driver as programs use it: by the names of its functions. A context that a kernel has broken stays so: each test
// has its own.
#include "driver.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
int cuInit(unsigned);
int cuDeviceGetCount(int *);
int cuDeviceGet(int *, int);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int);
int cuDeviceTotalMem_v2(size_t *, int);
int cuDevicePrimaryCtxRetain(void **, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuDriverGetVersion(int *);
int cuGetErrorName(int, const char **);
int cuCtxCreate_v2(void **, unsigned, int);
int cuCtxDestroy_v2(void *);
int cuCtxGetCurrent(void **);
int cuCtxSetCurrent(void *);
int cuCtxPushCurrent_v2(void *);
int cuCtxPopCurrent_v2(void **);
int cuCtxGetDevice(int *);
int cuCtxGetApiVersion(void *, unsigned *);
int cuCtxSynchronize();
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuMemcpyDtoD_v2(uint64_t, uint64_t, size_t);
int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, void *);
int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, void *);
int cuPointerGetAttribute(void *, int, uint64_t);
int cuStreamCreate(void **, unsigned);
int cuStreamDestroy_v2(void *);
int cuStreamSynchronize(void *);
int cuStreamGetCtx(void *, void **);
int cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuModuleLoadData(void **, const void *);
int cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                   void **);
}

namespace ptx_test {
namespace {

// Adds 1 to each of the 32-bit elements.
const char *const adder =
    ".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry add_one(.param .u64 in, .param .u64 out)\n{\n"
    ".reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r1, %tid.x; mad.lo.s32 %r1, %r2, %r3, %r1;\n"
    "ld.param.b64 %rd1, [in]; ld.param.b64 %rd2, [out]; mul.wide.u32 %rd3, %r1, 4;\n"
    "add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n"
    "ld.global.nc.b32 %r4, [%rd1]; add.s32 %r4, %r4, 1; st.global.b32 [%rd2], %r4; ret;\n}\n";

class PtxDriver : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(cuInit(0), 0);
        ASSERT_EQ(cuCtxCreate_v2(&context, 0, 0), 0);
        ASSERT_EQ(cuStreamCreate(&stream, 1), 0);
        ASSERT_EQ(cuModuleLoadData(&module, adder), 0);
        ASSERT_EQ(cuModuleGetFunction(&function, module, "add_one"), 0);
    }
    void TearDown() override {
        ptx_driver_fail(-1, 0);
        EXPECT_EQ(cuStreamDestroy_v2(stream), 0);
        EXPECT_EQ(cuCtxDestroy_v2(context), 0);
    }

    int launch(uint64_t in, uint64_t out, unsigned blocks = 2, unsigned threads = 4) {
        void *values[] = {&in, &out};
        return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, values, nullptr);
    }
    uint64_t memory_of(const std::vector<uint32_t> &values) const {
        uint64_t at = 0;
        EXPECT_EQ(cuMemAlloc_v2(&at, 4 * values.size()), 0);
        EXPECT_EQ(cuMemcpyHtoDAsync_v2(at, values.data(), 4 * values.size(), stream), 0);
        EXPECT_EQ(cuStreamSynchronize(stream), 0);
        return at;
    }
    static std::vector<uint32_t> values_of(uint64_t at, size_t count) {
        std::vector<uint32_t> values(count);
        EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), at, 4 * count), 0);
        return values;
    }

    void *context = nullptr, *stream = nullptr, *module = nullptr, *function = nullptr;
    const std::vector<uint32_t> eight = {1, 2, 3, 4, 5, 6, 7, 8}, plus_one = {2, 3, 4, 5, 6, 7, 8, 9};
};

TEST_F(PtxDriver, runs_a_kernel) {
    const uint64_t in = memory_of(eight), out = memory_of(eight);
    EXPECT_EQ(launch(in, out), 0);
    EXPECT_EQ(values_of(out, 8), plus_one);
    EXPECT_EQ(cuMemFree_v2(in), 0);
    EXPECT_EQ(cuMemFree_v2(in), 1) << "twice";
    EXPECT_EQ(cuMemFree_v2(out), 0);
}

TEST_F(PtxDriver, a_copy_outside_of_streams_may_be_late) {
    const uint64_t in = memory_of(eight), out = memory_of(eight);
    const std::vector<uint32_t> others(8, 100);
    EXPECT_EQ(cuMemcpyHtoD_v2(in, others.data(), 32), 0);
    EXPECT_EQ(launch(in, out), 0);
    EXPECT_EQ(cuStreamSynchronize(stream), 0);
    EXPECT_EQ(values_of(out, 8), plus_one) << "the stream does not wait for it";
    EXPECT_EQ(values_of(in, 8), others) << "a copy to the host does";
}

TEST_F(PtxDriver, work_in_a_stream_waits_for_what_is_before_it) {
    const uint64_t in = memory_of(eight), out = memory_of(eight);
    std::atomic<bool> held = true;
    const auto wait = [](void *data) {
        while (*static_cast<std::atomic<bool> *>(data)) {
            std::this_thread::yield();
        }
    };
    EXPECT_EQ(cuLaunchHostFunc(stream, wait, &held), 0);
    const std::vector<uint32_t> others(8, 100);
    EXPECT_EQ(cuMemcpyHtoDAsync_v2(in, others.data(), 32, stream), 0);
    EXPECT_EQ(launch(in, out), 0);
    EXPECT_EQ(cuMemcpyDtoDAsync_v2(in, out, 32, stream), 0);
    std::vector<uint32_t> copied(8);
    EXPECT_EQ(cuMemcpyDtoHAsync_v2(copied.data(), in, 32, stream), 0);
    void *other = nullptr;
    EXPECT_EQ(cuStreamCreate(&other, 1), 0);
    EXPECT_EQ(cuStreamSynchronize(other), 0) << "another stream waits for nothing";
    EXPECT_EQ(cuStreamDestroy_v2(other), 0);
    EXPECT_EQ(copied[0], 0u);
    held = false;
    EXPECT_EQ(cuStreamSynchronize(stream), 0);
    EXPECT_EQ(copied, std::vector<uint32_t>(8, 101));
}

TEST_F(PtxDriver, what_a_kernel_must_not_do_breaks_its_context) {
    const uint64_t in = memory_of(eight), out = memory_of(eight);
    EXPECT_EQ(launch(in, out, 3), 0) << "threads past the end: seen where the work runs";
    EXPECT_EQ(cuStreamSynchronize(stream), 700);
    uint64_t more = 0;
    EXPECT_EQ(cuMemAlloc_v2(&more, 4), 700);
    EXPECT_EQ(launch(in, out), 700);
    EXPECT_EQ(cuCtxSynchronize(), 700);
    void *second = nullptr;
    EXPECT_EQ(cuCtxCreate_v2(&second, 0, 0), 0);
    EXPECT_EQ(cuMemAlloc_v2(&more, 4), 0) << "another context works";
    EXPECT_EQ(cuMemFree_v2(more), 0);
    EXPECT_EQ(cuCtxDestroy_v2(second), 0);
}

TEST_F(PtxDriver, misaligned_and_never_written_memory_break_it_too) {
    const uint64_t in = memory_of(eight), out = memory_of(eight);
    EXPECT_EQ(launch(in + 2, out, 1, 1), 0);
    EXPECT_EQ(cuCtxSynchronize(), 716);
    void *second = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&second, 0, 0), 0);
    void *m = nullptr, *f = nullptr;
    ASSERT_EQ(cuModuleLoadData(&m, adder), 0);
    ASSERT_EQ(cuModuleGetFunction(&f, m, "add_one"), 0);
    uint64_t empty = 0, target = 0;
    ASSERT_EQ(cuMemAlloc_v2(&empty, 32), 0);
    ASSERT_EQ(cuMemAlloc_v2(&target, 32), 0);
    void *values[] = {&empty, &target};
    EXPECT_EQ(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr), 0);
    EXPECT_EQ(cuCtxSynchronize(), 719);
    EXPECT_EQ(cuCtxDestroy_v2(second), 0);
}

TEST_F(PtxDriver, memory_belongs_to_a_context) {
    const uint64_t in = memory_of(eight);
    void *peer = nullptr, *owner = nullptr;
    ASSERT_EQ(cuCtxCreate_v2(&peer, 0, 1), 0);
    const uint64_t peers = memory_of(eight);
    EXPECT_EQ(cuPointerGetAttribute(&owner, 1, peers + 31), 0);
    EXPECT_EQ(owner, peer);
    EXPECT_EQ(cuPointerGetAttribute(&owner, 1, in), 0);
    EXPECT_EQ(owner, context);
    EXPECT_EQ(cuCtxPopCurrent_v2(nullptr), 0);
    EXPECT_EQ(launch(in, peers), 0);
    EXPECT_EQ(cuStreamSynchronize(stream), 700);
    EXPECT_EQ(cuCtxDestroy_v2(peer), 0);
}

TEST_F(PtxDriver, pointers_are_known_in_blocks) {
    const uint64_t in = memory_of(eight);
    unsigned type = 0;
    EXPECT_EQ(cuPointerGetAttribute(&type, 2, in + 32), 0) << "a driver maps 2 MiB at once";
    EXPECT_EQ(type, 2u);
    EXPECT_EQ(cuPointerGetAttribute(&type, 3, in), 1);
    int of_host = 0;
    EXPECT_EQ(cuPointerGetAttribute(&type, 2, reinterpret_cast<uint64_t>(&of_host)), 1);
}

TEST_F(PtxDriver, copies_stay_within_allocations) {
    const uint64_t in = memory_of(eight);
    uint32_t values[9] = {};
    EXPECT_EQ(cuMemcpyHtoD_v2(in, values, 36), 1);
    EXPECT_EQ(cuMemcpyDtoH_v2(values, in + 4, 32), 1);
    EXPECT_EQ(cuMemcpyDtoD_v2(in, in + 16, 16), 0);
    EXPECT_EQ(values_of(in, 4), (std::vector<uint32_t>{5, 6, 7, 8}));
    EXPECT_EQ(cuMemcpyDtoD_v2(in, in + 16, 32), 1);
}

TEST_F(PtxDriver, memory_ends) {
    size_t bytes = 0;
    EXPECT_EQ(cuDeviceTotalMem_v2(&bytes, 0), 0);
    uint64_t at = 0;
    EXPECT_EQ(cuMemAlloc_v2(&at, bytes + 1), 2);
    EXPECT_EQ(cuMemAlloc_v2(&at, 0), 1);
}

TEST_F(PtxDriver, contexts_are_a_stack_of_the_thread) {
    void *c = nullptr, *other = nullptr;
    EXPECT_EQ(cuCtxGetCurrent(&c), 0);
    EXPECT_EQ(c, context);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), 0);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&c, 1), 0);
    EXPECT_EQ(c, other) << "one for a device";
    EXPECT_EQ(cuCtxPushCurrent_v2(other), 0);
    int device = -1;
    EXPECT_EQ(cuCtxGetDevice(&device), 0);
    EXPECT_EQ(device, 1);
    EXPECT_EQ(cuCtxPopCurrent_v2(&c), 0);
    EXPECT_EQ(c, other);
    EXPECT_EQ(cuCtxSetCurrent(other), 0);
    EXPECT_EQ(cuCtxGetCurrent(&c), 0);
    EXPECT_EQ(c, other);
    EXPECT_EQ(cuCtxSetCurrent(context), 0);
    EXPECT_EQ(cuStreamGetCtx(stream, &c), 0);
    EXPECT_EQ(c, context);
    EXPECT_EQ(cuStreamGetCtx(&device, &c), 400) << "no stream";
    std::thread([&] {
        uint64_t at = 0;
        EXPECT_EQ(cuMemAlloc_v2(&at, 4), 201) << "this thread has none";
        EXPECT_EQ(cuCtxGetCurrent(&c), 0);
        EXPECT_EQ(c, nullptr);
        EXPECT_EQ(cuCtxPopCurrent_v2(&c), 201);
        EXPECT_EQ(cuCtxPushCurrent_v2(nullptr), 201);
        EXPECT_EQ(cuStreamGetCtx(nullptr, &c), 400);
    }).join();
    EXPECT_EQ(cuDevicePrimaryCtxRelease_v2(1), 0);
}

TEST_F(PtxDriver, describes_devices_and_errors) {
    int count = 0, device = 0, value = 0;
    char name[64] = "";
    unsigned version = 0;
    EXPECT_EQ(cuDeviceGetCount(&count), 0);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(cuDeviceGet(&device, 1), 0);
    EXPECT_EQ(cuDeviceGet(&device, 2), 101);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 2), 101);
    EXPECT_EQ(cuDeviceGetName(name, sizeof name, 1), 0);
    EXPECT_STREQ(name, "PTX interpreter 1 of tests/ptx");
    EXPECT_EQ(cuDeviceGetAttribute(&value, 75, 0), 0);
    EXPECT_EQ(value, 7) << "compute capability 7.0, as the kernels ask for";
    EXPECT_EQ(cuDriverGetVersion(&value), 0);
    EXPECT_EQ(cuCtxGetApiVersion(nullptr, &version), 0);
    for (int error : {0, 1, 2, 101, 201, 218, 400, 500, 700, 716, 719, 801}) {
        const char *text = nullptr;
        EXPECT_EQ(cuGetErrorName(error, &text), 0);
        EXPECT_EQ(std::strncmp(text, error == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_", 11), 0);
    }
    const char *text = nullptr;
    EXPECT_EQ(cuGetErrorName(12345, &text), 1);
}

TEST_F(PtxDriver, finds_a_kernel_among_several) {
    std::string another = std::string(adder).substr(std::string(adder).find(".visible"));
    another.replace(another.find("add_one"), 7, "add_two").replace(another.find("%r4, 1;"), 7, "%r4, 2;");
    void *both = nullptr;
    ASSERT_EQ(cuModuleLoadData(&both, (adder + another).c_str()), 0);
    for (const auto &[name, sum] : {std::pair{"add_one", 2u}, {"add_two", 3u}}) {
        ASSERT_EQ(cuModuleGetFunction(&function, both, name), 0);
        const uint64_t in = memory_of(eight);
        EXPECT_EQ(launch(in, in), 0);
        EXPECT_EQ(values_of(in, 8)[0], sum) << name;
    }
    EXPECT_EQ(cuModuleGetFunction(&function, both, "add_three"), 500);
}

TEST_F(PtxDriver, refuses_modules_and_launches_that_it_cannot_run) {
    void *m = nullptr, *f = nullptr;
    EXPECT_EQ(cuModuleLoadData(&m, "no PTX"), 218);
    const std::string with_unknown = std::string(adder).replace(std::string(adder).find("add.s32"), 7, "add.s99");
    EXPECT_EQ(cuModuleLoadData(&m, with_unknown.c_str()), 218);
    EXPECT_EQ(cuModuleGetFunction(&f, module, "another"), 500);
    const uint64_t in = memory_of(eight);
    EXPECT_EQ(launch(in, in, 0), 1);
    EXPECT_EQ(launch(in, in, 1, 1025), 1);
    void *values[] = {nullptr, nullptr};
    EXPECT_EQ(cuLaunchKernel(function, 1, 2, 1, 1, 1, 1, 0, stream, values, nullptr), 801);
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 49153, stream, values, nullptr), 1) << "shared memory";
    int no_stream = 0;
    EXPECT_EQ(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, &no_stream, values, nullptr), 400);
    EXPECT_EQ(cuModuleLoadData(&m, adder), 0);
    EXPECT_EQ(cuModuleUnload(m), 0);
}

TEST_F(PtxDriver, fails_a_call_that_a_test_names) {
    const uint64_t in = memory_of(eight);
    ptx_driver_fail(1, 719);
    EXPECT_EQ(launch(in, in), 0);
    EXPECT_EQ(launch(in, in), 719);
    EXPECT_EQ(launch(in, in), 0);
    EXPECT_EQ(ptx_driver_calls(), 3);
    EXPECT_EQ(values_of(in, 8), (std::vector<uint32_t>{3, 4, 5, 6, 7, 8, 9, 10})) << "the call that failed did nothing";
}

}  // namespace
}  // namespace ptx_test

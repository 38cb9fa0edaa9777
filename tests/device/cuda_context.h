// Contexts of CUDA that a test makes, by the functions of the driver that is loaded.
#pragma once

#include "device_call.h"

#include <dlfcn.h>

namespace device_test {

// A function of the library that is loaded, or nullptr.
template<typename Function> Function *function_named(const char *name) {
    static void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    return library != nullptr ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}

// The memory of a context that is none of the tests' other devices.
class in_context : public test_support::device {
public:
    in_context(void *context, void *stream) : context_(context), stream_(stream) {}
    qdq_device_kind kind() const override { return QDQ_DEVICE_CUDA; }
    void *stream() override { return stream_; }
    void *allocate(int64_t bytes) override {
        enter();
        uint64_t address = 0;
        EXPECT_EQ(function_named<int(uint64_t *, size_t)>("cuMemAlloc_v2")(&address, static_cast<size_t>(bytes)), 0);
        return reinterpret_cast<void *>(address);
    }
    void free(void *memory) override {
        enter();
        EXPECT_EQ(function_named<int(uint64_t)>("cuMemFree_v2")(reinterpret_cast<uint64_t>(memory)), 0);
    }
    void write(void *memory, const void *from, int64_t bytes) override {
        enter();
        EXPECT_EQ(function_named<int(uint64_t, const void *, size_t, void *)>("cuMemcpyHtoDAsync_v2")(
                      reinterpret_cast<uint64_t>(memory), from, static_cast<size_t>(bytes), stream_),
                  0);
        EXPECT_EQ(function_named<int(void *)>("cuStreamSynchronize")(stream_), 0);
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

template<typename Body> void in_new_context(Body &&body) {
    void *context = nullptr, *stream = nullptr;
    EXPECT_EQ(function_named<int(void **, unsigned, int)>("cuCtxCreate_v2")(&context, 0, 0), 0);
    EXPECT_EQ(function_named<int(void **, unsigned)>("cuStreamCreate")(&stream, 1), 0);
    in_context memory(context, stream);
    body(memory);
    EXPECT_EQ(function_named<int(void *)>("cuStreamDestroy_v2")(stream), 0);
    EXPECT_EQ(function_named<int(void **)>("cuCtxPopCurrent_v2")(nullptr), 0);
}

}  // namespace device_test

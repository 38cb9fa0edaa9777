#include "device.h"

#include <dlfcn.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace conformance {

namespace {

struct driver {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    template<typename... Arguments> int call(const char *name, Arguments... arguments) const {
        using function = int(Arguments...);
        function *f = library != nullptr ? reinterpret_cast<function *>(dlsym(library, name)) : nullptr;
        return f != nullptr ? f(arguments...) : -1;
    }
};

const driver &cuda() {
    static const driver loaded;
    return loaded;
}

void check(int error) {
    if (error != 0) {
        throw std::runtime_error("CUDA's driver fails with error " + std::to_string(error));
    }
}

// Device 0, in its primary context, as programs of the CUDA run time use it. Threads share it: a function that
// needs a context makes this one its thread's.
class cuda_device : public device {
public:
    cuda_device(void *context, std::string name) : context_(context), name_(std::move(name)) {
        enter();
        check(cuda().call("cuStreamCreate", &stream_, 1u));
        kept_ = allocate(1);
    }
    ~cuda_device() override {
        free(kept_);
        cuda().call("cuStreamDestroy_v2", stream_);
    }

    qdq_device_kind kind() const override { return QDQ_DEVICE_CUDA; }
    void *stream() override { return stream_; }
    void *allocate(int64_t bytes) override {
        enter();
        uint64_t address = 0;
        return cuda().call("cuMemAlloc_v2", &address, static_cast<size_t>(bytes)) == 0
                   ? reinterpret_cast<void *>(address)
                   : nullptr;
    }
    void free(void *memory) override {
        cuda().call("cuCtxSetCurrent", context_);
        cuda().call("cuMemFree_v2", reinterpret_cast<uint64_t>(memory));
    }
    // In the stream: cuMemcpyHtoD returns before its bytes have reached the device, and no other stream waits for them.
    void write(void *memory, const void *from, int64_t bytes) override {
        enter();
        check(cuda().call("cuMemcpyHtoDAsync_v2", reinterpret_cast<uint64_t>(memory), from, static_cast<size_t>(bytes),
                          stream_));
        check(cuda().call("cuStreamSynchronize", stream_));
    }
    void read(void *memory, void *to, int64_t bytes) override {
        enter();
        check(cuda().call("cuStreamSynchronize", stream_));
        check(cuda().call("cuMemcpyDtoH_v2", to, reinterpret_cast<uint64_t>(memory), static_cast<size_t>(bytes)));
    }
    void copy(void *to, void *from, int64_t bytes) override {
        enter();
        check(cuda().call("cuMemcpyDtoDAsync_v2", reinterpret_cast<uint64_t>(to), reinterpret_cast<uint64_t>(from),
                          static_cast<size_t>(bytes), stream_));
    }
    void finish() override {
        enter();
        check(cuda().call("cuStreamSynchronize", stream_));
    }
    void hold() override {
        enter();
        held_ = true;
        using callback = void(void *);
        callback *const wait = [](void *held) {
            while (*static_cast<std::atomic<bool> *>(held)) {
                std::this_thread::yield();
            }
        };
        check(cuda().call("cuLaunchHostFunc", stream_, wait, static_cast<void *>(&held_)));
    }
    void let_go() override { held_ = false; }
    std::string name() const override { return name_; }

private:
    void enter() { check(cuda().call("cuCtxSetCurrent", context_)); }

    std::atomic<bool> held_ = false;
    void *context_, *stream_ = nullptr;
    void *kept_ = nullptr;  // of a driver's block of 2 MiB, which it would map for each call, and unmap
    std::string name_;
};

}  // namespace

std::unique_ptr<device> open_cuda(std::string &reason) {
    int count = 0;
    if (cuda().call("cuInit", 0u) != 0 || cuda().call("cuDeviceGetCount", &count) != 0 || count == 0) {
        reason = "no CUDA device";
        return nullptr;
    }
    int first = 0;
    void *context = nullptr;
    char name[256] = "";
    check(cuda().call("cuDeviceGet", &first, 0));
    check(cuda().call("cuDeviceGetName", static_cast<char *>(name), 256, first));
    check(cuda().call("cuDevicePrimaryCtxRetain", &context, first));
    return std::make_unique<cuda_device>(context, name);
}

}  // namespace conformance

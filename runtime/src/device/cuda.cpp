// CUDA: the caller's stream, and the context it belongs to; without one, this thread's context or the device's primary
// one.
#include "device/driver_library.h"
#include "device/kernel_text.h"
#include "device/launch.h"

#include "HalideRuntimeCuda.h"
#include "support/once.h"
#include "support/status.h"

#include <atomic>
#include <cstdio>
#include <cstring>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

// The part of the driver's interface that is needed here; its headers need not be installed.
using init = int(unsigned);
using count_devices = int(int *);
using get_device = int(int *, int);
using retain_primary = int(void **, int);
using get_context = int(void **);
using get_context_device = int(int *);
using get_attribute = int(int *, int, int);
using stream_context = int(void *, void **);
using get_pointer_attribute = int(void *, int, uint64_t);
using error_name = int(int, const char **);
using load_module = int(void **, const void *, unsigned, int *, void **);
constexpr int out_of_memory = 2, invalid_ptx = 218, capture_unsupported = 900;

const driver_library &driver() {
    return made_once<[] { return driver_library("libcuda.so.1"); }>();
}

struct cuda_library {
    init *start = driver().find<init>("cuInit");
    count_devices *count = driver().find<count_devices>("cuDeviceGetCount");
    get_device *device = driver().find<get_device>("cuDeviceGet");
    retain_primary *primary = driver().find<retain_primary>("cuDevicePrimaryCtxRetain");
    get_context *current = driver().find<get_context>("cuCtxGetCurrent");
    get_context_device *current_device = driver().find<get_context_device>("cuCtxGetDevice");
    get_attribute *attribute = driver().find<get_attribute>("cuDeviceGetAttribute");
    stream_context *context_of = driver().find<stream_context>("cuStreamGetCtx");
    get_pointer_attribute *pointer_attribute = driver().find<get_pointer_attribute>("cuPointerGetAttribute");
    error_name *name = driver().find<error_name>("cuGetErrorName");
    load_module *load = driver().find<load_module>("cuModuleLoadDataEx");
    int devices = 0;
    char problem[160] = "";

    cuda_library() {
        if (!driver().loaded()) {
            std::snprintf(problem, sizeof(problem), "%s", driver().why_not());
        } else if (!start || !count || !device || !primary || !current || !current_device || !attribute ||
                   !context_of || !pointer_attribute || !name || !load) {
            std::snprintf(problem, sizeof(problem), "libcuda.so.1 lacks functions of CUDA 9.2");
        } else if (int error = start(0); error != 0 || (error = count(&devices)) != 0) {
            std::snprintf(problem, sizeof(problem), "CUDA does not start: %s", describe(error));
        } else if (devices == 0) {
            std::snprintf(problem, sizeof(problem), "CUDA has no device");
        }
    }

    const char *describe(int error) const {
        const char *text = nullptr;
        return name(error, &text) == 0 && text ? text : "an unknown error";
    }
};

const cuda_library &library() {
    return made_once<[] { return cuda_library(); }>();
}

const char *problem() { return library().problem[0] ? library().problem : nullptr; }

// Kept until the process ends: the kernels compiled in it are.
int primary_context(int32_t id, void *&context) {
    constexpr int32_t most_devices = 64;
    static std::atomic<void *> kept[most_devices];
    std::atomic<void *> *const place = id < most_devices ? &kept[id] : nullptr;
    if (place && (context = place->load(std::memory_order_acquire))) {
        return 0;
    }
    int device;
    int error = library().device(&device, id);
    if (error == 0 && (error = library().primary(&context, device)) == 0 && place) {
        place->store(context, std::memory_order_release);
    }
    return error;
}

// A stream's own context. The default streams, 0, 1 and 2, have none.
bool stream_has_context(void *stream, void *&context) {
    constexpr uintptr_t last_default = 2;
    return reinterpret_cast<uintptr_t>(stream) > last_default && library().context_of(stream, &context) == 0;
}

bool thread_has_context(int32_t id, void *&context) {
    int device;
    return library().current(&context) == 0 && context && library().current_device(&device) == 0 && device == id;
}

qdq_status enter(device_launch &launch, const char *function, void *stream, int32_t id) {
    if (id < 0 || id >= library().devices) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: x: device id %d is not in 0..%d", function, int(id),
                    library().devices - 1);
    }
    launch.stream = stream;
    if (stream_has_context(stream, launch.context) || thread_has_context(id, launch.context)) {
        return QDQ_OK;
    }
    if (const int error = primary_context(id, launch.context)) {
        return fail(QDQ_DEVICE_ERROR, "%s: device %d has no context: %s", function, int(id), library().describe(error));
    }
    return QDQ_OK;
}

// Whether CUDA knows the first and the last byte: an allocation may be mapped in parts.
bool has_memory(device_launch &launch, uint64_t data, int64_t first, int64_t end) {
    constexpr int memory_type = 2;
    for (const uint64_t address : {data + first, data + end - 1}) {
        unsigned type = 0;
        if (const int error = library().pointer_attribute(&type, memory_type, address)) {
            launch.keep_message("address 0x%llx of a tensor is not in CUDA's memory: %s",
                                static_cast<unsigned long long>(address), library().describe(error));
            return false;
        }
    }
    return true;
}

int wrap(device_launch &launch, halide_buffer_t &buffer, uint64_t data) {
    return halide_cuda_wrap_device_ptr(&launch, &buffer, data);
}

void unwrap(device_launch &launch, halide_buffer_t &buffer) { halide_cuda_detach_device_ptr(&launch, &buffer); }

// What ptxas has made of a kernel for the device of this thread's context, or NULL.
const void *cubin_in(const kernel_text &ptx) {
    constexpr int major_attribute = 75, minor_attribute = 76;
    int device = 0, major = 0, minor = 0;
    const bool known = ptx.has_cubins() && library().current_device(&device) == 0 &&
                       library().attribute(&major, major_attribute, device) == 0 &&
                       library().attribute(&minor, minor_attribute, device) == 0;
    return known ? ptx.cubin_for(major, minor) : nullptr;
}

// Halide's run time gives a kernel's text as its object holds it. A cubin that the driver does not take is compiled
// from PTX, as if it were not there. It asks for at most 64 registers a thread, which some kernels exceed: f32 to i8
// with an operand for each element then spills 272 bytes.
int load_module_freely(void **module, const void *compressed, unsigned, int *, void **) {
    const kernel_text ptx(compressed);
    if (!ptx.data()) {
        return ptx.is() == kernel_text::state::no_memory ? out_of_memory : invalid_ptx;
    }
    const void *const cubin = cubin_in(ptx);
    if (cubin && library().load(module, cubin, 0, nullptr, nullptr) == 0) {
        return 0;
    }
    const int error = library().load(module, ptx.data(), 0, nullptr, nullptr);
    if (device_launch *launch = this_thread_launch(); error == capture_unsupported && launch) {
        launch->keep_message("a stream is captured, and a kernel's first call in a context compiles it: %s",
                             library().describe(error));
    }
    return error;
}

}  // namespace

const device_backend qdq_device_cuda = {
    .kind = QDQ_DEVICE_CUDA,
    .has_addresses = true,
    .problem = problem,
    .enter = enter,
    .has_memory = has_memory,
    .wrap = wrap,
    .unwrap = unwrap,
    .put_barrier = nullptr,
    .run = run_on_device,
};

}  // namespace qdq::runtime

// Halide's hooks: it calls them where it would otherwise use a context, a stream and a library of its own.
extern "C" {

int halide_cuda_acquire_context(void *user_context, void **context, bool create) {
    const runtime::device_launch *launch = runtime::current_launch(user_context);
    *context = launch ? launch->context : nullptr;
    return *context || !create ? halide_error_code_success : halide_error_code_gpu_device_error;
}

int halide_cuda_release_context(void *) { return halide_error_code_success; }

int halide_cuda_get_stream(void *user_context, void *, void **stream) {
    const runtime::device_launch *launch = runtime::current_launch(user_context);
    *stream = launch ? launch->stream : nullptr;
    return halide_error_code_success;
}

void *halide_cuda_get_symbol(void *, const char *name) {
    if (std::strcmp(name, "cuModuleLoadDataEx") == 0) {
        return reinterpret_cast<void *>(runtime::load_module_freely);
    }
    return runtime::driver().symbol(name);
}
}

// OpenCL: the caller's queue says which context and device.
#include "device/driver_library.h"
#include "device/kernel_text.h"
#include "device/launch.h"

#include "HalideRuntimeOpenCL.h"
#include "support/once.h"
#include "support/status.h"

#include <cstdio>
#include <cstring>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

// The part of the OpenCL interface that is needed here; its headers need not be installed.
constexpr uint32_t queue_context = 0x1090, queue_device = 0x1091, memory_size = 0x1102,
                   device_single_fp_config = 0x101b;
constexpr int out_of_host_memory = -6, invalid_program = -44;
constexpr uint64_t all_devices = 0xffffffff;
constexpr uint64_t fp_denormals = 1, fp_infinity_and_nan = 2, fp_nearest = 4, fp_correct_division = 128;
constexpr uint64_t needed_fp = fp_denormals | fp_infinity_and_nan | fp_nearest | fp_correct_division;

using get_platforms = int(uint32_t, void **, uint32_t *);
using get_devices = int(void *, uint64_t, uint32_t, void **, uint32_t *);
using get_info = int(void *, uint32_t, size_t, void *, size_t *);
using enqueue_barrier = int(void *, uint32_t, const void *, void *);
using create_program = void *(void *, uint32_t, const char **, const size_t *, int *);

const driver_library &driver() {
    return made_once<[] { return driver_library("libOpenCL.so.1"); }>();
}

struct opencl_library {
    get_platforms *platforms = driver().find<get_platforms>("clGetPlatformIDs");
    get_devices *devices = driver().find<get_devices>("clGetDeviceIDs");
    get_info *queue_info = driver().find<get_info>("clGetCommandQueueInfo");
    get_info *memory_info = driver().find<get_info>("clGetMemObjectInfo");
    get_info *device_info = driver().find<get_info>("clGetDeviceInfo");
    enqueue_barrier *barrier = driver().find<enqueue_barrier>("clEnqueueBarrierWithWaitList");
    create_program *create = driver().find<create_program>("clCreateProgramWithSource");
    char problem[160] = "";

    opencl_library() {
        if (!driver().loaded()) {
            std::snprintf(problem, sizeof(problem), "%s", driver().why_not());
        } else if (!platforms || !devices || !queue_info || !memory_info || !device_info || !barrier || !create) {
            std::snprintf(problem, sizeof(problem), "libOpenCL.so.1 lacks functions of OpenCL 1.2");
        } else if (!has_device()) {
            std::snprintf(problem, sizeof(problem), "no OpenCL platform has a device");
        } else {
            // Halide's run time loads its functions at its first use, and cannot do so in two threads at once.
            halide_opencl_set_build_options("-cl-fp32-correctly-rounded-divide-sqrt");
            device_launch none{};
            const launch_scope scope(none);
            halide_device_sync_global(&none, halide_opencl_device_interface());
        }
    }

    bool has_device() {
        void *all[16];
        uint32_t count = 0;
        if (platforms(16, all, &count) != 0) {
            return false;
        }
        for (uint32_t i = 0; i < count && i < 16; i++) {
            uint32_t found = 0;
            if (devices(all[i], all_devices, 0, nullptr, &found) == 0 && found > 0) {
                return true;
            }
        }
        return false;
    }
};

const opencl_library &library() {
    return made_once<[] { return opencl_library(); }>();
}

const char *problem() { return library().problem[0] ? library().problem : nullptr; }

qdq_status check_arithmetic(const char *function, void *device) {
    static thread_local void *checked = nullptr;
    if (device == checked) {
        return QDQ_OK;
    }
    uint64_t offered = 0;
    if (library().device_info(device, device_single_fp_config, sizeof(offered), &offered, nullptr) != 0 ||
        (needed_fp & ~offered) != 0) {
        return fail(QDQ_UNSUPPORTED,
                    "%s: stream: its OpenCL device lacks subnormals, infinities and NaN, or correctly rounded "
                    "division: CL_DEVICE_SINGLE_FP_CONFIG is 0x%llx, and 0x%llx is needed",
                    function, static_cast<unsigned long long>(offered), static_cast<unsigned long long>(needed_fp));
    }
    checked = device;
    return QDQ_OK;
}

qdq_status enter(device_launch &launch, const char *function, void *stream, int32_t) {
    if (!stream) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: stream: NULL; OpenCL tensors need a cl_command_queue", function);
    }
    void *device = nullptr;
    if (library().queue_info(stream, queue_context, sizeof(void *), &launch.context, nullptr) != 0 ||
        library().queue_info(stream, queue_device, sizeof(void *), &device, nullptr) != 0) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: stream: it is not a cl_command_queue", function);
    }
    launch.stream = stream;
    return check_arithmetic(function, device);
}

bool has_memory(device_launch &launch, uint64_t data, int64_t first, int64_t end) {
    size_t size = 0;
    if (const int error =
            library().memory_info(reinterpret_cast<void *>(data), memory_size, sizeof(size), &size, nullptr)) {
        launch.keep_message("data is not a cl_mem: clGetMemObjectInfo gives %d", error);
        return false;
    }
    if (static_cast<size_t>(end) > size) {
        launch.keep_message("a memory object has %zu bytes, and the tensor bytes %lld to %lld of it", size,
                            static_cast<long long>(first), static_cast<long long>(end));
        return false;
    }
    return true;
}

int wrap(device_launch &launch, halide_buffer_t &buffer, uint64_t data) {
    return halide_opencl_wrap_cl_mem(&launch, &buffer, data);
}

void unwrap(device_launch &launch, halide_buffer_t &buffer) { halide_opencl_detach_cl_mem(&launch, &buffer); }

// Queues may run commands out of order.
int put_barrier(device_launch &launch) {
    const int error = library().barrier(launch.stream, 0, nullptr, nullptr);
    if (error) {
        launch.keep_message("clEnqueueBarrierWithWaitList gives %d", error);
    }
    return error;
}

// Halide's run time gives a kernel's text as its object holds it. It lets the compiler fuse a multiplication and an
// addition: texts begin with FP_CONTRACT ON, which is turned off.
void *create_unfused_program(void *context, uint32_t, const char **compressed, const size_t *, int *error) {
    static constexpr char fused[] = "#pragma OPENCL FP_CONTRACT ON\n", unfused[] = "#pragma OPENCL FP_CONTRACT OFF\n";
    const kernel_text text(compressed[0]);
    const char *pragma = text.data() ? std::strstr(text.data(), fused) : nullptr;
    if (!pragma) {
        *error = text.is() == kernel_text::state::no_memory ? out_of_host_memory : invalid_program;
        return nullptr;
    }
    const char *parts[] = {text.data(), unfused, pragma + sizeof(fused) - 1};
    const size_t sizes[] = {static_cast<size_t>(pragma - text.data()), sizeof(unfused) - 1, 0};  // 0: up to the NUL
    return library().create(context, 3, parts, sizes, error);
}

}  // namespace

const device_backend qdq_device_opencl = {
    .kind = QDQ_DEVICE_OPENCL,
    .has_addresses = false,
    .problem = problem,
    .enter = enter,
    .has_memory = has_memory,
    .wrap = wrap,
    .unwrap = unwrap,
    .put_barrier = put_barrier,
    .run = run_on_device,
};

}  // namespace qdq::runtime

// Halide's hooks: it calls them where it would otherwise use a context and a library of its own.
extern "C" {

int halide_acquire_cl_context(void *user_context, void **context, void **queue, bool) {
    const runtime::device_launch *launch = runtime::current_launch(user_context);
    *context = launch ? launch->context : nullptr;
    *queue = launch ? launch->stream : nullptr;
    return halide_error_code_success;
}

int halide_release_cl_context(void *) { return halide_error_code_success; }

void *halide_opencl_get_symbol(void *, const char *name) {
    if (std::strcmp(name, "clCreateProgramWithSource") == 0) {
        return reinterpret_cast<void *>(runtime::create_unfused_program);
    }
    return runtime::driver().symbol(name);
}
}

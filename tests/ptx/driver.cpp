// libcuda.so.1 for machines without a GPU: the driver's functions that qdq, Halide's run time and qdq's tests call,
// over the interpreter. What a kernel must not do is an error of its context from then on, as on a GPU, and a message
// on stderr.
#include "driver.h"
#include "interpreter.h"
#include "report.h"
#include "stream.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace ptx {
namespace {

enum error : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    invalid_device = 101,
    invalid_context = 201,
    no_binary_for_gpu = 209,
    invalid_ptx = 218,
    invalid_handle = 400,
    not_found = 500,
    illegal_address = 700,
    misaligned_address = 716,
    launch_failed = 719,
    not_supported = 801,
    capture_unsupported = 900,
    illegal_capture = 401,
};

constexpr int devices = 2;

struct context {
    int device = 0;
    std::atomic<int> broken{success};  // by a kernel
    stream default_stream{this};
    std::mutex copying;
    std::vector<std::function<void()>> late_copies;  // from the host, that have not reached the device
};

struct module;

struct function {
    const module *of;
    program kernel;
};

struct module {
    context *of;
    uint32_t text_crc;
    size_t instructions = 0;
    std::vector<function> functions{};

    module(context *of, const char *text) :of(of), text_crc(crc32(text)) {
        for (program &kernel : decode(text)) {
            instructions += kernel.code.size();
            functions.push_back({this, std::move(kernel)});
        }
    }
    module(const module &) = delete;
};

struct graph {
    std::deque<std::function<void()>> work;
};

const char *setting(const char *name, const char *otherwise) {
    const char *const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

// Never destroyed, as threads of the program may call to its end.
struct state {
    memory all_memory;
    std::mutex lock;                                    // of what follows
    std::map<void *, std::shared_ptr<stream>> streams;  // others may wait for one that is destroyed
    std::set<context *> contexts;
    context *primary[devices] = {};
    std::atomic<uint64_t> launches{0};
    std::atomic<int> captured_streams{0};
    const nan_choice nan = nan_choice_named(setting("QDQ_PTX_NAN", "drawn"));
    const uint64_t seed = std::strtoull(setting("QDQ_PTX_SEED", "1"), nullptr, 10);
    std::atomic<int64_t> calls{0}, failing_call{-1};
    std::atomic<int> failure{success};
    std::atomic<int> capability{70}, refused_cubin{0};
    std::mutex counting;
    counts done;
};

state &all() {
    static state *const made = new state;
    return *made;
}

report &reported() {
    static report made;
    return made;
}

// This thread's contexts. Nothing that is destroyed: Halide's run time calls when the process ends.
struct context_stack {
    static constexpr int most = 64;
    context *all[most];
    int count;

    context *top() const { return count == 0 ? nullptr : all[count - 1]; }
    int push(context *c) {
        if (count == most) {
            return out_of_memory;
        }
        all[count++] = c;
        return success;
    }
    void remove(const context *c) { count = static_cast<int>(std::remove(all, all + count, c) - all); }
};
thread_local context_stack current;

context *current_context() { return current.top(); }

// Begins each function: the failure that a test has asked for, or that of the context.
int begin(bool needs_context) {
    if (all().calls++ == all().failing_call) {
        return all().failure;
    }
    if (!needs_context) {
        return success;
    }
    return current_context() == nullptr ? int{invalid_context} : current_context()->broken.load();
}

// Of functions that allocate, wait or load: none of them while a stream is captured in the global mode, as programs do.
int begin_unsafe() {
    const int error = begin(true);
    return error != success ? error : all().captured_streams > 0 ? int{capture_unsupported} : success;
}

bool is_default(const void *s) { return reinterpret_cast<uintptr_t>(s) <= 2; }

// One of all(), or a context's own.
std::shared_ptr<stream> stream_of(void *s) {
    if (is_default(s)) {
        return {std::shared_ptr<void>(), &current_context()->default_stream};
    }
    const std::lock_guard hold(all().lock);
    const auto found = all().streams.find(s);
    return found != all().streams.end() ? found->second : nullptr;
}

void finish_late_copies(context &of) {
    const std::lock_guard hold(of.copying);
    for (const auto &copy : std::exchange(of.late_copies, {})) {
        copy();
    }
}

void finish(const context *of) {
    std::vector<std::shared_ptr<stream>> streams;
    {
        const std::lock_guard hold(all().lock);
        for (const auto &[handle, s] : all().streams) {
            streams.push_back(s);
        }
        for (context *c : all().contexts) {
            streams.emplace_back(std::shared_ptr<void>(), &c->default_stream);
            if (of == nullptr || c == of) {
                finish_late_copies(*c);
            }
        }
    }
    for (const std::shared_ptr<stream> &s : streams) {
        if (of == nullptr || s->context() == of) {
            s->finish();
        }
    }
}

context *make_context(int device) {
    auto *const made = new context{device};
    const std::lock_guard hold(all().lock);
    all().contexts.insert(made);
    return made;
}

void *pointer(uint64_t address) { return reinterpret_cast<void *>(address); }

int copy_in(uint64_t to, const void *from, size_t bytes) {
    allocation *const target = all().all_memory.find(to, bytes);
    if (target == nullptr) {
        return invalid_value;
    }
    std::memcpy(pointer(to), from, bytes);
    target->written(to, bytes);
    return success;
}

int copy_out(void *to, uint64_t from, size_t bytes) {
    if (all().all_memory.find(from, bytes) == nullptr) {
        return invalid_value;
    }
    std::memcpy(to, pointer(from), bytes);
    return success;
}

int copy_within(uint64_t to, uint64_t from, size_t bytes) {
    allocation *const target = all().all_memory.find(to, bytes), *const source = all().all_memory.find(from, bytes);
    if (target == nullptr || source == nullptr) {
        return invalid_value;
    }
    std::memmove(pointer(to), pointer(from), bytes);
    target->written_as(to, bytes, *source, from);
    return success;
}

// At once, after all that is in streams; or in a stream, where a failure is the context's.
template<typename Copy> int now(Copy &&copy) {
    if (const int error = begin_unsafe()) {
        return error;
    }
    finish(current_context());
    if (const int error = current_context()->broken) {
        return error;
    }
    return copy();
}

template<typename Copy> int in_stream(void *s, Copy copy) {
    if (const int error = begin(true)) {
        return error;
    }
    const std::shared_ptr<stream> on = stream_of(s);
    if (on == nullptr) {
        return invalid_handle;
    }
    on->put([copy, c = static_cast<context *>(on->context())] {
        if (const int error = c->broken == success ? copy() : int{success}) {
            c->broken = error;
        }
    });
    return success;
}

void execute(const function &f, uint32_t blocks, uint32_t threads, uint32_t shared_bytes,
             const std::vector<uint8_t> &parameters) {
    if (f.of->of->broken != success) {
        return;
    }
    launch l;
    l.kernel = &f.kernel;
    l.blocks = blocks;
    l.threads = threads;
    l.shared_bytes = shared_bytes;
    l.parameters = parameters;
    l.all_memory = &all().all_memory;
    l.context = f.of->of;
    l.nan = all().nan;
    l.seed = all().seed * 1000003 + ++all().launches;
    try {
        std::vector<uint8_t> executed;
        const counts done = run(l, executed);
        reported().add(f.kernel, f.of->text_crc, f.of->instructions, done, executed);
        const std::lock_guard hold(all().counting);
        all().done += done;
    } catch (const fault &found) {
        std::fprintf(stderr, "libcuda.so.1 of tests/ptx: %s\n", found.what());
        f.of->of->broken = found.is == fault::kind::no_memory    ? illegal_address
                           : found.is == fault::kind::misaligned ? misaligned_address
                                                                 : launch_failed;
    }
}

// Of a cubin, which is a file of the format ELF: of sm_90 and before the last byte of its flags, of later ones the one
// before. 0: it is none.
int architecture_of_cubin(const void *image) {
    constexpr size_t abi_at = 7, flags_at = 48;
    constexpr uint8_t abi_of_sm_90 = 0x33;
    const auto *const bytes = static_cast<const uint8_t *>(image);
    return std::strncmp(static_cast<const char *>(image), "\177ELF", 4) != 0 ? 0
           : bytes[abi_at] == abi_of_sm_90                                   ? bytes[flags_at]
                                                                             : bytes[flags_at + 1];
}

}  // namespace
}  // namespace ptx

using namespace ptx;

extern "C" {

void ptx_driver_fail(int64_t after, int error) {
    all().failing_call = -1;
    all().failure = error;
    all().calls = 0;
    all().failing_call = after;
}

int64_t ptx_driver_calls() { return all().calls; }

void ptx_driver_counts(uint64_t counts[4]) {
    const std::lock_guard hold(all().counting);
    const struct counts done = std::exchange(all().done, {});
    const uint64_t values[] = {done.threads, done.instructions, done.sectors, done.bytes};
    std::copy(std::begin(values), std::end(values), counts);
}

void ptx_driver_capability(int of_devices) { all().capability = of_devices; }

int ptx_driver_refused_cubin() { return all().refused_cubin.exchange(0); }

// ---- the driver, its devices and contexts

int cuInit(unsigned) { return begin(false); }

int cuDriverGetVersion(int *version) {
    *version = 12000;
    return begin(false);
}

int cuGetErrorName(int e, const char **name) {
    switch (e) {
    case success: *name = "CUDA_SUCCESS"; break;
    case invalid_value: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case out_of_memory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case invalid_device: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case invalid_context: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case no_binary_for_gpu: *name = "CUDA_ERROR_NO_BINARY_FOR_GPU"; break;
    case invalid_ptx: *name = "CUDA_ERROR_INVALID_PTX"; break;
    case invalid_handle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case not_found: *name = "CUDA_ERROR_NOT_FOUND"; break;
    case illegal_address: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case misaligned_address: *name = "CUDA_ERROR_MISALIGNED_ADDRESS"; break;
    case launch_failed: *name = "CUDA_ERROR_LAUNCH_FAILED"; break;
    case not_supported: *name = "CUDA_ERROR_NOT_SUPPORTED"; break;
    case capture_unsupported: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; break;
    case illegal_capture: *name = "CUDA_ERROR_ILLEGAL_STATE"; break;
    default: *name = nullptr; return invalid_value;
    }
    return success;
}

int cuDeviceGetCount(int *count) {
    *count = devices;
    return begin(false);
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    const int error = begin(false);
    return error != success ? error : ordinal >= 0 && ordinal < devices ? success : invalid_device;
}

int cuDeviceGetName(char *name, int size, int device) {
    std::snprintf(name, static_cast<size_t>(size), "PTX interpreter %d of tests/ptx", device);
    return begin(false);
}

int cuDeviceGetAttribute(int *value, int attribute, int) {
    constexpr int major = 75, minor = 76;
    const int capability = all().capability;
    *value = attribute == major ? capability / 10 : attribute == minor ? capability % 10 : 1024;
    return begin(false);
}

int cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = memory::capacity;
    return begin(false);
}

int cuDevicePrimaryCtxRetain(void **made, int device) {
    if (const int error = begin(false)) {
        return error;
    }
    if (device < 0 || device >= devices) {
        return invalid_device;
    }
    static std::mutex lock;
    const std::lock_guard hold(lock);
    context *&primary = all().primary[device];
    primary = primary != nullptr ? primary : make_context(device);
    *made = primary;
    return success;
}

int cuDevicePrimaryCtxRelease_v2(int) { return begin(false); }

int cuCtxCreate_v2(void **made, unsigned, int device) {
    if (const int error = begin(false)) {
        return error;
    }
    if (device < 0 || device >= devices) {
        return invalid_device;
    }
    context *const c = make_context(device);
    *made = c;
    return current.push(c);
}

int cuCtxDestroy_v2(void *c) {
    if (const int error = begin(false)) {
        return error;
    }
    auto *const old = static_cast<context *>(c);
    {
        const std::lock_guard hold(all().lock);
        if (all().contexts.erase(old) == 0) {
            return invalid_context;
        }
    }
    current.remove(old);
    delete old;
    return success;
}

int cuCtxGetCurrent(void **c) {
    *c = current_context();
    return begin(false);
}

int cuCtxSetCurrent(void *c) {
    if (const int error = begin(false)) {
        return error;
    }
    current.count -= current.count != 0;
    return c != nullptr ? current.push(static_cast<context *>(c)) : success;
}

int cuCtxPushCurrent_v2(void *c) {
    if (const int error = begin(false)) {
        return error;
    }
    if (c == nullptr) {
        return invalid_context;
    }
    return current.push(static_cast<context *>(c));
}

int cuCtxPopCurrent_v2(void **c) {
    if (const int error = begin(false)) {
        return error;
    }
    if (current.count == 0) {
        return invalid_context;
    }
    if (c != nullptr) {
        *c = current.top();
    }
    --current.count;
    return success;
}

int cuCtxGetDevice(int *device) {
    if (const int error = begin(true)) {
        return error;
    }
    *device = current_context()->device;
    return success;
}

int cuCtxGetApiVersion(void *, unsigned *version) {
    *version = 3020;
    return begin(false);
}

int cuCtxSynchronize() {
    if (const int error = begin_unsafe()) {
        return error;
    }
    finish(current_context());
    return current_context()->broken;
}

int cuProfilerStop() { return begin(false); }

// ---- memory

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    if (const int error = begin_unsafe()) {
        return error;
    }
    if (bytes == 0) {
        return invalid_value;
    }
    const allocation *const made = all().all_memory.allocate(bytes, current_context());
    if (made == nullptr) {
        return out_of_memory;
    }
    *address = made->begin();
    return success;
}

int cuMemFree_v2(uint64_t address) {
    if (const int error = begin_unsafe()) {
        return error;
    }
    finish(nullptr);
    return address == 0 || all().all_memory.free(address) ? success : invalid_value;
}

// From memory that is not pinned: done with `from`, but as late as may be on the device, where no stream waits for it
// that was made not to wait for the default one. (NVIDIA, "API synchronization behavior".)
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    return now([=] {
        if (all().all_memory.find(to, bytes) == nullptr) {
            return int{invalid_value};
        }
        const auto *const first = static_cast<const uint8_t *>(from);
        context &of = *current_context();
        const std::lock_guard hold(of.copying);
        of.late_copies.push_back(
            [to, staged = std::vector<uint8_t>(first, first + bytes)] { copy_in(to, staged.data(), staged.size()); });
        return int{success};
    });
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    return now([=] { return copy_out(to, from, bytes); });
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    return now([=] { return copy_within(to, from, bytes); });
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s) {
    return in_stream(s, [=] { return copy_in(to, from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s) {
    return in_stream(s, [=] { return copy_out(to, from, bytes); });
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *s) {
    return in_stream(s, [=] { return copy_within(to, from, bytes); });
}
int cuMemcpy3D_v2(const void *) { return not_supported; }

int cuPointerGetAttribute(void *out, int attribute, uint64_t address) {
    if (const int error = begin(false)) {
        return error;
    }
    constexpr int of_context = 1, memory_type = 2, device_memory = 2;
    const allocation *const found = all().all_memory.find_block(address);
    if (found == nullptr) {
        return invalid_value;
    }
    if (attribute == of_context) {
        *static_cast<const void **>(out) = found->owner();
    } else if (attribute == memory_type) {
        *static_cast<unsigned *>(out) = device_memory;
    } else {
        return invalid_value;
    }
    return success;
}

// ---- streams

int cuStreamCreate(void **made, unsigned) {
    if (const int error = begin(true)) {
        return error;
    }
    auto s = std::make_shared<stream>(current_context());
    *made = s.get();
    const std::lock_guard hold(all().lock);
    all().streams.emplace(s.get(), std::move(s));
    return success;
}

int cuStreamDestroy_v2(void *s) {
    if (const int error = begin(false)) {
        return error;
    }
    std::shared_ptr<stream> old;  // ends after the lock, as it waits for its work
    const std::lock_guard hold(all().lock);
    const auto found = all().streams.find(s);
    if (found == all().streams.end()) {
        return invalid_handle;
    }
    old = std::move(found->second);
    all().streams.erase(found);
    return success;
}

int cuStreamSynchronize(void *s) {
    if (const int error = begin_unsafe()) {
        return error;
    }
    const std::shared_ptr<stream> on = stream_of(s);
    if (on == nullptr) {
        return invalid_handle;
    }
    on->finish();
    return static_cast<context *>(on->context())->broken;
}

int cuStreamGetCtx(void *s, void **c) {
    if (const int error = begin(false)) {
        return error;
    }
    const std::shared_ptr<stream> on = is_default(s) && current_context() == nullptr ? nullptr : stream_of(s);
    if (on == nullptr) {
        return invalid_handle;
    }
    *c = on->context();
    return success;
}

// ---- graphs, of work that was put into a captured stream

int cuStreamBeginCapture_v2(void *s, int) {
    if (const int error = begin(true)) {
        return error;
    }
    const std::shared_ptr<stream> on = stream_of(s);
    if (on == nullptr || is_default(s)) {
        return invalid_handle;
    }
    if (!on->begin_capture()) {
        return illegal_capture;
    }
    ++all().captured_streams;
    return success;
}

int cuStreamEndCapture(void *s, void **made) {
    if (const int error = begin(true)) {
        return error;
    }
    const std::shared_ptr<stream> on = stream_of(s);
    if (on == nullptr || !on->is_captured()) {
        return illegal_capture;
    }
    *made = new graph{on->end_capture()};
    --all().captured_streams;
    return success;
}

int cuGraphInstantiateWithFlags(void **made, void *g, unsigned long long) {
    if (const int error = begin(true)) {
        return error;
    }
    *made = new graph(*static_cast<graph *>(g));
    return success;
}

int cuGraphLaunch(void *g, void *s) {
    if (const int error = begin(true)) {
        return error;
    }
    const std::shared_ptr<stream> on = stream_of(s);
    if (on == nullptr) {
        return invalid_handle;
    }
    for (const std::function<void()> &work : static_cast<graph *>(g)->work) {
        on->put(work);
    }
    return success;
}

int cuGraphDestroy(void *g) {
    delete static_cast<graph *>(g);
    return begin(false);
}
int cuGraphExecDestroy(void *g) { return cuGraphDestroy(g); }

int cuLaunchHostFunc(void *s, void (*call)(void *), void *data) {
    return in_stream(s, [=] {
        call(data);
        return int{success};
    });
}

// ---- modules and launches

int cuModuleLoadDataEx(void **made, const void *text, unsigned, int *, void **) {
    if (const int error = begin_unsafe()) {
        return error;
    }
    if (const int architecture = architecture_of_cubin(text)) {
        std::fprintf(stderr,
                     "libcuda.so.1 of tests/ptx: a cubin for sm_%d is SASS, which it does not run; PTX it does\n",
                     architecture);
        all().refused_cubin = architecture;
        return no_binary_for_gpu;
    }
    try {
        const auto *const module_text = static_cast<const char *>(text);
        *made = new module(current_context(), module_text);
        return success;
    } catch (const unreadable &u) {
        std::fprintf(stderr, "libcuda.so.1 of tests/ptx: %s\n", u.what());
        return invalid_ptx;
    }
}
int cuModuleLoadData(void **made, const void *text) { return cuModuleLoadDataEx(made, text, 0, nullptr, nullptr); }

int cuModuleUnload(void *m) {
    if (const int error = begin_unsafe()) {
        return error;
    }
    finish(nullptr);
    delete static_cast<module *>(m);
    return success;
}

int cuModuleGetFunction(void **function, void *m, const char *name) {
    if (const int error = begin(true)) {
        return error;
    }
    for (ptx::function &f : static_cast<module *>(m)->functions) {
        if (f.kernel.name == name) {
            *function = &f;
            return success;
        }
    }
    return not_found;
}

int cuLaunchKernel(void *function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void *s, void **values,
                   void **extra) {
    if (const int error = begin(true)) {
        return error;
    }
    const ptx::function &f = *static_cast<ptx::function *>(function);
    const std::shared_ptr<stream> on = stream_of(s);
    if (on == nullptr || on->context() != f.of->of) {
        return invalid_handle;
    }
    constexpr unsigned most_threads = 1024, most_shared_bytes = 48 << 10;
    if (blocks == 0 || threads == 0 || threads > most_threads || shared_bytes > most_shared_bytes || extra != nullptr) {
        return invalid_value;
    }
    if (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1) {
        return not_supported;  // by the interpreter: qdq's kernels have one dimension
    }
    std::vector<uint8_t> parameters(static_cast<size_t>(f.kernel.parameter_bytes));
    for (size_t n = 0; n < f.kernel.parameters.size(); ++n) {
        const parameter &p = f.kernel.parameters[n];
        std::memcpy(&parameters[static_cast<size_t>(p.offset)], values[n], static_cast<size_t>(p.bytes));
    }
    on->put([&f, blocks, threads, shared_bytes, parameters = std::move(parameters)] {
        execute(f, blocks, threads, shared_bytes, parameters);
    });
    return success;
}
}

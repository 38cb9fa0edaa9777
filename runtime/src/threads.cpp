#include "threads.h"

#include "HalideRuntime.h"
#include "qdq/qdq.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

// Waking threads costs some 10 us, the time one core takes for about this many elements.
constexpr int64_t elements_per_part = 1 << 18;

std::atomic<int32_t> requested_threads{0};

// Both words change together under the flag; it is held for a few instructions.
struct hook {
    qdq_parallel_for run = nullptr;
    void *context = nullptr;
};
hook installed_hook;
std::atomic_flag hook_is_busy = ATOMIC_FLAG_INIT;

class hook_lock {
public:
    hook_lock() {
        while (hook_is_busy.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~hook_lock() { hook_is_busy.clear(std::memory_order_release); }
};

hook current_hook() {
    const hook_lock lock;
    return installed_hook;
}

int64_t thread_count() {
    static const int64_t processors = std::max(1u, std::thread::hardware_concurrency());
    const int32_t requested = requested_threads.load(std::memory_order_relaxed);
    return requested > 0 ? requested : processors;
}

struct halide_work {
    void (*task)(int64_t, void *);
    void *context;
};

int run_halide_task(void *, int i, uint8_t *closure) {
    const halide_work &work = *reinterpret_cast<const halide_work *>(closure);
    work.task(i, work.context);
    return 0;
}

}  // namespace

int64_t useful_parts(int64_t elements) {
    const int64_t threads = thread_count();
    return threads == 1 ? 1 : std::clamp<int64_t>(elements / elements_per_part, 1, 4 * threads);
}

void run_in_parallel(int64_t count, void (*task)(int64_t, void *), void *context) {
    if (const hook own = current_hook(); own.run) {
        own.run(own.context, count, task, context);
        return;
    }
    halide_work work{task, context};
    halide_do_par_for(nullptr, run_halide_task, 0, static_cast<int>(count), reinterpret_cast<uint8_t *>(&work));
}

}  // namespace qdq::runtime

void qdq_set_num_threads(int32_t count) {
    runtime::requested_threads.store(std::max(count, 0), std::memory_order_relaxed);
    if (count != 1) {
        halide_set_num_threads(std::max(count, 0));
    }
}

void qdq_set_parallel_for(qdq_parallel_for parallel_for, void *context) {
    const runtime::hook_lock lock;
    runtime::installed_hook = {parallel_for, context};
}

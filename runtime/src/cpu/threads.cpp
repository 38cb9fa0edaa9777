#include "cpu/threads.h"

#include "cpu/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

std::atomic<int32_t> requested_threads{0};

// Asked once, as it reads a file. Threads that ask at once get one answer; a static variable's guard would be held
// for ever in a child forked meanwhile.
int64_t processors() {
    static constinit std::atomic<int64_t> known{0};
    int64_t count = known.load(std::memory_order_relaxed);
    if (count == 0) {
        count = std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L);
        known.store(count, std::memory_order_relaxed);
    }
    return count;
}

int64_t thread_count() {
    const int32_t requested = requested_threads.load(std::memory_order_relaxed);
    return requested > 0 ? requested : processors();
}

}  // namespace

int64_t useful_parts(int64_t elements, int64_t least) {
    const int64_t threads = thread_count();
    return threads == 1 ? 1 : std::clamp<int64_t>(elements / least, 1, 4 * threads);
}

void run_in_parallel(int64_t count, void (*task)(int64_t, void *), void *context) {
    run_on_pool(count, task, context, thread_count());
}

}  // namespace qdq::runtime

void qdq_set_num_threads(int32_t count) {
    runtime::requested_threads.store(std::max(count, 0), std::memory_order_relaxed);
}

void qdq_set_parallel_for(qdq_parallel_for parallel_for, void *context) {
    runtime::use_parallel_for(parallel_for, context);
}

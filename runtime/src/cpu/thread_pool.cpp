#include "cpu/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>

namespace qdq::runtime {

namespace {

constexpr size_t worker_stack = size_t{1} << 20;  // the C library puts thread-local variables here, too
static_assert(worker_stack / 2 >= static_cast<size_t>(QDQ_STACK_BYTES));

// One call's work. It lives on the stack of its caller, who leaves when no helper is at it.
struct job {
    qdq_task task;
    void *context;
    int64_t count;
    int64_t most_helpers;
    std::atomic<int64_t> next{0};                    // the first part that nobody has taken
    std::atomic<int64_t> helpers{0};                 // workers that are at it; changed under the queue's mutex
    pthread_cond_t left = PTHREAD_COND_INITIALIZER;  // the last of them is no longer
    job *following = nullptr;
};

// What workers and callers share.
struct job_queue {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    job *first = nullptr;
    int64_t idle = 0;  // workers that wait for a change
};
constinit job_queue queue;
constinit std::atomic<uint64_t> jobs_so_far{0};

// The workers. Its mutex is held while some are created or ended.
struct roster {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    int64_t count = 0;
    pthread_t threads[most_threads - 1] = {};
};
constinit roster workers;
constinit std::atomic<bool> workers_must_end{false};

// The caller's pool; both words change under the queue's mutex.
constinit std::atomic<qdq_parallel_for> own_parallel_for{nullptr};
constinit std::atomic<void *> own_context{nullptr};

class lock {
public:
    explicit lock(pthread_mutex_t &mutex) : mutex(mutex) { pthread_mutex_lock(&mutex); }
    ~lock() { pthread_mutex_unlock(&mutex); }
    lock(const lock &) = delete;

private:
    pthread_mutex_t &mutex;
};

// Runs one part that nobody has taken; false when there is none.
bool run_part(job &j) {
    const int64_t i = j.next.fetch_add(1, std::memory_order_relaxed);
    if (i >= j.count) {
        return false;
    }
    j.task(i, j.context);
    return true;
}

job *job_in_need() {
    job *j = queue.first;
    while (j && (j->helpers == j->most_helpers || j->next.load(std::memory_order_relaxed) >= j->count)) {
        j = j->following;
    }
    return j;
}

void help(job &j) {
    j.helpers++;
    pthread_mutex_unlock(&queue.mutex);
    while (!workers_must_end && run_part(j)) {
    }
    pthread_mutex_lock(&queue.mutex);
    if (--j.helpers == 0) {
        pthread_cond_signal(&j.left);
    }
}

// So many take some 100 us. A thread that sleeps wakes so late that two threads run calls of 1 Mi elements, one after
// the other, little faster than one: f32 to i8 takes 177 us with one, 113 with a wait of 5 us, and 57 with this.
constexpr int most_yields = 200;

template<typename Condition> void wait_briefly(Condition &&condition) {
    for (int i = 0; i < most_yields && !condition(); i++) {
        sched_yield();
    }
}

// Called and left with the queue's mutex.
void await_job() {
    const uint64_t seen = jobs_so_far;
    const auto none_new = [=] { return jobs_so_far == seen && !workers_must_end; };
    pthread_mutex_unlock(&queue.mutex);
    wait_briefly([=] { return !none_new(); });
    pthread_mutex_lock(&queue.mutex);
    if (none_new()) {
        queue.idle++;
        pthread_cond_wait(&queue.changed, &queue.mutex);
        queue.idle--;
    }
}

void *work(void *) {
    const lock held(queue.mutex);
    while (!workers_must_end) {
        if (job *j = job_in_need()) {
            help(*j);
        } else {
            await_job();
        }
    }
    return nullptr;
}

// A child of fork has the memory of its parent but not its threads, and what they held stays locked.
void begin_anew_in_child() {
    queue = {};
    workers = {};
    workers_must_end = false;
}

// Called with the workers' mutex.
bool forks_are_noticed() {
    static constinit bool noticed = false;
    noticed = noticed || pthread_atfork(nullptr, nullptr, begin_anew_in_child) == 0;
    return noticed;
}

// Signals for the process are for the program's threads. Faults stay: a handler of the program's may be what makes its
// memory readable.
class signals_blocked {
public:
    signals_blocked() {
        sigset_t others;
        sigfillset(&others);
        for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
            sigdelset(&others, own);
        }
        pthread_sigmask(SIG_BLOCK, &others, &before);
    }
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    signals_blocked(const signals_blocked &) = delete;

private:
    sigset_t before;
};

bool create_worker(pthread_t &thread) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    const bool created = pthread_attr_setstacksize(&attributes, worker_stack) == 0 &&
                         pthread_create(&thread, &attributes, work, nullptr) == 0;
    pthread_attr_destroy(&attributes);
    return created;
}

// Where another thread is at it, or the system refuses, the call goes on with those there are.
void have_workers(int64_t wanted) {
    if (pthread_mutex_trylock(&workers.mutex) != 0) {
        return;
    }
    if (workers.count < wanted && forks_are_noticed()) {
        const signals_blocked around;
        while (workers.count < wanted && create_worker(workers.threads[workers.count])) {
            workers.count++;
        }
    }
    pthread_mutex_unlock(&workers.mutex);
}

// The code of a library that is unloaded must not run on. A priority, of which 101 is the lowest a program may have,
// puts this behind the destructors of C++ objects, which may call.
[[gnu::destructor(101)]] void end_workers() {
    const lock held(workers.mutex);
    {
        const lock queue_held(queue.mutex);
        workers_must_end = true;
        pthread_cond_broadcast(&queue.changed);
    }
    for (; workers.count > 0; workers.count--) {
        pthread_join(workers.threads[workers.count - 1], nullptr);
    }
    workers_must_end = false;
}

int64_t append(job &j) {
    const lock held(queue.mutex);
    job **end = &queue.first;
    while (*end) {
        end = &(*end)->following;
    }
    *end = &j;
    jobs_so_far++;
    return queue.idle;
}

// Without the mutex, which whoever wakes takes first.
void wake(int64_t wanted, int64_t idle) {
    if (wanted >= idle) {
        pthread_cond_broadcast(&queue.changed);
        return;
    }
    for (int64_t i = 0; i < wanted; i++) {
        pthread_cond_signal(&queue.changed);
    }
}

// The wait would end a thread that pthread_cancel was called for, while helpers write to its stack.
class no_cancellation {
public:
    no_cancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before); }
    ~no_cancellation() { pthread_setcancelstate(before, nullptr); }
    no_cancellation(const no_cancellation &) = delete;

private:
    int before;
};

void remove_when_left(job &j) {
    wait_briefly([&] { return j.helpers == 0; });
    const no_cancellation meanwhile;
    const lock held(queue.mutex);
    job **link = &queue.first;
    while (*link != &j) {
        link = &(*link)->following;
    }
    *link = j.following;
    while (j.helpers > 0) {
        pthread_cond_wait(&j.left, &queue.mutex);
    }
}

void run_on_workers(int64_t count, qdq_task task, void *context, int64_t threads) {
    const int64_t helpers = std::min({count, threads, most_threads}) - 1;
    job j{task, context, count, helpers};
    wake(helpers, append(j));
    have_workers(helpers);
    while (run_part(j)) {
    }
    remove_when_left(j);
}

}  // namespace

void run_on_pool(int64_t count, qdq_task task, void *context, int64_t threads) {
    qdq_parallel_for own;
    void *with;
    {
        const lock held(queue.mutex);
        own = own_parallel_for;
        with = own_context;
    }
    if (own) {
        own(with, count, task, context);
    } else {
        run_on_workers(count, task, context, threads);
    }
}

// A child forked between two stores finds no function rather than one with another's context.
void use_parallel_for(qdq_parallel_for parallel_for, void *context) {
    {
        const lock held(workers.mutex);
        forks_are_noticed();
    }
    const lock held(queue.mutex);
    own_parallel_for = nullptr;
    own_context = context;
    own_parallel_for = parallel_for;
}

}  // namespace qdq::runtime

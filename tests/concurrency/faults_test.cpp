// The system refuses what threads need: at each place in turn, once and from there on.
#include "child.h"
#include "split_call.h"
#include "support/own_allocator.h"

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <fstream>

namespace {

// Counts what is asked for, and refuses requests [first, last).
struct fault {
    std::atomic<bool> armed{false};
    std::atomic<int> asked{0};
    int first = INT_MAX, last = INT_MAX;

    bool refuses() {
        if (!armed) {
            return false;
        }
        const int i = asked++;
        return i >= first && i < last;
    }
};
fault threads, handlers, memory;

}  // namespace

bool memory_is_granted() {
    const bool refused = memory.refuses();
    if (refused) {
        errno = ENOMEM;
    }
    return !refused;
}

extern "C" {
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
    return threads.refuses() ? EAGAIN : __real_pthread_create(thread, attributes, start, argument);
}
int __real_pthread_atfork(void (*)(), void (*)(), void (*)());
int __wrap_pthread_atfork(void (*prepare)(), void (*parent)(), void (*child)()) {
    return handlers.refuses() ? ENOMEM : __real_pthread_atfork(prepare, parent, child);
}
}

namespace concurrency_test {
namespace {

enum outcome { right, wrong, right_without_a_fault };

class Faults : public testing::Test {
protected:
    static inline split_call call{(int64_t{1} << 21) + 13};  // enough for eight threads

    // Each process has its threads yet to create, so each call meets the fault afresh.
    int outcome_with(fault &f, int first, int last) {
        return in_child([&] {
            qdq_set_num_threads(8);
            f.first = first;
            f.last = last;
            f.armed = true;
            const bool was_right = call.is_right();
            f.armed = false;
            const bool is_right = call.is_right();
            return !was_right || !is_right ? wrong : f.asked <= first ? right_without_a_fault : right;
        });
    }

    // Returns how many places there were.
    int expect_right_results_wherever_it_fails(fault &f) {
        int first = 0;
        for (int result = right; result == right && first < 100; first++) {
            EXPECT_NE(outcome_with(f, first, INT_MAX), wrong) << "from request " << first << " on";
            result = outcome_with(f, first, first + 1);
            EXPECT_TRUE(result == right || result == right_without_a_fault) << "request " << first << ": " << result;
        }
        return first - 1;
    }
};

TEST_F(Faults, of_pthread_create_leave_right_results) {
    // Seven threads; and where one has failed, the call does not ask again.
    EXPECT_EQ(expect_right_results_wherever_it_fails(threads), 7);
}

TEST_F(Faults, of_pthread_atfork_leave_right_results) {
    EXPECT_EQ(expect_right_results_wherever_it_fails(handlers), 1);
}

TEST_F(Faults, of_malloc_leave_right_results) {
#if QDQ_TEST_OWN_ALLOCATOR
    EXPECT_GT(expect_right_results_wherever_it_fails(memory), 0);
#else
    GTEST_SKIP() << "the sanitizer brings its own allocator";
#endif
}

#if QDQ_TEST_OWN_ALLOCATOR
// Enough for the stack to grow, and less than the stack of a thread.
void leave_address_space(rlim_t bytes) {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
}
#endif

TEST_F(Faults, of_mmap_leave_right_results) {
#if QDQ_TEST_OWN_ALLOCATOR
    EXPECT_EQ(in_child([&] {
                  qdq_set_num_threads(8);
                  leave_address_space(512 << 10);
                  return call.is_right() && thread_count() == 1 ? 0 : 1;
              }),
              0);
#else
    GTEST_SKIP() << "the sanitizer needs address space of its own";
#endif
}

TEST_F(Faults, are_forgotten_by_the_next_call) {
    EXPECT_EQ(in_child([&] {
                  qdq_set_num_threads(8);
                  threads.first = 2;
                  threads.last = 3;
                  threads.armed = true;
                  call.is_right();
                  const int asked = threads.asked;
                  call.is_right();
                  return asked == 3 && threads.asked == 8 ? 0 : 1;
              }),
              0);
}

}  // namespace
}  // namespace concurrency_test

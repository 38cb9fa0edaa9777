// How much stack a function takes.
#pragma once

#include "support/sanitizers.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>

namespace concurrency_test {

// Instrumented code takes more.
inline constexpr bool stack_can_be_measured = !QDQ_TEST_ASAN && !QDQ_TEST_TSAN;

// Runs body() on a thread of its own, whose stack `attributes` describe.
template<typename Body> void run_on_thread(const pthread_attr_t &attributes, Body &body) {
    pthread_t thread;
    const int created = pthread_create(
        &thread, &attributes,
        [](void *given) -> void * {
            (*static_cast<Body *>(given))();
            return nullptr;
        },
        &body);
    ASSERT_EQ(created, 0);
    pthread_join(thread, nullptr);
}

// Runs body() on a thread that was asked to have so much stack. The C library makes the stack, and its guard page.
template<typename Body> void run_on_stack_of(size_t bytes, Body &body) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
    run_on_thread(attributes, body);
    pthread_attr_destroy(&attributes);
}

// A stack that is painted, so that what has been written to it shows.
class painted_stack {
public:
    painted_stack() : memory_(static_cast<std::byte *>(mmap(nullptr, whole, PROT_READ | PROT_WRITE, flags, -1, 0))) {
        EXPECT_NE(memory_, MAP_FAILED);
        std::fill(memory_, memory_ + whole, paint);
    }
    ~painted_stack() { munmap(memory_, whole); }
    painted_stack(const painted_stack &) = delete;

    // How many bytes at its end a thread that runs body() writes to, with what the C library keeps there.
    template<typename Body> size_t taken_by(Body &body) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        EXPECT_EQ(pthread_attr_setstack(&attributes, memory_, whole), 0);
        run_on_thread(attributes, body);
        pthread_attr_destroy(&attributes);
        std::byte *lowest = std::find_if(memory_, memory_ + whole, [](std::byte b) { return b != paint; });
        std::fill(lowest, memory_ + whole, paint);
        return static_cast<size_t>(memory_ + whole - lowest);
    }

private:
    static constexpr size_t whole = 256 << 10;
    static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK;
    static constexpr std::byte paint{0xa5};

    std::byte *memory_;
};

// What body() takes of a thread's stack, which is no more than the header says; then runs it on a thread of 64 KiB, or
// of the least that the C library allows (glibc on aarch64: 128 KiB, as its guard has 64).
template<typename Body> size_t expect_stated_stack(Body &&body) {
    static painted_stack stack;
    const size_t taken = stack.taken_by(body);
    EXPECT_LE(taken, size_t{QDQ_STACK_BYTES});
    if (taken <= QDQ_STACK_BYTES) {  // else it may end the process
        run_on_stack_of(std::max<size_t>(64 << 10, PTHREAD_STACK_MIN), body);
    }
    return taken;
}

}  // namespace concurrency_test

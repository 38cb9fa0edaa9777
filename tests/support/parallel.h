// Splits a sweep over the processors. These threads are the test's own: none of qdq's.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace test_support {

inline int sweep_threads() {
    const unsigned processors = std::thread::hardware_concurrency();
    return processors < 2 ? 2 : static_cast<int>(processors);
}

// Calls body(i, thread) for each i in [0, count); `thread` is in [0, sweep_threads()).
template<typename Body> void parallel_for(int64_t count, Body &&body) {
    std::atomic<int64_t> next{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < sweep_threads(); ++thread) {
        threads.emplace_back([&, thread] {
            for (int64_t i = next++; i < count; i = next++) {
                body(i, thread);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

}  // namespace test_support

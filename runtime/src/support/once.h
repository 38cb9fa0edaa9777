// Values made on first use, by one thread while others wait: what a function's static would be. That calls the C++
// library (__cxa_guard_acquire), which a program in C does not link.
#pragma once

#include <pthread.h>

#include <atomic>
#include <new>

namespace qdq::runtime {

// What make() returns, the same object at every call.
template<auto make> const auto &made_once() {
    using type = decltype(make());
    alignas(type) static unsigned char memory[sizeof(type)];
    static std::atomic<const type *> made{nullptr};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const type *value = made.load(std::memory_order_acquire);
    if (!value) [[unlikely]] {
        pthread_once(&once, [] { made.store(::new (memory) type(make()), std::memory_order_release); });
        value = made.load(std::memory_order_relaxed);
    }
    return *value;
}

}  // namespace qdq::runtime

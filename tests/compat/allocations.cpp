#include "allocations.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

std::atomic<int64_t> live{0};
std::atomic<int64_t> calls_left{never};

void *allocate(std::size_t size) {
    void *memory = std::malloc(size != 0 ? size : 1);
    if (memory != nullptr) {
        live++;
    }
    return memory;
}

void release(void *memory) {
    if (memory != nullptr) {
        live--;
    }
    std::free(memory);
}

}  // namespace

void *operator new(std::size_t size) {
    void *memory = allocate(size);
    if (memory == nullptr) {
        std::abort();  // a test has no use for more
    }
    return memory;
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    const bool fails = calls_left != never && calls_left-- <= 0;
    return fails ? nullptr : allocate(size);
}
void operator delete(void *memory) noexcept { release(memory); }
void operator delete(void *memory, std::size_t) noexcept { release(memory); }
void operator delete(void *memory, const std::nothrow_t &) noexcept { release(memory); }

// A sanitizer brings its own of these, too.
void *operator new[](std::size_t size) { return operator new(size); }
void *operator new[](std::size_t size, const std::nothrow_t &) noexcept { return operator new(size, std::nothrow); }
void operator delete[](void *memory) noexcept { release(memory); }
void operator delete[](void *memory, std::size_t) noexcept { release(memory); }

namespace compat_test {

int64_t live_allocations() { return live; }

memory_shortage::memory_shortage(int64_t after) { calls_left = after; }
memory_shortage::~memory_shortage() { calls_left = never; }

}  // namespace compat_test

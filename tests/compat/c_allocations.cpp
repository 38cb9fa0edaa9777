// The same for what this program's objects allocate as C does. The linker sends their calls here (--wrap).
#include "allocations.h"

#include <atomic>
#include <cstdlib>
#include <limits>

namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

std::atomic<int64_t> live{0};
std::atomic<int64_t> calls_left{never};

void *counted(void *memory) {
    live += memory != nullptr ? 1 : 0;
    return memory;
}
bool fails() { return calls_left != never && calls_left-- <= 0; }

}  // namespace

extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size) { return fails() ? nullptr : counted(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? nullptr : counted(__real_calloc(count, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? nullptr : counted(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void *memory) {
    live -= memory != nullptr ? 1 : 0;
    __real_free(memory);
}
}

namespace compat_test {

int64_t live_allocations() { return live; }

memory_shortage::memory_shortage(int64_t after) { calls_left = after; }
memory_shortage::~memory_shortage() { calls_left = never; }

}  // namespace compat_test

// Defines malloc and its kind for the program whose one source includes this, which says by memory_is_granted() what
// becomes of each request, and sets errno where it grants none. operator new goes through malloc, pthread_create
// through calloc. Where a sanitizer brings its own allocator, nothing is defined.
#pragma once

#include "sanitizers.h"

#include <cerrno>
#include <cstddef>

#define QDQ_TEST_OWN_ALLOCATOR !(QDQ_TEST_ASAN || QDQ_TEST_TSAN)

#if QDQ_TEST_OWN_ALLOCATOR

bool memory_is_granted();

// glibc's allocator under the names it keeps for such wrappers.
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t size) { return memory_is_granted() ? __libc_malloc(size) : nullptr; }
void *calloc(size_t count, size_t size) { return memory_is_granted() ? __libc_calloc(count, size) : nullptr; }
void *realloc(void *old, size_t size) { return memory_is_granted() ? __libc_realloc(old, size) : nullptr; }
void *memalign(size_t alignment, size_t size) {
    return memory_is_granted() ? __libc_memalign(alignment, size) : nullptr;
}
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
    *out = memalign(alignment, size);
    return *out != nullptr || size == 0 ? 0 : ENOMEM;
}
}

#endif

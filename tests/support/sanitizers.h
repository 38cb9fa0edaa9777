// Which sanitizer this is compiled with: GCC has macros for them, clang an operator.
#pragma once

#if defined(__has_feature)
#define QDQ_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define QDQ_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || QDQ_TEST_HAS_FEATURE(address_sanitizer)
#define QDQ_TEST_ASAN 1
#else
#define QDQ_TEST_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || QDQ_TEST_HAS_FEATURE(thread_sanitizer)
#define QDQ_TEST_TSAN 1
#else
#define QDQ_TEST_TSAN 0
#endif

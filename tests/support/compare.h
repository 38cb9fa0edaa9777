// Comparing stored results and saying what differs.
#pragma once

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace test_support {

// "0x3dcccccd (0.1)"
std::string describe(float value);

// An element of any type: its code, and its value.
std::string describe_code(qdq_dtype type, uint32_t code);

const char *name_of(qdq_rounding rounding);
std::string describe(const qdq_options &options);

// Success when the bytes of `count` elements are equal; otherwise how many elements differ and, for the first of
// them, `describe_input(i)`, what was expected and what came.
testing::AssertionResult same_codes(qdq_dtype type, const void *expected, const void *actual, int64_t count,
                                    const std::function<std::string(int64_t)> &describe_input);

// FNV-1a over bytes.
uint64_t digest(const void *data, int64_t bytes);

} // namespace test_support

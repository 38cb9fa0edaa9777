// Comparing stored results and saying what differs.
#pragma once

#include "reference/describe.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace test_support {

using reference::describe;
using reference::describe_code;

const char *name_of(qdq_rounding rounding);
std::string describe(const qdq_options &options);

// Success when the bytes of `count` elements are equal; otherwise how many elements differ and, for the first of
// them, `describe_input(i)`, what was expected and what came.
testing::AssertionResult same_codes(qdq_dtype type, const void *expected, const void *actual, int64_t count,
                                    const std::function<std::string(int64_t)> &describe_input);

}  // namespace test_support

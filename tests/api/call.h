// One call of the C interface, in either direction, and what to expect of it.
#pragma once

#include "tensor_memory.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace api_test {

enum class direction { quantize, dequantize };

std::string name_of(direction way);

// The arguments of a call. A null `zero_point` or `options` is passed on as such.
struct arguments {
    direction way;
    const qdq_tensor *x;
    const qdq_tensor *scale;
    const qdq_tensor *zero_point;
    const qdq_tensor *y;
    const qdq_options *options;
};

qdq_status call(const arguments &given);
qdq_status prepare(qdq_plan *plan, const arguments &given);
void call_reference(const arguments &given);

// Success when every byte is equal, gaps and margins included.
testing::AssertionResult same_bytes(const tensor_memory &expected, const tensor_memory &actual);

// Runs the call into `y` and compares every byte of it, gaps and margins included, with the reference's result; then
// the same through a plan.
void expect_reference_result(direction way, const tensor_memory &x, const tensor_memory &scale,
                             const tensor_memory *zero_point, const tensor_memory &y, const qdq_options &options = {});

// The same for f32 -> i8 and back, for an x of one shape: every stride list of x against every one of y. An empty list
// stands for dense.
void expect_both_ways(const dimensions &shape, const dimensions &x_strides, const dimensions &y_strides,
                      const tensor_memory &scale, const tensor_memory *zero_point = nullptr,
                      const qdq_options &options = {});

// Gives a field any value, including those outside an enum's range, which a cast may not produce.
template<typename Enum> void set_raw(Enum &field, int value) {
    static_assert(sizeof(Enum) == sizeof(int));
    std::memcpy(&field, &value, sizeof value);
}

// Puts everything a test may change for the whole process back to its default.
class Api : public testing::Test {
protected:
    void TearDown() override;
};

}  // namespace api_test

// Random operands for the front ends' tests: every layout, and values that meet halves, both signs, saturation, NaN.
#pragma once

#include "api/call.h"
#include "reference/dequantize.h"
#include "reference/quantize.h"
#include "support/inputs.h"

#include <qdq/compat/common.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace compat_test {

using api_test::dimensions;
using api_test::same_bytes;
using api_test::tensor_memory;
using test_support::random_bits;

enum class layout { dense, transposed, padded, reversed, repeated };
inline constexpr layout every_layout[] = {layout::dense, layout::transposed, layout::padded, layout::reversed,
                                          layout::repeated};
inline constexpr layout distinct_layouts[] = {layout::dense, layout::transposed, layout::padded, layout::reversed};

// Takes the entries of a list in turn, for ever.
template<typename T, size_t count> class rotation {
public:
    explicit rotation(const T (&list)[count]) : list_(list) {}
    T next() { return list_[at_++ % count]; }
    bool came_round() const { return at_ >= count; }

private:
    const T (&list_)[count];
    size_t at_ = 0;
};

// Strides of a layout: none for a dense one; `repeated` has 0 in the last dimension of more than one element.
dimensions strides_of(layout how, const dimensions &shape);

dimensions random_shape(random_bits &random, int rank, int64_t longest = 5);

// Scales in turn: ordinary ones, powers of two, subnormal, negative, zero, infinite, NaN; or the positive ones only.
enum class scale_values { any, positive };
tensor_memory random_scales(random_bits &random, qdq_dtype type, const dimensions &shape, layout how,
                            scale_values which = scale_values::any);

// Floats of a type: multiples of half the ordinary scales, special values, and any bits.
tensor_memory random_floats(random_bits &random, qdq_dtype type, const dimensions &shape, layout how);

// Any codes. Integers beyond 8 bits are near zero half of the time.
tensor_memory random_codes(random_bits &random, qdq_dtype type, const dimensions &shape, layout how);

// A view of memory for the C++ front ends.
qdq::tensor view(const tensor_memory &memory);
qdq::output out(tensor_memory &memory);

// `y` with element i, of index i[], set to code_of(i): what a front end should have written.
template<typename CodeOf> tensor_memory filled(tensor_memory y, CodeOf &&code_of) {
    const qdq_tensor target = y.view();
    reference::for_each_index(target, [&](const int64_t *i) { reference::store_code(target, i, code_of(i)); });
    reference::clear_padding(target);
    return y;
}

// An operand's element, as the oracle takes it. `i` has the operand's rank.
float float_at(const tensor_memory &memory, const int64_t *i);
uint32_t code_at(const tensor_memory &memory, const int64_t *i);
reference::zero_point zero_point_at(const tensor_memory *memory, const int64_t *i);

// The same for a result that a front end has allocated: its type, shape and elements.
testing::AssertionResult same_bytes(const tensor_memory &expected, const qdq::tensor &actual);

// The storage of a result; a failure, and nothing, where there is none.
template<typename T> std::vector<T> of(const qdq::compat::expected<qdq::compat::owned_tensor> &y) {
    if (!y) {
        ADD_FAILURE() << y.message();
        return {};
    }
    const auto all = y->template values<T>();
    if (!all) {
        ADD_FAILURE() << all.message();
        return {};
    }
    return {all->begin(), all->end()};
}

// Whether a failure is a shortage of memory, and says so.
testing::AssertionResult ran_out_of_memory(const qdq::result &failure);

// Whether a failure is an invalid argument whose message contains every word.
testing::AssertionResult refused(const qdq::result &failure, const std::vector<std::string> &words);

}  // namespace compat_test

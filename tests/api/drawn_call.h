// A valid call whose shapes, strides, types, granularities, options and values are drawn: ones that no list thought of.
#pragma once

#include "call.h"

#include "support/choices.h"

#include <optional>
#include <string>

namespace api_test {

class drawn_call {
public:
    // Most calls have at most 20000 elements; one in a hundred has up to `largest`.
    drawn_call(test_support::choices &from, int64_t largest);
    // One of a direction and a shape.
    drawn_call(test_support::choices &from, direction way, const dimensions &shape);
    drawn_call(const drawn_call &) = delete;  // options may point to block_shape

    direction way;
    dimensions shape, scale_shape, block_shape;
    std::optional<tensor_memory> x, scale, zero_point, y;
    qdq_options options{};
    float global_scale = 1;

    // Makes some calls of quantize round stochastically.
    void draw_stochastic();
    // Makes x and y of two dimensions dense, in blocks of so many elements of each row.
    void make_dense_rows(int64_t block);
    // Makes some scales lie in a layout, or below one of the tensor's own, and some codes dense, as those of quantize,
    // dequantize and their plans alone may be. The options may point to `global_scale`.
    void draw_storage();

    std::string description() const;

private:
    test_support::choices &from;

    void draw_rest();
    void draw_dense_codes();
    void draw_shape(int64_t largest);
    void draw_granularity();
    void draw_blocks();
    void draw_options(qdq_dtype stored_type);
    void draw_range(qdq_dtype type);
    void draw_zero_point(qdq_dtype stored_type);
    dimensions draw_strides(qdq_dtype type, const dimensions &of);
    tensor_memory draw_floats(qdq_dtype type, const dimensions &of);
    tensor_memory draw_codes(qdq_dtype type, const dimensions &of);
    tensor_memory draw_scales(qdq_dtype type);
};

}  // namespace api_test

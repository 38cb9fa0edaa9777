// Rows in groups that have scales of their own, group by group, as qdq_quantize_grouped has them.
#pragma once

#include "reference/tensor.h"

#include <qdq/qdq.h>

#include <cstdint>
#include <vector>

namespace reference {

// A part of a tensor, with shape and strides of its own.
class tensor_part {
public:
    // So many indices of the first dimension.
    static tensor_part rows(const qdq_tensor &whole, int64_t first, int64_t count);
    // An index of the first dimension, without that.
    static tensor_part at(const qdq_tensor &whole, int64_t index);

    // Valid while the part lives.
    qdq_tensor view() const;

private:
    tensor_part(const qdq_tensor &whole, int64_t first, int32_t first_dimension);

    qdq_tensor tensor_;
    std::vector<int64_t> shape_, strides_;
};

// A valid call of one of the functions of rows in groups.
struct grouped_tensors {
    qdq_tensor x;
    const int64_t *offsets;
    int64_t groups;
    qdq_tensor scale;
    const qdq_tensor *zero_point;
    qdq_tensor y;
};

// Calls run(x, scale, zero point or NULL, y, options) for each group. Options count random numbers from its first
// element on.
template<typename Run> void for_each_group(const grouped_tensors &all, const qdq_options *options, Run &&run) {
    const int64_t rows = all.x.shape[0], of_row = rows == 0 ? 0 : element_count(all.x) / rows;
    for (int64_t g = 0; g < all.groups; ++g) {
        const int64_t first = all.offsets[g], count = all.offsets[g + 1] - first;
        const tensor_part x = tensor_part::rows(all.x, first, count), y = tensor_part::rows(all.y, first, count),
                          scale = tensor_part::at(all.scale, g),
                          zero_point = tensor_part::at(all.zero_point != nullptr ? *all.zero_point : all.scale, g);
        const qdq_tensor of_zero_point = zero_point.view();
        qdq_options own = options != nullptr ? *options : qdq_options{};
        own.random_offset += static_cast<uint64_t>(first * of_row);
        run(x.view(), scale.view(), all.zero_point != nullptr ? &of_zero_point : nullptr, y.view(), own);
    }
}

void quantize_grouped(const grouped_tensors &all, const qdq_options *options);
void dequantize_grouped(const grouped_tensors &all, const qdq_options *options);
void quantize_dynamic_grouped(const grouped_tensors &all, const qdq_scale_options *how, const qdq_options *options);

}  // namespace reference

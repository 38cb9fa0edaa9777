// Views of qdq.h, element by element: strides, packed 4-bit storage, and the block rule that gives each element of x
// its scale and zero point.
#pragma once

#include "quantize.h"

#include <qdq/qdq.h>

#include <array>
#include <cstdint>

namespace reference {

inline constexpr int max_rank = 8;

int64_t element_count(const qdq_tensor &tensor);

// An element's bits, at the low end. The packing counts for packed types, and where it is dense.
uint32_t load_code(const qdq_tensor &tensor, const int64_t *index, qdq_packing packing = QDQ_LOW_FIRST);
void store_code(const qdq_tensor &tensor, const int64_t *index, uint32_t code, qdq_packing packing = QDQ_LOW_FIRST);

// The value of an element of a float type.
float load_float(const qdq_tensor &tensor, const int64_t *index);

// Makes 0 what the last byte of a packed tensor holds past its elements.
void clear_padding(const qdq_tensor &tensor, qdq_packing packing = QDQ_LOW_FIRST);

// Calls body(index) for every element in row-major order; index has `rank` entries.
template<typename Body> void for_each_index(const qdq_tensor &tensor, Body &&body) {
    std::array<int64_t, max_rank> index{};
    for (int64_t left = element_count(tensor); left > 0; --left) {
        body(static_cast<const int64_t *>(index.data()));
        for (int32_t d = tensor.rank - 1; d >= 0; --d) {
            if (++index[d] < tensor.shape[d]) {
                break;
            }
            index[d] = 0;
        }
    }
}

// Which scale and zero point an element of x takes.
class parameters {
public:
    parameters(const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_options &options);

    float scale_at(const int64_t *x_index) const;
    zero_point zero_point_at(const int64_t *x_index) const;

    using index_array = std::array<int64_t, max_rank>;

    // The place of the scale, and of a zero point of its shape.
    index_array scale_index(const int64_t *x_index) const;

private:
    float arranged_scale(const int64_t *index) const;

    const qdq_tensor &scale_;
    const qdq_tensor *zero_point_;
    const qdq_options options_;
    int32_t rank_ = 0;        // of x
    int32_t only_axis_ = -1;  // of a 1-D scale on an x of another rank: the dimension of x it varies along
    index_array block_{};     // elements of x per scale along each dimension of the scale
};

}  // namespace reference

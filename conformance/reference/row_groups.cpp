#include "reference/row_groups.h"

#include "reference/dequantize.h"
#include "reference/formats.h"
#include "reference/quantize.h"
#include "reference/scales.h"

namespace reference {

tensor_part::tensor_part(const qdq_tensor &whole, int64_t first, int32_t first_dimension)
    : tensor_(whole), shape_(whole.shape + first_dimension, whole.shape + whole.rank) {
    int64_t step = 1;
    for (int32_t d = 1; d < whole.rank; ++d) {
        step *= whole.shape[d];
    }
    if (whole.strides != nullptr && !is_packed(whole.dtype)) {
        step = whole.strides[0];
        strides_.assign(whole.strides + first_dimension, whole.strides + whole.rank);
    }
    tensor_.data = static_cast<char *>(whole.data) + first * step * bits_of(whole.dtype) / 8;
}

tensor_part tensor_part::rows(const qdq_tensor &whole, int64_t first, int64_t count) {
    tensor_part part(whole, count == 0 ? 0 : first, 0);  // past the last row may be past the address space
    part.shape_[0] = count;
    return part;
}

tensor_part tensor_part::at(const qdq_tensor &whole, int64_t index) { return {whole, index, 1}; }

qdq_tensor tensor_part::view() const {
    qdq_tensor t = tensor_;
    t.rank = static_cast<int32_t>(shape_.size());
    t.shape = shape_.data();
    t.strides = strides_.empty() ? nullptr : strides_.data();
    return t;
}

void quantize_grouped(const grouped_tensors &all, const qdq_options *options) {
    for_each_group(all, options,
                   [](const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y,
                      const qdq_options &own) {
                       if (element_count(x) > 0) {
                           quantize(x, scale, zero_point, y, &own);
                       }
                   });
}

void dequantize_grouped(const grouped_tensors &all, const qdq_options *options) {
    for_each_group(all, options,
                   [](const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y,
                      const qdq_options &own) {
                       if (element_count(x) > 0) {
                           dequantize(x, scale, zero_point, y, &own);
                       }
                   });
}

void quantize_dynamic_grouped(const grouped_tensors &all, const qdq_scale_options *how, const qdq_options *options) {
    for_each_group(all, options,
                   [&](const qdq_tensor &x, const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y,
                       const qdq_options &own) {
                       compute_scales(x, y.dtype, scale, zero_point, how, &own);
                       if (element_count(x) > 0) {
                           quantize(x, scale, zero_point, y, &own);
                       }
                   });
}

}  // namespace reference

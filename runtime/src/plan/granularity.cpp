// The one rule of qdq.h about which elements share a scale and a zero point.
#include "plan/draft.h"

#include <algorithm>
#include <cinttypes>

namespace qdq::runtime {

void element_strides(const qdq_tensor &t, int64_t *strides, bool is_dense) {
    const bool is_strided = t.strides && !is_dense && !type_of(t.dtype).is_packed();
    int64_t dense = 1;
    for (int i = t.rank - 1; i >= 0; i--) {
        strides[i] = is_strided ? t.strides[i] : dense;
        static_cast<void>(__builtin_mul_overflow(dense, t.shape[i], &dense));
    }
}

namespace {

void set_strides(draft &d) {
    const arguments &given = d.given;
    const bool is_dense = d.options.packing == QDQ_DENSE;  // the codes are, whatever their strides
    element_strides(*given.x, d.x_strides, is_dense && !d.op.quantizes());
    element_strides(*given.y, d.y_strides, is_dense && d.op.quantizes());
    element_strides(*given.scale, d.scale_strides);
    if (given.zero_point) {
        element_strides(*given.zero_point, d.zero_point_strides);
    }
    d.result.dimension_count = given.x->rank;
    for (int i = 0; i < given.x->rank; i++) {
        const int64_t extent = given.x->shape[i];
        d.result.dimensions[i] = {{extent, d.x_strides[i], d.y_strides[i], 0, 0}, extent};
    }
}

int64_t divide_up(int64_t extent, int64_t block) { return extent / block + (extent % block != 0); }

bool same_shape(const qdq_tensor &a, const qdq_tensor &b) {
    return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

// The elements of a block along dimension i that the options ask for, or 0.
int64_t asked_block(const draft &d, int i) {
    return d.options.block_shape ? d.options.block_shape[i] : i == d.axis ? d.options.block_size : 0;
}

// A scale of one element has any shape, and is one block along every dimension.
qdq_status check_one_block(const draft &d) {
    for (int i = 0; i < d.given.x->rank; i++) {
        const int64_t extent = d.given.x->shape[i], block = asked_block(d, i);
        if (block > 0 && block < extent) {
            return d.invalid("%s: scale: it has one element, but x's shape[%d], %" PRId64 ", has %" PRId64
                             " blocks of %" PRId64,
                             i, extent, divide_up(extent, block), block);
        }
    }
    return QDQ_OK;
}

// Dimension i of x advances along dimension k of scale once every `block` elements. One without elements may share an
// operand that is not used.
qdq_status check_blocks(draft &d, int i, int k, int64_t block) {
    const int64_t extent = d.given.x->shape[i], given_blocks = d.given.scale->shape[k];
    const int64_t blocks = block > 0 ? divide_up(extent, block) : 0;
    if (blocks != given_blocks && !(extent == 0 && given_blocks == 1)) {
        return d.invalid("%s: scale: shape[%d] is %" PRId64 ", but x's shape[%d], %" PRId64 ", has %" PRId64
                         " blocks of %" PRId64 " (options: axis %d, block_size %" PRId64 ")",
                         k, given_blocks, i, extent, blocks, block, int(d.options.axis), d.options.block_size);
    }
    blocked_dimension &dimension = d.result.dimensions[i];
    if (blocks > 1) {
        dimension.block = block;
        dimension.whole.scale = d.scale_strides[k];
        dimension.whole.zero_point = d.zero_point_elements > 1 ? d.zero_point_strides[k] : 0;
    }
    return QDQ_OK;
}

// A scale of x's rank: its shape says how many blocks each dimension has, unless the options say how long they are.
qdq_status check_every_dimension(draft &d) {
    const qdq_tensor &x = *d.given.x, &scale = *d.given.scale;
    if (scale.rank != x.rank) {
        return d.invalid("%s: scale: rank %d is neither 0, nor 1, nor x's, %d", int(scale.rank), int(x.rank));
    }
    for (int i = 0; i < x.rank; i++) {
        const int64_t asked = asked_block(d, i);
        const int64_t derived = scale.shape[i] > 0 ? divide_up(x.shape[i], scale.shape[i]) : 0;
        if (qdq_status s = check_blocks(d, i, i, asked ? asked : derived)) {
            return s;
        }
    }
    return QDQ_OK;
}

qdq_status find_axis(draft &d) {
    const int rank = d.given.x->rank;
    d.axis = d.options.axis < 0 ? d.options.axis + rank : d.options.axis;
    return d.axis >= 0 && d.axis < rank
               ? QDQ_OK
               : d.invalid("%s: options: axis %d is not a dimension of x, of rank %d", int(d.options.axis), rank);
}

}  // namespace

qdq_status check_granularity(draft &d) {
    const qdq_tensor &x = *d.given.x, &scale = *d.given.scale;
    if (d.given.zero_point && d.zero_point_elements != 1 && !same_shape(*d.given.zero_point, scale)) {
        return d.invalid("%s: zero_point: it has %" PRId64 " elements and is not of scale's shape",
                         d.zero_point_elements);
    }
    if (d.scale_elements == 0 && d.x_elements != 0) {
        return d.invalid("%s: scale: it has no elements");
    }
    set_strides(d);
    const bool is_per_channel = scale.rank == 1 && x.rank != 1 && d.scale_elements != 1;
    if (is_per_channel || d.options.block_size > 0) {
        if (qdq_status s = find_axis(d)) {
            return s;
        }
    }
    if (d.scale_elements == 1) {
        return check_one_block(d);
    }
    if (d.options.block_shape && scale.rank != x.rank) {
        return d.invalid("%s: options: block_shape needs a scale of x's rank, %d, not %d", int(x.rank),
                         int(scale.rank));
    }
    return is_per_channel ? check_blocks(d, d.axis, 0, d.options.block_size ? d.options.block_size : 1)
                          : check_every_dimension(d);
}

}  // namespace qdq::runtime

// A validated call, reduced to what the kernels need: a loop nest over strided elements.
#pragma once

#include "targets/kernel_table.h"

#include <cstdint>
#include <type_traits>

namespace qdq::runtime {

// One loop. The strides count elements of x, y, the scale and the zero point; 0 for an operand that does not vary.
struct dimension {
    int64_t extent;
    int64_t x, y, scale, zero_point;

    bool varies() const { return scale != 0 || zero_point != 0; }  // do its steps reach other operands?
};

// How far apart a stride puts elements. It may be the least int64, of a dimension of one element.
constexpr uint64_t distance_of(int64_t stride) {
    return stride < 0 ? 0 - static_cast<uint64_t>(stride) : static_cast<uint64_t>(stride);
}

// A dimension as the caller gave it: the operands advance once every `block` elements. A ragged one has a last block
// that is shorter.
struct blocked_dimension {
    dimension whole;  // operand strides are per block
    int64_t block;

    bool ragged() const { return block != whole.extent && whole.extent % block != 0; }
};

constexpr int most_dimensions = 8;               // of the caller's tensors
constexpr int most_loops = 2 * most_dimensions;  // each may split into blocks and places within one

// Elementwise loops in any order: the innermost first once normalized.
struct loop_nest {
    int count;
    dimension loops[most_loops];

    // The loop next to the first, or one of one iteration.
    dimension rows() const { return count > 1 ? loops[1] : dimension{1, 0, 0, 0, 0}; }

    int64_t elements() const {
        int64_t product = 1;
        for (int i = 0; i < count; i++) {
            product *= loops[i].extent;
        }
        return product;
    }
};

// Counts through nested loops, the innermost first.
class loop_counter {
public:
    // `first`: the innermost of `count` loops that is counted; at most `most_loops` are.
    loop_counter(int first, int count) : first(first), count(count) {
        for (int i = 0; i < count - first; i++) {  // not an initializer, for which GCC 12 takes 30 cycles
            index[i] = 0;
        }
    }

    // Goes to the next iteration: calls move(i, steps) for each loop i that steps, or goes back to its beginning.
    // Returns false after the last one. extent(i) is a loop's.
    template<typename Extent, typename Move> bool next(Extent extent, Move move) {
        for (int i = first; i < count; i++) {
            if (++index[i - first] < extent(i)) {
                move(i, int64_t{1});
                return true;
            }
            index[i - first] = 0;
            move(i, 1 - extent(i));
        }
        return false;
    }

private:
    const int first, count;
    int64_t index[most_loops];
};

constexpr int64_t group = group_size;  // kernels take whole groups of elements along c
inline int64_t round_up(int64_t columns) { return (columns + group - 1) / group * group; }  // to whole groups
constexpr int64_t split_group = 32;  // elements whose halves QDQ_SPLIT_HALVES puts together

// How the scales of a call are stored, beyond their type and strides.
struct scale_storage {
    bool is_arranged;  // in a layout: their places count those of dense matrices in the order of rows
    qdq_scale_layout layout : 8;
    qdq_global_sense sense : 8;
    int64_t rows, columns;  // of a matrix
    const float *global;    // the tensor's own scale, at any address; NULL without a sense
};

// The part of a call that does not depend on the loops.
struct call {
    operation kind;
    bool multiply;              // quantize: x is multiplied
    bool reciprocal;            // quantize: by 1 / scale
    bool adds_before_rounding;  // quantize: the zero point is added before rounding
    bool adds_zero_point;       // dequantize: the zero point is added
    bool narrowed;              // quantize: the range is not the type's own
    bool nan_is_zero;           // quantize: the code of NaN is that of 0, which is not the lowest
    bool nontemporal;           // y is too large for the caches
    // A byte each: a dynamic plan has no room to spare.
    qdq_packing packing : 8;
    int8_t rounding;
    bool no_saturate;
    int8_t x_bits, y_bits;
    int32_t lowest, highest;
    qdq_dtype x_type, y_type, scale_type, zero_point_type;
    halide_type_t x_element, y_element;  // of kernels' buffers: packed codes are bytes
    const void *scale;
    const void *zero_point;  // NULL for none
    scale_storage stored;    // how `scale` holds its scales
    const qdq_target *target;
    int64_t block;                     // elements that share an operand in the block form
    const dispatch_parameters *tuned;  // of the processor's kernels
    union {
        const quantize_row *quantize;
        const dequantize_row *dequantize;
        const device_row *device;
    };

    bool quantizes() const { return kind == operation::quantize; }
    bool rounds_by_chance() const { return quantizes() && rounding == QDQ_STOCHASTIC; }
    const element_type &codes() const { return type_of(quantizes() ? y_type : x_type); }
    bool packs() const { return codes().is_packed(); }
    bool has_inverses() const { return quantizes() && (!multiply || reciprocal); }  // of operands
    int64_t codes_per_byte() const { return codes().codes_per_byte(); }

    // Elements that must stay together: those of a byte, or of the bytes that split their halves; 1 where nothing is
    // packed.
    int64_t packed_unit() const { return packs() && packing == QDQ_SPLIT_HALVES ? split_group : codes_per_byte(); }

    // Whether the zero point is added as an f32. Dequantize: an f32 operation applies a float one by definition, and
    // a short integer one exactly.
    bool adds_as_f32() const {
        return quantizes() ? adds_before_rounding
                           : type_of(zero_point_type).is_float() || (x_type != QDQ_I32 && zero_point_type != QDQ_I32);
    }
};

// The whole call as one kernel call, where no element need be moved: contiguous whole groups, few scales, little work.
// It makes a small run cost a few nanoseconds. Of one row, what is left after whole groups is computed with
// elements before it, or moved.
struct direct_call {
    static constexpr int32_t most_operands = 256;
    static constexpr uint8_t no_variant = UINT8_MAX;

    bool possible;
    uint8_t plain_variant;  // of f32 scales, and at most one zero point that becomes an f32; of others no_variant
    bool may_flush;         // subnormals, as cpu/fast_variants.h says
    kernel_form form;
    bool overlaps;  // two rows of one; y is not x
    uint8_t rest;   // elements that are moved, of a group
    uint8_t times;  // how many columns each operand is repeated for
    int16_t operands;
    halide_dimension_t x_shape[2], y_shape[2], operand_shape[1];

    bool plain() const { return plain_variant != no_variant; }
};

// How a plan's elements are reached.
enum class execution_path : uint8_t {
    device,      // by a device's kernels
    nest,        // its loop nest
    parts,       // regular nests, cut from ragged blocks while running
    tiles,       // boxes of its dimensions, whatever their strides, blocks and places within bytes
    stochastic,  // by its random bits, as qdq_stochastic_rounding runs it
    dense,       // by way of bytes with a code in each, as the target's qdq_dense_codes runs it
};

// Those of elements: of the first one, in the order of all that a seed gives.
struct random_numbers {
    uint64_t seed, offset;
};

constexpr uint64_t plan_mark = 0x31706c616e647171;  // tells a plan from memory that never was one

// What an opaque qdq_plan holds.
struct plan {
    uint64_t made;  // plan_mark
    call op;
    direct_call direct;
    int64_t elements;
    execution_path path;
    int64_t x_first, x_end, y_first, y_end;  // bytes touched, relative to the data pointers
    bool same_layout;                        // y may alias x exactly
    union {
        loop_nest nest;         // normalized; of that path
        random_numbers random;  // of stochastic rounding, on devices, too
    };
    int dimension_count;  // innermost first where it is tiles, as the caller gave them where it is stochastic
    blocked_dimension dimensions[most_dimensions];
    int32_t device_id;
    int64_t x_offset, y_offset, scale_offset, zero_point_offset;  // bytes; of a device's tensors
};
static_assert(std::is_trivially_copyable_v<plan>);
static_assert(sizeof(plan) <= sizeof(qdq_plan));

}  // namespace qdq::runtime

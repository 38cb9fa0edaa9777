// Scales and zero points as the kernels take them: f32 scales and their reciprocals, and 32-bit zero points that are an
// int32 or an f32's bits. A part of a call converts those it needs into buffers, so every operand type meets every
// kernel, and small kernel calls share one conversion.
#pragma once

#include "cpu/scale_abilities.h"
#include "plan/plan.h"
#include "variants.h"

namespace qdq::runtime {

constexpr int64_t spare_operands = 64;  // kernels that take operands by vectors read so many past the last

// Which operands: places in the caller's arrays, `count` of each.
struct operand_range {
    int64_t scale, scale_stride, zero_point, zero_point_stride;
    int64_t count;
};

// What kernels without a zero point are given, and most do not read.
const int32_t *no_zero_points();

// In memory of the caller's, but for scales that lie ready: f32, one after another, whole groups of them.
class operands {
public:
    // At most `room()` operands at a time fit into so many bytes, which begin at a cache line and which the arrays that
    // a call needs share. Scales that lie ready need none, and are taken as columns only.
    operands(const call &what, void *memory, int64_t bytes, bool scales_lie_ready = false);
    operands(const operands &) = delete;

    int64_t room() const { return most; }

    // The room that calls of the most arrays, of scales, inverses and zero points, have in so many bytes.
    static constexpr int64_t least_room(int64_t bytes) { return room_of_array(array_bytes(bytes, 3)); }

    const float *scale;
    const float *inverse;       // of scales that divide; else any memory, which no kernel reads
    const int32_t *zero_point;  // zeros without one
    bool flushes = false;       // whether subnormal numbers may be zeros, as flushes_subnormals says, for the kernels

    // Converts a range into places [first, first + count) of the buffers.
    void read(const operand_range &range, int64_t first);

    // The fastest kernel variant that is exact for the first `count` operands, which it completes for that variant.
    int32_t choose_variant(int64_t count);

    // Both, for a range from place 0 on.
    int32_t load(const operand_range &range);

    // The same for kernels that read no operand past the range: scales stay where they are, if they lie ready there.
    int32_t load_exactly(const operand_range &range);

    // The same, padded, for a range that is used as a kernel's columns.
    int32_t load_columns(const operand_range &range);

    // Puts every one of the first `count` operands `times` over, in order.
    void repeat(int64_t count, int64_t times);

    // Puts the first `count` operands over and over, one after another, up to so many places.
    void make_periodic(int64_t count, int64_t places);

    // Puts harmless operands after the first `count`.
    void pad(int64_t count);

private:
    const call &what;
    int64_t most;
    float *own_scale;         // NULL where scales lie ready
    float *own_inverse;       // NULL where nothing divides
    int32_t *own_zero_point;  // NULL without a zero point

    // Whole cache lines.
    static constexpr int64_t array_bytes(int64_t bytes, int64_t arrays) { return bytes / arrays / 64 * 64; }
    static constexpr int64_t room_of_array(int64_t bytes) {
        return (bytes / int64_t{sizeof(float)} - spare_operands) / group * group;
    }

    // Calls change(buffer, a harmless operand) for each that a call has, of scales of its own.
    template<typename Change> void for_each_buffer(Change change);

    void use_scales(const float *at);
    int32_t load_where_they_lie(const operand_range &range);
    void read_zero_points(const operand_range &range, int64_t first);
    int32_t choose_quantize(int64_t count);
    int32_t choose_dequantize(int64_t count);
};

// Whether scales so far from one another lie as kernels read them.
bool scales_lie_ready(const call &what, int64_t stride);

// Whether a variant exists in the column form alone.
bool needs_column(const call &what, int32_t variant);

// The variant of a call whose scales are fast and which has no zero point.
int32_t plain_variant(const call &what);

}  // namespace qdq::runtime

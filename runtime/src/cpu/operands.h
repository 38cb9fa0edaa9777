// Scales and zero points as the kernels take them: f32 scales and their reciprocals, and 32-bit zero points that are an
// int32 or an f32's bits. A part of a call converts those it needs into buffers, so every operand type meets every
// kernel, and small kernel calls share one conversion.
#pragma once

#include "cpu/kernel_call.h"

#include <algorithm>

namespace qdq::runtime {

// Which operands: places in the caller's arrays, `count` of each.
struct operand_range {
    int64_t scale, scale_stride, zero_point, zero_point_stride;
    int64_t count;
};

// What kernels without a zero point are given, and most do not read.
const int32_t *no_zero_points();

// In memory of the caller's, but for scales that lie ready: f32, one after another, whole groups of them.
class operands : public kernel_operands {
public:
    // What is kept of operands, whatever there is room for: half of an L1 cache (i8 to f32, blocks of 16: 0.15 ns an
    // element, 0.21 with 8192), which scales, inverses and zero points share (f32 to i8, rows of 12: 0.26, 0.37 with
    // 4096 of each).
    static constexpr int64_t most_of_one = 4096, most_of_several = 2112;

    // At most `room()` operands at a time fit into so many bytes, which begin at a cache line and which the arrays that
    // a call needs share. Scales that lie ready need none, and are taken as columns only.
    operands(const call &op, void *memory, int64_t bytes, bool scales_lie_ready = false);
    operands(const operands &) = delete;

    int64_t room() const { return most; }

    // Whether there is a zero point, and all operands that are loaded have the same.
    bool shares_zero_point() const { return zero_points == 1; }

    // The room that calls of the most arrays, of scales, inverses and zero points, have in so many bytes.
    static constexpr int64_t least_room(int64_t bytes) {
        return std::min(most_of_several, room_of_array(array_bytes(bytes, 3)));
    }

    bool flushes = false;  // whether subnormal numbers may be zeros, as abilities_of says, for the kernels

    // Loads a range, and returns the fastest kernel variant that is exact for it. `within`: the kernels read no operand
    // past the range, so that scales may stay where they are; else harmless operands follow.
    int32_t load(const operand_range &range, bool within);

    // The same for operands that come from several ranges: each into places [first, first + count), then all of them.
    void read(const operand_range &range, int64_t first);
    int32_t finish(int64_t count);

    // Puts each of so many loaded operands `times` over, in order; or all of them over and over, up to so many places.
    void repeat(int64_t count, int64_t times);
    void make_periodic(int64_t count, int64_t places);

private:
    const call &op;
    int64_t most;
    float *own_scale;         // NULL where scales lie ready
    float *own_inverse;       // NULL where there are none
    int32_t *own_zero_point;  // NULL without a zero point
    int64_t zero_points = 0;  // how many were read; 1: all are the same
    int64_t filled = 0;       // places that have that one, if it is `filled_with`, but for the first
    int32_t filled_with = 0;

    // Whole cache lines.
    static constexpr int64_t array_bytes(int64_t bytes, int64_t arrays) { return bytes / arrays / 64 * 64; }
    static constexpr int64_t room_of_array(int64_t bytes) {
        return (bytes / int64_t{sizeof(float)} - spare_operands) / group * group;
    }

    // Calls change(buffer, a harmless operand) for each that a call has, of scales of its own, but for a shared zero
    // point's.
    template<typename Change> void for_each_buffer(Change change);

    void use_scales(const float *at);
    void pad(int64_t count);
    void read_scales(const operand_range &range, int64_t first);

    void read_zero_points(const operand_range &range, int64_t first);
    // Where all have the same one, and the first place alone has it for sure: into so many places, and the spare ones.
    void repeat_zero_point(int64_t count);

    // For so many operands. It changes zero points to what that variant takes.
    int32_t choose_variant(int64_t count);
    int32_t choose_quantize(int64_t count);
    int32_t choose_dequantize(int64_t count);
};

// Whether scales so far from one another lie as kernels read them.
bool scales_lie_ready(const call &op, int64_t stride);

}  // namespace qdq::runtime

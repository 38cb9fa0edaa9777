// Dequantizes 4-bit codes by looking their results up: the 16 of an operand are computed in registers, and permutes
// find those of codes. A file for an instruction set says how, by a template with which it calls dequantize_4_bits:
// Results<Kernel, has_offset, of_two>(first, second) holds the results of an operand, or of two, each for half of the
// 32 codes that look_up(x, y) takes.
#pragma once

#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

constexpr int64_t codes_at_once = 32;

struct scale_and_offset {
    float scale, offset;
};

// The operands of a call.
template<bool has_offset> struct operands {
    const float *scale, *offset;

    scale_and_offset operator[](int64_t i) const { return {scale[i], has_offset ? offset[i] : 0}; }
};

template<int64_t result_bytes, typename Results>
[[gnu::always_inline]] inline void look_up_step(const Results &results, const char *x, char *y, int64_t step) {
    results.look_up(x + step * codes_at_once / 2, y + step * codes_at_once * result_bytes);
}

// Calls step(i) for each.
template<bool unrolls, typename Step> [[gnu::always_inline]] inline void for_each_step(int64_t steps, Step step) {
    if constexpr (unrolls) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < steps; i++) {
            step(i);
        }
    } else {
#pragma GCC unroll 1
        for (int64_t i = 0; i < steps; i++) {
            step(i);
        }
    }
}

template<typename Kernel, bool has_offset, template<typename, bool, bool> typename Results, bool unrolls>
void look_up(const dequantize_arguments &all) {
    constexpr int64_t result_bytes = Kernel::floats.bits / 8;
    using of_one = Results<Kernel, has_offset, false>;
    const operands<has_offset> with{floats_of(all.scale), floats_of(all.zero_point)};
    const int64_t steps = 2 * int64_t{all.x->dim[0].extent} / codes_at_once, operand_step = all.scale->dim[0].stride;
    const bool short_blocks = all.scale->dim[0].extent != steps;
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        if constexpr (!Kernel::is_block) {
            const scale_and_offset own = with[r * operand_step];
            const of_one results(own, own);
            for (int64_t i = 0; i < steps; i += 2) {  // a group
                look_up_step<result_bytes>(results, rows.x, rows.y, i);
                look_up_step<result_bytes>(results, rows.x, rows.y, i + 1);
            }
        } else if (!short_blocks) {
            for_each_step<unrolls>(
                steps, [&](int64_t i) { look_up_step<result_bytes>(of_one(with[i], with[i]), rows.x, rows.y, i); });
        } else {
            using of_two = Results<Kernel, has_offset, true>;
            for_each_step<unrolls>(steps, [&](int64_t i) {
                look_up_step<result_bytes>(of_two(with[2 * i], with[2 * i + 1]), rows.x, rows.y, i);
            });
        }
    }
}

template<typename Kernel, template<typename, bool, bool> typename Results, bool unrolls = true>
int dequantize_4_bits(const dequantize_arguments &all) {
    if (all.variant == int32_t(dequantize_variant::plain)) {
        look_up<Kernel, false, Results, unrolls>(all);
    } else if constexpr (Kernel::stored.is_integer()) {
        look_up<Kernel, true, Results, unrolls>(all);
    }
    return 0;
}

}  // namespace
}  // namespace qdq::kernels

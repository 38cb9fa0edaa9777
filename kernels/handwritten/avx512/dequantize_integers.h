// Dequantizes integers of 8 and 16 bits by blocks that are shorter than the generated kernel's: a permute repeats their
// operands. i8 to f32 by blocks of 8 takes 0.07 ns an element where operands are repeated in memory (Zen 5).
#include "handwritten/avx512/repeated_operands.h"
#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

// 16 codes as f32.
template<typename Kernel> [[gnu::always_inline]] inline __m512 values_at(const char *x) {
    constexpr bool is_signed = Kernel::stored.is_signed();
    if constexpr (Kernel::stored.bits == 8) {
        const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(x));
        return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(codes) : _mm512_cvtepu8_epi32(codes));
    } else {
        const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(x));
        return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi16_epi32(codes) : _mm512_cvtepu16_epi32(codes));
    }
}

template<typename Kernel, bool has_offset> void dequantize_blocks(const dequantize_arguments &all, int64_t block) {
    constexpr int64_t code_bytes = Kernel::stored.bits / 8;
    const int64_t columns = all.x->dim[0].extent;
    const float *const scale = floats_of(all.scale), *const offset = floats_of(all.zero_point);
    const operands_of_blocks<register_order::consecutive> of(block);
    rows_of_bytes rows(all.x, all.y);
    for (int64_t r = 0; r < rows.count; r++, rows.advance()) {
        char *y = rows.y;
        for (int64_t c = 0; c < columns; c += group_size) {
            const int64_t place = of.place_of(c);
            __m512 product[4];
#pragma GCC unroll 4
            for (int64_t i = 0; i < 4; i++) {
                __m512 value = values_at<Kernel>(rows.x + (c + i * lanes) * code_bytes);
                if constexpr (has_offset) {
                    value = _mm512_add_ps(value, of.of_register(offset + place, i));
                }
                product[i] = _mm512_mul_ps(value, of.of_register(scale + place, i));
            }
            y = store_products<Kernel>(y, product);
        }
    }
}

template<typename Kernel> int dequantize(const dequantize_arguments &all, qdq_dequantize_kernel *generated) {
    if (all.x->dim[0].extent >= Kernel::stored.block * all.scale->dim[0].extent) {
        return all.run(generated);
    }
    const int64_t block = all.x->dim[0].extent / all.scale->dim[0].extent;
    all.variant == int32_t(dequantize_variant::plain) ? dequantize_blocks<Kernel, false>(all, block)
                                                      : dequantize_blocks<Kernel, true>(all, block);
    return 0;
}

}  // namespace
}  // namespace qdq::kernels

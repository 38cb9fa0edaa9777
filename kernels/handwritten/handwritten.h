// What kernels that are written by hand share. They permute registers, which Halide 21 cannot express: its gathers read
// memory, and it splits calls of permuting instructions into one call for each lane. Each has the signature of the
// generated kernel whose place in the table it takes (manifest.cmake), and the same results bit for bit. It calls the
// generated kernel for what it does not compute itself. Stochastic rounding has one of its own: stochastic_row.h.
//
// A header of this folder is compiled for one kernel row of one target at a time. All that it and this header define is
// in unnamed namespaces: of several inline functions of one name the linker keeps one, and that could use instructions
// which this target lacks.
#pragma once

#include "HalideRuntime.h"
#include "element_types.h"
#include "forms.h"
#include "qdq/link/kernels.h"
#include "variants.h"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace qdq::kernels {
namespace {

// What a file is compiled for. `nontemporal`: stores bypass the caches, and every row of y begins at a cache line.
template<qdq_dtype float_type, qdq_dtype stored_type, form its_form, bool bypasses_caches> struct row_kernel {
    static constexpr element_type floats = type_of(float_type), stored = type_of(stored_type);
    static constexpr bool is_block = its_form == form::block, is_column = its_form == form::column;
    static constexpr bool nontemporal = bypasses_caches;
    using in_caches = row_kernel<float_type, stored_type, its_form, false>;
};

struct quantize_arguments {
    halide_buffer_t *x, *scale, *inverse, *zero_point;
    int32_t variant, before, rounding, lowest, highest, no_saturate;
    halide_buffer_t *y;

    int run(qdq_quantize_kernel *kernel) const {
        return kernel(x, scale, inverse, zero_point, variant, before, rounding, lowest, highest, no_saturate, y);
    }
};

struct dequantize_arguments {
    halide_buffer_t *x, *scale, *zero_point;
    int32_t variant, sign;
    halide_buffer_t *y;

    int run(qdq_dequantize_kernel *kernel) const { return kernel(x, scale, zero_point, variant, sign, y); }
};

// The rows of a call. The distances are copies: stores to y, of char, could change those in the buffers, for all that
// the compiler knows, which would read them again for each row.
struct rows_of_bytes {
    const char *x;
    char *y;
    const int64_t x_bytes, y_bytes;  // from one row to the next
    const int64_t count;

    rows_of_bytes(const halide_buffer_t *from, const halide_buffer_t *to)
        : x(reinterpret_cast<const char *>(from->host)),
          y(reinterpret_cast<char *>(to->host)),
          x_bytes(int64_t{from->dim[1].stride} * from->type.bits / 8),
          y_bytes(int64_t{to->dim[1].stride} * to->type.bits / 8),
          count(to->dim[1].extent) {}

    // How many rows of so many bytes may be computed side by side: where they overlap, the later one's elements stay.
    int64_t most_together(int64_t row_bytes, int64_t most) const { return y_bytes < row_bytes ? 1 : most; }

    void advance(int64_t rows = 1) {
        x += rows * x_bytes;
        y += rows * y_bytes;
    }
    template<typename Element> const Element *elements(int64_t row) const {
        return reinterpret_cast<const Element *>(x + row * x_bytes);
    }
    uint8_t *codes(int64_t row) const { return reinterpret_cast<uint8_t *>(y + row * y_bytes); }
};

// Of a quantize by blocks.
inline int64_t block_of(const quantize_arguments &all) { return all.x->dim[0].extent / all.scale->dim[0].extent; }

// How many bytes ahead a kernel fetches x, 0 for nothing. A call says so by what Halide leaves unused: rows whose
// scales are computed are fetched before their largest element is found. Otherwise kernels whose stores bypass the
// caches do.
constexpr int64_t fetch_distance_of(bool nontemporal) { return nontemporal ? 8192 : 0; }
inline int64_t fetch_distance_of(bool nontemporal, const halide_buffer_t *x) {
    const auto given = static_cast<int32_t>(x->dim[0].flags);
    return given == 0 ? fetch_distance_of(nontemporal) : given;
}

inline const float *floats_of(const halide_buffer_t *operand) { return reinterpret_cast<const float *>(operand->host); }

// The values of a type's first codes.
template<int64_t count> struct alignas(64) code_values {
    float of[count];
};
template<int64_t count> constexpr code_values<count> values_of(const element_type &type) {
    code_values<count> values{};
    for (int64_t code = 0; code < count; code++) {
        const int64_t integer = code > type.highest() ? code + 2 * type.lowest() : code;
        const float value = type.is_float() ? value_of(type.layout, uint32_t(code)) : float(integer);
        values.of[code] = value == value ? value : std::bit_cast<float>(0x7fc00000u);  // without its payload
    }
    return values;
}

}  // namespace
}  // namespace qdq::kernels

// Defines what takes the place of a generated kernel, whose header has been included: the row's file has a template
// quantize<row_kernel> or dequantize<row_kernel>.
#define QDQ_QUANTIZE_BY_HAND(name, generated, ...)                                                                    \
    extern "C" qdq_quantize_kernel name;                                                                              \
    int name(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *inverse, halide_buffer_t *zero_point,       \
             int32_t variant, int32_t before, int32_t rounding, int32_t lowest, int32_t highest, int32_t no_saturate, \
             halide_buffer_t *y) {                                                                                    \
        return qdq::kernels::quantize<qdq::kernels::row_kernel<__VA_ARGS__>>(                                         \
            {x, scale, inverse, zero_point, variant, before, rounding, lowest, highest, no_saturate, y}, generated);  \
    }
#define QDQ_DEQUANTIZE_BY_HAND(name, generated, ...)                                                                 \
    extern "C" qdq_dequantize_kernel name;                                                                           \
    int name(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *zero_point, int32_t variant, int32_t sign, \
             halide_buffer_t *y) {                                                                                   \
        return qdq::kernels::dequantize<qdq::kernels::row_kernel<__VA_ARGS__>>(                                      \
            {x, scale, zero_point, variant, sign, y}, generated);                                                    \
    }

// Results of small codes by looking them up. What a code becomes depends on its operand only: a kernel computes the
// results of an operand (form::table), and all codes that share it take theirs from registers. Halide 21 has no such
// lookup: its gathers read memory, and calls of permuting instructions are taken apart by lane.
#pragma once

#include <cstdint>

namespace qdq::runtime {

// Of 8-bit floats a table has results of codes without their sign, and the sign of a code is its result's too; but not
// of those between two that have the sign bit and are NaN.
struct nan_codes {
    uint8_t first, last;
    uint16_t result;
};

struct lookup_rows {
    const char *x = nullptr;  // packed codes, low nibble first, or 8-bit floats
    char *y = nullptr;
    const char *tables = nullptr;                      // of each row table_entries results; NULL for products
    const float *values = nullptr, *scales = nullptr;  // products: of the values of 16 codes and each row's scale
    int64_t x_bytes = 0, y_bytes = 0;                  // from one row to the next
    int64_t table_bytes = 0, scale_step = 0;           // the same; 0 where rows share one
    int64_t columns = 0, rows = 0;                     // columns: whole bytes of x, at least a step
    nan_codes negative_nan = {};                       // of 8-bit floats
    bool nontemporal = false;                          // only where y's rows are whole cache lines and whole steps

    void advance() {
        x += x_bytes;
        y += y_bytes;
        tables += table_bytes;
        scales += scale_step;
    }
};

using lookup_function = void (*)(const lookup_rows &all);

}  // namespace qdq::runtime

struct qdq_result_lookup {
    using function = qdq::runtime::lookup_function;

    static constexpr int64_t step(int32_t code_bits) { return code_bits == 4 ? 32 : 64; }  // columns at once

    function from_4_to_16_bits;
    function from_4_to_32_bits;
    function from_8_to_16_bits;  // NULL where a target has none, as all that follow

    // Of 4-bit codes whose results are products, which stay in registers: i4 in blocks of 32 becomes bf16 in 0.8 of the
    // time that tables in memory take. To bf16 the products are 0 or normal. Rows of half a step are taken two at a
    // time: an even number of them, end to end.
    function products_to_bf16;
    function products_to_f16;
    function products_to_f32;
};

namespace qdq::runtime {

using result_lookup = qdq_result_lookup;

// Tables of kernels name them, and may be in C.
extern "C" const result_lookup qdq_lookup_avx2, qdq_lookup_avx512, qdq_lookup_avx512_vbmi;

}  // namespace qdq::runtime

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
    const char *x;  // packed codes, low nibble first, or 8-bit floats
    char *y;
    const char *tables;                     // of each row table_entries results
    int64_t x_bytes, y_bytes, table_bytes;  // from one row to the next; no table_bytes where rows share one
    int64_t columns, rows;                  // columns: whole bytes of x, at least a step
    nan_codes negative_nan;                 // of 8-bit floats
    bool nontemporal;                       // only where y's rows are whole cache lines and whole steps
};

struct result_lookup {
    static constexpr int64_t step(int32_t code_bits) { return code_bits == 4 ? 32 : 64; }  // columns at once

    void (*from_4_to_16_bits)(lookup_rows all);
    void (*from_4_to_32_bits)(lookup_rows all);
    void (*from_8_to_16_bits)(lookup_rows all);  // NULL where a target has none
};

extern const result_lookup lookup_avx2, lookup_avx512, lookup_avx512_vbmi;

}  // namespace qdq::runtime

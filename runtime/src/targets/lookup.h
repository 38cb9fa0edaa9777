// Results of 4-bit codes by looking them up. What a code becomes depends on its operand only: a kernel computes the 16
// results of an operand (form::table), and all codes that share it take theirs from registers. Halide 21 has no such
// lookup: its gathers read memory, and calls of permuting instructions are taken apart by lane.
#pragma once

#include <cstdint>

namespace qdq::runtime {

struct lookup_rows {
    const char *x;  // packed codes, low nibble first
    char *y;
    const char *tables;                     // of each row 16 results
    int64_t x_bytes, y_bytes, table_bytes;  // from one row to the next; no table_bytes where rows share one
    int64_t columns, rows;                  // columns: even, at least result_lookup::columns
    bool nontemporal;                       // only where y's rows are whole cache lines and whole steps
};

struct result_lookup {
    static constexpr int64_t columns = 32;  // in one step

    void (*of_16_bits)(lookup_rows all);
    void (*of_32_bits)(lookup_rows all);
};

extern const result_lookup lookup_avx2, lookup_avx512;

}  // namespace qdq::runtime

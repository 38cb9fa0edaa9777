// Runs a loop nest: cuts it into planes, planes into areas whose operands fit a buffer, and areas into tiles where data
// must be moved before or after a kernel.
#pragma once

#include "cpu/kernel_call.h"
#include "plan/regions.h"
#include "cpu/operands.h"

namespace qdq::runtime {

class nest_runner {
public:
    nest_runner(const call &what, const void *x, void *y);

    void run(const loop_nest &nest, const offsets &at);

private:
    static constexpr int64_t tile_side = 64;      // moved tiles
    static constexpr int64_t most_staged = 1024;  // columns of a staged piece

    // A kernel's view of a part of a call, with its operands loaded.
    struct area {
        kernel_form form;
        int32_t variant;
        int64_t columns, rows;
        int64_t operand, operand_step;  // the first one, and 1, or 0 where rows share it
        int64_t x, y;                   // offsets in elements
        int64_t x_column, x_row, y_column, y_row;

        bool contiguous() const { return x_column == 1 && y_column == 1; }
    };

    // A staged piece of y on its way to memory.
    struct outgoing {
        char *to = nullptr;
        char *from;
        int64_t elements;
    };

    const call &what;
    const char *const x;
    char *const y;
    const bool reorders_x, reorders_y;  // packed, and not with the low nibble first
    operands loaded;
    alignas(64) char x_tile[tile_side * tile_side * 4];
    alignas(64) char y_tile[tile_side * tile_side * 4];

    void run_plane(const loop_nest &nest, const offsets &at);
    void run_columns(const dimension &c, const dimension &r, offsets at);
    void run_rows(const dimension &c, const dimension &r, offsets at);
    void run_one_operand(const dimension &c, const dimension &r, const offsets &at);
    void run_joined(const dimension &c, const dimension &r, offsets at, kernel_form form);
    void run_cycles(const dimension &c, const dimension &r, offsets at);
    void run_area(const area &a);
    void run_in_place(const area &a);
    void run_within_reach(const area &a);
    void run_moved(const area &a);
    void run_tile(const area &tile, kernel_caller &kernel);
    void fetch(const area &tile) const;
    area tile_of(const area &a, int64_t column, int64_t row) const;
    void run_staged(const area &a);
    int64_t first_staged(const area &a, int64_t row, int64_t most) const;
    const char *staged_x(const area &piece, int64_t columns_left);
    const char *ahead_of(const area &a, int64_t row, int64_t column, int64_t columns) const;
    void emit(const outgoing &piece) const;

    int32_t load(const operand_range &range);
    area area_of(kernel_form form, int32_t variant, int64_t operand_step, const dimension &c, int64_t columns,
                 const dimension &r, int64_t rows, const offsets &at) const;
    area part_of(const area &a, int64_t column, int64_t columns, int64_t row, int64_t rows) const;
};

}  // namespace qdq::runtime

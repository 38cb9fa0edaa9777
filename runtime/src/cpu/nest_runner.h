// Runs a loop nest of contiguous rows: cuts it into planes, and planes into areas whose operands fit a buffer.
#pragma once

#include "cpu/kernel_call.h"
#include "cpu/operands.h"
#include "plan/loops.h"
#include "plan/regions.h"

namespace qdq::runtime {

class nest_runner {
public:
    nest_runner(const call &op, const loop_nest &nest, const void *x, void *y);

    void run(const offsets &at);

private:
    static constexpr int64_t widest = 4;               // bytes of an element
    static constexpr int64_t most_codes_per_byte = 4;  // of 2 bits
    static constexpr int64_t tail_rows = 8;            // of a tile that holds what no group fits
    static constexpr int64_t few_rows = 64;            // at a time where a row has such a tail
    static constexpr int64_t memory_bytes = 36 << 10;  // of operands and tiles: most of QDQ_STACK_BYTES
    static constexpr int64_t y_piece_bytes = 2 * dispatch_parameters::most_piece_bytes;
    static_assert(tail_rows * group <= dispatch_parameters::most_piece_elements);
    static_assert(tail_rows * group * widest <= y_piece_bytes);
    // Of contiguous rows: what run_periodic and run_fused need.
    static constexpr int64_t least_room =
        operands::least_room(memory_bytes - dispatch_parameters::most_piece_elements * widest - y_piece_bytes);
    static_assert(longest_period / 2 + group <= least_room);
    static_assert(most_codes_per_byte * dispatch_parameters::most_fused_row <= least_room &&
                  most_codes_per_byte * dispatch_parameters::most_fused_nontemporal_row <= least_room &&
                  dispatch_parameters::most_fused_repeating_row <= least_room);

    // A kernel's view of a part of a call, with its operands loaded.
    struct area {
        kernel_form form;
        int32_t variant;
        int64_t columns, rows;
        int64_t operand, operand_step;  // the first one, and 1, or 0 where rows share it
        int64_t x, y;                   // offsets in elements
        int64_t x_row, y_row;
    };

    // A staged piece of y on its way to memory.
    struct outgoing {
        char *to = nullptr;
        char *from = nullptr;
        int64_t elements = 0;
    };

    const call &op;
    const loop_nest &nest;
    const char *const x;
    char *const y;
    const bool reorders_x, reorders_y;  // packed, and not with the low nibble first
    // The end of `memory` holds staged pieces of x and y, and what is left of rows. The rest is for operands.
    char *const x_tile, *const y_tile;
    operands loaded;
    alignas(64) char memory[memory_bytes];

    void run_plane(const offsets &at);
    void run_columns(const dimension &c, const dimension &r, offsets at);
    void run_rows(const dimension &c, const dimension &r, offsets at, int64_t columns);
    void run_one_operand(const dimension &c, const dimension &r, const offsets &at);
    bool overlaps_rows(const dimension &c) const;
    void run_overlapping(const dimension &c, const dimension &r, offsets at);
    void run_fused(const dimension &c, const dimension &r, offsets at, kernel_form form);
    void run_periodic(const dimension &c, const dimension &r, offsets at);
    void run_periodic_area(const area &a, int64_t period, int64_t most);
    void run_area(const area &a);
    void run_past_caches(const area &a);
    bool has_kernel_past_caches(const area &a) const;
    bool bypasses_caches(const area &a) const;
    int64_t unit_of(const area &a) const;
    int64_t columns_before_line(const area &a) const;
    bool splits_at_lines(const area &a) const;
    void run_from_lines(const area &a);
    void run_across_lines(const area &a);
    bool fetches(const area &a) const;
    void run_fetching(const area &a);
    void run_part(kernel_caller &kernel, const area &part) const;
    void run_in_place(const area &a, bool nontemporal);
    void run_within_reach(const area &a, bool nontemporal);
    void run_tails(const area &a, kernel_caller &kernel);
    void run_staged(const area &a);
    int64_t staged_columns(const area &a, int64_t row, int64_t column) const;
    int64_t first_staged(const area &a, int64_t row, int64_t most) const;
    const char *staged_x(const area &piece, int64_t columns_left);
    const char *ahead_of(const area &a, int64_t row, int64_t column, int64_t columns) const;
    void emit(const outgoing &piece) const;

    area area_of(kernel_form form, int32_t variant, int64_t operand_step, int64_t columns, const dimension &r,
                 int64_t rows, const offsets &at) const;
    area part_of(const area &a, int64_t column, int64_t columns, int64_t row, int64_t rows) const;
};

}  // namespace qdq::runtime

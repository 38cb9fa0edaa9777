// Runs calls by tiles: boxes of their dimensions, whose elements are gathered end to end, computed by one kernel call
// and scattered. Any strides, short rows, ragged blocks and packed codes that begin within bytes cost what moving does.
// Rows that are no whole groups may be padded in a tile, so that they share operands as those of whole groups do.
#pragma once

#include "cpu/kernel_call.h"
#include "cpu/movement.h"
#include "cpu/operands.h"
#include "plan/regions.h"

#include <optional>

namespace qdq::runtime {

// How a kernel takes a tile, and how many of its places share an operand. 0: all.
struct kernel_shape {
    kernel_form form;
    int64_t columns, rows, unit;
};

// A tile whose codes have been computed: rows of so many elements, padded to a pitch, end to end or as the kernel has
// them.
struct computed_tile {
    const call &op;
    const kernel_shape &kernel;
    const kernel_operands &with;
    int32_t variant;
    rows_of_x x, codes;
    int64_t extent, pitch, places;
    void *memory;  // for the visitor
};

// What looks at each tile before its codes are scattered, and before y is written where it is x.
struct tile_visitor {
    void (*visit)(void *context, const computed_tile &tile);
    void *context;
    int64_t memory_bytes;  // of those that tiles have, that it takes; whole cache lines
};

class tile_runner {
public:
    // `y` may be NULL where there is a visitor.
    tile_runner(const plan &p, const void *x, void *y, const tile_visitor *visitor = nullptr);

    void run(const interval *region);

private:
    static constexpr int64_t memory_bytes = 36 << 10;  // of operands and tiles: most of QDQ_STACK_BYTES
    static constexpr int64_t most_elements = 64 * group;
    static constexpr int64_t least_operands = 4 * group;  // that there is room for

    // A box of the dimensions.
    struct tile {
        interval box[most_dimensions];
        int64_t step[most_dimensions];  // from an element to the next, in places of the tile
        int64_t x, y, places;
    };

    // The blocks that a tile meets, and their operands among those that have been read.
    struct operand_box {
        int64_t blocks[most_dimensions];
        int64_t step[most_dimensions];  // from a block's operand to the next one's
        int64_t count;
        bool in_order;  // as their places are
    };

    const call &op;
    const blocked_dimension *const dimensions;
    const int count;
    const char *const x;
    char *const y;
    const tile_visitor *const visitor;
    const int64_t room;              // bytes
    const int64_t elements;          // of the tensors
    bool pads = false;               // rows to whole groups
    int64_t shape[most_dimensions];  // of whole tiles
    int walk[most_dimensions];       // dimensions, first those along which tiles have the same operands
    char *x_tile = nullptr, *y_tile = nullptr, *expanded = nullptr;
    int64_t array_bytes = 0;
    int64_t shared_places = 0;    // of `expanded`, that have one zero point
    std::optional<operands> few;  // one of each block that a tile meets
    kernel_operands many{};       // for the kernel
    kernel_shape kernel{};
    int32_t variant = 0;
    tile loaded{};  // whose operands these are
    alignas(64) char memory[memory_bytes];

    bool fits(int64_t most);
    int64_t choose_shape(int64_t most);
    int64_t blocks_met(int d) const;
    bool overlaps_rows(const interval *region) const;
    void run_overlapping(const tile &t);
    void run_tile(const tile &t);
    void gather(const tile &t);
    void scatter(const tile &t);
    int64_t row_places(int64_t columns) const;
    void load_operands(const tile &t);
    bool loaded_before(const tile &t) const;
    operand_box read_operands(const tile &t);
    kernel_shape shape_of(const tile &t, const operand_box &box) const;
    bool expands_one_row() const;
    int64_t places_of(const tile &t) const;  // of operands
    const int32_t *share_zero_point(void *memory, int64_t places);
    void expand(const tile &t, const operand_box &box);
    void call_kernel(const tile &t, rows_of_x from, rows_of_y to);
    std::optional<int64_t> pitch_in_place(const tile &t, int64_t dimension::*stride, bool is_moved) const;
    int move_loops(const tile &t, int64_t dimension::*stride, bool gathers, move_loop *loops) const;
};

}  // namespace qdq::runtime

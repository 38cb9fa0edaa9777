// Runs a loop nest by tiles: boxes of its loops, whose elements are gathered end to end, computed by one kernel call
// and scattered. Strides, short rows and operands that vary along many loops cost what moving does.
#pragma once

#include "cpu/kernel_call.h"
#include "cpu/movement.h"
#include "cpu/operands.h"
#include "plan/regions.h"

#include <optional>

namespace qdq::runtime {

// Whether a nest runs by tiles, and not by rows where they lie.
bool runs_by_tiles(const call &op, const loop_nest &nest);

class tile_runner {
public:
    tile_runner(const call &op, const loop_nest &nest, const void *x, void *y);

    void run(const offsets &at);

private:
    static constexpr int64_t memory_bytes = 36 << 10;  // of operands and tiles: most of QDQ_STACK_BYTES
    static constexpr int64_t most_elements = 64 * group;
    static constexpr int64_t least_operands = 4 * group;  // that there is room for, and for spare ones

    // A box of the nest's loops, and how a kernel takes it: its first loop as columns, or all of it.
    struct tile {
        offsets at;
        int64_t extents[most_loops], elements;
    };
    struct kernel_shape {
        kernel_form form;
        int64_t columns, rows;
        int64_t operands;  // of the first loop
    };

    const call &op;
    const loop_nest &nest;
    const char *const x;
    char *const y;
    const bool reorders_x, reorders_y;  // packed, and not with the low nibble first
    int64_t shape[most_loops];          // of whole tiles
    char *x_tile = nullptr, *y_tile = nullptr;
    int64_t few_bytes = 0, array_bytes = 0;
    std::optional<operands> few;  // of each step of the loops along which they vary
    kernel_operands many{};       // for the kernel
    kernel_shape kernel{};
    int32_t variant = 0;
    tile loaded{};  // whose operands these are
    alignas(64) char memory[memory_bytes];

    int64_t capacity() const;
    void choose_shape();
    void run_tile(const tile &t);
    void load_operands(const tile &t);
    bool loaded_before(const tile &t) const;
    kernel_shape shape_of(const tile &t) const;
    void read_operands(const tile &t);
    void expand(const tile &t);
    void call_kernel(const rows_of_x &from, const rows_of_y &to);
    std::optional<int64_t> pitch_in_place(const tile &t, int64_t dimension::*stride, bool reorders) const;
    int move_loops(const tile &t, int64_t dimension::*stride, bool gathers, move_loop *loops) const;
};

}  // namespace qdq::runtime

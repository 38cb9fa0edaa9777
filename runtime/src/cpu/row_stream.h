// Codes of rows, while elements that come next are on their way into the caches: memory does not wait for
// arithmetic then. Where arithmetic would wait for memory, codes go past the caches: [4096, 4096] f32 to i8 by rows
// takes 3.9 ms, and 4.9 otherwise; bf16 to e4m3, which goes through them, 3.2 and 3.6 (Xeon). What is fetched goes into
// the L1 cache: the first takes 2.1 ms so, and 2.4 by way of the L2 cache (Zen 5).
#pragma once

#include "cpu/operands.h"
#include "plan/loops.h"
#include "plan/regions.h"

namespace qdq::runtime {

class row_stream {
public:
    // Whether a plan's results are too large for the caches, and are rows of codes of a byte or less, each with
    // operands: long ones, or whole groups, or blocks of a kernel, that lie end to end.
    static bool takes(const plan &quantize);

    // Of x, so many bytes at a time: what has been fetched is in the L2 cache at least, and what comes next has room.
    // What is left may be twice as many.
    static int64_t bytes_of(const plan &quantize, const void *y);

    // Whether they are to bypass the caches, or to be on their way in them.
    static bool bypasses_caches(const plan &quantize, const void *y);

    // Of a plan that it takes, with the operands' addresses.
    row_stream(const plan &quantize, const void *x, void *y);
    row_stream(const row_stream &) = delete;

    // So many rows from there on. As many after them are fetched meanwhile. False where their operands ask for more
    // than kernels of rows do: they are to be computed another way then.
    bool run(const offsets &at, int64_t rows);

private:
    static constexpr int64_t shortest_row = 1024;  // of those that lie apart
    static constexpr int64_t bytes_of_pieces = int64_t{1} << 15, bytes_of_kernel = int64_t{1} << 17;
    static constexpr int64_t piece_in_caches = 2048;  // elements: 4 KiB are fetched at once
    static constexpr int64_t least_element = 2;       // bytes
    static constexpr int64_t shortest_block = 16;     // elements
    static constexpr int64_t most_operands = 2 * bytes_of_pieces / (shortest_block * least_element);
    static constexpr int64_t operand_bytes = 3 * (most_operands + 2 * spare_operands) * int64_t{sizeof(float)};
    static_assert(operands::least_room(operand_bytes) >= most_operands);

    struct piece {
        char *to = nullptr;
        const char *from = nullptr;
        int64_t codes = 0;
    };

    const call &op;
    const dimension &c, &r;
    const char *const x;
    char *const y;
    operands loaded;
    piece leaving;
    int own = 0;
    alignas(64) char codes[2][dispatch_parameters::most_piece_bytes];  // of a piece, and of the one before
    alignas(64) char memory[operand_bytes];

    // Where pieces begin, in elements, how far ahead is fetched, their first operand, and how many elements have one: 0
    // where it is a row's.
    struct first_piece {
        int64_t x, y, distance, operand, block;
    };

    static bool are_blocks(const call &op, const dimension &c, const dimension &r);
    // How rows become codes: by one kernel call, which fetches what comes next, or by pieces.
    enum class way { past_caches, through_caches, pieces };
    static way way_of(const plan &quantize, const void *y);
    static way way_of(const call &op, kernel_form form, const void *y, int64_t columns, int64_t pitch, int64_t rows);
    bool run_kernel(kernel_form form, int32_t variant, const offsets &at, int64_t columns, int64_t rows, int64_t ahead);
    void run_rows(kernel_caller &kernel, const offsets &at, int64_t rows);
    void run_pieces(kernel_caller &kernel, const first_piece &at, int64_t all_columns, int64_t rows);
    int64_t most_columns() const;
    int64_t columns_past_line(const char *to, int64_t block) const;
    void emit(const piece &leaving) const;
};

}  // namespace qdq::runtime

#include "cpu/operand_rows.h"

#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"
#include "cpu/operands.h"
#include "plan/loops.h"
#include "support/types.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

// Of scales, inverses and zero points.
constexpr int64_t operand_bytes = 3 * (most_operands_of_rows + 2 * spare_operands) * int64_t{sizeof(float)};
static_assert(operands::least_room(operand_bytes) >= most_operands_of_rows);

// Whether rows are blocks that lie end to end, several of them in a group.
bool is_of_blocks(const operand_rows &part) {
    return part.rows > 1 && part.columns % group != 0 && part.from.pitch == part.columns;
}

class row_runner {
public:
    row_runner(const call &op, const operand_rows &part, void *results, void *memory)
        : loaded(op, memory, operand_bytes),
          op(op),
          part(part),
          pitch(pitch_of_results(part)),
          results(static_cast<char *>(results)) {}
    row_runner(const row_runner &) = delete;

    void run() {
        const kernel_form form = part.along_columns   ? kernel_form::column
                                 : is_of_blocks(part) ? kernel_form::block
                                                      : kernel_form::row;
        const int64_t count = part.along_columns ? part.columns : part.rows;
        const int32_t variant = loaded.load({0, 1, 0, 1, count}, false);
        const float_environment environment(loaded.flushes);
        const bool has_block = form != kernel_form::block || dividing_block(op, part.columns) == part.columns;
        if (needs_column(op, form, variant) ? form != kernel_form::column : !has_block) {
            run_by_elements();
        } else if (form == kernel_form::block) {
            call blocks = op;
            blocks.block = part.columns;
            kernel_caller(blocks, form, false, variant, 1)
                .run(loaded, part.from, {results, 0}, round_up(part.columns * part.rows), 1);
        } else {
            kernel_caller(op, form, false, variant, 1)
                .run(loaded, part.from, {results, pitch}, round_up(part.columns), part.rows);
        }
    }

private:
    operands loaded;
    const call &op;
    const operand_rows &part;
    const int64_t pitch;
    char *const results;

    // An operand for each element: what only the column form has.
    void run_by_elements() {
        const int64_t rows = is_of_blocks(part) ? most_operands_of_rows / part.columns : 1;
        for (int64_t row = 0; row < part.rows; row += rows) {
            for (int64_t column = 0; column < part.columns; column += most_operands_of_rows) {
                const int64_t some = std::min(most_operands_of_rows, part.columns - column);
                const int64_t count = std::min(rows, part.rows - row);
                const int32_t variant = loaded.load({row, 1, row, 1, count}, false);
                loaded.repeat(count, some);
                const auto *const from = static_cast<const char *>(part.from.data);
                kernel_caller(op, kernel_form::column, false, variant, 1)
                    .run(loaded, {address(from, row * part.from.pitch + column, op.x_bits), 0},
                         {address(results, row * pitch + column, op.y_bits), 0}, round_up(some * count), 1);
            }
        }
    }
};

}  // namespace

call with_own_operands(const call &op, const float *scales, const int32_t *zero_points) {
    call own = op;
    own.nontemporal = false;
    own.packing = QDQ_LOW_FIRST;
    own.stored = {};
    own.rounding = op.rounding == QDQ_STOCHASTIC ? int8_t(QDQ_NEAREST_EVEN) : op.rounding;
    own.scale = scales;
    own.scale_type = QDQ_F32;
    own.zero_point = zero_points;
    own.zero_point_type = QDQ_I32;
    return own;
}

call decoding_of(const call &quantize, const dequantize_row *kernels) {
    call op = quantize;
    op.kind = operation::dequantize;
    op.dequantize = kernels;
    op.multiply = true;
    op.reciprocal = op.adds_before_rounding = op.adds_zero_point = op.nan_is_zero = false;
    op.x_type = quantize.y_type;
    op.x_bits = quantize.y_bits;
    op.x_element = quantize.y_element;
    op.y_type = QDQ_F32;
    op.y_bits = type_of(QDQ_F32).bits;
    op.y_element = halide_types[QDQ_F32];
    return op;
}

int64_t pitch_of_results(const operand_rows &part) {
    return is_of_blocks(part) ? part.columns : round_up(part.columns);
}

void run_rows(const call &op, const operand_rows &part, void *results) {
    alignas(64) char memory[operand_bytes];
    row_runner(op, part, results, memory).run();
}

}  // namespace qdq::runtime

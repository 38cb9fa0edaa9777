#include "cpu/computed_rows.h"

#include "cpu/fast_variants.h"
#include "cpu/movement.h"

namespace qdq::runtime {

namespace {

using row_visit = void(void *context, const computed_rows &rows);

computed_rows rows_of(const computed_tile &tile) {
    const bool along_columns = tile.kernel.unit > 0 && tile.kernel.form == kernel_form::column;
    const bool has_floats = tile.op.adds_as_f32() || !needs_column(tile.op, kernel_form::row, tile.variant);
    return {tile.x,
            tile.codes,
            tile.extent,
            tile.kernel.rows,
            along_columns,
            tile.kernel.unit > 0 ? 1 : 0,
            multiplies_by_reciprocals(tile.op, tile.variant) ? tile.with.inverse : tile.with.scale,
            tile.with.zero_point,
            has_floats};
}

// Elements that lie end to end: those that share an operand are a row.
void visit_consecutive(const computed_tile &tile, int64_t place, int64_t count, row_visit *visit, void *context) {
    const int64_t unit = tile.kernel.unit <= 1 ? count : tile.kernel.unit, rest = count % unit;
    const auto visit_rows = [&](int64_t first, int64_t columns, int64_t rows) {
        computed_rows some = rows_of(tile);
        const int64_t operand = tile.kernel.unit > 0 ? first / tile.kernel.unit : 0;
        some.x = {address(static_cast<const char *>(tile.x.data), first, tile.op.x_bits), columns};
        some.codes = {address(static_cast<const char *>(tile.codes.data), first, tile.op.y_bits), columns};
        some.columns = columns;
        some.rows = rows;
        some.scale += operand;
        some.zero_point += operand;
        visit(context, some);
    };
    if (count >= unit) {
        visit_rows(place, unit, count / unit);
    }
    if (rest > 0) {
        visit_rows(place + count - rest, rest, 1);
    }
}

}  // namespace

computed_rows computed_rows::from(const call &op, int64_t row, int64_t column) const {
    computed_rows part = *this;
    const auto move = [&](rows_of_x &all, int64_t bits) {
        all.data = address(static_cast<const char *>(all.data), row * all.pitch + column, bits);
    };
    move(part.x, op.x_bits);
    move(part.codes, op.y_bits);
    const int64_t operand = (along_columns ? column : row) * operand_step;
    part.scale += operand;
    part.zero_point += operand;
    return part;
}

// Rows of a kernel, or rows that are padded, are visited as such; all others end to end.
void for_each_rows(const computed_tile &tile, row_visit *visit, void *context) {
    if (tile.kernel.rows > 1) {
        visit(context, rows_of(tile));
    } else if (tile.pitch == tile.extent) {
        visit_consecutive(tile, 0, tile.places, visit, context);
    } else {
        for (int64_t place = 0; place < tile.places; place += tile.pitch) {
            visit_consecutive(tile, place, tile.extent, visit, context);
        }
    }
}

}  // namespace qdq::runtime

#include "cpu/kernel_call.h"

#include "cpu/kernel_buffer.h"
#include "cpu/movement.h"
#include "cpu/nan_codes.h"

#include <algorithm>
#include <bit>

namespace qdq::runtime {

namespace {

int64_t operand_count(const call &what, kernel_form form, int64_t columns, int64_t rows) {
    switch (form) {
    case kernel_form::row: return rows;
    case kernel_form::column: return columns;
    default: return columns / what.block;
    }
}

// Halide takes its inputs as non-const, and does not change them.
halide_buffer_t *input(const halide_buffer_t &buffer) { return const_cast<halide_buffer_t *>(&buffer); }

}  // namespace

void call_kernel(const call &what, kernel_form form, bool nontemporal, int32_t variant, const halide_buffer_t &x,
                 const halide_buffer_t &scale, const halide_buffer_t &inverse, const halide_buffer_t &zero_point,
                 halide_buffer_t &y) {
    if (what.quantizes()) {
        const auto &kernels = nontemporal ? what.quantize->nontemporal : what.quantize->forms;
        kernels[int(form)](input(x), input(scale), input(inverse), input(zero_point), variant, what.before,
                           what.rounding, what.lowest, what.highest, what.no_saturate || what.nan_is_zero, &y);
    } else {
        const auto &kernels = nontemporal ? what.dequantize->nontemporal : what.dequantize->forms;
        kernels[int(form)](input(x), input(scale), input(zero_point), variant, what.add ? 1 : -1, &y);
    }
}

kernel_caller::kernel_caller(const call &what, kernel_form form, bool nontemporal, int32_t variant,
                             int64_t operand_step)
    : what(what), form(form), nontemporal(nontemporal), variant(variant), operand_step(operand_step) {
    set_buffer(x, nullptr, halide_type(what.x_type), 2, x_shape);
    set_buffer(scale, nullptr, scale_type, 1, operand_shape);
    set_buffer(inverse, nullptr, scale_type, 1, operand_shape);
    set_buffer(zero_point, nullptr, zero_point_type, 1, operand_shape);
    set_buffer(y, nullptr, halide_type(what.y_type), 2, y_shape);
    x_shape[0].stride = y_shape[0].stride = 1;
    operand_shape[0].stride = int32_t(operand_step);
}

void kernel_caller::run_kernel(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to,
                               int64_t columns, int64_t rows) {
    auto bytes_at = [=](const auto *values) {
        return reinterpret_cast<uint8_t *>(
            const_cast<std::remove_const_t<std::remove_pointer_t<decltype(values)>> *>(values + first_operand));
    };
    x.host = static_cast<uint8_t *>(const_cast<void *>(from.data));
    y.host = static_cast<uint8_t *>(to.data);
    scale.host = bytes_at(loaded.scale);
    inverse.host = bytes_at(loaded.inverse);
    zero_point.host = bytes_at(loaded.zero_point);
    x_shape[0].extent = buffer_extent(what.x_bits, columns);
    y_shape[0].extent = buffer_extent(what.y_bits, columns);
    x_shape[1].extent = y_shape[1].extent = int32_t(rows);
    x_shape[1].stride = row_stride(what.x_bits, from.pitch, rows);
    y_shape[1].stride = row_stride(what.y_bits, to.pitch, rows);
    operand_shape[0].extent = int32_t(operand_count(what, form, columns, rows));
    call_kernel(what, form, nontemporal, variant, x, scale, inverse, zero_point, y);
}

// A few rows, or parts of one, at a time.
void kernel_caller::run_and_code_nan(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to,
                                     int64_t columns, int64_t rows) {
    constexpr int64_t in_cache = 4096;  // elements, of which a kernel call costs little
    const int64_t most = tells_nan(what) ? in_cache : nan_places::most;
    const int64_t most_columns = std::min(columns, most), most_rows = most / most_columns;
    for (int64_t row = 0; row < rows; row += most_rows) {
        for (int64_t column = 0; column < columns; column += most_columns) {
            const int64_t operand = form == kernel_form::row      ? row * operand_step
                                    : form == kernel_form::column ? column
                                                                  : column / what.block;
            const char *const x_data = static_cast<const char *>(from.data);
            char *const y_data = static_cast<char *>(to.data);
            run_part_and_code_nan(loaded, first_operand + operand,
                                  {address(x_data, row * from.pitch + column, what.x_bits), from.pitch},
                                  {address(y_data, row * to.pitch + column, what.y_bits), to.pitch},
                                  std::min(most_columns, columns - column), std::min(most_rows, rows - row));
        }
    }
}

// Where y may be x, the kernel runs after x has been looked at.
void kernel_caller::run_part_and_code_nan(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to,
                                          int64_t columns, int64_t rows) {
    if (tells_nan(what)) {
        run_kernel(loaded, first_operand, from, to, columns, rows);
        code_nan(what, from, to, columns, rows);
        return;
    }
    nan_places nan(what);
    for (int64_t row = 0; row < rows; row++) {
        const char *const x_data = static_cast<const char *>(from.data);
        nan.find(address(x_data, row * from.pitch, what.x_bits), columns, row * columns);
    }
    run_kernel(loaded, first_operand, from, to, columns, rows);
    for (int64_t row = 0; row < rows; row++) {
        char *const y_data = static_cast<char *>(to.data);
        nan.put_codes(row * columns, columns, address(y_data, row * to.pitch, what.y_bits));
    }
}

void kernel_caller::run(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to, int64_t columns,
                        int64_t rows) {
    const bool codes_nan = what.nan_is_zero && !needs_column(what, variant);
    if (codes_nan) {
        run_and_code_nan(loaded, first_operand, from, to, columns, rows);
    } else {
        run_kernel(loaded, first_operand, from, to, columns, rows);
    }
}

void call_transpose(const target &on, int64_t element_bytes, rows_of_x x, rows_of_y y) {
    const halide_type_t type{halide_type_uint, static_cast<uint8_t>(8 * element_bytes), 1};
    const halide_dimension_t x_shape[2] = {{0, group, 1}, {0, group, int32_t(x.pitch)}};
    const halide_dimension_t y_shape[2] = {{0, group, 1}, {0, group, int32_t(y.pitch)}};
    halide_buffer_t from, to;
    set_buffer(from, x.data, type, 2, x_shape);
    set_buffer(to, y.data, type, 2, y_shape);
    on.transpose[std::countr_zero(static_cast<uint64_t>(element_bytes))](&from, &to);
}

void call_bytes(bytes_kernel *kernel, const void *x, void *y, int64_t bytes) {
    const halide_dimension_t shape[1] = {{0, int32_t(bytes), 1}};
    halide_buffer_t from, to;
    set_buffer(from, x, {halide_type_uint, 8, 1}, 1, shape);
    set_buffer(to, y, {halide_type_uint, 8, 1}, 1, shape);
    kernel(&from, &to);
}

}  // namespace qdq::runtime

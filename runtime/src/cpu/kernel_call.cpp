#include "cpu/kernel_call.h"

#include "cpu/cache_lines.h"
#include "cpu/fast_variants.h"
#include "cpu/movement.h"
#include "cpu/nan_codes.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace qdq::runtime {

namespace {

int64_t operand_count(const call &op, kernel_form form, int64_t columns, int64_t rows) {
    switch (form) {
    case kernel_form::row: return rows;
    case kernel_form::column: return columns;
    default: return columns / op.block;
    }
}

uint8_t *host(const void *data) { return static_cast<uint8_t *>(const_cast<void *>(data)); }

}  // namespace

bool begin_at_lines(const call &op, const void *y, int64_t columns, int64_t pitch, int64_t rows) {
    const int64_t distance = rows > 1 ? pitch * op.y_bits / 8 : 0;
    return columns % group == 0 && reinterpret_cast<uintptr_t>(y) % line == 0 && distance % line == 0;
}

int64_t rows_of_lines(const call &op, int64_t pitch) {
    const int64_t codes = std::max(group, line * 8 / op.y_bits);
    return codes / std::gcd(codes, pitch);
}

void call_kernel(const call &op, kernel_form form, bool nontemporal, int32_t variant, kernel_buffers &all) {
    if (op.quantizes()) {
        const auto &kernels = nontemporal ? op.quantize->nontemporal : op.quantize->forms;
        kernels[int(form)](&all.x, &all.scale, &all.inverse, &all.zero_point, variant, op.adds_before_rounding,
                           op.rounding, op.lowest, op.highest, op.no_saturate || op.nan_is_zero, &all.y);
    } else {
        const auto &kernels = nontemporal ? op.dequantize->nontemporal : op.dequantize->forms;
        kernels[int(form)](&all.x, &all.scale, &all.zero_point, variant, op.adds_zero_point ? 1 : -1, &all.y);
    }
}

kernel_caller::kernel_caller(const call &op, kernel_form form, bool nontemporal, int32_t variant, int64_t operand_step)
    : op(op),
      form(form),
      nontemporal(nontemporal),
      variant(variant),
      operand_step(operand_step),
      all(op, nullptr, {}, nullptr, x_shape, operand_shape, y_shape) {
    x_shape[0].stride = y_shape[0].stride = 1;
    x_shape[0].flags = 0;
    operand_shape[0].stride = int32_t(operand_step);
}

void kernel_caller::fetch_ahead(int64_t bytes) {
    const auto near = static_cast<int32_t>(bytes);
    x_shape[0].flags = near == bytes ? static_cast<uint32_t>(near) : 0;
}

void kernel_caller::run_kernel(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns,
                               int64_t rows) {
    all.x.host = host(from.data);
    all.y.host = host(to.data);
    all.scale.host = host(with.scale);
    all.inverse.host = host(with.inverse);
    all.zero_point.host = host(with.zero_point);
    x_shape[0].extent = buffer_extent(op.x_bits, columns);
    y_shape[0].extent = buffer_extent(op.y_bits, columns);
    x_shape[1].extent = y_shape[1].extent = int32_t(rows);
    x_shape[1].stride = row_stride(op.x_bits, from.pitch, rows);
    y_shape[1].stride = row_stride(op.y_bits, to.pitch, rows);
    operand_shape[0].extent = int32_t(operand_count(op, form, columns, rows));
    call_kernel(op, form, nontemporal, variant, all);
}

// A few rows, or parts of one, at a time.
void kernel_caller::run_and_code_nan(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns,
                                     int64_t rows) {
    constexpr int64_t in_cache = 4096;  // elements, of which a kernel call costs little
    const int64_t most = tells_nan(op) ? in_cache : nan_places::most;
    const int64_t most_columns = std::min(columns, most), most_rows = most / most_columns;
    for (int64_t row = 0; row < rows; row += most_rows) {
        for (int64_t column = 0; column < columns; column += most_columns) {
            const int64_t operand = form == kernel_form::row      ? row * operand_step
                                    : form == kernel_form::column ? column
                                                                  : column / op.block;
            const char *const x_data = static_cast<const char *>(from.data);
            char *const y_data = static_cast<char *>(to.data);
            run_part_and_code_nan(with.from(operand),
                                  {address(x_data, row * from.pitch + column, op.x_bits), from.pitch},
                                  {address(y_data, row * to.pitch + column, op.y_bits), to.pitch},
                                  std::min(most_columns, columns - column), std::min(most_rows, rows - row));
        }
    }
}

// Where y may be x, the kernel runs after x has been looked at.
void kernel_caller::run_part_and_code_nan(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns,
                                          int64_t rows) {
    if (tells_nan(op)) {
        run_kernel(with, from, to, columns, rows);
        code_nan(op, from, to, columns, rows);
        return;
    }
    nan_places nan(op);
    for (int64_t row = 0; row < rows; row++) {
        const char *const x_data = static_cast<const char *>(from.data);
        nan.find(address(x_data, row * from.pitch, op.x_bits), columns, row * columns);
    }
    run_kernel(with, from, to, columns, rows);
    for (int64_t row = 0; row < rows; row++) {
        char *const y_data = static_cast<char *>(to.data);
        nan.put_codes(row * columns, columns, address(y_data, row * to.pitch, op.y_bits));
    }
}

void kernel_caller::run(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns, int64_t rows) {
    const bool codes_nan = op.nan_is_zero && !needs_column(op, form, variant);
    if (codes_nan) {
        run_and_code_nan(with, from, to, columns, rows);
    } else {
        run_kernel(with, from, to, columns, rows);
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

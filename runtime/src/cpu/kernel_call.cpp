#include "cpu/kernel_call.h"

#include "support/types.h"

#include <bit>
#include <cstring>

namespace qdq::runtime {

namespace {

// Of an element of a kernel's buffer: packed codes are bytes.
halide_type_t halide_type(qdq_dtype dtype) {
    switch (dtype) {
    case QDQ_F32: return {halide_type_float, 32, 1};
    case QDQ_F16: return {halide_type_float, 16, 1};
    case QDQ_BF16: return {halide_type_bfloat, 16, 1};
    case QDQ_I8:
    case QDQ_I16:
    case QDQ_I32: return {halide_type_int, static_cast<uint8_t>(type_of(dtype).bits), 1};
    default: return {halide_type_uint, static_cast<uint8_t>(std::max(type_of(dtype).bits, 8)), 1};
    }
}

// The elements of a kernel's buffer that hold so many elements of a tensor.
int32_t buffer_extent(int32_t bits, int64_t elements) { return int32_t(bits < 8 ? elements * bits / 8 : elements); }

// One row may be as far from the next as it likes.
int32_t row_stride(int32_t bits, int64_t pitch, int64_t rows) { return rows == 1 ? 0 : buffer_extent(bits, pitch); }

// Everything but the dimensions, which must outlive the buffer.
void set_buffer(halide_buffer_t &buffer, const void *data, halide_type_t type, int count,
                const halide_dimension_t *shape) {
    buffer.device = 0;
    buffer.device_interface = nullptr;
    buffer.host = static_cast<uint8_t *>(const_cast<void *>(data));
    buffer.flags = 0;
    buffer.type = type;
    buffer.dimensions = count;
    buffer.dim = const_cast<halide_dimension_t *>(shape);
    buffer.padding = nullptr;
}

int64_t operand_count(const call &what, kernel_form form, int64_t columns, int64_t rows) {
    switch (form) {
    case kernel_form::row: return rows;
    case kernel_form::column: return columns;
    case kernel_form::table: return columns / table_entries;
    default: return columns / what.block();
    }
}

constexpr halide_type_t scale_type{halide_type_float, 32, 1}, zero_point_type{halide_type_int, 32, 1};

// A halide_dimension_t of one element, as a constant that needs no initialization at run time.
const halide_dimension_t *one_operand() {
    static constexpr int32_t fields[4] = {0, 1, 0, 0};  // min, extent, stride, flags
    static_assert(sizeof(halide_dimension_t) == sizeof(fields));
    return reinterpret_cast<const halide_dimension_t *>(fields);
}

// Halide takes its inputs as non-const, and does not change them.
halide_buffer_t *input(const halide_buffer_t &buffer) { return const_cast<halide_buffer_t *>(&buffer); }

void call_kernel(const call &what, kernel_form form, int32_t variant, const halide_buffer_t &x,
                 const halide_buffer_t &scale, const halide_buffer_t &inverse, const halide_buffer_t &zero_point,
                 halide_buffer_t &y) {
    if (what.quantizes()) {
        what.quantize->forms[int(form)](input(x), input(scale), input(inverse), input(zero_point), variant, what.before,
                                        what.rounding, what.lowest, what.highest, what.no_saturate, &y);
    } else {
        what.dequantize->forms[int(form)](input(x), input(scale), input(zero_point), variant, what.add ? 1 : -1, &y);
    }
}

}  // namespace

kernel_caller::kernel_caller(const call &what, kernel_form form, int32_t variant, int64_t operand_step)
    : what(what), form(form), variant(variant) {
    set_buffer(x, nullptr, halide_type(what.x_type), 2, x_shape);
    set_buffer(scale, nullptr, scale_type, 1, operand_shape);
    set_buffer(inverse, nullptr, scale_type, 1, operand_shape);
    set_buffer(zero_point, nullptr, zero_point_type, 1, operand_shape);
    set_buffer(y, nullptr, halide_type(what.y_type), 2, y_shape);
    x_shape[0].stride = y_shape[0].stride = 1;
    operand_shape[0].stride = int32_t(operand_step);
}

void kernel_caller::run(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to, int64_t columns,
                        int64_t rows) {
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
    call_kernel(what, form, variant, x, scale, inverse, zero_point, y);
}

void set_direct_call(const call &what, int64_t columns, direct_call &direct) {
    direct.plain = what.scale_type == QDQ_F32 && !what.reciprocal && !what.zero_point &&
                   what.rounding == QDQ_NEAREST_EVEN && !what.no_saturate;
    direct.plain_variant = plain_variant(what);
    direct.fast_scale = fast_scale(what);
    direct.x_type = halide_type(what.x_type);
    direct.y_type = halide_type(what.y_type);
    direct.x_shape[0] = {0, buffer_extent(what.x_bits, columns), 1, 0};
    direct.y_shape[0] = {0, buffer_extent(what.y_bits, columns), 1, 0};
    direct.x_shape[1] = direct.y_shape[1] = {0, 1, 0, 0};
}

namespace {

struct one_operand_value {
    float scale, inverse;
    int32_t zero_point, variant;
};

// Out of line, as most direct calls do not need its buffer.
[[gnu::noinline]] one_operand_value converted_operand(const call &what) {
    alignas(64) char memory[3 * sizeof(float) * 2 * spare_operands];
    operands loaded(what, memory, sizeof(memory));
    const int32_t variant = loaded.load({0, 0, 0, 0, 1});
    return {loaded.scale[0], loaded.inverse[0], loaded.zero_point[0], variant};
}

}  // namespace

bool call_directly(const plan &p, const void *x, void *y) {
    const call &what = p.what;
    const direct_call &d = p.direct;
    one_operand_value operand;
    if (d.plain) {
        float scale;
        std::memcpy(&scale, what.scale, sizeof(scale));
        if (!d.fast_scale.contains(std::bit_cast<uint32_t>(scale))) {
            return false;
        }
        operand = {scale, 1 / scale, 0, d.plain_variant};
    } else {
        operand = converted_operand(what);
        if (needs_column(what, operand.variant)) {
            return false;
        }
    }
    halide_buffer_t x_buffer, scale_buffer, inverse_buffer, zero_point_buffer, y_buffer;
    set_buffer(x_buffer, x, d.x_type, 2, d.x_shape);
    set_buffer(scale_buffer, &operand.scale, scale_type, 1, one_operand());
    set_buffer(inverse_buffer, &operand.inverse, scale_type, 1, one_operand());
    set_buffer(zero_point_buffer, &operand.zero_point, zero_point_type, 1, one_operand());
    set_buffer(y_buffer, y, d.y_type, 2, d.y_shape);
    call_kernel(what, kernel_form::row, operand.variant, x_buffer, scale_buffer, inverse_buffer, zero_point_buffer,
                y_buffer);
    return true;
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

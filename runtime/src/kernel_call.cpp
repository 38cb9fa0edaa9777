#include "kernel_call.h"

#include "dtype.h"

#include <bit>
#include <cstring>

namespace qdq {

halide_type_t halide_type(qdq_dtype dtype) {
    const uint8_t bits = static_cast<uint8_t>(8 * byte_size(dtype));
    switch (dtype) {
    case QDQ_F32:
    case QDQ_F16:
        return {halide_type_float, bits, 1};
    case QDQ_BF16:
        return {halide_type_bfloat, bits, 1};
    case QDQ_I8:
    case QDQ_I16:
    case QDQ_I32:
        return {halide_type_int, bits, 1};
    default:
        return {halide_type_uint, bits, 1};
    }
}

namespace {

// Everything but the dimensions, which must outlive the buffer.
void set_buffer(halide_buffer_t &buffer, const void *data, halide_type_t type, int count, const halide_dimension_t *shape) {
    buffer.device = 0;
    buffer.device_interface = nullptr;
    buffer.host = static_cast<uint8_t *>(const_cast<void *>(data));
    buffer.flags = 0;
    buffer.type = type;
    buffer.dimensions = count;
    buffer.dim = const_cast<halide_dimension_t *>(shape);
    buffer.padding = nullptr;
}

int64_t operand_count(kernel_form form, int64_t columns, int64_t rows) {
    switch (form) {
    case kernel_form::row:
        return rows;
    case kernel_form::column:
        return columns;
    case kernel_form::block16:
        return columns / 16;
    default:
        return columns / 32;
    }
}

constexpr halide_type_t scale_type{halide_type_float, 32, 1}, zero_point_type{halide_type_int, 32, 1};
constexpr int32_t no_zero_point = 0;

// A halide_dimension_t of one element, as a constant that needs no initialization at run time.
const halide_dimension_t *one_operand() {
    static constexpr int32_t fields[4] = {0, 1, 0, 0};  // min, extent, stride, flags
    static_assert(sizeof(halide_dimension_t) == sizeof(fields));
    return reinterpret_cast<const halide_dimension_t *>(fields);
}

template<typename Kernel>
Kernel *kernel_of(const kernel_forms<Kernel> &forms, kernel_form form) {
    switch (form) {
    case kernel_form::row:
        return forms.row;
    case kernel_form::column:
        return forms.column;
    case kernel_form::block16:
        return forms.block16;
    default:
        return forms.block32;
    }
}

// Halide takes its inputs as non-const, and does not change them.
void call_form(const call &what, kernel_form form, const halide_buffer_t &x, const halide_buffer_t &scale,
               const halide_buffer_t &zero_point, int32_t variant, halide_buffer_t &y) {
    halide_buffer_t *in[] = {const_cast<halide_buffer_t *>(&x), const_cast<halide_buffer_t *>(&scale),
                             const_cast<halide_buffer_t *>(&zero_point)};
    if (what.op == operation::quantize) {
        kernel_of(*what.quantize, form)(in[0], in[1], in[2], variant, what.before, what.rounding, what.lowest,
                                        what.highest, what.no_saturate, &y);
    } else {
        kernel_of(*what.dequantize, form)(in[0], in[1], in[2], variant, what.add ? 1 : -1, &y);
    }
}

}  // namespace

kernel_caller::kernel_caller(const call &what, kernel_form form, int64_t operand_step) : what(what), form(form) {
    set_buffer(x, nullptr, halide_type(what.x_type), 2, x_shape);
    set_buffer(scale, nullptr, scale_type, 1, operand_shape);
    set_buffer(zero_point, nullptr, zero_point_type, 1, operand_shape);
    set_buffer(y, nullptr, halide_type(what.y_type), 2, y_shape);
    x_shape[0].stride = y_shape[0].stride = 1;
    operand_shape[0].stride = int32_t(operand_step);
}

void kernel_caller::run(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to, int64_t columns,
                        int64_t rows) {
    x.host = static_cast<uint8_t *>(const_cast<void *>(from.data));
    y.host = static_cast<uint8_t *>(to.data);
    scale.host = reinterpret_cast<uint8_t *>(const_cast<float *>(loaded.scale + first_operand));
    zero_point.host = reinterpret_cast<uint8_t *>(const_cast<int32_t *>(loaded.zero_point + first_operand));
    x_shape[0].extent = y_shape[0].extent = int32_t(columns);
    x_shape[1].extent = y_shape[1].extent = int32_t(rows);
    x_shape[1].stride = int32_t(from.pitch);
    y_shape[1].stride = int32_t(to.pitch);
    operand_shape[0].extent = int32_t(operand_count(form, columns, rows));
    call_form(what, form, x, scale, zero_point, loaded.variant, y);
}

void prepare_direct_call(const call &what, int64_t columns, direct_call &direct) {
    const plain_variants variants = variants_without_zero_point(what);
    direct.plain = what.scale_type == QDQ_F32 && !what.reciprocal && !what.zero_point;
    direct.variant_within = variants.within;
    direct.variant_outside = variants.outside;
    direct.fast_scale = fast_scale(what);
    set_buffer(direct.scale, what.scale, scale_type, 1, one_operand());
    set_buffer(direct.zero_point, &no_zero_point, zero_point_type, 1, one_operand());
    direct.x_type = halide_type(what.x_type);
    direct.y_type = halide_type(what.y_type);
    direct.shape[0] = {0, int32_t(columns), 1, 0};
    direct.shape[1] = {0, 1, 0, 0};
}

void call_directly(const plan &p, const void *x, void *y) {
    const call &what = p.what;
    const direct_call &d = p.direct;
    halide_buffer_t x_buffer, y_buffer;
    set_buffer(x_buffer, x, d.x_type, 2, d.shape);
    set_buffer(y_buffer, y, d.y_type, 2, d.shape);
    if (d.plain) {
        uint32_t bits;
        std::memcpy(&bits, what.scale, sizeof(bits));
        const int32_t variant = d.fast_scale.contains(bits) ? d.variant_within : d.variant_outside;
        call_form(what, kernel_form::row, x_buffer, d.scale, d.zero_point, variant, y_buffer);
        return;
    }
    float scale;
    int32_t zero_point;
    const int32_t variant = load_operands(what, {0, 0, 0, 0, 1}, &scale, &zero_point);
    halide_buffer_t scale_buffer, zero_point_buffer;
    set_buffer(scale_buffer, &scale, scale_type, 1, one_operand());
    set_buffer(zero_point_buffer, &zero_point, zero_point_type, 1, one_operand());
    call_form(what, kernel_form::row, x_buffer, scale_buffer, zero_point_buffer, variant, y_buffer);
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

void call_bytes(bytes_kernel *kernel, const void *x, void *y, int64_t x_bytes, int64_t y_bytes) {
    const halide_dimension_t x_shape[1] = {{0, int32_t(x_bytes), 1}}, y_shape[1] = {{0, int32_t(y_bytes), 1}};
    halide_buffer_t from, to;
    set_buffer(from, x, {halide_type_uint, 8, 1}, 1, x_shape);
    set_buffer(to, y, {halide_type_uint, 8, 1}, 1, y_shape);
    kernel(&from, &to);
}

}  // namespace qdq

#include "kernel_call.h"

#include "dtype.h"

#include <bit>
#include <cstring>

namespace qdq {

halide_type_t halide_type(qdq_dtype dtype) {
    const uint8_t bits = static_cast<uint8_t>(info(dtype).bits);
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

// A halide_buffer_t over memory owned elsewhere.
struct view {
    halide_buffer_t buffer;
    halide_dimension_t dimensions[2];

    view(const void *data, halide_type_t type, int count, int64_t extent0, int64_t stride0, int64_t extent1 = 0,
         int64_t stride1 = 0)
        : dimensions{{0, int32_t(extent0), int32_t(stride0), 0}, {0, int32_t(extent1), int32_t(stride1), 0}} {
        set_buffer(buffer, data, type, count, dimensions);
    }
    view(const view &) = delete;
};

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

void call_kernel(const call &what, kernel_form form, const operands &loaded, int64_t first_operand,
                 int64_t operand_step, rows_of_x x, rows_of_y y, int64_t columns, int64_t rows) {
    const int64_t count = operand_count(form, columns, rows);
    view x_view(x.data, halide_type(what.x_type), 2, columns, 1, rows, x.pitch);
    view scale_view(loaded.scale + first_operand, scale_type, 1, count, operand_step);
    view zero_point_view(loaded.zero_point + first_operand, zero_point_type, 1, count, operand_step);
    view y_view(y.data, halide_type(what.y_type), 2, columns, 1, rows, y.pitch);
    call_form(what, form, x_view.buffer, scale_view.buffer, zero_point_view.buffer, loaded.variant, y_view.buffer);
}

void prepare_direct_call(const call &what, int64_t columns, direct_call &direct) {
    const plain_variants variants = variants_without_zero_point(what);
    const bit_range fast = fast_scale(what);
    direct.plain = what.scale_type == QDQ_F32 && !what.zero_point;
    direct.variant_within = variants.within;
    direct.variant_outside = variants.outside;
    direct.first_fast_scale = fast.first;
    direct.last_fast_scale = fast.last;
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
        const bool fast = bits - d.first_fast_scale <= d.last_fast_scale - d.first_fast_scale;
        call_form(what, kernel_form::row, x_buffer, d.scale, d.zero_point, fast ? d.variant_within : d.variant_outside, y_buffer);
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
    view x_view(x.data, type, 2, group, 1, group, x.pitch);
    view y_view(y.data, type, 2, group, 1, group, y.pitch);
    on.transpose[std::countr_zero(static_cast<uint64_t>(element_bytes))](&x_view.buffer, &y_view.buffer);
}

}  // namespace qdq

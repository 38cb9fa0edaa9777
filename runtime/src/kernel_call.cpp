#include "kernel_call.h"

#include "dtype.h"

#include <bit>

namespace qdq {

namespace {

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

// A halide_buffer_t over memory owned elsewhere.
struct view {
    halide_buffer_t buffer{};
    halide_dimension_t dimensions[2];

    view(const void *data, halide_type_t type, int count, int64_t extent0, int64_t stride0, int64_t extent1 = 0,
         int64_t stride1 = 0)
        : dimensions{{0, int32_t(extent0), int32_t(stride0), 0}, {0, int32_t(extent1), int32_t(stride1), 0}} {
        buffer.host = static_cast<uint8_t *>(const_cast<void *>(data));
        buffer.type = type;
        buffer.dimensions = count;
        buffer.dim = dimensions;
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

}  // namespace

void call_kernel(const call &what, kernel_form form, const operands &loaded, int64_t first_operand,
                 int64_t operand_step, rows_of_x x, rows_of_y y, int64_t columns, int64_t rows) {
    const int64_t count = operand_count(form, columns, rows);
    view x_view(x.data, halide_type(what.x_type), 2, columns, 1, rows, x.pitch);
    view scale_view(loaded.scale + first_operand, {halide_type_float, 32, 1}, 1, count, operand_step);
    view zero_point_view(loaded.zero_point + first_operand, {halide_type_int, 32, 1}, 1, count, operand_step);
    view y_view(y.data, halide_type(what.y_type), 2, columns, 1, rows, y.pitch);
    if (what.op == operation::quantize) {
        kernel_of(*what.quantize, form)(&x_view.buffer, &scale_view.buffer, &zero_point_view.buffer, loaded.variant,
                                        what.before, what.rounding, what.lowest, what.highest, what.no_saturate,
                                        &y_view.buffer);
    } else {
        kernel_of(*what.dequantize, form)(&x_view.buffer, &scale_view.buffer, &zero_point_view.buffer, loaded.variant,
                                          what.add ? 1 : -1, &y_view.buffer);
    }
}

void call_transpose(const target &on, int64_t element_bytes, rows_of_x x, rows_of_y y) {
    const halide_type_t type{halide_type_uint, static_cast<uint8_t>(8 * element_bytes), 1};
    view x_view(x.data, type, 2, group, 1, group, x.pitch);
    view y_view(y.data, type, 2, group, 1, group, y.pitch);
    on.transpose[std::countr_zero(static_cast<uint64_t>(element_bytes))](&x_view.buffer, &y_view.buffer);
}

}  // namespace qdq

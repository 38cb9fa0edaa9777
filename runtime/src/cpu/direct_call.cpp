#include "cpu/direct_call.h"

#include "cpu/float_environment.h"
#include "cpu/kernel_buffer.h"
#include "cpu/kernel_call.h"
#include "cpu/nan_codes.h"
#include "plan/loops.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

// A nest as a kernel sees it. No columns: not as one call.
struct direct_view {
    kernel_form form;
    int64_t columns, rows, operands;
};

direct_view view_of(const call &what, const dimension &c, const dimension &r) {
    if (c.varies()) {
        return r.varies() ? direct_view{} : direct_view{kernel_form::column, c.extent, r.extent, c.extent};
    }
    if (c.extent == what.block && r.varies() && r.x == c.extent && r.y == c.extent) {
        return {kernel_form::block, c.extent * r.extent, 1, r.extent};
    }
    return {kernel_form::row, c.extent, r.extent, r.varies() ? r.extent : 1};
}

// An f32 scale that is used as it is, and no zero point.
bool is_plain(const call &what) {
    const bool is_fast = what.rounding == QDQ_NEAREST_EVEN && !what.no_saturate;
    return what.scale_type == QDQ_F32 && !what.reciprocal && !what.zero_point && is_fast;
}

bool fits_kernel(const direct_view &v, const dimension &r) {
    return v.columns % group == 0 && v.columns <= reach && v.rows <= std::min(rows_in_reach(r.x), rows_in_reach(r.y));
}

}  // namespace

void set_direct_call(const call &what, const loop_nest &nest, direct_call &direct) {
    const dimension &c = nest.loops[0], r = nest.rows();
    direct.plain = is_plain(what);
    const direct_view v = view_of(what, c, r);
    const bool in_order = !what.packs() || what.packing == QDQ_LOW_FIRST;
    direct.possible = (!what.nan_is_zero || tells_nan(what)) && nest.count <= 2 && c.x == 1 && c.y == 1 && in_order &&
                      v.columns > 0 && fits_kernel(v, r) &&
                      (v.operands == 1 || (direct.plain && v.operands <= direct_call::most_operands &&
                                           scales_lie_ready(what, c.varies() ? c.scale : r.scale)));
    if (!direct.possible) {
        return;
    }
    direct.form = v.form;
    direct.plain_variant = plain_variant(what);
    direct.x_type = halide_type(what.x_type);
    direct.y_type = halide_type(what.y_type);
    direct.x_shape[0] = {0, buffer_extent(what.x_bits, v.columns), 1, 0};
    direct.y_shape[0] = {0, buffer_extent(what.y_bits, v.columns), 1, 0};
    direct.x_shape[1] = {0, int32_t(v.rows), row_stride(what.x_bits, r.x, v.rows), 0};
    direct.y_shape[1] = {0, int32_t(v.rows), row_stride(what.y_bits, r.y, v.rows), 0};
    direct.operand_shape[0] = {0, int32_t(v.operands), v.operands > 1 || v.rows == 1, 0};
}

namespace {

struct direct_operands {
    const float *scale;
    const int32_t *zero_point;
    int32_t variant;
    bool flushes;
    float one_scale;
    int32_t one_zero_point;
    float inverse[direct_call::most_operands];
};

// Out of line, as most direct calls do not need its buffer.
[[gnu::noinline]] bool convert_one_operand(const call &what, direct_operands &converted) {
    alignas(64) char memory[3 * sizeof(float) * 2 * spare_operands];
    operands loaded(what, memory, sizeof(memory));
    converted.variant = loaded.load({0, 0, 0, 0, 1});
    converted.flushes = loaded.flushes;
    converted.one_scale = loaded.scale[0];
    converted.inverse[0] = loaded.inverse[0];
    converted.one_zero_point = loaded.zero_point[0];
    converted.scale = &converted.one_scale;
    converted.zero_point = &converted.one_zero_point;
    return !needs_column(what, converted.variant);
}

bool use_plain_scales(const call &what, const direct_call &d, direct_operands &plain) {
    const int32_t count = d.operand_shape[0].extent;
    plain.scale = static_cast<const float *>(what.scale);
    if (count == 1) {  // its address may be any
        std::memcpy(&plain.one_scale, what.scale, sizeof(float));
        plain.scale = &plain.one_scale;
    }
    plain.zero_point = no_zero_points();
    plain.variant = d.plain_variant;
    if (what.quantizes() && !what.multiply) {
        for (int32_t i = 0; i < count; i++) {
            plain.inverse[i] = 1 / plain.scale[i];
        }
    }
    const scale_abilities scales = abilities_of(what, plain.scale, count);
    plain.flushes = scales.flushes;
    return scales.fast;
}

}  // namespace

bool call_directly(const plan &p, const void *x, void *y) {
    const call &what = p.what;
    const direct_call &d = p.direct;
    direct_operands own;
    if (!(d.plain ? use_plain_scales(what, d, own) : convert_one_operand(what, own))) {
        return false;
    }
    halide_buffer_t x_buffer, scale_buffer, inverse_buffer, zero_point_buffer, y_buffer;
    set_buffer(x_buffer, x, d.x_type, 2, d.x_shape);
    set_buffer(scale_buffer, own.scale, scale_type, 1, d.operand_shape);
    set_buffer(inverse_buffer, own.inverse, scale_type, 1, d.operand_shape);
    set_buffer(zero_point_buffer, own.zero_point, zero_point_type, 1, d.operand_shape);
    set_buffer(y_buffer, y, d.y_type, 2, d.y_shape);
    const flushing_float_environment environment(own.flushes);
    call_kernel(what, d.form, false, own.variant, x_buffer, scale_buffer, inverse_buffer, zero_point_buffer, y_buffer);
    if (what.nan_is_zero) {
        code_nan(what, {x, d.x_shape[1].stride}, {y, d.y_shape[1].stride}, d.x_shape[0].extent, d.x_shape[1].extent);
    }
    return true;
}

}  // namespace qdq::runtime

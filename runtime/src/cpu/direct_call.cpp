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

// Rows of a lookup are of any length, and any distance apart.
direct_view view_of_lookup(const dimension &c, const dimension &r) {
    return {kernel_form::table, c.extent, r.extent, r.varies() ? r.extent : 1};
}

bool fits_kernel(const direct_view &v, const dimension &r) {
    return v.columns % group == 0 && v.columns <= reach && v.rows <= std::min(rows_in_reach(r.x), rows_in_reach(r.y));
}

// Whole groups of tables, or one: as many operands as one call reads. i4 to bf16, 64 elements: 37 ns so, 17 computed.
bool worth_tables(const call &what, const dimension &c, const dimension &r) {
    constexpr int64_t shortest = 512;
    const int64_t tables = r.varies() ? r.extent : 1;
    return c.extent * r.extent >= shortest && tables * table_bytes(what) <= direct_call::tables_bytes &&
           (tables == 1 || tables * table_entries(what.x_bits) % group == 0);
}

}  // namespace

void set_direct_call(const call &what, const loop_nest &nest, direct_call &direct) {
    const dimension &c = nest.loops[0], r = nest.rows();
    direct.plain = is_plain(what);
    direct.looks_up = direct.plain && looks_up(what, c, r) && (products_of(what) || worth_tables(what, c, r)) &&
                      !(looks_up_pairs(what, c, r) && r.extent % 2 != 0);
    const direct_view v = direct.looks_up ? view_of_lookup(c, r) : view_of(what, c, r);
    const bool in_order = !what.packs() || what.packing == QDQ_LOW_FIRST;
    direct.possible = (!what.nan_is_zero || tells_nan(what)) && nest.count <= 2 && c.x == 1 && c.y == 1 && in_order &&
                      v.columns > 0 && (direct.looks_up || fits_kernel(v, r)) &&
                      (v.operands == 1 || (direct.plain && v.operands <= direct_call::most_operands &&
                                           scales_lie_ready(what, c.varies() ? c.scale : r.scale)));
    if (!direct.possible) {
        return;
    }
    direct.form = v.form;
    direct.plain_variant = plain_variant(what);
    direct.fast_scale = fast_scale(what);
    direct.x_type = halide_type(what.x_type);
    direct.y_type = halide_type(what.y_type);
    direct.x_shape[0] = {0, buffer_extent(what.x_bits, v.columns), 1, 0};
    direct.y_shape[0] = {0, buffer_extent(what.y_bits, v.columns), 1, 0};
    direct.x_shape[1] = {0, int32_t(v.rows), row_stride(what.x_bits, r.x, v.rows), 0};
    direct.y_shape[1] = {0, int32_t(v.rows), row_stride(what.y_bits, r.y, v.rows), 0};
    direct.operand_shape[0] = {0, int32_t(v.operands), v.operands > 1 || v.rows == 1, 0};
}

namespace {

constexpr int64_t tables_of_a_group = group / table_entries(4);

struct direct_operands {
    const float *scale;
    const int32_t *zero_point;
    int32_t variant;
    float one_scale[tables_of_a_group];
    int32_t one_zero_point;
    float inverse[direct_call::most_operands];
};

// Out of line, as most direct calls do not need its buffer.
[[gnu::noinline]] bool convert_one_operand(const call &what, direct_operands &converted) {
    alignas(64) char memory[3 * sizeof(float) * 2 * spare_operands];
    operands loaded(what, memory, sizeof(memory));
    converted.variant = loaded.load({0, 0, 0, 0, 1});
    converted.one_scale[0] = loaded.scale[0];
    converted.inverse[0] = loaded.inverse[0];
    converted.one_zero_point = loaded.zero_point[0];
    converted.scale = converted.one_scale;
    converted.zero_point = &converted.one_zero_point;
    return !needs_column(what, converted.variant);
}

bool use_plain_scales(const call &what, const direct_call &d, direct_operands &plain) {
    const int32_t count = d.operand_shape[0].extent;
    plain.scale = static_cast<const float *>(what.scale);
    if (count == 1) {  // its address may be any
        std::memcpy(plain.one_scale, what.scale, sizeof(float));
        std::fill(plain.one_scale + 1, std::end(plain.one_scale), plain.one_scale[0]);
        plain.scale = plain.one_scale;
    }
    plain.zero_point = no_zero_points();
    plain.variant = d.plain_variant;
    if (what.quantizes() && !what.multiply) {
        for (int32_t i = 0; i < count; i++) {
            plain.inverse[i] = 1 / plain.scale[i];
        }
    }
    return all_within(plain.scale, count, d.fast_scale);
}

// Out of line for its memory.
[[gnu::noinline]] void look_up_tables(const call &what, const direct_operands &own, const dimension &r,
                                      lookup_rows all) {
    alignas(64) char memory[direct_call::tables_bytes];
    const int64_t tables = r.varies() ? r.extent : 1;
    compute_tables(what, own.variant, own.scale, own.zero_point, tables, memory);
    take_tables(what, r, memory, all);
    lookup_of(what)(all);
}

void look_up_directly(const plan &p, const direct_operands &own, const void *x, void *y) {
    const call &what = p.what;
    const dimension &c = p.nest.loops[0], r = p.nest.rows();
    lookup_rows all = rows_to_look_up(what, c, r, static_cast<const char *>(x), static_cast<char *>(y));
    if (const lookup_function products = products_of(what)) {
        take_products(what, r, own.scale, all);
        products(all);
    } else {
        look_up_tables(what, own, r, all);
    }
}

}  // namespace

bool call_directly(const plan &p, const void *x, void *y) {
    const call &what = p.what;
    const direct_call &d = p.direct;
    direct_operands own;
    if (!(d.plain ? use_plain_scales(what, d, own) : convert_one_operand(what, own))) {
        return false;
    }
    if (d.looks_up) {
        look_up_directly(p, own, x, y);
        return true;
    }
    halide_buffer_t x_buffer, scale_buffer, inverse_buffer, zero_point_buffer, y_buffer;
    set_buffer(x_buffer, x, d.x_type, 2, d.x_shape);
    set_buffer(scale_buffer, own.scale, scale_type, 1, d.operand_shape);
    set_buffer(inverse_buffer, own.inverse, scale_type, 1, d.operand_shape);
    set_buffer(zero_point_buffer, own.zero_point, zero_point_type, 1, d.operand_shape);
    set_buffer(y_buffer, y, d.y_type, 2, d.y_shape);
    const flushing_float_environment environment(flushes_subnormals(what, own.scale, d.operand_shape[0].extent));
    call_kernel(what, d.form, own.variant, x_buffer, scale_buffer, inverse_buffer, zero_point_buffer, y_buffer);
    if (what.nan_is_zero) {
        code_nan(what, {x, d.x_shape[1].stride}, {y, d.y_shape[1].stride}, d.x_shape[0].extent, d.x_shape[1].extent);
    }
    return true;
}

}  // namespace qdq::runtime

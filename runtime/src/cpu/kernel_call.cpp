#include "cpu/kernel_call.h"

#include "plan/loops.h"
#include "support/types.h"
#include "variants.h"

#include <algorithm>
#include <array>
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
    default: return columns / what.block;
    }
}

constexpr halide_type_t scale_type{halide_type_float, 32, 1}, zero_point_type{halide_type_int, 32, 1};

// Halide takes its inputs as non-const, and does not change them.
halide_buffer_t *input(const halide_buffer_t &buffer) { return const_cast<halide_buffer_t *>(&buffer); }

void encode(const call &what, kernel_form form, const halide_buffer_t &x, const halide_buffer_t &scale,
            const halide_buffer_t &inverse, const halide_buffer_t &y) {
    const bool in_blocks = form == kernel_form::block;
    what.encode({reinterpret_cast<const uint16_t *>(x.host), y.host, reinterpret_cast<const float *>(scale.host),
                 reinterpret_cast<const float *>(inverse.host), scale.dim[0].stride, in_blocks ? what.block : 0,
                 x.dim[1].stride, y.dim[1].stride, x.dim[0].extent, x.dim[1].extent, what.multiply});
}

void call_kernel(const call &what, kernel_form form, int32_t variant, const halide_buffer_t &x,
                 const halide_buffer_t &scale, const halide_buffer_t &inverse, const halide_buffer_t &zero_point,
                 halide_buffer_t &y) {
    if (what.encode && form != kernel_form::column) {
        encode(what, form, x, scale, inverse, y);
    } else if (what.quantizes()) {
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

lookup_function lookup_of(const call &what) {
    const result_lookup &lookup = *what.on->lookup;
    return what.x_bits == 8    ? lookup.from_8_to_16_bits
           : what.y_bits == 16 ? lookup.from_4_to_16_bits
                               : lookup.from_4_to_32_bits;
}

namespace {

template<qdq_dtype dtype> constexpr auto values_of_type = [] {
    constexpr element_type type = element_types[dtype];
    std::array<float, table_entries(4)> values{};
    for (uint32_t code = 0; code < values.size(); code++) {
        const int32_t number = int32_t(code) - (type.is_signed() && code > 7 ? 16 : 0);
        values[code] = type.is_float() ? value_of(type.layout, code) : float(number);
    }
    return values;
}();

}  // namespace

const float *values_of_codes(qdq_dtype dtype) {
    return dtype == QDQ_I4   ? values_of_type<QDQ_I4>.data()
           : dtype == QDQ_U4 ? values_of_type<QDQ_U4>.data()
                             : values_of_type<QDQ_F4E2M1>.data();
}

void compute_tables(const call &what, int32_t variant, const float *scale, const int32_t *zero_point, int64_t tables,
                    void *results) {
    const int64_t entries = table_entries(what.x_bits), columns = round_up(tables * entries);
    const halide_dimension_t x_shape[2] = {{0, buffer_extent(what.x_bits, columns), 1}, {0, 1, 0}};
    const halide_dimension_t y_shape[2] = {{0, int32_t(columns), 1}, {0, 1, 0}};
    const halide_dimension_t operand_shape[1] = {{0, int32_t(columns / entries), 1}};
    halide_buffer_t no_x, scales, zero_points, y;
    set_buffer(no_x, results, halide_type(what.x_type), 2, x_shape);
    set_buffer(scales, scale, scale_type, 1, operand_shape);
    set_buffer(zero_points, zero_point, zero_point_type, 1, operand_shape);
    set_buffer(y, results, halide_type(what.y_type), 2, y_shape);
    call_kernel(what, kernel_form::table, variant, no_x, scales, scales, zero_points, y);
}

// The results of a float type's codes that have the sign bit and are NaN; every NaN is positive.
nan_codes negative_nan(const call &what) {
    if (what.x_bits != 8) {
        return {};
    }
    const float_layout &x = type_of(what.x_type).layout, &y = type_of(what.y_type).layout;
    const uint32_t sign = 1u << x.sign_bit();
    const uint32_t first = sign | (x.last_number() + 1);  // without -0 its code, as numbers fill all others
    const uint32_t last = x.has_negative_zero() ? sign | x.magnitude_mask() : first;
    return {uint8_t(first), uint8_t(last), uint16_t(y.nan())};
}

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
    direct.possible = nest.count <= 2 && c.x == 1 && c.y == 1 && in_order && v.columns > 0 &&
                      (direct.looks_up || fits_kernel(v, r)) &&
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
[[gnu::noinline]] void look_up_tables(const call &what, const direct_operands &own, int64_t tables, lookup_rows all) {
    alignas(64) char memory[direct_call::tables_bytes];
    compute_tables(what, own.variant, own.scale, own.zero_point, tables, memory);
    all.tables = memory;
    all.table_bytes = tables > 1 ? table_bytes(what) : 0;
    all.negative_nan = negative_nan(what);
    lookup_of(what)(all);
}

void look_up_directly(const plan &p, const direct_operands &own, const void *x, void *y) {
    const call &what = p.what;
    const dimension &c = p.nest.loops[0], r = p.nest.rows();
    const int64_t operands = p.direct.operand_shape[0].extent;
    lookup_rows all = {.x = static_cast<const char *>(x),
                       .y = static_cast<char *>(y),
                       .x_bytes = r.x * what.x_bits / 8,
                       .y_bytes = r.y * what.y_bits / 8,
                       .columns = c.extent,
                       .rows = r.extent};
    if (const lookup_function products = products_of(what)) {
        all.values = values_of_codes(what.x_type);
        all.scales = own.scale;
        all.scale_step = operands > 1;
        products(all);
    } else {
        look_up_tables(what, own, operands, all);
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
    call_kernel(what, d.form, own.variant, x_buffer, scale_buffer, inverse_buffer, zero_point_buffer, y_buffer);
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

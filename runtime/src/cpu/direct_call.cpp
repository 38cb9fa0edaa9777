#include "cpu/direct_call.h"

#include "cpu/cache_lines.h"
#include "cpu/fast_variants.h"
#include "cpu/few_bytes.h"
#include "cpu/float_environment.h"
#include "cpu/movement.h"
#include "cpu/nan_codes.h"
#include "cpu/operands.h"
#include "cpu/packing.h"
#include "cpu/spread.h"
#include "plan/loops.h"
#include "support/types.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace qdq::runtime {

namespace {

// What goes by way of buffers, of a row that is no two overlapping ones: all of up to so many elements, as one call, or
// what whole groups leave of more.
constexpr int64_t most_rest = 2 * group;

// A nest as a kernel sees it: with so many operands, each of which so many columns share by copies. No columns: not as
// one call.
struct direct_view {
    kernel_form form;
    int64_t columns, rows, operands, times = 1;
};

direct_view view_of(const call &op, const dimension &c, const dimension &r) {
    if (c.varies()) {
        return r.varies() ? direct_view{} : direct_view{kernel_form::column, c.extent, r.extent, c.extent};
    }
    const bool are_blocks = r.varies() && lie_end_to_end(c, r);
    if (are_blocks && c.extent == op.block) {
        return {kernel_form::block, c.extent * r.extent, 1, r.extent};
    }
    if (are_blocks && c.extent < group && c.extent * r.extent <= direct_call::most_operands) {
        return {kernel_form::column, c.extent * r.extent, 1, r.extent, c.extent};
    }
    return {kernel_form::row, c.extent, r.extent, r.varies() ? r.extent : 1};
}

// Whether a small zero point is an f32 to the fast kernels.
bool zero_point_becomes_f32(const call &op) {
    const bool is_integer = type_of(op.zero_point_type).is_integer();
    return is_integer && op.codes().dtype != QDQ_I32;
}

// f32 scales that are used as they are, with at most a zero point that is soon converted.
bool is_plain(const call &op) {
    return op.scale_type == QDQ_F32 && !op.stored.global && !op.reciprocal && !op.no_saturate &&
           (!op.zero_point || zero_point_becomes_f32(op));
}

bool fits_kernel(const direct_view &v, const dimension &r) {
    const bool one_row = v.rows == 1 && v.operands == 1;
    return (v.columns % group == 0 || one_row) && v.columns <= reach &&
           v.rows <= std::min(rows_in_reach(r.x), rows_in_reach(r.y));
}

}  // namespace

void set_direct_call(const call &op, const loop_nest &nest, direct_call &direct) {
    const dimension &c = nest.loops[0], r = nest.rows();
    const int32_t variant = plain_variant(op);
    direct.plain_variant = is_plain(op) ? uint8_t(variant) : direct_call::no_variant;
    direct.may_flush = may_flush_subnormals(op);
    const direct_view v = view_of(op, c, r);
    const bool in_order = !op.packs() || op.packing == QDQ_LOW_FIRST;
    direct.possible =
        (!op.nan_is_zero || tells_nan(op)) && nest.count <= 2 && c.x == 1 && c.y == 1 && in_order && v.columns > 0 &&
        fits_kernel(v, r) && !needs_column(op, v.form, variant) &&
        (v.operands == 1 || (direct.plain() && !op.zero_point && v.operands <= direct_call::most_operands &&
                             scales_lie_ready(op, c.varies() ? c.scale : r.scale)));
    direct.form = v.form;
    // A row that ends within a group: as two of whole groups, the second of which ends where it does.
    const int64_t half = round_up((v.columns + 1) / 2), more = v.columns % group;
    direct.overlaps = more > 0 && v.columns >= group && (v.columns - half) % op.codes_per_byte() == 0;
    const int64_t rest = v.columns <= most_rest ? v.columns : more;
    direct.rest = uint8_t(direct.overlaps || more == 0 ? 0 : rest);
    const int64_t columns = direct.overlaps ? half : v.columns - direct.rest, rows = direct.overlaps ? 2 : v.rows;
    const int64_t overlapped = v.columns - half;
    direct.x_shape[0] = {0, buffer_extent(op.x_bits, columns), 1, 0};
    direct.y_shape[0] = {0, buffer_extent(op.y_bits, columns), 1, 0};
    direct.x_shape[1] = {0, int32_t(rows), row_stride(op.x_bits, direct.overlaps ? overlapped : r.x, rows), 0};
    direct.y_shape[1] = {0, int32_t(rows), row_stride(op.y_bits, direct.overlaps ? overlapped : r.y, rows), 0};
    direct.operands = int16_t(v.operands);
    direct.times = uint8_t(v.times);
    const bool shared = v.operands == 1 && rows > 1;  // the one is every row's, by a stride of 0
    direct.operand_shape[0] = {0, int32_t(shared ? rows : v.operands * v.times), !shared, 0};
}

namespace {

// What a kernel takes where one operand is every element's.
struct one_operand {
    float scale;
    float inverse;  // as kernel_operands has it
    int32_t zero_point;
    int32_t variant;
    bool flushes;
};

// Out of line, as most direct calls do not need its buffer.
[[gnu::noinline]] bool convert_one_operand(const call &op, one_operand &converted) {
    alignas(64) char memory[3 * sizeof(float) * 2 * spare_operands];
    const float_environment environment;
    operands loaded(op, memory, sizeof(memory));
    converted.variant = loaded.load({0, 0, 0, 0, 1}, true);
    converted.flushes = loaded.flushes;
    converted.scale = loaded.scale[0];
    converted.inverse = loaded.inverse[0];
    converted.zero_point = loaded.zero_point[0];
    return !needs_column(op, kernel_form::row, converted.variant);
}

// An integer of 8, 16 or 32 bits.
int32_t one_integer(qdq_dtype dtype, const void *data) {
    const element_type &type = type_of(dtype);
    const uint32_t bits = type.bits == 8    ? element<uint8_t>(data, 0)
                          : type.bits == 16 ? element<uint16_t>(data, 0)
                                            : element<uint32_t>(data, 0);
    const int spare = 32 - type.bits;
    return type.is_signed() ? static_cast<int32_t>(bits << spare) >> spare : static_cast<int32_t>(bits);
}

// Whether it is small enough for the fast kernels, and so exact as an f32 in the caller's floating-point modes.
bool use_zero_point(const call &op, one_operand &plain) {
    const int32_t zero_point = one_integer(op.zero_point_type, op.zero_point);
    if (!small_zero_points(op).contains(static_cast<uint32_t>(zero_point))) {
        return false;
    }
    const auto value = static_cast<float>(op.quantizes() || op.adds_zero_point ? zero_point : -zero_point);
    plain.zero_point = std::bit_cast<int32_t>(value);
    return true;
}

bool use_plain_operand(const call &op, const direct_call &d, one_operand &plain) {
    plain.scale = element<float>(op.scale, 0);
    const scale_abilities able = abilities_of_one(op, d.may_flush, plain.scale);
    plain.variant = d.plain_variant;
    plain.flushes = able.flushes;
    plain.zero_point = 0;
    return able.fast && (!op.zero_point || use_zero_point(op, plain));
}

[[gnu::always_inline]] inline void run_kernel(const call &op, const direct_call &d, int32_t variant,
                                              const kernel_operands &with, const void *x, void *y,
                                              const halide_dimension_t *x_shape, const halide_dimension_t *y_shape,
                                              bool nontemporal) {
    kernel_buffers all(op, x, with, y, x_shape, d.operand_shape, y_shape);
    call_kernel(op, d.form, nontemporal, variant, all);
    if (op.nan_is_zero) {
        code_nan(op, {x, x_shape[1].stride}, {y, y_shape[1].stride}, x_shape[0].extent, x_shape[1].extent);
    }
}

// What is left of a row, by way of buffers of whole groups. What fills no group is zero, as in tiles.
[[gnu::noinline]] void run_rest(const call &op, const direct_call &d, int32_t variant, const kernel_operands &with,
                                const void *x, void *y) {
    alignas(64) char from[most_rest * sizeof(float)], to[most_rest * sizeof(float)];
    const int64_t x_bytes = (d.rest * op.x_bits + 7) / 8;
    const int64_t whole = round_up(d.rest);
    const halide_dimension_t x_shape[] = {{0, buffer_extent(op.x_bits, whole), 1, 0}, d.x_shape[1]};
    const halide_dimension_t y_shape[] = {{0, buffer_extent(op.y_bits, whole), 1, 0}, d.y_shape[1]};
    copy_padded(*op.target, static_cast<const char *>(x) + int64_t{d.x_shape[0].extent} * (op.x_element.bits / 8),
                x_bytes, from, whole * op.x_bits / 8);
    run_kernel(op, d, variant, with, from, to, x_shape, y_shape, false);
    clear_padding(to, op.y_bits, d.rest);
    copy_results(*op.target, to, (d.rest * op.y_bits + 7) / 8,
                 static_cast<char *>(y) + int64_t{d.y_shape[0].extent} * (op.y_element.bits / 8));
}

[[gnu::always_inline]] inline void run_all(const call &op, const direct_call &d, int32_t variant,
                                           const kernel_operands &with, const void *x, void *y, bool nontemporal) {
    if (d.x_shape[0].extent > 0) {
        run_kernel(op, d, variant, with, x, y, d.x_shape, d.y_shape, nontemporal);
    }
    if (d.rest > 0) {
        run_rest(op, d, variant, with, x, y);
    }
}

// By f32 scales as they are. Out of line for the memory of their inverses, and of a scale for each column of short rows
// that are one row.
[[gnu::noinline]] bool call_with_scales(const call &op, const direct_call &d, const void *x, void *y,
                                        bool nontemporal) {
    const auto *const scale = static_cast<const float *>(op.scale);
    const scale_abilities able = abilities_of(op, scale, d.operands);
    if (!able.fast) {
        return false;
    }
    const float_environment environment(able.flushes);
    float inverse[direct_call::most_operands];
    if (op.has_inverses()) {
        for (int64_t i = 0; i < d.operands; i++) {
            inverse[i] = 1 / scale[i];
        }
    }
    kernel_operands with{scale, inverse, no_zero_points()};
    float scales[direct_call::most_operands + spread_past], inverses[direct_call::most_operands + spread_past];
    if (d.times > 1) {
        spread(*op.target, scale, d.operands, d.times, scales);
        if (op.has_inverses()) {
            spread(*op.target, inverse, d.operands, d.times, inverses);
        }
        with = {scales, inverses, no_zero_points()};
    }
    run_all(op, d, d.plain_variant, with, x, y, nontemporal);
    return true;
}

}  // namespace

bool call_directly(const call &op, const direct_call &d, const void *x, void *y, bool nontemporal) {
    if (d.overlaps && x == y) {
        return false;
    }
    if (d.operands > 1) {
        return call_with_scales(op, d, x, y, nontemporal);
    }
    one_operand own;
    if (!(d.plain() ? use_plain_operand(op, d, own) : convert_one_operand(op, own))) {
        return false;
    }
    const float_environment environment(own.flushes);
    if (d.plain() && op.has_inverses()) {  // of divisors: normal numbers
        own.inverse = 1 / own.scale;
    }
    run_all(op, d, own.variant, {&own.scale, &own.inverse, &own.zero_point}, x, y, nontemporal);
    return true;
}

bool call_directly(const call &op, const direct_call &d, const offsets &at, const void *x, void *y, bool nontemporal) {
    const auto element_at = [](const void *data, int64_t place, qdq_dtype type) {
        return address(static_cast<const char *>(data), place, type_of(type).bits);
    };
    call own = op;
    own.scale = element_at(op.scale, at.scale, op.scale_type);
    own.zero_point = op.zero_point ? element_at(op.zero_point, at.zero_point, op.zero_point_type) : nullptr;
    return call_directly(own, d, address(static_cast<const char *>(x), at.x, op.x_bits),
                         address(static_cast<char *>(y), at.y, op.y_bits), nontemporal);
}

bool bypasses_caches_directly(const call &op, const direct_call &d, const void *y) {
    const int64_t pitch = int64_t{d.y_shape[1].stride} * op.y_element.bits / op.y_bits;
    return has_nontemporal_kernel(op, d.form) && begin_at_lines(op, y, group, pitch, d.y_shape[1].extent);
}

}  // namespace qdq::runtime

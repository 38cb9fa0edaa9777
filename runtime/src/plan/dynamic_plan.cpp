#include "plan/dynamic_plan.h"

#include "plan/draft.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <iterator>
#include <limits>
#include <numeric>

namespace qdq::runtime {

namespace {

// What a plan is made with in the place of addresses, which are those of a run.
alignas(64) constexpr char no_operands[64]{};

constexpr int32_t most_candidates = 1024;
constexpr float largest_f8e4m3 = 448;

bool is_power(qdq_scale_rule rule) { return rule >= QDQ_SCALE_POWER_FLOOR; }

// The caller's tensors and options, of which those that a plan of quantize needs have passed its checks.
struct dynamic_draft {
    const dynamic_arguments &given;
    dynamic_plan &result;
    qdq_scale_options how{};

    const arguments &tensors() const { return given.quantize; }

    template<typename... Values> qdq_status invalid(const char *format, Values... values) const {
        return fail(QDQ_INVALID_ARGUMENT, format, tensors().function, values...);
    }
};

int64_t count_elements(const qdq_tensor &t) {
    return std::accumulate(t.shape, t.shape + t.rank, int64_t{1}, std::multiplies<>());
}

qdq_status check_how(dynamic_draft &d) {
    if (d.given.how) {
        std::memcpy(&d.how, d.given.how, sizeof(d.how));
    }
    const int rule = stored_value(d.how.rule);
    if (rule < 0 || rule > QDQ_SCALE_POWER_ROUND_UP) {
        return d.invalid("%s: how: rule %d is not in 0..%d", rule, int(QDQ_SCALE_POWER_ROUND_UP));
    }
    if (!(d.how.clip_ratio >= 0 && d.how.clip_ratio <= 1)) {
        return d.invalid("%s: how: clip_ratio %g is not in 0..1", double(d.how.clip_ratio));
    }
    if (!(d.how.least_scale >= 0 && d.how.least_scale <= std::numeric_limits<float>::max())) {
        return d.invalid("%s: how: least_scale %g is not a finite number of 0 or more", double(d.how.least_scale));
    }
    if (is_power(d.how.rule) && d.how.least_scale != 0) {
        return d.invalid("%s: how: least_scale %g is not for powers of two (rule %d)", double(d.how.least_scale), rule);
    }
    return QDQ_OK;
}

qdq_status check_candidates(const dynamic_draft &d) {
    const int32_t count = d.how.clip_ratio_count;
    const float last = d.how.last_clip_ratio;
    if (count < 0 || count > most_candidates) {
        return d.invalid("%s: how: clip_ratio_count %d is not in 0..%d", count, most_candidates);
    }
    if (count < 2 && last != 0) {
        return d.invalid("%s: how: last_clip_ratio %g is of clip_ratio_count 2 or more, not %d", double(last), count);
    }
    if (count >= 2 && !(last > 0 && last <= 2)) {
        return d.invalid("%s: how: last_clip_ratio %g is not above 0 and at most 2", double(last));
    }
    return QDQ_OK;
}

qdq_status check_global_scale(const dynamic_draft &d) {
    const qdq_scale_options &how = d.how;
    const int sense = stored_value(how.global_sense);
    if (sense < 0 || sense > QDQ_GLOBAL_INVERSE) {
        return d.invalid("%s: how: global_sense %d is not in 0..%d", sense, int(QDQ_GLOBAL_INVERSE));
    }
    if (sense == QDQ_GLOBAL_NONE) {
        const bool is_asked = how.global_scale || how.computes_global || how.global_largest != 0;
        return is_asked ? d.invalid("%s: how: global_scale has no global_sense") : QDQ_OK;
    }
    if (!how.global_scale) {
        return d.invalid("%s: how: global_scale: NULL, and global_sense is %d", sense);
    }
    if (how.rule != QDQ_SCALE_ABSMAX) {
        return d.invalid("%s: how: global_scale is of rule %d, not %d", int(QDQ_SCALE_ABSMAX), int(how.rule));
    }
    if (!(how.global_largest >= 0 && how.global_largest <= largest_f8e4m3)) {
        return d.invalid("%s: how: global_largest %g is not in 0..%g", double(how.global_largest),
                         double(largest_f8e4m3));
    }
    return QDQ_OK;
}

// Before a plan is made, which would read the zero points of a float type.
qdq_status check_zero_point(const dynamic_draft &d) {
    const bool computes = d.how.rule == QDQ_SCALE_MINMAX;
    if (d.tensors().zero_point && !computes) {
        return d.invalid("%s: zero_point: rule %d computes none", int(d.how.rule));
    }
    if (!d.tensors().zero_point && computes) {
        return d.invalid("%s: zero_point: NULL, and rule %d computes one", int(d.how.rule));
    }
    const qdq_tensor *const y = d.tensors().y;
    if (const int dtype = y ? stored_value(y->dtype) : -1; computes && dtype >= 0 && dtype < dtype_count) {
        const element_type &codes = type_of(y->dtype);
        return codes.is_integer()
                   ? QDQ_OK
                   : d.invalid("%s: how: rule %d needs integer codes, not %s", int(d.how.rule), codes.name);
    }
    return QDQ_OK;
}

// Whether parts of all rows of packed codes may begin at whole bytes. Where blocks of 3 divide rows of 357 the tensor
// is one row to its plan, but not to an area that has a part of each.
bool parts_of_rows_begin_at_bytes(const plan &p) {
    return std::ranges::all_of(p.dimensions, p.dimensions + p.dimension_count, [&](const blocked_dimension &d) {
        return d.whole.extent == 1 || d.whole.y == 1 || d.whole.y % p.op.packed_unit() == 0;
    });
}

// Whether those of an area lie in bytes of their own, and need nothing of other elements.
bool codes_have_areas(const plan &p) {
    return p.elements == 0 || (p.path != execution_path::dense && p.path != execution_path::stochastic &&
                               (!p.op.packs() || (p.path != execution_path::tiles && parts_of_rows_begin_at_bytes(p))));
}

// A plan of quantize, without addresses. Two of one x that share areas have dimensions in common.
qdq_status make_static_plan(dynamic_draft &d) {
    const auto without_data = [](const qdq_tensor *given, qdq_tensor &own, const void *data) -> const qdq_tensor * {
        if (given) {
            own = *given;
            own.data = const_cast<void *>(data);
        }
        return given ? &own : nullptr;
    };
    qdq_tensor x, scale, zero_point, y;
    arguments given = d.tensors();
    given.x = without_data(given.x, x, nullptr);
    given.scale = without_data(given.scale, scale, no_operands);
    given.zero_point = without_data(given.zero_point, zero_point, no_operands);
    given.y = without_data(given.y, y, nullptr);
    given.needs_data = false;
    if (!d.given.shares_areas || d.how.diagnostics) {
        return make_plan(given, d.result.quantize);
    }
    const qdq_status status = make_plan_of_regions(given, d.result.quantize);
    return !status && !codes_have_areas(d.result.quantize) ? make_plan(given, d.result.quantize) : status;
}

// What devices do not do.
qdq_status check_device(const dynamic_draft &d) {
    const qdq_scale_options &how = d.how;
    const struct {
        const char *name;
        bool is_asked;
    } of_host[] = {{"how: clip_ratio_count", how.clip_ratio_count > 1},
                   {"how: global_scale", how.global_sense != QDQ_GLOBAL_NONE},
                   {"how: diagnostics", how.diagnostics != nullptr}};
    for (const auto &[name, is_asked] : of_host) {
        if (is_asked) {
            return fail(QDQ_UNSUPPORTED, "%s: %s: it is for tensors on the host, and these are on a device",
                        d.tensors().function, name);
        }
    }
    const int64_t scales = count_elements(*d.tensors().scale);
    return scales > 0 && d.result.quantize.elements == 0
               ? fail(QDQ_UNSUPPORTED, "%s: x: it has no elements, and on a device no scales of such are computed",
                      d.tensors().function)
               : QDQ_OK;
}

qdq_status check_types(const dynamic_draft &d) {
    const qdq_tensor &scale = *d.tensors().scale;
    const call &op = d.result.quantize.op;
    const bool holds_powers = scale.dtype == QDQ_E8M0 || scale.dtype == QDQ_F32 || scale.dtype == QDQ_BF16;
    if (is_power(d.how.rule) ? !holds_powers : scale.dtype == QDQ_E8M0) {
        return d.invalid("%s: scale: rule %d does not compute scales of type %s", int(d.how.rule),
                         type_of(scale.dtype).name);
    }
    if (d.how.global_sense != QDQ_GLOBAL_NONE && scale.dtype != QDQ_F8E4M3) {
        return d.invalid("%s: scale: type %s has no global_scale; f8e4m3 has", type_of(scale.dtype).name);
    }
    if (const qdq_tensor *zero_point = d.tensors().zero_point) {
        const element_type &type = type_of(zero_point->dtype);
        if (!type.is_integer() || type.lowest() > op.lowest || type.highest() < op.highest) {
            return d.invalid("%s: zero_point: type %s does not have all codes from %d to %d", type.name, op.lowest,
                             op.highest);
        }
    } else if (type_of(d.tensors().y->dtype).is_integer() && op.highest <= 0) {
        return d.invalid("%s: options: quant_max %d is not above 0, as rule %d needs", op.highest, int(d.how.rule));
    }
    if (d.tensors().options && stored_value(d.tensors().options->scale_mode) == QDQ_MULTIPLY) {
        return d.invalid("%s: options: scale_mode %d: x is divided by scales that are computed", int(QDQ_MULTIPLY));
    }
    return QDQ_OK;
}

// An output that is an operand of the plan.
qdq_status check_output(const dynamic_draft &d, const char *name, const qdq_tensor &t, span &bytes) {
    int64_t strides[most_dimensions];
    element_strides(t, strides);
    if (!touched(t, strides, bytes)) {
        return d.invalid("%s: %s: shape and strides reach past the address space", name);
    }
    return elements_are_distinct(t, strides) ? QDQ_OK
                                             : d.invalid("%s: %s: its strides make elements overlap one another", name);
}

qdq_status check_outputs(dynamic_draft &d) {
    const qdq_tensor &scale = *d.tensors().scale, *const zero_point = d.tensors().zero_point;
    dynamic_plan &p = d.result;
    p.groups = count_elements(scale);
    p.has_zero_point = zero_point != nullptr;
    p.bypasses_caches = p.quantize.elements > 0 && p.quantize.op.nontemporal && d.tensors().options &&
                        stored_value(d.tensors().options->stores) == QDQ_STORES_NONTEMPORAL;
    p.scale = p.zero_point = {};
    if (p.groups == 0) {
        return QDQ_OK;
    }
    if (zero_point && count_elements(*zero_point) != p.groups) {
        return d.invalid("%s: zero_point: it has one element, and there are %" PRId64 " scales", p.groups);
    }
    const qdq_status s = check_output(d, "scale", scale, p.scale);
    return s || !zero_point ? s : check_output(d, "zero_point", *zero_point, p.zero_point);
}

// Kernels that say what codes are worth, where that is asked.
qdq_status find_decoding(dynamic_draft &d) {
    dynamic_plan &p = d.result;
    p.candidates = {d.how.clip_ratio == 0 ? 1 : d.how.clip_ratio, d.how.last_clip_ratio,
                    std::max(d.how.clip_ratio_count, 1)};
    p.diagnostics = d.how.diagnostics;
    p.decodes = nullptr;
    if (p.candidates.count == 1 && !p.diagnostics) {
        return QDQ_OK;
    }
    if (p.diagnostics && p.quantize.path == execution_path::stochastic) {
        return fail(QDQ_UNSUPPORTED, "%s: how: diagnostics are not of codes that are rounded stochastically",
                    d.tensors().function);
    }
    if (p.diagnostics && p.quantize.path == execution_path::dense) {
        return fail(QDQ_UNSUPPORTED, "%s: how: diagnostics are not of codes of packing %d", d.tensors().function,
                    int(QDQ_DENSE));
    }
    const qdq_target &target = *p.quantize.op.target;
    const qdq_dtype codes = d.tensors().y->dtype;
    p.decodes = find_dequantize(target, codes, QDQ_F32);
    const char *name = type_of(codes).name;
    return p.decodes ? QDQ_OK
                     : fail(QDQ_UNSUPPORTED,
                            "%s: how: clip_ratio_count and diagnostics need dequantize_%s_f32 on target %s, which was "
                            "not picked; %s adds it",
                            d.tensors().function, name, target.name, qdq_linked_by);
}

void set_computation(const dynamic_draft &d) {
    const call &op = d.result.quantize.op;
    const arguments &given = d.tensors();
    const element_type &codes = type_of(given.y->dtype);
    scale_computation &how = d.result.how;
    how.rule = d.how.rule;
    how.clip_ratio = d.result.candidates.first;
    how.least_scale = d.how.least_scale;
    how.global_sense = d.how.global_sense;
    how.global = 1;
    how.lowest = op.lowest;
    how.highest = op.highest;
    how.largest = codes.is_integer() ? static_cast<float>(op.highest) : static_cast<float>(codes.largest_value());
    how.largest_exponent = codes.is_integer() ? int32_t(std::bit_width(static_cast<uint32_t>(op.highest))) - 1
                                              : int32_t(std::bit_cast<uint32_t>(how.largest) >> 23) - 127;
    how.mantissa_bits =
        codes.is_integer() ? how.largest_exponent : mantissa_bits_at(codes.layout, how.largest_exponent);
    how.x_type = given.x->dtype;
    how.scale_type = given.scale->dtype;
    how.zero_point_type = given.zero_point ? given.zero_point->dtype : QDQ_I32;
}

// What lies on which side of zero matters to zero points, and to what is clipped.
const reductions_of_size &reductions_of(const dynamic_plan &p) {
    const bool has_sides = p.how.rule == QDQ_SCALE_MINMAX || p.diagnostics;
    return find_reductions(*p.quantize.op.target, type_of(p.how.x_type).bits,
                           has_sides ? reduced_numbers::extremes : reduced_numbers::magnitudes);
}

// Codes that are diagnosed are computed by tiles, which are looked at while they are in the L1 cache.
void choose_path(dynamic_plan &p) {
    p.codes_have_areas = codes_have_areas(p.quantize);
    if (p.diagnostics && p.quantize.elements > 0) {
        go_by_tiles(p.quantize);
    }
}

void set_global_scale(const dynamic_draft &d) {
    const float largest = d.how.global_largest == 0 ? largest_f8e4m3 : d.how.global_largest;
    d.result.global = {d.how.global_scale, d.how.computes_global ? largest * d.result.how.largest : 0};
}

qdq_status overlap(const char *function, const char *a, const char *b) {
    return fail(QDQ_INVALID_ARGUMENT, "%s: %s: it overlaps %s", function, a, b);
}

// A tensor of a call, and where it lies.
struct placed_tensor {
    const char *name;
    const void *data;  // NULL: there is none
    span bytes;
    int64_t offset;
    bool is_wanted, is_written;
    place at;
};

constexpr size_t dynamic_outputs = 4;  // that no other tensor may share: the first ones

struct placed_tensors {
    placed_tensor all[6];
};

qdq_status locate_tensors(const char *function, const dynamic_plan &p, const dynamic_tensors &at, placed_tensors &to) {
    const plan &base = p.quantize;
    const bool is_empty = base.elements == 0, has_global = p.global.at != nullptr;
    to = {{{"how: global_scale", p.global.at, {0, sizeof(float)}, 0, has_global, p.global.largest != 0, {}},
           {"how: diagnostics", p.diagnostics, {0, sizeof(qdq_diagnostics)}, 0, p.diagnostics != nullptr, true, {}},
           {"scale", at.scale, p.scale, base.scale_offset, p.groups > 0, true, {}},
           {"zero_point",
            at.zero_point,
            p.zero_point,
            base.zero_point_offset,
            p.groups > 0 && p.has_zero_point,
            true,
            {}},
           {"x", at.x, {base.x_first, base.x_end}, base.x_offset, !is_empty, false, {}},
           {"y", at.y, {base.y_first, base.y_end}, base.y_offset, !is_empty && at.y, true, {}}}};
    for (placed_tensor &t : to.all) {
        if (t.is_wanted && !t.data) {
            return fail(QDQ_INVALID_ARGUMENT, "%s: %s: data is NULL", function, t.name);
        }
        if (t.is_wanted && !locate(*base.op.target, t.data, t.bytes, t.offset, t.at)) {
            return out_of_reach(function, *base.op.target, t.name);
        }
    }
    return QDQ_OK;
}

bool overlap(const placed_tensor &a, const placed_tensor &b) {
    return a.is_wanted && b.is_wanted && a.at.overlaps(b.at);
}

}  // namespace

qdq_status make_dynamic_plan(const dynamic_arguments &given, dynamic_plan &result) {
    dynamic_draft d{given, result};
    qdq_status s;
    if ((s = check_how(d)) || (s = check_candidates(d)) || (s = check_global_scale(d)) || (s = check_zero_point(d)) ||
        (s = make_static_plan(d)) || (result.is_on_device() && (s = check_device(d))) || (s = check_types(d)) ||
        (s = check_outputs(d)) || (s = find_decoding(d))) {
        return s;
    }
    result.quantize.made = dynamic_plan_mark;
    set_computation(d);
    set_global_scale(d);
    result.reductions = result.is_on_device() ? nullptr : &reductions_of(result);
    result.direct = {};
    choose_path(result);
    return QDQ_OK;
}

qdq_status check_y(const char *function, const dynamic_plan &p, const void *y) {
    return y || p.quantize.elements == 0 ? QDQ_OK : fail(QDQ_INVALID_ARGUMENT, "%s: y: data is NULL", function);
}

qdq_status check_overlap(const char *function, const dynamic_plan &p, const dynamic_tensors &at) {
    placed_tensors tensors;
    if (const qdq_status status = locate_tensors(function, p, at, tensors)) {
        return status;
    }
    for (size_t i = 0; i < std::size(tensors.all); i++) {
        for (size_t j = 0; j < std::min(i, dynamic_outputs); j++) {
            if (overlap(tensors.all[i], tensors.all[j])) {
                return overlap(function, tensors.all[j].name, tensors.all[i].name);
            }
        }
    }
    return p.quantize.elements == 0 || !at.y ? QDQ_OK : check_overlap(function, p.quantize, at.x, at.y);
}

qdq_status check_overlap(const char *function, const dynamic_pair &pair) {
    placed_tensors of_first, of_second;
    qdq_status s;
    if ((s = locate_tensors(function, pair.first, pair.to_first, of_first)) ||
        (s = locate_tensors(function, pair.second, pair.to_second, of_second))) {
        return s;
    }
    for (const placed_tensor &a : of_first.all) {
        for (const placed_tensor &b : of_second.all) {
            if ((a.is_written || b.is_written) && overlap(a, b)) {
                return fail(QDQ_INVALID_ARGUMENT, "%s: first: %s: it overlaps %s of the second", function, a.name,
                            b.name);
            }
        }
    }
    return QDQ_OK;
}

// By bits, as a subnormal number is 0 where the caller's environment has it so.
qdq_status check_given_global(const char *function, const dynamic_plan &p) {
    if (!p.global.at || p.global.largest != 0) {
        return QDQ_OK;
    }
    const float given = element<float>(p.global.at, 0);
    const bool is_positive = std::bit_cast<uint32_t>(given) - 1 < 0x7f7fffff;
    return is_positive ? QDQ_OK
                       : fail(QDQ_INVALID_ARGUMENT, "%s: how: global_scale %g is not a finite number above 0", function,
                              double(given));
}

}  // namespace qdq::runtime

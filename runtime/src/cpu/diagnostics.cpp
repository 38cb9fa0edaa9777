#include "cpu/diagnostics.h"

#include "cpu/avx2.h"
#include "cpu/scale_rules.h"
#include "cpu/squared_errors.h"
#include "support/types.h"

#include <algorithm>
#include <bit>

namespace qdq::runtime {

namespace {

constexpr uint32_t sign = 0x80000000, infinity = 0x7f800000, quiet_nan = 0x7fc00000;
constexpr uint32_t with_finite_codes = 0x7f000000;  // 2^127: what a code is worth is no more than twice as far from 0
constexpr uint64_t half = uint64_t{1} << 32;
constexpr int64_t most_summed = measured_rows::most_summed, most_operands = measured_rows::most_operands;

double step_past_end(const element_type &codes) { return codes.last_step() / 2; }

double lowest_of(const scale_computation &how, const element_type &codes) {
    return (codes.is_integer() ? how.lowest : -codes.largest_value()) - step_past_end(codes);
}

double highest_of(const scale_computation &how, const element_type &codes) {
    return (codes.is_integer() ? how.highest : codes.largest_value()) + step_past_end(codes);
}

// Whether every error of elements that are not clipped is less than 2^14 units, of which a scale has less than 2^9.
bool is_near(const call &quantize) {
    const double step = quantize.codes().last_step();
    return (quantize.rounding == QDQ_NEAREST_EVEN ? step / 2 : step) <= 16 && quantize.y_bits <= 16;
}

uint32_t number_or(float value, uint32_t otherwise) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), mask = 0 - uint32_t{(bits & ~sign) > infinity};
    return (bits & ~mask) | (otherwise & mask);
}

// What codes are clipped at, by one operand.
struct code_ends {
    double lowest, highest;

    float below(float scale, int32_t zero_point) const {
        return std::bit_cast<float>(number_or(static_cast<float>(lowest - zero_point) * scale, infinity | sign));
    }
    float above(float scale, int32_t zero_point) const {
        return std::bit_cast<float>(number_or(static_cast<float>(highest - zero_point) * scale, infinity));
    }
};

void set_ends(const code_ends &ends, int64_t count, measured_rows &all) {
    for (int64_t i = 0; i < count; i++) {
        all.lowest[i] = ends.below(all.scales[i], all.zero_points[i]);
        all.highest[i] = ends.above(all.scales[i], all.zero_points[i]);
    }
}

// What groups come to: the largest magnitude, by its bits, and how many may have elements outside.
struct met_groups {
    uint32_t amax = 0, outside = 0;
};

[[gnu::always_inline]] inline met_groups look_at(const code_ends &ends, const float *lowest, const float *highest,
                                                 const float *scales, const int32_t *zero_points, int64_t count) {
    met_groups met;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t below = std::bit_cast<uint32_t>(lowest[i]) & ~sign, above = std::bit_cast<uint32_t>(highest[i]);
        const uint32_t amax = std::max(below, above);
        const uint32_t is_above = lowest[i] > ends.below(scales[i], zero_points[i]);
        const uint32_t is_below = highest[i] < ends.above(scales[i], zero_points[i]);
        met.outside += 1 - (is_above & is_below & uint32_t{amax < with_finite_codes});
        met.amax = std::max(met.amax, amax);
    }
    return met;
}

met_groups look_portably(const code_ends &ends, const float *lowest, const float *highest, const float *scales,
                         const int32_t *zero_points, int64_t count) {
    return look_at(ends, lowest, highest, scales, zero_points, count);
}

QDQ_AVX2 met_groups look_avx2(const code_ends &ends, const float *lowest, const float *highest, const float *scales,
                              const int32_t *zero_points, int64_t count) {
    return look_at(ends, lowest, highest, scales, zero_points, count);
}

int32_t integer_of(float zero_point) { return zero_point >= 0x1p31f ? INT32_MAX : static_cast<int32_t>(zero_point); }

template<typename Value> void copy_steps(const Value *from, int64_t step, int64_t count, Value *to) {
    if (step == 0) {
        std::fill_n(to, count, *from);
    } else {
        std::copy_n(from, count, to);
    }
}

void copy_operands(const computed_rows &part, int64_t count, bool has_zero_points, measured_rows &all) {
    copy_steps(part.scale, part.operand_step, count, all.scales);
    if (!has_zero_points) {
        std::fill_n(all.zero_points, count, 0);
        return;
    }
    copy_steps(part.zero_point, part.operand_step, count, all.zero_points);
    if (part.has_float_zero_points) {
        for (int64_t i = 0; i < count; i++) {
            all.zero_points[i] = integer_of(std::bit_cast<float>(all.zero_points[i]));
        }
    }
}

// The sum of squares by one exponent, in two halves, what is flushed, and the next exponent that there is.
struct sums_of_unit {
    uint64_t low = 0, high = 0;
    uint32_t flushed = 0, next = UINT32_MAX;
};

[[gnu::always_inline]] inline sums_of_unit sum_unit(const measured_rows &by, int64_t count, uint32_t exponent) {
    sums_of_unit sum;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t square = by.squares[i] & (0 - uint64_t{by.exponents[i] == exponent});
        sum.flushed += by.flushed[i] & (0 - uint32_t{by.exponents[i] == exponent});
        sum.low += square & (half - 1);
        sum.high += square >> 32;
        sum.next = std::min(sum.next, by.exponents[i] | (0 - uint32_t{by.exponents[i] <= exponent}));
    }
    return sum;
}

sums_of_unit sum_unit_portably(const measured_rows &by, int64_t count, uint32_t exponent) {
    return sum_unit(by, count, exponent);
}

QDQ_AVX2 sums_of_unit sum_unit_avx2(const measured_rows &by, int64_t count, uint32_t exponent) {
    return sum_unit(by, count, exponent);
}

}  // namespace

call_diagnostics::call_diagnostics(const dynamic_plan &p)
    : quantize(p.quantize.op),
      measurement(p),
      x_type(p.how.x_type),
      lowest(lowest_of(p.how, p.quantize.op.codes())),
      highest(highest_of(p.how, p.quantize.op.codes())),
      has_zero_points(p.has_zero_point),
      is_far(!is_near(p.quantize.op)) {}

bool call_diagnostics::add_groups(const extremes &found, const float *scales, const int32_t *zero_points,
                                  int64_t count) {
    auto *const look = runs_avx2(*quantize.target) ? look_avx2 : look_portably;
    met_groups all;
    for (int64_t i = 0; i < count; i += most_operands) {
        const int64_t some = std::min(most_operands, count - i);
        float below[most_operands], above[most_operands];
        int32_t own[most_operands]{};
        values_of_extremes(x_type, {found.above + i, found.below + i}, some, below, above);
        if (has_zero_points) {
            std::copy_n(zero_points + i, some, own);
        }
        const met_groups met = look({lowest, highest}, below, above, scales + i, own, some);
        all = {std::max(all.amax, met.amax), all.outside + met.outside};
    }
    add_amax(all.amax);
    const bool rounds_zero_points = has_zero_points && quantize.y_bits > 16;  // to f32, before they are added
    return all.outside > 0 || rounds_zero_points;
}

// A long row of one operand as several.
void call_diagnostics::add_rows(const computed_rows &rows, bool may_be_outside, measured_rows &by) {
    const int64_t whole = rows.columns / most_summed, rest = rows.columns % most_summed;
    if (rows.rows > 1 || rows.along_columns || whole < 2) {
        add_parts(rows, may_be_outside, by);
        return;
    }
    computed_rows several = rows;
    several.x.pitch = several.codes.pitch = several.columns = most_summed;
    several.rows = whole;
    several.operand_step = 0;
    add_parts(several, may_be_outside, by);
    if (rest > 0) {
        computed_rows last = rows.from(quantize, 0, whole * most_summed);
        last.columns = rest;
        add_parts(last, may_be_outside, by);
    }
}

// A few at a time: what their codes are worth stays in the L1 cache.
void call_diagnostics::add_parts(const computed_rows &rows, bool may_be_outside, measured_rows &by) {
    const int64_t columns = std::min(rows.columns, rows.along_columns ? most_operands : most_summed);
    const int64_t pitch = pitch_of_results({rows.codes, columns, rows.rows, rows.along_columns});
    const int64_t count = std::min(most_operands, measured_rows::most_elements / pitch);
    for (int64_t row = 0; row < rows.rows; row += count) {
        for (int64_t column = 0; column < rows.columns; column += columns) {
            computed_rows part = rows.from(quantize, row, column);
            part.columns = std::min(columns, rows.columns - column);
            part.rows = std::min(count, rows.rows - row);
            add(part, may_be_outside, by);
        }
    }
}

void call_diagnostics::add(const computed_rows &part, bool may_be_outside, measured_rows &by) {
    const int64_t count = part.along_columns ? part.columns : part.rows;
    copy_operands(part, count, has_zero_points, by);
    if (may_be_outside) {
        set_ends({lowest, highest}, count, by);
    }
    measurement.run({part.x, part.columns, part.rows, part.along_columns}, part.codes,
                    {may_be_outside, may_be_outside || is_far}, by);
    by.counts[int(measured::flushed)] += add_squares(by, count);
    add_counts(by.counts);
}

// By one exponent after another: few are met at a time. How many elements are flushed.
uint32_t call_diagnostics::add_squares(const measured_rows &by, int64_t count) {
    auto *const sum = runs_avx2(*quantize.target) ? sum_unit_avx2 : sum_unit_portably;
    uint32_t exponent = by.least_exponent, flushed = 0;
    do {
        const sums_of_unit own = sum(by, count, exponent);
        low[exponent] += own.low;
        high[exponent] += own.high;
        flushed += own.flushed;
        exponent = own.next;
    } while (exponent < exponents);
    return flushed;
}

void call_diagnostics::add_counts(const uint32_t *counts) {
    const auto of = [&](measured what) { return counts[int(what)]; };
    const struct {
        std::atomic<int64_t> &all;
        uint32_t own;
    } sums[] = {{nan, of(measured::nan)},
                {infinite, of(measured::infinite)},
                {clipped, of(measured::clipped)},
                {flushed, of(measured::flushed)}};
    for (const auto &[all, own] : sums) {
        if (own != 0) {
            all += own;
        }
    }
}

void call_diagnostics::add_amax(uint32_t own) {
    for (uint32_t most = amax; most < own && !amax.compare_exchange_weak(most, own);) {
    }
}

qdq_diagnostics call_diagnostics::total() const {
    double error = 0;
    for (uint32_t exponent = exponents - 1; exponent > 0; exponent--) {
        const uint64_t lower = low[exponent], upper = high[exponent] + lower / half;
        if ((lower | upper) != 0) {
            const double unit = error_unit(exponent);
            error += (static_cast<double>(upper) * half + static_cast<double>(lower % half)) * (unit * unit);
        }
    }
    const uint32_t bits = amax > infinity ? quiet_nan : amax.load();
    return {nan, infinite, clipped, flushed, error, std::bit_cast<float>(bits)};
}

const int64_t diagnosed_elements::memory_bytes = sizeof(measured_rows);

void diagnosed_elements::add_groups(const extremes &found, const float *scales, const int32_t *zero_points,
                                    int64_t count) {
    if (call.add_groups(found, scales, zero_points, count)) {
        may_be_outside = true;
    }
}

void diagnosed_elements::visit(void *context, const computed_tile &tile) {
    struct adding {
        diagnosed_elements &to;
        measured_rows &by;
    } how{*static_cast<diagnosed_elements *>(context), *static_cast<measured_rows *>(tile.memory)};
    for_each_rows(
        tile,
        [](void *given, const computed_rows &rows) {
            const auto &[to, by] = *static_cast<const adding *>(given);
            to.call.add_rows(rows, to.may_be_outside, by);
        },
        &how);
}

}  // namespace qdq::runtime

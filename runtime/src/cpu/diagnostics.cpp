#include "cpu/diagnostics.h"

#include "cpu/avx2.h"
#include "cpu/decoding.h"
#include "cpu/kernel_buffer.h"
#include "cpu/squared_errors.h"
#include "support/types.h"

#include <algorithm>
#include <bit>

namespace qdq::runtime {

namespace {

constexpr uint32_t sign = 0x80000000, infinity = 0x7f800000, quiet_nan = 0x7fc00000;
constexpr uint64_t half = uint64_t{1} << 32;
constexpr int64_t most_elements = 2048;  // that are measured at a time
constexpr int64_t most_summed = 512;     // of a sum of squares up to 2^54
constexpr int64_t most_operands = most_decoded_operands;

}  // namespace

// What is measured at a time. Kernels read and write whole steps of operands.
struct alignas(64) measured_part {
    static constexpr int64_t padded_operands = most_operands + measured_step;

    float values[most_elements];  // of codes
    float scales[most_operands];
    int32_t zero_points[most_operands];
    uint32_t exponents[most_operands];  // of units
    float units[padded_operands], lowest[padded_operands], highest[padded_operands];
    uint64_t squares[padded_operands];
    uint32_t innermost;  // bits
};

namespace {

double step_past_end(const element_type &codes) { return codes.last_step() / 2; }

double lowest_of(const scale_computation &how, const element_type &codes) {
    return (codes.is_integer() ? how.lowest : -codes.largest_value()) - step_past_end(codes);
}

double highest_of(const scale_computation &how, const element_type &codes) {
    return (codes.is_integer() ? how.highest : codes.largest_value()) + step_past_end(codes);
}

uint32_t number_or(float value, uint32_t otherwise) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), mask = 0 - uint32_t{(bits & ~sign) > infinity};
    return (bits & ~mask) | (otherwise & mask);
}

// The magnitude of a number below 0; of another one 0.
uint32_t if_sign(uint32_t bits) { return bits & ~sign & (0 - (bits >> 31)); }

[[gnu::always_inline]] inline void set_ends_of(double lowest, double highest, int64_t count, measured_part &all) {
    uint32_t innermost = infinity;
    for (int64_t i = 0; i < count; i++) {
        const float scale = all.scales[i];
        const double zero = all.zero_points[i];
        const uint32_t below = number_or(static_cast<float>(lowest - zero) * scale, infinity | sign);
        const uint32_t above = number_or(static_cast<float>(highest - zero) * scale, infinity);
        all.exponents[i] = error_exponent(scale);
        all.units[i] = std::bit_cast<float>(all.exponents[i] << 23);
        all.lowest[i] = std::bit_cast<float>(below);
        all.highest[i] = std::bit_cast<float>(above);
        innermost = std::min(innermost, std::min(if_sign(below), if_sign(above ^ sign)));
    }
    all.innermost = innermost;
}

void set_ends_portably(double lowest, double highest, int64_t count, measured_part &all) {
    set_ends_of(lowest, highest, count, all);
}

QDQ_AVX2 void set_ends_avx2(double lowest, double highest, int64_t count, measured_part &all) {
    set_ends_of(lowest, highest, count, all);
}

int32_t integer_of(float zero_point) { return zero_point >= 0x1p31f ? INT32_MAX : static_cast<int32_t>(zero_point); }

void copy_operands(const computed_rows &part, int64_t count, bool has_zero_points, measured_part &all) {
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = i * part.operand_step;
        const int32_t zero_point = has_zero_points ? part.zero_point[place] : 0;
        all.scales[i] = part.scale[place];
        all.zero_points[i] = part.has_float_zero_points ? integer_of(std::bit_cast<float>(zero_point)) : zero_point;
    }
}

void measure(measure_kernel *kernel, const computed_rows &from, halide_type_t type, int64_t pitch, measured_part &by,
             uint32_t *counts) {
    const auto columns = int32_t(from.columns), rows = int32_t(from.rows);
    const halide_dimension_t x_shape[] = {{0, columns, 1, 0}, {0, rows, rows == 1 ? 0 : int32_t(from.x.pitch), 0}};
    const halide_dimension_t y_shape[] = {{0, columns, 1, 0}, {0, rows, int32_t(pitch), 0}};
    const halide_dimension_t operand_shape[] = {{0, from.along_columns ? columns : rows, 1, 0}};
    const halide_dimension_t count_shape[] = {{0, measured_count, 1, 0}};
    halide_buffer_t x, y, units, lowest, highest, squares, found;
    set_buffer(x, from.x.data, type, 2, x_shape);
    set_buffer(y, by.values, {halide_type_float, 32, 1}, 2, y_shape);
    set_buffer(units, by.units, scale_type, 1, operand_shape);
    set_buffer(lowest, by.lowest, scale_type, 1, operand_shape);
    set_buffer(highest, by.highest, scale_type, 1, operand_shape);
    set_buffer(squares, by.squares, {halide_type_uint, 64, 1}, 1, operand_shape);
    set_buffer(found, counts, {halide_type_uint, 32, 1}, 1, count_shape);
    kernel(&x, &y, &units, &lowest, &highest, std::bit_cast<float>(by.innermost), &squares, &found);
}

}  // namespace

tile_visitor call_diagnostics::visitor() { return {visit, this, sizeof(measured_part)}; }

call_diagnostics::call_diagnostics(const dynamic_plan &p)
    : quantize(p.quantize.op),
      decoding(decoding_of(quantize, p.decodes)),
      kernels(find_measurements(*p.quantize.op.target).of[p.how.x_type]),
      lowest(lowest_of(p.how, p.quantize.op.codes())),
      highest(highest_of(p.how, p.quantize.op.codes())),
      has_zero_points(p.has_zero_point) {}

void call_diagnostics::visit(void *context, const computed_tile &tile) {
    struct adding {
        call_diagnostics &all;
        measured_part &by;
    } to{*static_cast<call_diagnostics *>(context), *static_cast<measured_part *>(tile.memory)};
    for_each_rows(
        tile,
        [](void *given, const computed_rows &rows) {
            const adding &both = *static_cast<const adding *>(given);
            both.all.add_rows(rows, both.by);
        },
        &to);
}

// A long row of one operand as several.
void call_diagnostics::add_rows(const computed_rows &rows, measured_part &by) {
    const int64_t whole = rows.columns / most_summed, rest = rows.columns % most_summed;
    if (rows.rows > 1 || rows.along_columns || whole < 2) {
        add_parts(rows, by);
        return;
    }
    computed_rows several = rows;
    several.x.pitch = several.codes.pitch = several.columns = most_summed;
    several.rows = whole;
    several.operand_step = 0;
    add_parts(several, by);
    if (rest > 0) {
        computed_rows last = rows.from(quantize, 0, whole * most_summed);
        last.columns = rest;
        add_parts(last, by);
    }
}

// A few at a time: what their codes are worth stays in the L1 cache.
void call_diagnostics::add_parts(const computed_rows &rows, measured_part &by) {
    const int64_t columns = std::min(rows.columns, rows.along_columns ? most_operands : most_summed);
    const int64_t pitch = decoded_pitch({rows.codes, columns, rows.rows, rows.along_columns});
    const int64_t count = std::min(most_operands, most_elements / pitch);
    for (int64_t row = 0; row < rows.rows; row += count) {
        for (int64_t column = 0; column < rows.columns; column += columns) {
            computed_rows part = rows.from(quantize, row, column);
            part.columns = std::min(columns, rows.columns - column);
            part.rows = std::min(count, rows.rows - row);
            add(part, by);
        }
    }
}

void call_diagnostics::add(const computed_rows &part, measured_part &by) {
    const int64_t count = part.along_columns ? part.columns : part.rows;
    copy_operands(part, count, has_zero_points, by);
    (runs_avx2(*quantize.target) ? set_ends_avx2 : set_ends_portably)(lowest, highest, count, by);
    const coded_rows rows{part.codes, part.columns, part.rows, part.along_columns};
    decode(with_own_operands(decoding, by.scales, has_zero_points ? by.zero_points : nullptr), rows, by.values);
    uint32_t counts[measured_count];
    measure(part.along_columns ? kernels.column : kernels.row, part, quantize.x_element, decoded_pitch(rows), by,
            counts);
    add_squares(by.exponents, by.squares, count);
    add_counts(counts);
}

// Few exponents are met at a time: so many are summed before what threads share is touched.
void call_diagnostics::add_squares(const uint32_t *of_exponents, const uint64_t *squares, int64_t count) {
    constexpr uint32_t some = 32;
    const auto [first, last] = std::minmax_element(of_exponents, of_exponents + count);
    for (uint32_t from = *first; from <= *last; from += some) {
        uint64_t own_low[some]{}, own_high[some]{};
        for (int64_t i = 0; i < count; i++) {
            if (const uint32_t place = of_exponents[i] - from; place < some) {
                own_low[place] += squares[i] % half;
                own_high[place] += squares[i] / half;
            }
        }
        for (uint32_t place = 0; place < some; place++) {
            if ((own_low[place] | own_high[place]) != 0) {
                low[from + place] += own_low[place];
                high[from + place] += own_high[place];
            }
        }
    }
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
    const uint32_t own_amax = of(measured::amax);
    for (uint32_t most = amax; most < own_amax && !amax.compare_exchange_weak(most, own_amax);) {
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

}  // namespace qdq::runtime

#include "cpu/squared_errors.h"

#include "cpu/avx2.h"
#include "cpu/kernel_buffer.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

[[gnu::always_inline]] inline void set_units_of(int64_t count, measured_rows &all) {
    uint32_t least = UINT32_MAX;
    for (int64_t i = 0; i < count; i++) {
        all.exponents[i] = error_exponent(all.scales[i]);
        all.units[i] = std::bit_cast<float>(all.exponents[i] << 23);
        least = std::min(least, all.exponents[i]);
    }
    all.least_exponent = least;
}

void set_units_portably(int64_t count, measured_rows &all) { set_units_of(count, all); }

QDQ_AVX2 void set_units_avx2(int64_t count, measured_rows &all) { set_units_of(count, all); }

void measure(measure_kernel *kernel, const operand_rows &from, halide_type_t type, int64_t pitch, measured_ways how,
             measured_rows &by) {
    const auto columns = int32_t(from.columns), rows = int32_t(from.rows);
    const int32_t steps = (columns + measured_step - 1) / measured_step * measured_step;
    const halide_dimension_t x_shape[] = {{0, steps, 1, 0}, {0, rows, rows == 1 ? 0 : int32_t(from.from.pitch), 0}};
    const halide_dimension_t y_shape[] = {{0, steps, 1, 0}, {0, rows, int32_t(pitch), 0}};
    const halide_dimension_t operand_shape[] = {{0, from.along_columns ? steps : rows, 1, 0}};
    const halide_dimension_t count_shape[] = {{0, measured_count, 1, 0}};
    halide_buffer_t x, y, units, lowest, highest, squares, flushed, counts;
    set_buffer(x, from.from.data, type, 2, x_shape);
    set_buffer(y, by.values, {halide_type_float, 32, 1}, 2, y_shape);
    set_buffer(units, by.units, scale_type, 1, operand_shape);
    set_buffer(lowest, by.lowest, scale_type, 1, operand_shape);
    set_buffer(highest, by.highest, scale_type, 1, operand_shape);
    set_buffer(squares, by.squares, {halide_type_uint, 64, 1}, 1, operand_shape);
    set_buffer(flushed, by.flushed, {halide_type_uint, 32, 1}, 1, operand_shape);
    set_buffer(counts, by.counts, {halide_type_uint, 32, 1}, 1, count_shape);
    kernel(&x, &y, &units, &lowest, &highest, columns, how.may_be_outside, how.is_far, &squares, &flushed, &counts);
}

}  // namespace

error_measurement::error_measurement(const dynamic_plan &p)
    : decoding(decoding_of(p.quantize.op, p.decodes)),
      kernels(find_measurements(*p.quantize.op.target).of[p.how.x_type]),
      x_type(p.quantize.op.x_element),
      has_zero_points(p.has_zero_point) {}

void error_measurement::run(const operand_rows &x, rows_of_x codes, measured_ways how, measured_rows &all) const {
    const int64_t count = x.along_columns ? x.columns : x.rows;
    (runs_avx2(*decoding.target) ? set_units_avx2 : set_units_portably)(count, all);
    const operand_rows of_codes{codes, x.columns, x.rows, x.along_columns};
    run_rows(with_own_operands(decoding, all.scales, has_zero_points ? all.zero_points : nullptr), of_codes,
             all.values);
    measure(x.along_columns ? kernels.column : kernels.row, x, x_type, pitch_of_results(of_codes), how, all);
}

}  // namespace qdq::runtime

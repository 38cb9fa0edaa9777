#include "cpu/diagnostics.h"

#include "cpu/avx2.h"
#include "cpu/squared_errors.h"
#include "support/types.h"

#include <algorithm>
#include <bit>

namespace qdq::runtime {

namespace {

constexpr uint32_t infinity = 0x7f800000, quiet_nan = 0x7fc00000;
constexpr uint64_t half = uint64_t{1} << 32;

// What is at or beyond these is clipped.
struct code_ends {
    float lowest, highest;
};

code_ends ends_of(const scale_computation &how, qdq_dtype codes, float scale, int32_t zero_point) {
    const element_type &type = type_of(codes);
    const double step = type.last_step() / 2;
    const double lowest = type.is_integer() ? how.lowest : -type.largest_value();
    const double highest = type.is_integer() ? how.highest : type.largest_value();
    return {static_cast<float>(lowest - step - zero_point) * scale,
            static_cast<float>(highest + step - zero_point) * scale};
}

struct counts {
    uint32_t nan, infinite, clipped, flushed, amax;
};

// Of bits and comparisons, which compilers make vectors of.
[[gnu::always_inline]] inline counts count_in(const float *x, const float *y, int64_t count, code_ends ends) {
    counts found{};
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffff;
        const uint32_t is_finite = bits < infinity;
        const uint32_t is_beyond = x[i] >= ends.highest, is_below = x[i] <= ends.lowest;
        const uint32_t becomes_zero = (std::bit_cast<uint32_t>(y[i]) & 0x7fffffff) == 0;
        found.nan += bits > infinity;
        found.infinite += bits == infinity;
        found.clipped += is_finite & (is_beyond | is_below);
        found.flushed += is_finite & uint32_t{bits != 0} & becomes_zero;
        found.amax = std::max(found.amax, bits);
    }
    return found;
}

counts count_portably(const float *x, const float *y, int64_t count, code_ends ends) {
    return count_in(x, y, count, ends);
}

QDQ_AVX2 counts count_avx2(const float *x, const float *y, int64_t count, code_ends ends) {
    return count_in(x, y, count, ends);
}

}  // namespace

void area_diagnostics::add(const scale_computation &how, const call &op, float scale, int32_t zero_point,
                           const float *x, const float *y, int64_t count) {
    const code_ends ends = ends_of(how, op.y_type, scale, zero_point);
    const counts found = (runs_avx2(*op.target) ? count_avx2 : count_portably)(x, y, count, ends);
    nan += found.nan;
    infinite += found.infinite;
    clipped += found.clipped;
    flushed += found.flushed;
    amax = std::max(amax, found.amax);
    const uint32_t exponent = error_exponent(scale);
    const uint64_t sum = sum_of_squares(*op.target, x, y, count, exponent);
    low[exponent] += sum % half;
    high[exponent] += sum / half;
}

void call_diagnostics::add(const area_diagnostics &area) {
    nan += area.nan;
    infinite += area.infinite;
    clipped += area.clipped;
    flushed += area.flushed;
    for (uint32_t most = amax; most < area.amax && !amax.compare_exchange_weak(most, area.amax);) {
    }
    for (int i = 0; i < area_diagnostics::exponents; i++) {
        if ((area.low[i] | area.high[i]) != 0) {
            low[i] += area.low[i];
            high[i] += area.high[i];
        }
    }
}

qdq_diagnostics call_diagnostics::total() const {
    double error = 0;
    for (uint32_t exponent = area_diagnostics::exponents - 1; exponent > 0; exponent--) {
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

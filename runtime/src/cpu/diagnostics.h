// What a dynamic call met: counts, and sums that are exact, so that tiles come in any order and on any thread.
#pragma once

#include "cpu/computed_rows.h"
#include "cpu/reduction.h"
#include "cpu/squared_errors.h"
#include "plan/dynamic_plan.h"

#include <atomic>

namespace qdq::runtime {

// Of a call.
class call_diagnostics {
public:
    explicit call_diagnostics(const dynamic_plan &p);
    call_diagnostics(const call_diagnostics &) = delete;

    // Of groups the largest magnitude. Whether one of their elements may be clipped, or is not finite.
    bool add_groups(const extremes &found, const float *scales, const int32_t *zero_points, int64_t count);
    void add_rows(const computed_rows &rows, bool may_be_outside, measured_rows &by);
    qdq_diagnostics total() const;

private:
    static constexpr int exponents = 256;

    const call quantize;
    const error_measurement measurement;
    const qdq_dtype x_type;
    const double lowest, highest;  // what codes are clipped at, but for the zero point
    const bool has_zero_points;
    const bool is_far;  // whether codes may be further from x than near squares take
    std::atomic<int64_t> nan{0}, infinite{0}, clipped{0}, flushed{0};
    std::atomic<uint32_t> amax{0};  // bits
    // Squared errors by the exponent of how many units are 1, in two halves of 32 bits that carry nothing yet.
    std::atomic<uint64_t> low[exponents]{}, high[exponents]{};

    void add_parts(const computed_rows &rows, bool may_be_outside, measured_rows &by);
    void add(const computed_rows &part, bool may_be_outside, measured_rows &by);
    uint32_t add_squares(const measured_rows &by, int64_t count);
    void add_counts(const uint32_t *counts);
    void add_amax(uint32_t own);
};

// Elements of a call whose scales are computed before their codes.
class diagnosed_elements {
public:
    call_diagnostics &call;

    explicit diagnosed_elements(call_diagnostics &call) : call(call) {}
    diagnosed_elements(const diagnosed_elements &) = delete;

    // Those of some more groups, on any thread.
    void add_groups(const extremes &found, const float *scales, const int32_t *zero_points, int64_t count);
    // What adds tiles of these groups, on any thread.
    const tile_visitor *visitor() const { return &adding; }

private:
    std::atomic<bool> may_be_outside{false};
    const tile_visitor adding{visit, this, memory_bytes};

    static const int64_t memory_bytes;
    static void visit(void *context, const computed_tile &tile);
};

}  // namespace qdq::runtime

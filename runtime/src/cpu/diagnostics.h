// What a dynamic call met: counts, and sums that are exact, so that tiles come in any order and on any thread.
#pragma once

#include "cpu/computed_rows.h"
#include "plan/dynamic_plan.h"
#include "targets/measurement_table.h"

#include <atomic>

namespace qdq::runtime {

struct measured_part;

// Of a call.
class call_diagnostics {
public:
    explicit call_diagnostics(const dynamic_plan &p);
    call_diagnostics(const call_diagnostics &) = delete;

    // What adds tiles to these, on any thread.
    tile_visitor visitor();
    qdq_diagnostics total() const;

private:
    static constexpr int exponents = 256;

    const call quantize, decoding;  // the latter without operands
    const measurements_of_type &kernels;
    const double lowest, highest;  // what codes are clipped at, but for the zero point
    const bool has_zero_points;
    std::atomic<int64_t> nan{0}, infinite{0}, clipped{0}, flushed{0};
    std::atomic<uint32_t> amax{0};  // bits
    // Squared errors by the exponent of how many units are 1, in two halves of 32 bits that carry nothing yet.
    std::atomic<uint64_t> low[exponents]{}, high[exponents]{};

    static void visit(void *context, const computed_tile &tile);
    void add_rows(const computed_rows &rows, measured_part &by);
    void add_parts(const computed_rows &rows, measured_part &by);
    void add(const computed_rows &part, measured_part &by);
    void add_squares(const uint32_t *of_exponents, const uint64_t *squares, int64_t count);
    void add_counts(const uint32_t *counts);
};

}  // namespace qdq::runtime

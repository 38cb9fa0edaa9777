// What a dynamic call met: counts, and sums that are exact, so that areas come in any order and on any thread.
#pragma once

#include "plan/dynamic_plan.h"

#include <atomic>

namespace qdq::runtime {

// Of one area. Squared errors by the exponent of their unit, in two halves of 32 bits that carry nothing yet.
struct area_diagnostics {
    static constexpr int exponents = 256;

    int64_t nan = 0, infinite = 0, clipped = 0, flushed = 0;
    uint32_t amax = 0;  // bits
    uint64_t low[exponents]{}, high[exponents]{};

    // Elements of a group, and what their codes are worth.
    void add(const scale_computation &how, const call &op, float scale, int32_t zero_point, const float *x,
             const float *y, int64_t count);
};

// Of a call.
class call_diagnostics {
public:
    void add(const area_diagnostics &area);
    qdq_diagnostics total() const;

private:
    std::atomic<int64_t> nan{0}, infinite{0}, clipped{0}, flushed{0};
    std::atomic<uint32_t> amax{0};
    std::atomic<uint64_t> low[area_diagnostics::exponents]{}, high[area_diagnostics::exponents]{};
};

}  // namespace qdq::runtime

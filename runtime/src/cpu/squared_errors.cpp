#include "cpu/squared_errors.h"

#include <algorithm>
#include <cmath>

namespace qdq::runtime {

uint64_t sum_of_squares(const float *x, const float *y, int64_t count, uint32_t exponent) {
    const float units = std::bit_cast<float>(exponent << 23);
    uint64_t sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const float error = std::fabs(x[i] - y[i]);
        const float limited = std::min(error * units, 0x1p27f);
        const bool is_finite = std::bit_cast<uint32_t>(error) < 0x7f800000;
        const auto whole = static_cast<uint32_t>(static_cast<int32_t>((is_finite ? limited : 0.0f) + 0.5f));
        sum += uint64_t{whole} * whole;
    }
    return sum;
}

}  // namespace qdq::runtime

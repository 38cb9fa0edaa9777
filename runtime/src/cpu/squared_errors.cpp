#include "cpu/squared_errors.h"

#include "cpu/avx2.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

// By bits, which compilers make vectors of: those of numbers that are not below 0 order them, and NaN is beyond all.
[[gnu::always_inline]] inline uint64_t sum(const float *x, const float *y, int64_t count, uint32_t exponent) {
    constexpr uint32_t infinity = 0x7f800000, most = std::bit_cast<uint32_t>(0x1p27f);
    const float units = std::bit_cast<float>(exponent << 23);
    uint64_t squares = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t error = std::bit_cast<uint32_t>(x[i] - y[i]) & 0x7fffffff;
        const uint32_t limited = std::min(std::bit_cast<uint32_t>(std::bit_cast<float>(error) * units), most);
        const uint32_t finite = limited & (0 - uint32_t{error < infinity});
        const float above = std::bit_cast<float>(finite) + 0.5f;
        const auto whole = static_cast<uint32_t>(static_cast<int32_t>(above));
        squares += uint64_t{whole} * whole;
    }
    return squares;
}

uint64_t sum_portably(const float *x, const float *y, int64_t count, uint32_t exponent) {
    return sum(x, y, count, exponent);
}

QDQ_AVX2 uint64_t sum_avx2(const float *x, const float *y, int64_t count, uint32_t exponent) {
    return sum(x, y, count, exponent);
}

}  // namespace

uint64_t sum_of_squares(const target &on, const float *x, const float *y, int64_t count, uint32_t exponent) {
    return (runs_avx2(on) ? sum_avx2 : sum_portably)(x, y, count, exponent);
}

}  // namespace qdq::runtime

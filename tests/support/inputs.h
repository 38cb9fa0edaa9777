// Inputs that quantization gets wrong when it gets anything wrong, the same on every machine.
#pragma once

#include <qdq/qdq.h>

#include <cstdint>
#include <vector>

namespace test_support {

// splitmix64: the standard library's distributions differ between implementations.
class random_bits {
public:
    explicit random_bits(uint64_t seed) : state_(seed) {}

    uint64_t next64() {
        uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    uint32_t next32() { return static_cast<uint32_t>(next64() >> 32); }
    int64_t below(int64_t bound) { return static_cast<int64_t>(next64() % static_cast<uint64_t>(bound)); }

private:
    uint64_t state_;
};

// The x that a scale maps onto each t, to within a unit or so in the last place, and two neighbours on either side.
std::vector<float> around(const std::vector<double> &ts, float scale, qdq_scale_mode mode);

// Zeros, subnormals, powers of two, the largest values, infinities and NaNs with payloads, of both signs.
std::vector<float> special_floats();

// Every f32 bit pattern is equally likely: half of them are below 1, many are subnormal or NaN.
std::vector<float> random_patterns(int64_t count, uint64_t seed);

// Values spread over what the type's codes reach for this scale, and a little beyond.
std::vector<float> random_in_range(int64_t count, float scale, float lowest, float highest, uint64_t seed);

// About `count` inputs for one scale: x whose quotient (or product) is a whole number, a half or a saturation
// boundary, the floats next to those, the special floats, and random patterns.
std::vector<float> tricky_floats(float scale, qdq_scale_mode mode, int64_t count, uint64_t seed);

// 1, 0.1, 1/127, powers of two near both ends, subnormal, negative, zero, infinite, NaN, ...
std::vector<float> corner_scales();

}  // namespace test_support

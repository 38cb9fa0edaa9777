// Which NaN an instruction gives, where PTX leaves it open: 0x7fffffff, as GPUs give, one that comes from an operand,
// as this processor computes, or any other. Results must not depend on it, so it is drawn.
#pragma once

#include <cstdint>
#include <string_view>

namespace ptx {

enum class nan_choice { drawn, canonical, propagated, any };

// QDQ_PTX_NAN: drawn where it is not set. Throws std::invalid_argument.
nan_choice nan_choice_named(std::string_view name);

class nan_source {
public:
    nan_source() = default;
    nan_source(nan_choice choice, uint64_t seed) : choice_(choice), state_(seed * 0x9e3779b97f4a7c15 | 1) {}

    // In the place of a NaN with these bits, of an f32 or an f16.
    uint32_t f32(uint32_t computed) { return choose(computed, 0x7fffffff, 0x7f800000, 0x007fffff); }
    uint16_t f16(uint16_t computed) { return static_cast<uint16_t>(choose(computed, 0x7fff, 0x7c00, 0x03ff)); }

private:
    uint64_t draw() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        return state_ ^= state_ << 17;
    }
    uint32_t choose(uint32_t computed, uint32_t canonical, uint32_t exponent, uint32_t mantissa) {
        nan_choice is = choice_;
        if (is == nan_choice::drawn) {
            constexpr nan_choice of[] = {nan_choice::canonical, nan_choice::propagated, nan_choice::any,
                                         nan_choice::any};
            is = of[draw() >> 40 & 3];
        }
        if (is == nan_choice::any) {
            const uint64_t bits = draw() >> 16;
            const auto payload = static_cast<uint32_t>(bits) & mantissa;
            const uint32_t sign = bits >> 32 & 1 ? (exponent | mantissa) + 1 : 0;
            return sign | exponent | (payload != 0 ? payload : 1);
        }
        return is == nan_choice::canonical ? canonical : computed;
    }

    nan_choice choice_ = nan_choice::drawn;
    uint64_t state_ = 1;
};

}  // namespace ptx

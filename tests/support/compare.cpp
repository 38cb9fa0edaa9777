#include "compare.h"

#include "reference/describe.h"
#include "reference/formats.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace test_support {

namespace {

constexpr int64_t differences_shown = 5;

template<typename... Arguments> std::string formatted(const char *format, Arguments... arguments) {
    char text[256];
    std::snprintf(text, sizeof text, format, arguments...);
    return text;
}

uint32_t code_at(qdq_dtype type, const void *data, int64_t i) {
    const uint8_t *bytes = static_cast<const uint8_t *>(data);
    const int64_t bits = reference::bits_of(type), size = bits / 8;
    if (reference::is_packed(type)) {
        return (unsigned{bytes[i * bits / 8]} >> i * bits % 8) & ((1u << bits) - 1);
    }
    uint32_t code = 0;
    std::memcpy(&code, bytes + i * size, static_cast<size_t>(size));
    return code;
}

}  // namespace

const char *name_of(qdq_rounding rounding) {
    switch (rounding) {
    case QDQ_NEAREST_EVEN: return "nearest_even";
    case QDQ_NEAREST_AWAY: return "nearest_away";
    case QDQ_TOWARD_ZERO: return "toward_zero";
    case QDQ_DOWN: return "down";
    case QDQ_UP: return "up";
    case QDQ_STOCHASTIC: return "stochastic";
    }
    return "?";
}

std::string describe(const qdq_options &options) {
    std::string text = options.scale_mode == QDQ_DIVIDE     ? "divide"
                       : options.scale_mode == QDQ_MULTIPLY ? "multiply"
                                                            : "reciprocal";
    text += options.quantize_zp == QDQ_ZP_BEFORE_ROUNDING ? ", before_rounding" : ", after_rounding";
    text += options.dequantize_zp == QDQ_ZP_ADD ? ", add" : ", subtract";
    text += std::string(", ") + name_of(options.rounding);
    if (options.rounding == QDQ_STOCHASTIC) {
        text += formatted(" (seed %" PRIu64 ", offset %" PRIu64 ")", options.random_seed, options.random_offset);
    }
    if (options.no_saturate != 0) {
        text += ", no_saturate";
    }
    if (options.nan == QDQ_NAN_ZERO) {
        text += ", nan zero";
    }
    text += formatted(", axis %d, block_size %" PRId64 ", range %d..%d", options.axis, options.block_size,
                      options.quant_min, options.quant_max);
    return text;
}

testing::AssertionResult same_codes(qdq_dtype type, const void *expected, const void *actual, int64_t count,
                                    const std::function<std::string(int64_t)> &describe_input) {
    const int64_t bytes = (count * reference::bits_of(type) + 7) / 8;
    if (bytes == 0 || std::memcmp(expected, actual, static_cast<size_t>(bytes)) == 0) {
        return testing::AssertionSuccess();
    }
    testing::AssertionResult failure = testing::AssertionFailure();
    int64_t differences = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t wanted = code_at(type, expected, i);
        const uint32_t got = code_at(type, actual, i);
        if (wanted == got || ++differences > differences_shown) {
            continue;
        }
        failure << "\n  element " << i << ": " << describe_input(i) << ": expected " << describe_code(type, wanted)
                << ", got " << describe_code(type, got);
    }
    if (differences == 0) {
        return failure << "\n  the bits past the last element differ";
    }
    return failure << "\n  " << differences << " of " << count << " " << reference::name_of(type) << " results differ";
}

}  // namespace test_support

#include "reference/blocks.h"

#include "reference/formats.h"
#include "reference/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace reference {

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

void put_f16(uint8_t *to, float value) {
    const uint32_t code = encode_ieee(f16_format, value);
    to[0] = static_cast<uint8_t>(code & 0xff);
    to[1] = static_cast<uint8_t>(code >> 8);
}

float f16_at(const uint8_t *from) { return decode_float(QDQ_F16, from[0] + 256u * from[1]); }

using block_codes = std::array<int, block_elements>;

void put_nibbles(uint8_t *to, const block_codes &codes) {
    for (size_t i = 0; i < 16; i++) {
        to[i] = static_cast<uint8_t>(codes[i] % 16 + 16 * (codes[i + 16] % 16));
    }
}

void put_fifth_bits(uint8_t *to, const block_codes &codes) {
    for (size_t i = 0; i < 32; i++) {
        to[i / 8] = static_cast<uint8_t>((i % 8 == 0 ? 0 : to[i / 8]) + ((codes[i] / 16) << (i % 8)));
    }
}

int nibble_at(const uint8_t *from, size_t i) { return i < 16 ? from[i] % 16 : from[i - 16] / 16; }
int fifth_bit_at(const uint8_t *from, size_t i) { return from[i / 8] >> (i % 8) & 1; }

// What a block's codes are computed by.
struct operands {
    float scale, inverse;
    bool is_special;  // an infinite scale, or none
};

operands operands_of(float scale) {
    const float inverse = 1 / scale;
    return {scale, std::isfinite(inverse) ? inverse : 0, !std::isfinite(scale)};
}

bool has_nan(const block_values &x) {
    return std::any_of(x.begin(), x.end(), [](float v) { return std::isnan(v); });
}

// The first of those that are farthest from 0.
float farthest(const block_values &x) {
    float found = 0;
    for (const float v : x) {
        found = std::fabs(v) > std::fabs(found) ? v : found;
    }
    return has_nan(x) ? no_number : found;
}

void quantize_q8_0(const block_values &x, uint8_t *y) {
    const operands o = operands_of(std::fabs(farthest(x)) / 127);
    put_f16(y, o.scale);
    for (size_t i = 0; i < x.size(); i++) {
        const float rounded = o.is_special ? 0 : std::round(x[i] * o.inverse);
        y[2 + i] = static_cast<uint8_t>(static_cast<int>(rounded));
    }
}

// Codes around `middle`.
block_codes codes_around(const block_values &x, int middle, uint8_t *scale) {
    const operands o = operands_of(farthest(x) / static_cast<float>(-middle));
    put_f16(scale, o.scale);
    block_codes codes{};
    for (size_t i = 0; i < x.size(); i++) {
        const float product = o.is_special ? 0 : x[i] * o.inverse;
        codes[i] = std::min(2 * middle - 1, static_cast<int>(product + (static_cast<float>(middle) + 0.5f)));
    }
    return codes;
}

// Codes up from the least.
block_codes codes_from_least(const block_values &x, int most, uint8_t *scale) {
    float least = x[0], largest = x[0];
    for (const float v : x) {
        least = v < least ? v : least;
        largest = v > largest ? v : largest;
    }
    const bool is_infinite = std::isinf(least) || std::isinf(largest);  // between equal ones there is no number
    const float span = is_infinite ? std::numeric_limits<float>::infinity() : largest - least;
    const bool none = has_nan(x);
    const operands o = operands_of(none ? no_number : (span == 0 ? 0 : span) / static_cast<float>(most));
    put_f16(scale, o.scale);
    put_f16(scale + 2, none ? no_number : least);
    block_codes codes{};
    for (size_t i = 0; i < x.size(); i++) {
        const float steps = o.is_special ? 0 : (x[i] - least) * o.inverse;
        codes[i] = std::min(most, static_cast<int>(steps + 0.5f));
    }
    return codes;
}

constexpr std::array<int, 16> halves_of_e2m1 = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

float half_of_power(int e) { return std::ldexp(1.0f, e - 128); }

int power_of(const block_values &x) {
    const float amax = std::fabs(farthest(x));
    if (!std::isfinite(amax)) {
        return 253;
    }
    const auto logarithm = static_cast<float>(std::log2(static_cast<double>(amax)));
    return amax == 0 ? 0 : std::max(0, static_cast<int>(std::floor(logarithm)) + 125);
}

// The first of the nearest values.
int nearest_e2m1(float v, float unit) {
    if (std::isnan(v) || std::isinf(v)) {
        return v < 0 ? 15 : 7;
    }
    int best = 0;
    for (int code = 1; code < 16; code++) {
        const auto error = [&](int of) {
            return std::fabs(static_cast<float>(halves_of_e2m1[static_cast<size_t>(of)]) * unit - v);
        };
        best = error(code) < error(best) ? code : best;
    }
    return best;
}

void quantize_mxfp4(const block_values &x, uint8_t *y) {
    const int e = power_of(x);
    y[0] = static_cast<uint8_t>(e);
    block_codes codes{};
    for (size_t i = 0; i < x.size(); i++) {
        codes[i] = nearest_e2m1(x[i], half_of_power(e));
    }
    put_nibbles(y + 1, codes);
}

constexpr std::array<float, 16> values_of_iq4_nl = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                    1,    13,   25,  38,  53,  69,  89,  113};

// The greater of two that are as near.
int nearest_of_table(float t) {
    int best = 0;
    for (int code = 1; code < 16; code++) {
        const double of_best = std::fabs(double{t} - double{values_of_iq4_nl[static_cast<size_t>(best)]}),
                     of_this = std::fabs(double{t} - double{values_of_iq4_nl[static_cast<size_t>(code)]});
        best = of_this <= of_best ? code : best;
    }
    return best;
}

block_codes codes_of_table(const block_values &x, uint8_t *scale) {
    const float far = farthest(x);
    block_codes codes{};
    if (!std::isfinite(far) || std::fabs(far) < 1e-15f) {
        codes.fill(nearest_of_table(0));
        put_f16(scale, std::isfinite(far) ? 0 : std::fabs(far));
        return codes;
    }
    const float inverse = 1 / (far / values_of_iq4_nl[0]);
    float products = 0, squares = 0;
    for (size_t i = 0; i < x.size(); i++) {
        codes[i] = nearest_of_table(x[i] * inverse);
        const float value = values_of_iq4_nl[static_cast<size_t>(codes[i])], weighted = x[i] * x[i] * value;
        products += weighted * x[i];
        squares += weighted * value;
    }
    put_f16(scale, products / squares);
    return codes;
}

}  // namespace

int64_t bytes_of(qdq_block_format format) {
    switch (format) {
    case QDQ_Q8_0: return 34;
    case QDQ_Q4_0: return 18;
    case QDQ_Q4_1: return 20;
    case QDQ_Q5_0: return 22;
    case QDQ_Q5_1: return 24;
    case QDQ_IQ4_NL: return 18;
    default: return 17;
    }
}

void quantize_block(qdq_block_format format, const block_values &x, uint8_t *y) {
    switch (format) {
    case QDQ_Q8_0: quantize_q8_0(x, y); break;
    case QDQ_Q4_0: put_nibbles(y + 2, codes_around(x, 8, y)); break;
    case QDQ_Q4_1: put_nibbles(y + 4, codes_from_least(x, 15, y)); break;
    case QDQ_Q5_0: {
        const block_codes codes = codes_around(x, 16, y);
        put_fifth_bits(y + 2, codes);
        put_nibbles(y + 6, codes);
        break;
    }
    case QDQ_Q5_1: {
        const block_codes codes = codes_from_least(x, 31, y);
        put_fifth_bits(y + 4, codes);
        put_nibbles(y + 8, codes);
        break;
    }
    case QDQ_IQ4_NL: put_nibbles(y + 2, codes_of_table(x, y)); break;
    default: quantize_mxfp4(x, y);
    }
}

block_values dequantize_block(qdq_block_format format, const uint8_t *x) {
    block_values y{};
    for (size_t i = 0; i < y.size(); i++) {
        switch (format) {
        case QDQ_Q8_0: y[i] = static_cast<float>(static_cast<int8_t>(x[2 + i])) * f16_at(x); break;
        case QDQ_Q4_0: y[i] = static_cast<float>(nibble_at(x + 2, i) - 8) * f16_at(x); break;
        case QDQ_Q4_1: y[i] = static_cast<float>(nibble_at(x + 4, i)) * f16_at(x) + f16_at(x + 2); break;
        case QDQ_Q5_0:
            y[i] = static_cast<float>(nibble_at(x + 6, i) + 16 * fifth_bit_at(x + 2, i) - 16) * f16_at(x);
            break;
        case QDQ_Q5_1:
            y[i] = static_cast<float>(nibble_at(x + 8, i) + 16 * fifth_bit_at(x + 4, i)) * f16_at(x) + f16_at(x + 2);
            break;
        case QDQ_IQ4_NL: y[i] = values_of_iq4_nl[static_cast<size_t>(nibble_at(x + 2, i))] * f16_at(x); break;
        default:
            y[i] = static_cast<float>(halves_of_e2m1[static_cast<size_t>(nibble_at(x + 1, i))]) * half_of_power(x[0]);
        }
        y[i] = std::isnan(y[i]) ? no_number : y[i];
    }
    return y;
}

namespace {

// In row-major order.
template<typename Value, typename Load> std::vector<Value> all_of(const qdq_tensor &t, Load &&load) {
    std::vector<Value> all;
    for_each_index(t, [&](const int64_t *index) { all.push_back(load(index)); });
    return all;
}

void store_all(const qdq_tensor &t, const std::vector<uint32_t> &codes) {
    auto next = codes.begin();
    for_each_index(t, [&](const int64_t *index) { store_code(t, index, *next++); });
}

uint32_t encoded(qdq_dtype type, float value) {
    return type == QDQ_F32 ? encode_f32(value) : encode_ieee(type == QDQ_F16 ? f16_format : bf16_format, value);
}

}  // namespace

void quantize_blocks(const qdq_tensor &x, const qdq_tensor &y, qdq_block_format format) {
    const auto values = all_of<float>(x, [&](const int64_t *index) { return load_float(x, index); });
    std::vector<uint32_t> bytes;
    for (auto at = values.begin(); at != values.end(); at += block_elements) {
        block_values block{};
        std::copy_n(at, block_elements, block.begin());
        std::array<uint8_t, 64> coded{};
        quantize_block(format, block, coded.data());
        bytes.insert(bytes.end(), coded.begin(), coded.begin() + bytes_of(format));
    }
    store_all(y, bytes);
}

void dequantize_blocks(const qdq_tensor &x, const qdq_tensor &y, qdq_block_format format) {
    const auto bytes =
        all_of<uint8_t>(x, [&](const int64_t *index) { return static_cast<uint8_t>(load_code(x, index)); });
    std::vector<uint32_t> values;
    for (auto at = bytes.begin(); at != bytes.end(); at += bytes_of(format)) {
        for (const float value : dequantize_block(format, &*at)) {
            values.push_back(encoded(y.dtype, value));
        }
    }
    store_all(y, values);
}

}  // namespace reference

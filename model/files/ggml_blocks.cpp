// The values of ggml's blocks, and blocks of values. Those that the library does not know are products of a few numbers
// in f32, in the order of the package gguf, whose results they are bit for bit: this file is compiled without
// contraction to fused operations.

#include "files/ggml_blocks.h"

#include "support/error.h"
#include "support/text.h"
#include "tensors/float_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

namespace qdq::model {

namespace {

const uint8_t *bytes_of(const std::byte *block) { return reinterpret_cast<const uint8_t *>(block); }

float half_at(const std::byte *at) {
    float value;
    widen(QDQ_F16, at, 0, 1, &value);
    return value;
}

// Field i of those of some bits: `run` bytes hold `run` fields in their lowest bits, then `run` more in the next.
int field(const uint8_t *bytes, int i, int run, int bits) {
    int fields = run * 8 / bits;  // of a run
    return bytes[i / fields * run + i % run] >> (i % fields / run * bits) & ((1 << bits) - 1);
}

// Fills the values of a block with those of a function of the index.
template<int count, typename Value> void fill(std::byte *values, const Value &value) {
    for (int i = 0; i < count; ++i) {
        float each = value(i);
        std::memcpy(values + static_cast<size_t>(i) * sizeof each, &each, sizeof each);
    }
}

constexpr int small = 32, large = 256;  // the elements of blocks

void decode_q2_k(const std::byte *block, std::byte *values) {
    const uint8_t *scales = bytes_of(block), *codes = scales + 16;
    float scale = half_at(block + 80), least = half_at(block + 82);
    fill<large>(values, [&](int i) {
        int of = scales[i / 16];
        float step = scale * static_cast<float>(of & 15), minimum = least * static_cast<float>(of >> 4);
        return step * static_cast<float>(field(codes, i, 32, 2)) - minimum;
    });
}

void decode_q3_k(const std::byte *block, std::byte *values) {
    const uint8_t *high = bytes_of(block), *low = high + 32, *scales = low + 64;
    float scale = half_at(block + 108);
    fill<large>(values, [&](int i) {
        int of = (field(scales, i / 16, 8, 4) | field(scales + 8, i / 16, 4, 2) << 4) - 32;
        int code = field(low, i, 32, 2) - (field(high, i, 32, 1) == 0 ? 4 : 0);
        return scale * static_cast<float>(of) * static_cast<float>(code);
    });
}

struct scale_pair {
    float scale, minimum;
};

// The 6 bits of scale and minimum `i` of 8, for Q4_K and Q5_K: those of the first four are the lowest of the first 8
// bytes; of the others the upper 2 bits are above them, the lower 4 in the last 4 bytes.
scale_pair scales_of_6_bits(const uint8_t *bytes, int i) {
    if (i < 4) {
        return {static_cast<float>(bytes[i] & 63), static_cast<float>(bytes[i + 4] & 63)};
    }
    int low = bytes[i + 4];
    return {static_cast<float>((low & 15) | (bytes[i - 4] >> 2 & 48)),
            static_cast<float>(low >> 4 | (bytes[i] >> 2 & 48))};
}

template<typename Code> void decode_with_minima(const std::byte *block, std::byte *values, const Code &code) {
    float scale = half_at(block), least = half_at(block + 2);
    fill<large>(values, [&](int i) {
        scale_pair of = scales_of_6_bits(bytes_of(block) + 4, i / 32);
        float step = scale * of.scale, minimum = least * of.minimum;
        return step * static_cast<float>(code(i)) - minimum;
    });
}

void decode_q4_k(const std::byte *block, std::byte *values) {
    const uint8_t *codes = bytes_of(block) + 16;
    decode_with_minima(block, values, [&](int i) { return field(codes, i, 32, 4); });
}

void decode_q5_k(const std::byte *block, std::byte *values) {
    const uint8_t *high = bytes_of(block) + 16, *low = high + 32;
    decode_with_minima(block, values, [&](int i) { return field(low, i, 32, 4) | field(high, i, 32, 1) << 4; });
}

void decode_q6_k(const std::byte *block, std::byte *values) {
    const uint8_t *low = bytes_of(block), *high = low + 128, *scales = high + 64;
    float scale = half_at(block + 208);
    fill<large>(values, [&](int i) {
        int code = (field(low, i, 64, 4) | field(high, i, 32, 2) << 4) - 32;
        return scale * static_cast<float>(static_cast<int8_t>(scales[i / 16])) * static_cast<float>(code);
    });
}

qdq_tensor bytes_of_blocks(const std::byte *blocks, const int64_t *bytes) {
    return {const_cast<std::byte *>(blocks), QDQ_U8, 1, bytes, nullptr, {}};
}

void check(qdq_status status) {
    if (status != QDQ_OK) {
        throw failure(qdq_last_error());
    }
}

// The values of a block that the library knows.
template<qdq_block_format format> void decode(const std::byte *block, std::byte *values) {
    const int64_t bytes = qdq_block_bytes(format), elements = small;
    const qdq_tensor x = bytes_of_blocks(block, &bytes), y = {values, QDQ_F32, 1, &elements, nullptr, {}};
    check(qdq_dequantize_blocks(&x, &y, format));
}

// By ggml.h and ggml-common.h. Q8_1 is a type of ggml's own calculations, which no file has: gguf does not read it, and
// gives it 40 bytes a block.
constexpr ggml_type types[] = {
    {0, "F32", 1, 4, "F32", nullptr},
    {1, "F16", 1, 2, "F16", nullptr},
    {2, "Q4_0", 32, 18, nullptr, nullptr, QDQ_Q4_0},
    {3, "Q4_1", 32, 20, nullptr, decode<QDQ_Q4_1>, QDQ_Q4_1},
    {6, "Q5_0", 32, 22, nullptr, decode<QDQ_Q5_0>, QDQ_Q5_0},
    {7, "Q5_1", 32, 24, nullptr, decode<QDQ_Q5_1>, QDQ_Q5_1},
    {8, "Q8_0", 32, 34, nullptr, nullptr, QDQ_Q8_0},
    {9, "Q8_1", 32, 36, nullptr, nullptr},
    {10, "Q2_K", 256, 84, nullptr, decode_q2_k},
    {11, "Q3_K", 256, 110, nullptr, decode_q3_k},
    {12, "Q4_K", 256, 144, nullptr, decode_q4_k},
    {13, "Q5_K", 256, 176, nullptr, decode_q5_k},
    {14, "Q6_K", 256, 210, nullptr, decode_q6_k},
    {15, "Q8_K", 256, 292, nullptr, nullptr},
    {16, "IQ2_XXS", 256, 66, nullptr, nullptr},
    {17, "IQ2_XS", 256, 74, nullptr, nullptr},
    {18, "IQ3_XXS", 256, 98, nullptr, nullptr},
    {19, "IQ1_S", 256, 50, nullptr, nullptr},
    {20, "IQ4_NL", 32, 18, nullptr, decode<QDQ_IQ4_NL>, QDQ_IQ4_NL},
    {21, "IQ3_S", 256, 110, nullptr, nullptr},
    {22, "IQ2_S", 256, 82, nullptr, nullptr},
    {23, "IQ4_XS", 256, 136, nullptr, nullptr},
    {24, "I8", 1, 1, "I8", nullptr},
    {25, "I16", 1, 2, "I16", nullptr},
    {26, "I32", 1, 4, "I32", nullptr},
    {27, "I64", 1, 8, "I64", nullptr},
    {28, "F64", 1, 8, "F64", nullptr},
    {29, "IQ1_M", 256, 56, nullptr, nullptr},
    {30, "BF16", 1, 2, "BF16", nullptr},
    {34, "TQ1_0", 256, 54, nullptr, nullptr},
    {35, "TQ2_0", 256, 66, nullptr, nullptr},
    {39, "MXFP4", 32, 17, nullptr, decode<QDQ_MXFP4>, QDQ_MXFP4},
    {40, "NVFP4", 64, 36, nullptr, nullptr},
    {41, "Q1_0", 128, 18, nullptr, nullptr},
};

// Those that are written, as types of tensors.
constexpr dtype written[] = {
    {"Q4_0", "", 0, std::nullopt, 0, 0, 0, 32, 18},  {"Q4_1", "", 0, std::nullopt, 0, 0, 0, 32, 20},
    {"Q5_0", "", 0, std::nullopt, 0, 0, 0, 32, 22},  {"Q5_1", "", 0, std::nullopt, 0, 0, 0, 32, 24},
    {"Q8_0", "", 0, std::nullopt, 0, 0, 0, 32, 34},  {"MXFP4", "", 0, std::nullopt, 0, 0, 0, 32, 17},
    {"IQ4_NL", "", 0, std::nullopt, 0, 0, 0, 32, 18}};

// An IQ4_NL scale is NaN where sums overflow.
bool is_finite(const std::byte *half) { return std::isfinite(half_at(half)); }

}  // namespace

void encode_blocks(const ggml_type &type, std::span<const float> values, std::byte *blocks) {
    const int64_t elements = std::ssize(values), count = elements / small, bytes = count * type.block_bytes;
    const qdq_tensor x = {const_cast<float *>(values.data()), QDQ_F32, 1, &elements, nullptr, {}};
    const qdq_tensor y = bytes_of_blocks(blocks, &bytes);
    check(qdq_quantize_blocks(&x, &y, *type.format));
    const bool has_minima = *type.format == QDQ_Q4_1 || *type.format == QDQ_Q5_1;
    for (int64_t i = 0; i < count && *type.format != QDQ_MXFP4; ++i) {
        const std::byte *scale = blocks + i * type.block_bytes;
        if (!is_finite(scale) || (has_minima && !is_finite(scale + 2))) {
            throw failure("its values need a scale or a minimum beyond F16's");
        }
    }
}

ggml_type ggml_type_of(uint32_t number) {
    const auto *found = std::ranges::find(types, number, &ggml_type::number);
    return found == std::end(types) ? ggml_type{number, nullptr, 1, 0, nullptr, nullptr} : *found;
}

const ggml_type *ggml_type_of(const dtype &type) {
    const auto *found = std::ranges::find_if(
        types, [&](const ggml_type &each) { return type.name == each.name && (each.dtype != nullptr || each.format); });
    return found == std::end(types) ? nullptr : found;
}

const dtype &block_dtype(std::string_view name) {
    auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return *std::ranges::find_if(written,
                                 [&](const dtype &each) { return std::ranges::equal(each.name, name, {}, lower); });
}

}  // namespace qdq::model

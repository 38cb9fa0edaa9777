// ggml's blocks on every target, byte by byte against the oracle: all f16, all bf16, drawn f32, and every scale.
#include "reference/blocks.h"
#include "reference/formats.h"
#include "support/block_formats.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <qdq/blocks.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace kernel_test {
namespace {

using bytes = std::vector<uint8_t>;
using test_support::named_format;
using test_support::random_bits;

constexpr qdq_dtype float_types[] = {QDQ_F32, QDQ_F16, QDQ_BF16};

int64_t size_of(qdq_dtype type) { return type == QDQ_F32 ? 4 : 2; }

// Elements of a type, by their bits.
struct elements {
    qdq_dtype type;
    std::vector<uint32_t> codes;

    int64_t blocks() const { return static_cast<int64_t>(codes.size()) / 32; }
    bytes stored() const {
        bytes all(codes.size() * static_cast<size_t>(size_of(type)));
        for (size_t i = 0; i < codes.size(); i++) {
            std::memcpy(&all[i * static_cast<size_t>(size_of(type))], &codes[i], static_cast<size_t>(size_of(type)));
        }
        return all;
    }
    reference::block_values block(int64_t number) const {
        reference::block_values values{};
        for (size_t i = 0; i < values.size(); i++) {
            const uint32_t code = codes[static_cast<size_t>(number) * 32 + i];
            values[i] = type == QDQ_F32 ? std::bit_cast<float>(code) : reference::decode_float(type, code);
        }
        return values;
    }
};

std::string described(const uint8_t *block, int64_t size) {
    std::string text;
    for (int64_t i = 0; i < size; i++) {
        char each[4];
        std::snprintf(each, sizeof each, "%02x ", block[i]);
        text += each;
    }
    return text;
}

bytes quantized(const elements &x, qdq_block_format format) {
    bytes of_x = x.stored(), y(static_cast<size_t>(x.blocks() * qdq_block_bytes(format)));
    const int64_t shape[] = {static_cast<int64_t>(x.codes.size())}, y_shape[] = {static_cast<int64_t>(y.size())};
    const qdq_tensor from{of_x.data(), x.type, 1, shape, nullptr, {}}, to{y.data(), QDQ_U8, 1, y_shape, nullptr, {}};
    EXPECT_EQ(qdq_quantize_blocks(&from, &to, format), QDQ_OK) << qdq_last_error();
    return y;
}

void expect_blocks_of(const elements &x) {
    for (const auto &[format, name] : test_support::block_formats) {
        const int64_t size = reference::bytes_of(format);
        const bytes y = quantized(x, format);
        bytes expected(static_cast<size_t>(size));
        for (int64_t b = 0; b < x.blocks() && !testing::Test::HasFailure(); b++) {
            reference::quantize_block(format, x.block(b), expected.data());
            const uint8_t *const actual = &y[static_cast<size_t>(b * size)];
            EXPECT_EQ(described(expected.data(), size), described(actual, size))
                << name << ", block " << b << " from " << x.block(b)[0];
        }
    }
}

void expect_values_of(const bytes &blocks, const named_format &of) {
    const int64_t size = reference::bytes_of(of.format), count = static_cast<int64_t>(blocks.size()) / size;
    for (const qdq_dtype type : float_types) {
        bytes y(static_cast<size_t>(count * 32 * size_of(type)));
        const int64_t shape[] = {count * size}, y_shape[] = {count * 32};
        bytes x = blocks;
        const qdq_tensor from{x.data(), QDQ_U8, 1, shape, nullptr, {}}, to{y.data(), type, 1, y_shape, nullptr, {}};
        ASSERT_EQ(qdq_dequantize_blocks(&from, &to, of.format), QDQ_OK) << qdq_last_error();
        for (int64_t i = 0; i < count * 32; i++) {
            uint32_t actual = 0;
            std::memcpy(&actual, &y[static_cast<size_t>(i * size_of(type))], static_cast<size_t>(size_of(type)));
            const uint8_t *const block = &blocks[static_cast<size_t>(i / 32 * size)];
            const float value = reference::dequantize_block(of.format, block)[static_cast<size_t>(i % 32)];
            const uint32_t expected =
                type == QDQ_F32
                    ? reference::encode_f32(value)
                    : reference::encode_ieee(type == QDQ_F16 ? reference::f16_format : reference::bf16_format, value);
            ASSERT_EQ(expected, actual) << of.name << " to " << reference::name_of(type) << ", element " << i % 32
                                        << " of " << described(block, size);
        }
    }
}

TEST(Blocks, of_all_16_bit_floats_in_two_orders) {
    test_support::for_each_target([](const std::string &) {
        for (const qdq_dtype type : {QDQ_F16, QDQ_BF16}) {
            elements near{type, {}}, far{type, {}};  // like numbers in a block, and numbers of all sizes
            for (uint32_t code = 0; code < 0x10000; code++) {
                near.codes.push_back(code);
                far.codes.push_back(code * 40503 & 0xffff);
            }
            expect_blocks_of(near);
            expect_blocks_of(far);
        }
    });
}

TEST(Blocks, of_any_f32) {
    test_support::for_each_target([](const std::string &) {
        elements x{QDQ_F32, {}};
        random_bits drawn(1);
        for (int block = 0; block < 3000; block++) {
            const auto exponent = static_cast<uint32_t>(drawn.below(256)),
                       spread = static_cast<uint32_t>(drawn.below(9));
            for (int i = 0; i < 32; i++) {
                const uint32_t less = static_cast<uint32_t>(drawn.below(spread + 1));
                const uint32_t of = exponent > less ? exponent - less : 0;
                x.codes.push_back((drawn.next32() & 0x807fffff) | of << 23);
            }
        }
        for (const float special : test_support::special_floats()) {
            for (int i = 0; i < 32; i++) {
                const auto ordinary = static_cast<float>(drawn.below(2001) - 1000) / 8;
                x.codes.push_back(std::bit_cast<uint32_t>(i == 5 ? special : ordinary));
            }
        }
        expect_blocks_of(x);
    });
}

// Among few different values many are ties, and many are as far from 0 as the first of them.
TEST(Blocks, of_ties) {
    test_support::for_each_target([](const std::string &) {
        elements x{QDQ_F32, {}};
        random_bits drawn(2);
        for (int block = 0; block < 2000; block++) {
            const auto steps = drawn.below(34) + 1;
            const float step = std::ldexp(1.0f, static_cast<int>(drawn.below(40)) - 20);
            const int64_t sign = drawn.below(3);  // of all, or of each
            for (int i = 0; i < 32; i++) {
                const float drawn_value = static_cast<float>(drawn.below(2 * steps + 1) - steps) / 2 * step;
                const float value = i == 9 && block % 4 == 0 ? 127 * step : drawn_value;  // a scale of Q8_0 is the step
                const float magnitude = std::fabs(value);
                x.codes.push_back(std::bit_cast<uint32_t>(sign == 0 ? value : sign == 1 ? magnitude : -magnitude));
            }
        }
        expect_blocks_of(x);
    });
}

// The logarithm of a number just below a power of two may be that of the power.
TEST(Blocks, whose_largest_element_is_near_a_power_of_two) {
    test_support::for_each_target([](const std::string &) {
        elements x{QDQ_F32, {}};
        for (uint32_t exponent = 1; exponent < 256; exponent++) {
            for (uint32_t below = 0; below < 64; below++) {
                const uint32_t largest = (exponent << 23) - below;
                for (uint32_t i = 0; i < 32; i++) {
                    x.codes.push_back(i == 7 ? largest : largest - (i << 19));
                }
            }
        }
        expect_blocks_of(x);
    });
}

TEST(Blocks, with_zeros_of_both_signs) {
    test_support::for_each_target([](const std::string &) {
        elements x{QDQ_F32, {}};
        random_bits drawn(3);
        for (int block = 0; block < 400; block++) {
            for (int i = 0; i < 32; i++) {
                const uint32_t zero = drawn.next32() & 0x80000000;
                const bool is_zero = block < 100 || drawn.below(2) == 0;
                x.codes.push_back(is_zero ? zero : (block % 2 == 0 ? 0x3f800000u : zero | 0x3f800000u));
            }
        }
        expect_blocks_of(x);
    });
}

// Of each sign alone, of both, and among numbers.
TEST(Blocks, of_infinities) {
    test_support::for_each_target([](const std::string &) {
        elements x{QDQ_F32, {}};
        for (const auto &[most, others] : {std::pair(0x7f800000u, 0x7f800000u),
                                           {0xff800000u, 0xff800000u},
                                           {0x7f800000u, 0xff800000u},
                                           {0x7f800000u, 0x3f800000u},
                                           {0xff800000u, 0x3f800000u}}) {
            for (int i = 0; i < 32; i++) {
                x.codes.push_back(i % 8 == 3 ? most : others);
            }
        }
        expect_blocks_of(x);
    });
}

TEST(Blocks, have_the_values_of_every_scale) {
    test_support::for_each_target([](const std::string &) {
        for (const named_format &of : test_support::block_formats) {
            const auto size = static_cast<size_t>(reference::bytes_of(of.format));
            bytes blocks;
            random_bits drawn(4);
            for (uint32_t scale = 0; scale < 0x10000; scale += scale % 0x400 < 8 || scale % 0x400 > 0x3f0 ? 1 : 37) {
                const size_t begin = blocks.size();
                for (size_t i = 0; i < size; i++) {
                    blocks.push_back(static_cast<uint8_t>(drawn.next32()));
                }
                blocks[begin] = static_cast<uint8_t>(scale);
                if (of.format != QDQ_MXFP4) {
                    blocks[begin + 1] = static_cast<uint8_t>(scale >> 8);
                }
            }
            expect_values_of(blocks, of);
        }
    });
}

// Chunks without an infinite scale, and with one as the last.
TEST(Blocks, have_one_nan_wherever_it_is) {
    test_support::for_each_target([](const std::string &) {
        for (const named_format &of : test_support::block_formats) {
            const auto size = static_cast<size_t>(reference::bytes_of(of.format));
            for (const size_t special : {size_t{0}, size_t{63}, size_t{64}, size_t{99}}) {
                bytes blocks(100 * size);
                blocks[special * size + (of.format == QDQ_Q5_1 ? 3 : 1)] = 0xfc;
                expect_values_of(blocks, of);
            }
        }
    });
}

TEST(Blocks, of_every_count) {
    test_support::for_each_target([](const std::string &) {
        random_bits drawn(5);
        for (uint32_t count = 0; count <= 130; count += count % 64 < 9 || count % 64 > 60 ? 1 : 11) {
            elements x{QDQ_F32, {}};
            for (uint32_t i = 0; i < 32 * count; i++) {
                x.codes.push_back(0x3f000000 + (drawn.next32() & 0x80ffffff));
            }
            expect_blocks_of(x);
            for (const named_format &of : test_support::block_formats) {
                expect_values_of(quantized(x, of.format), of);
            }
        }
    });
}

}  // namespace
}  // namespace kernel_test

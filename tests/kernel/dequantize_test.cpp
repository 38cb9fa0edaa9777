#include "checked_call.h"
#include "layouts.h"
#include "operand.h"

#include "conformance/storage.h"
#include "conformance/supported.h"
#include "support/compare.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kernel_test {
namespace {

using test_support::corner_scales;
using test_support::KernelTest;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// Every code of a type of 16 bits or fewer; of a wider one, and of a 16-bit one where `step` is not 1, the boundaries
// and random codes.
std::vector<uint32_t> codes_of(qdq_dtype type, int step = 1) {
    std::vector<uint32_t> codes;
    if (reference::bits_of(type) <= 16 && step == 1) {
        for (uint32_t code = 0; code < uint32_t{1} << reference::bits_of(type); ++code) {
            codes.push_back(code);
        }
        return codes;
    }
    const uint32_t mask = reference::bits_of(type) == 32 ? 0xffffffffu : 0xffffu;
    for (uint32_t power = 0; power < 32; ++power) {
        for (uint32_t near = 0; near < 5; ++near) {
            codes.push_back(((uint32_t{1} << power) + near - 2) & mask);
        }
    }
    test_support::random_bits random(5);
    for (int i = 0; i < 1000; ++i) {
        codes.push_back(random.next32() & mask);
    }
    return codes;
}

storage every_code(qdq_dtype type, const dimensions &shape = {}, const dimensions &strides = {}, int step = 1) {
    const std::vector<uint32_t> codes = codes_of(type, step);
    storage x(type, shape.empty() ? dimensions{static_cast<int64_t>(codes.size())} : shape, strides);
    for (int64_t i = 0; i < x.elements(); ++i) {
        x.set_code(i, codes[static_cast<size_t>(i * 101) % codes.size()]);
    }
    return x;
}

// Integer types saturate these, so that each sees its own ends.
const std::vector<double> zero_point_values{
    0, 1, 3, -77, 127, 128, 255, -128, 3e4, -4294967296.0, 4294967296.0, 16777217, -16777217};
const std::vector<double> float_zero_points{0.5,      -3.25,    1e30,      1e-38,     -1e-45,
                                            16777217, infinity, -infinity, nan_value, -0.0};

std::vector<double> corner_zero_points(qdq_dtype type) {
    std::vector<double> values = zero_point_values;
    if (!reference::is_integer(type)) {
        values.insert(values.end(), float_zero_points.begin(), float_zero_points.end());
    }
    return values;
}

class DequantizeTest : public KernelTest {
protected:
    // 16-bit types are sampled where the product with other choices would take minutes.
    int sampling() const { return reference::bits_of(stored()) == 16 ? 0 : 1; }

    bool takes_zero_points() const { return reference::is_integer(stored()); }

    void compare_with_zero_point(const storage &x, const operand &scale, qdq_dtype y_type, qdq_dtype type,
                                 double value) {
        const operand zero_point(type, {value});
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        for (qdq_dequantize_zp sign : {QDQ_ZP_SUBTRACT, QDQ_ZP_ADD}) {
            qdq_options options{};
            options.dequantize_zp = sign;
            EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), &zero_point_tensor, y_type, {}, options))
                << "zero point type " << reference::name_of(type);
        }
    }

    void compare_layout(const layout &l, const std::vector<float> &palette, bool with_zero_point, qdq_dtype scale_type,
                        qdq_dtype zero_point_type, qdq_dtype y_type, qdq_options options) {
        options.axis = l.axis;
        options.block_size = l.block_size;
        const dimensions x_strides = reference::is_packed(stored()) ? dimensions{} : l.x_strides;
        const storage x = l.shape.empty() ? storage(stored(), {}) : every_code(stored(), l.shape, x_strides);
        storage scale(scale_type, l.scale_shape, l.scale_strides);
        storage zero_point(zero_point_type, l.scale_shape, l.scale_strides);
        for (int64_t i = 0; i < scale.elements(); ++i) {
            const double value = static_cast<double>(palette[static_cast<size_t>(i) % palette.size()]);
            scale.set_code(i, operand::encode(scale_type, value));
            zero_point.set_code(i, operand::encode(zero_point_type, static_cast<double>(i * 37 % 100 - 50)));
        }
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), with_zero_point ? &zero_point_tensor : nullptr,
                                          y_type, l.y_strides, options))
            << l.name << ", scale " << reference::name_of(scale_type) << ", zero point "
            << (with_zero_point ? reference::name_of(zero_point_type) : "none");
    }

    // Every layout meets every zero-point type; the other choices take turns, so that all pairs come up.
    void compare_layouts(const std::vector<float> &palette) {
        size_t turn = 0;
        for (const layout &l : layouts()) {
            for (qdq_dtype zero_point_type : supported::zero_point_types) {
                const qdq_dtype scale_type = supported::scale_types[turn % supported::scale_types.size()];
                const qdq_dtype y_type = supported::float_types[turn % supported::float_types.size()];
                qdq_options options{};
                options.dequantize_zp = turn % 2 == 0 ? QDQ_ZP_SUBTRACT : QDQ_ZP_ADD;
                const bool with_zero_point = takes_zero_points() && turn % 7 != 0;
                compare_layout(l, palette, with_zero_point, scale_type, zero_point_type, y_type, options);
                ++turn;
            }
        }
    }
};

TEST_P(DequantizeTest, every_code_times_corner_scales) {
    const storage x = every_code(stored());
    for (qdq_dtype y_type : supported::float_types) {
        for (float scale_value : corner_scales()) {
            const operand scale(QDQ_F32, {static_cast<double>(scale_value)});
            EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, y_type, {}, {}));
        }
    }
}

TEST_P(DequantizeTest, every_code_with_corner_zero_points_of_every_type) {
    if (!takes_zero_points()) {
        GTEST_SKIP() << "this type takes no zero point";
    }
    const storage x = every_code(stored(), {}, {}, sampling());
    // With thinning each zero point meets a part of the scales: `turn` begins differently with each.
    int64_t first = 0;
    for (qdq_dtype y_type : supported::float_types) {
        for (float scale_value : corner_scales()) {
            const operand scale(QDQ_F32, {static_cast<double>(scale_value)});
            int64_t turn = first++;
            for (qdq_dtype type : supported::zero_point_types) {
                for (double value : corner_zero_points(type)) {
                    if (test_support::is_taken(turn++)) {
                        compare_with_zero_point(x, scale, y_type, type, value);
                    }
                }
            }
        }
    }
}

TEST_P(DequantizeTest, every_code_with_random_scales_and_zero_points) {
    const storage x = every_code(stored(), {}, {}, sampling());
    test_support::random_bits random(9);
    for (float scale_value : test_support::random_patterns(500, 4)) {
        const operand scale(QDQ_F32, {static_cast<double>(scale_value)});
        for (qdq_dtype y_type : supported::float_types) {
            EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, y_type, {}, {}));
            if (!takes_zero_points()) {
                continue;
            }
            const double z = static_cast<double>(static_cast<int32_t>(random.next32()));
            compare_with_zero_point(x, scale, y_type, QDQ_I32, z);
            compare_with_zero_point(x, scale, y_type, QDQ_F32, z / 1024);
        }
    }
}

TEST_P(DequantizeTest, broadcasts_ordinary_scales_over_every_layout) {
    compare_layouts({0.1f, 0.05f, 1.0f / 127, 0.3f, 2.0f, 0.75f, 0.00214854861f});
}

TEST_P(DequantizeTest, broadcasts_corner_scales_over_every_layout) { compare_layouts(corner_scales()); }

// Enough of them that their results are looked up where a target can.
TEST_P(DequantizeTest, every_code_in_long_rows_that_share_a_scale) {
    const storage x = every_code(stored(), {3, 2302});
    for (qdq_dtype y_type : supported::float_types) {
        for (const std::vector<float> &scales : {std::vector<float>{0.1f, 3.0f, 0.00214854861f}, corner_scales()}) {
            for (size_t first = 0; first + 3 <= scales.size(); first += 3) {
                storage scale(QDQ_F32, {3, 1});
                for (int64_t i = 0; i < 3; ++i) {
                    const double value = static_cast<double>(scales[first + static_cast<size_t>(i)]);
                    scale.set_code(i, operand::encode(QDQ_F32, value));
                }
                EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, y_type, {}, {}));
            }
        }
    }
}

TEST_P(DequantizeTest, multiplies_long_blocks_in_every_packing_by_any_scale) {
    for (const qdq_packing packing : {QDQ_LOW_FIRST, QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
        if (!supported::takes(stored(), packing)) {
            continue;
        }
        for (const int64_t block : {64, 512, 2048}) {
            const operand scale = least_and_ordinary_scales({3, 4096 / block});
            qdq_options options{};
            options.packing = packing;
            const storage x = every_code(stored(), {3, 4096});
            EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, QDQ_BF16, {}, options)) << block;
        }
    }
}

TEST_P(DequantizeTest, takes_a_scale_of_each_of_few_short_rows) {
    for (const dimensions &shape : few_short_rows) {
        const operand scale = scales_of_rows(shape);
        const storage x = every_code(stored(), shape);
        for (qdq_dtype y_type : supported::float_types) {
            EXPECT_TRUE(dequantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, y_type, {}, {})) << shape[1];
        }
    }
}

TEST_P(DequantizeTest, reads_every_code_of_the_narrow_scale_types) {
    for (qdq_dtype type : supported::scale_types) {
        if (type == QDQ_F32) {
            continue;
        }
        const int64_t count = int64_t{1} << reference::bits_of(type);
        storage scale(type, {count});
        for (int64_t i = 0; i < count; ++i) {
            scale.set_code(i, static_cast<uint32_t>(i));
        }
        EXPECT_TRUE(
            dequantizes_as_oracle(every_code(stored(), {count}).tensor(), scale.tensor(), nullptr, QDQ_F32, {}, {}))
            << "scale type " << reference::name_of(type);
    }
}

TEST_P(DequantizeTest, unpacks_every_order_over_every_layout) {
    if (!supported::takes(stored(), QDQ_HIGH_FIRST)) {
        GTEST_SKIP() << "this type has one order";
    }
    for (const layout &l : layouts()) {
        for (qdq_packing packing : {QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
            if (packing == QDQ_SPLIT_HALVES && product(l.shape) % 32 != 0) {
                continue;
            }
            qdq_options options{};
            options.packing = packing;
            compare_layout(l, {0.1f, 0.3f, 2.0f}, false, QDQ_F32, QDQ_I32, QDQ_F32, options);
            compare_layout(l, corner_scales(), false, QDQ_F16, QDQ_I32, QDQ_F16, options);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, DequantizeTest,
                         testing::ValuesIn(test_support::every_kernel(supported::stored_types,
                                                                      test_support::built_targets())),
                         test_support::name_of_case);

}  // namespace
}  // namespace kernel_test

#include "checked_call.h"
#include "layouts.h"
#include "operand.h"

#include "conformance/storage.h"
#include "conformance/supported.h"
#include "reference/quantize.h"
#include "support/compare.h"
#include "support/inputs.h"
#include "support/parallel.h"
#include "support/targets.h"
#include "support/thinning.h"
#include "support/view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace kernel_test {
namespace {

using test_support::corner_scales;
using test_support::describe;
using test_support::KernelTest;
using test_support::same_codes;
using test_support::tricky_floats;
using test_support::view;

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

struct zero_point_choice {
    bool present;
    qdq_dtype type;
    double value;
};

// The type peers give a zero point: the stored one, or the byte that a packed code would take.
qdq_dtype zero_point_type_of(qdq_dtype stored) { return reference::is_packed(stored) ? QDQ_I8 : stored; }

// In, at the ends of and far outside the stored type's range; at the ends of what a fast variant's sum takes, 2^20, and
// odd past 2^22, where that sum holds no halves.
std::vector<zero_point_choice> zero_points_for(qdq_dtype stored) {
    std::vector<zero_point_choice> choices{{false, QDQ_I32, 0}};
    if (!reference::is_integer(stored)) {
        return choices;
    }
    const qdq_dtype own = zero_point_type_of(stored);
    const reference::integer_range range = reference::range_of(own);
    choices.insert(choices.end(), {{true, own, static_cast<double>(range.lowest)},
                                   {true, own, static_cast<double>(range.highest)},
                                   {true, QDQ_I32, 3},
                                   {true, QDQ_I32, 1048576},
                                   {true, QDQ_I32, -1048576},
                                   {true, QDQ_I32, 1048577},
                                   {true, QDQ_I32, 4194305},
                                   {true, QDQ_I32, -536870911},
                                   {true, QDQ_I32, -2147483648.0},
                                   {true, QDQ_I32, 2147483647.0},
                                   {true, QDQ_F32, 0.5},
                                   {true, QDQ_F32, -3.75},
                                   {true, QDQ_F32, 33554436},
                                   {true, QDQ_F32, 1e30},
                                   {true, QDQ_F32, nan_value}});
    return choices;
}

struct output_range {
    int32_t lowest;
    int32_t highest;
};

std::vector<output_range> ranges_for(qdq_dtype stored) {
    if (!reference::is_integer(stored)) {
        return {{0, 0}};
    }
    const reference::integer_range range = reference::range_of(stored);
    const int32_t lowest = static_cast<int32_t>(range.lowest);
    const int32_t highest = static_cast<int32_t>(range.highest);
    return {{0, 0}, {lowest + 1, highest}, {1, 1}};
}

// The target in use; on the host by way of f32.
bool rounds_stochastically() {
    return test_support::current_device() != QDQ_DEVICE_HOST || std::ranges::count(supported::float_types, QDQ_F32) > 0;
}

std::vector<qdq_rounding> roundings_for(qdq_dtype stored) {
    std::vector<qdq_rounding> roundings{QDQ_NEAREST_EVEN};
    if (reference::is_integer(stored)) {
        roundings.insert(roundings.end(), {QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP});
    }
    if (rounds_stochastically()) {
        roundings.push_back(QDQ_STOCHASTIC);
    }
    return roundings;
}

// Of which neither half is 0, and an element from which on it is few to a block that the upper half of the counter
// begins at. It begins what shares random bits, and a group of a device's; the one before it neither.
constexpr uint64_t seed = 0x0123456789abcdef, offset = (uint64_t{1} << 36) - 96;

// Every combination of what outputs allow.
std::vector<qdq_options> option_combinations(qdq_dtype stored, qdq_scale_mode mode) {
    std::vector<qdq_options> combinations;
    for (qdq_rounding rounding : roundings_for(stored)) {
        for (qdq_quantize_zp order : {QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING}) {
            for (const output_range &range : ranges_for(stored)) {
                for (int32_t no_saturate : {0, 1}) {
                    if (no_saturate != 0 && reference::is_integer(stored)) {
                        continue;
                    }
                    qdq_options options{};
                    options.nan = combinations.size() % 2 == 0 ? QDQ_NAN_LOWEST : QDQ_NAN_ZERO;
                    options.scale_mode = mode;
                    options.rounding = rounding;
                    options.random_seed = seed + combinations.size();
                    options.random_offset = offset - combinations.size() % 2;
                    options.quantize_zp = order;
                    options.quant_min = range.lowest;
                    options.quant_max = range.highest;
                    options.no_saturate = no_saturate;
                    combinations.push_back(options);
                }
            }
        }
    }
    return combinations;
}

std::vector<uint32_t> codes_of(qdq_dtype type, const std::vector<float> &values) {
    std::vector<uint32_t> codes;
    for (float value : values) {
        codes.push_back(operand::encode(type, static_cast<double>(value)));
    }
    return codes;
}

// Of values that are tricky at a scale of 0.1; kept, because every layout takes them.
const std::vector<uint32_t> &tricky_codes(qdq_dtype type, qdq_scale_mode mode) {
    static std::map<std::pair<qdq_dtype, qdq_scale_mode>, std::vector<uint32_t>> kept;
    std::vector<uint32_t> &codes = kept[{type, mode}];
    if (codes.empty()) {
        codes = codes_of(type, tricky_floats(0.1f, mode, 20000, 11));
    }
    return codes;
}

// x in any float type: tricky values for f32, every code for a 16-bit type.
storage tricky_x(qdq_dtype type, float scale, qdq_scale_mode mode, const dimensions &shape = {}, int count = 5000) {
    std::vector<uint32_t> codes;
    if (type == QDQ_F32) {
        for (float value : tricky_floats(scale, mode, count, 7)) {
            codes.push_back(std::bit_cast<uint32_t>(value));
        }
    } else {
        for (uint32_t code = 0; code < 0x10000; ++code) {
            codes.push_back(code);
        }
    }
    storage x(type, shape.empty() ? dimensions{static_cast<int64_t>(codes.size())} : shape);
    for (int64_t i = 0; i < x.elements(); ++i) {
        x.set_code(i, codes[static_cast<size_t>(i) % codes.size()]);
    }
    return x;
}

class QuantizeTest : public KernelTest {
protected:
    // Per tensor, on dense x.
    void compare_per_tensor(const storage &x, float scale_value, const zero_point_choice &z,
                            const qdq_options &options) {
        const qdq_tensor x_tensor = x.tensor();
        const view scale_view(&scale_value, QDQ_F32);
        const operand zero_point(z.type, {z.value});
        const qdq_tensor scale_tensor = scale_view.tensor();
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        const qdq_tensor *zero_point_or_null = z.present ? &zero_point_tensor : nullptr;
        if (x_tensor.dtype != QDQ_F32) {
            EXPECT_TRUE(quantizes_as_oracle(x_tensor, scale_tensor, zero_point_or_null, stored(), {}, options));
            return;
        }
        const storage expected(stored(), {x.elements()});
        const storage actual(stored(), {x.elements()});
        const qdq_tensor expected_tensor = expected.tensor();
        const qdq_tensor y_tensor = actual.tensor();
        const float *values = reinterpret_cast<const float *>(x.bytes());
        const int64_t no_index[reference::max_rank] = {};
        const reference::parameters parameters(x_tensor, scale_tensor, zero_point_or_null, options);
        reference::quantize_span(values, x.elements(), scale_value, parameters.zero_point_at(no_index), stored(),
                                 options, expected_tensor.data);
        ASSERT_EQ(test_support::quantize(&x_tensor, &scale_tensor, zero_point_or_null, &y_tensor, &options), QDQ_OK)
            << qdq_last_error();
        EXPECT_TRUE(same_codes(stored(), expected.bytes(), actual.bytes(), x.elements(),
                               [&](int64_t i) { return "x " + describe(values[i]); }))
            << "scale " << describe(scale_value) << ", zero point "
            << (z.present ? std::string(reference::name_of(z.type)) + " " + std::to_string(z.value) : "none") << ", "
            << describe(options);
    }

    // `turn` differs from scale to scale, so that others of the options are taken with each: with thinning each option
    // meets a part of the scales.
    void compare_every_option(qdq_dtype x_type, float scale, qdq_scale_mode mode, int64_t turn) {
        const storage x = tricky_x(x_type, scale, mode);
        for (const zero_point_choice &z : zero_points_for(stored())) {
            for (const qdq_options &options : option_combinations(stored(), mode)) {
                if (HasFailure()) {
                    return;
                }
                if (test_support::is_taken(turn++, 4)) {
                    compare_per_tensor(x, scale, z, options);
                }
            }
        }
    }

    // `palette` supplies the scales in turn.
    void compare_layout(const layout &l, const std::vector<float> &palette, bool with_zero_point, qdq_dtype x_type,
                        qdq_dtype scale_type, qdq_dtype zero_point_type, qdq_options options) {
        options.axis = l.axis;
        options.block_size = l.block_size;
        storage x(x_type, l.shape, l.x_strides);
        const std::vector<uint32_t> &x_codes = tricky_codes(x_type, options.scale_mode);
        for (int64_t i = 0; i < x.elements(); ++i) {
            x.set_code(i, x_codes[static_cast<size_t>(i * 7919) % x_codes.size()]);
        }
        storage scale(scale_type, l.scale_shape, l.scale_strides);
        storage zero_point(zero_point_type, l.scale_shape, l.scale_strides);
        for (int64_t i = 0; i < scale.elements(); ++i) {
            const double value = static_cast<double>(palette[static_cast<size_t>(i) % palette.size()]);
            scale.set_code(i, operand::encode(scale_type, value));
            zero_point.set_code(i, operand::encode(zero_point_type, static_cast<double>(i * 37 % 100 - 50)));
        }
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        EXPECT_TRUE(quantizes_as_oracle(x.tensor(), scale.tensor(), with_zero_point ? &zero_point_tensor : nullptr,
                                        stored(), reference::is_packed(stored()) ? dimensions{} : l.y_strides, options))
            << l.name << ", x " << reference::name_of(x_type) << ", scale " << reference::name_of(scale_type)
            << ", zero point " << (with_zero_point ? reference::name_of(zero_point_type) : "none");
    }

    // Of any float type, with a zero point where the type of codes takes one.
    void compare_stochastic_layout(const layout &l, const std::vector<float> &palette, qdq_options options) {
        options.rounding = QDQ_STOCHASTIC;
        options.random_seed = seed;
        options.random_offset = offset - (options.scale_mode == QDQ_RECIPROCAL ? 1 : 0);
        for (qdq_dtype x_type : supported::float_types) {
            compare_layout(l, palette, reference::is_integer(stored()), x_type, QDQ_F32, QDQ_I32, options);
        }
    }

    void compare_layouts(const std::vector<float> &palette) {
        const bool takes_zero_points = reference::is_integer(stored());
        for (const layout &l : layouts()) {
            for (qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY, QDQ_RECIPROCAL}) {
                for (qdq_quantize_zp order : {QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING}) {
                    qdq_options options{};
                    options.scale_mode = mode;
                    options.quantize_zp = order;
                    compare_layout(l, palette, false, QDQ_F32, QDQ_F32, QDQ_I32, options);
                    if (rounds_stochastically()) {
                        compare_stochastic_layout(l, palette, options);
                    }
                    if (!takes_zero_points) {
                        continue;
                    }
                    for (qdq_dtype type : {zero_point_type_of(stored()), QDQ_I32, QDQ_F32}) {
                        compare_layout(l, palette, true, QDQ_F32, QDQ_F32, type, options);
                    }
                    options.rounding = QDQ_DOWN;
                    compare_layout(l, palette, true, QDQ_F32, QDQ_F32, QDQ_I32, options);
                }
            }
        }
    }
};

const std::vector<float> ordinary_scales{0.1f, 0.05f, 1.0f / 127, 0.3f, 2.0f, 0.75f, 0.00214854861f};

TEST_P(QuantizeTest, divides_by_corner_scales_under_every_option) {
    const std::vector<float> scales = corner_scales();
    test_support::parallel_for(static_cast<int64_t>(scales.size()), [&](int64_t i, int) {
        compare_every_option(QDQ_F32, scales[static_cast<size_t>(i)], QDQ_DIVIDE, i);
    });
}

TEST_P(QuantizeTest, multiplies_by_corner_scales_under_every_option) {
    const std::vector<float> scales = corner_scales();
    test_support::parallel_for(static_cast<int64_t>(scales.size()), [&](int64_t i, int) {
        compare_every_option(QDQ_F32, scales[static_cast<size_t>(i)], QDQ_MULTIPLY, i);
    });
}

// Whole groups of one scale are one kernel call by a plan.
TEST_P(QuantizeTest, computes_whole_groups_under_every_option) {
    for (qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY}) {
        const storage x = tricky_x(QDQ_F32, 0.1f, mode, {4096});
        for (const qdq_options &options : option_combinations(stored(), mode)) {
            compare_per_tensor(x, 0.1f, {false, QDQ_I32, 0}, options);
        }
    }
}

TEST_P(QuantizeTest, multiplies_by_the_reciprocals_of_corner_scales) {
    const std::vector<float> scales = corner_scales();
    test_support::parallel_for(static_cast<int64_t>(scales.size()), [&](int64_t i, int) {
        const float scale = scales[static_cast<size_t>(i)];
        const storage x = tricky_x(QDQ_F32, scale, QDQ_RECIPROCAL);
        qdq_options options{};
        options.scale_mode = QDQ_RECIPROCAL;
        for (const zero_point_choice &z : zero_points_for(stored())) {
            compare_per_tensor(x, scale, z, options);
        }
    });
}

TEST_P(QuantizeTest, divides_by_random_scales) {
    const std::vector<float> scales = test_support::random_patterns(400, 3);
    test_support::parallel_for(static_cast<int64_t>(scales.size()), [&](int64_t i, int) {
        const float scale = scales[static_cast<size_t>(i)];
        if (test_support::is_taken(i, 4) && !HasFailure()) {
            compare_per_tensor(tricky_x(QDQ_F32, scale, QDQ_DIVIDE), scale, {false, QDQ_I32, 0}, {});
        }
    });
}

// That it is no scale of the fast variants decides for all that are loaded with it, by vectors.
TEST_P(QuantizeTest, sees_one_corner_scale_at_any_place_among_many) {
    constexpr int64_t columns = 150;
    const storage x = tricky_x(QDQ_F32, 0x1p-149f, QDQ_DIVIDE, {columns});
    for (const qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY}) {
        qdq_options options{};
        options.scale_mode = mode;
        for (int64_t place = 0; place < columns; ++place) {
            const auto scale =
                operand::by_place(QDQ_F32, {columns}, [=](int64_t i) { return i == place ? 0x1p-149 : 0.3; });
            const qdq_tensor c_scale = scale.tensor();
            EXPECT_TRUE(quantizes_as_oracle(x.tensor(), c_scale, nullptr, stored(), {}, options)) << place;
        }
    }
}

TEST_P(QuantizeTest, divides_long_blocks_in_every_packing_by_any_scale) {
    for (const qdq_packing packing : {QDQ_LOW_FIRST, QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
        if (!supported::takes(stored(), packing)) {
            continue;
        }
        for (const int64_t block : {64, 512, 2048}) {
            const operand scale = least_and_ordinary_scales({3, 4096 / block});
            qdq_options options{};
            options.packing = packing;
            const storage x = tricky_x(QDQ_F32, 0.3f, QDQ_DIVIDE, {3, 4096});
            EXPECT_TRUE(quantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, stored(), {}, options)) << block;
        }
    }
}

// A quotient up to 2^-150 is 0 as an f32; the least one above it is rounded down or up to -1 or 1. A product with the
// reciprocal, corrected by its remainder, makes 0 of 2^-149 by 1.784, and of 2^-148 by 3.633.
TEST_P(QuantizeTest, rounds_the_least_quotients_to_one_side) {
    if (!reference::is_integer(stored())) {
        GTEST_SKIP() << "float formats round one way";
    }
    for (const float scale :
         {0.75f, 1.0f, 0x1.c8ba64p0f, 2.0f, 3.0f, 0x1.d0f99ap1f, 6.0f, 255.0f, 0x1p24f, 0x1.8p24f, 0x1p60f}) {
        const auto bound = std::bit_cast<uint32_t>(static_cast<float>(std::ldexp(static_cast<double>(scale), -150)));
        storage x(QDQ_F32, {2, 256});
        for (uint32_t i = 0; i < 256; ++i) {
            const uint32_t code = i < 128 ? i : bound + i - std::min(bound, 192u);
            x.set_code(i, code);
            x.set_code(256 + i, code | 0x80000000);
        }
        const operand scales(QDQ_F32, {static_cast<double>(scale)});
        for (const qdq_rounding rounding : {QDQ_DOWN, QDQ_UP}) {
            qdq_options options{};
            options.rounding = rounding;
            EXPECT_TRUE(quantizes_as_oracle(x.tensor(), scales.tensor(), nullptr, stored(), {}, options)) << scale;
        }
    }
}

TEST_P(QuantizeTest, takes_a_scale_of_each_of_few_short_rows) {
    for (const dimensions &shape : few_short_rows) {
        const operand scale = scales_of_rows(shape);
        const qdq_tensor c_scale = scale.tensor();
        for (const qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY, QDQ_RECIPROCAL}) {
            const storage x = tricky_x(QDQ_F32, 0.3f, mode, shape);
            qdq_options options{};
            options.scale_mode = mode;
            EXPECT_TRUE(quantizes_as_oracle(x.tensor(), c_scale, nullptr, stored(), {}, options)) << shape[1];
        }
    }
}

TEST_P(QuantizeTest, reads_every_code_of_the_narrow_float_types) {
    for (qdq_dtype type : supported::float_types) {
        if (type == QDQ_F32) {
            continue;
        }
        for (float scale : {0.1f, -0.3f, 0x1p-130f}) {
            for (qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY}) {
                qdq_options options{};
                options.scale_mode = mode;
                compare_per_tensor(tricky_x(type, scale, mode), scale, {false, QDQ_I32, 0}, options);
            }
        }
        if (!reference::is_integer(stored())) {
            continue;
        }
        for (qdq_quantize_zp order : {QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING}) {
            qdq_options options{};
            options.quantize_zp = order;
            compare_per_tensor(tricky_x(type, 0.1f, QDQ_DIVIDE), 0.1f, {true, QDQ_I32, 3}, options);
        }
    }
}

TEST_P(QuantizeTest, broadcasts_ordinary_scales_over_every_layout) { compare_layouts(ordinary_scales); }

TEST_P(QuantizeTest, broadcasts_corner_scales_over_every_layout) { compare_layouts(corner_scales()); }

// Every layout meets every zero-point type; the other choices take turns, so that all pairs come up.
TEST_P(QuantizeTest, reads_every_operand_type_over_every_layout) {
    size_t turn = 0;
    for (const layout &l : layouts()) {
        for (qdq_dtype zero_point_type : supported::zero_point_types) {
            const qdq_dtype scale_type = supported::scale_types[turn % supported::scale_types.size()];
            const qdq_dtype x_type = supported::float_types[turn % supported::float_types.size()];
            qdq_options options{};
            options.quantize_zp = turn % 2 == 0 ? QDQ_ZP_AFTER_ROUNDING : QDQ_ZP_BEFORE_ROUNDING;
            const bool with_zero_point = reference::is_integer(stored()) && turn % 7 != 0;
            compare_layout(l, ordinary_scales, with_zero_point, x_type, scale_type, zero_point_type, options);
            ++turn;
        }
    }
}

TEST_P(QuantizeTest, packs_in_every_order_over_every_layout) {
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
            compare_layout(l, ordinary_scales, false, QDQ_F32, QDQ_F32, QDQ_I32, options);
            options.rounding = reference::is_integer(stored()) ? QDQ_UP : QDQ_NEAREST_EVEN;
            compare_layout(l, corner_scales(), false, QDQ_BF16, QDQ_F32, QDQ_I32, options);
        }
    }
}

// By every variant, on each way that x takes to a kernel; blocks, rows and columns of NaNs and few of them.
TEST_P(QuantizeTest, gives_nan_the_code_of_zero_over_every_layout) {
    if (!reference::is_integer(stored())) {
        GTEST_SKIP() << "float formats have a NaN, or their largest value";
    }
    const reference::integer_range all = reference::range_of(stored());
    size_t turn = 0;
    for (const layout &l : layouts()) {
        for (const std::vector<float> &scales : {ordinary_scales, corner_scales()}) {
            for (const qdq_dtype x_type : supported::float_types) {
                qdq_options options{};
                options.nan = QDQ_NAN_ZERO;
                options.scale_mode = turn % 3 == 0 ? QDQ_MULTIPLY : QDQ_DIVIDE;
                options.quantize_zp = turn % 2 == 0 ? QDQ_ZP_AFTER_ROUNDING : QDQ_ZP_BEFORE_ROUNDING;
                if (turn % 5 == 4) {  // without 0
                    options.quant_min = static_cast<int32_t>(all.lowest);
                    options.quant_max = all.lowest < 0 ? -1 : 1;
                }
                compare_layout(l, scales, turn % 4 != 0, x_type, QDQ_F32, QDQ_I8, options);
                ++turn;
            }
        }
    }
}

TEST_P(QuantizeTest, one_zero_point_serves_all_scales) {
    const storage x = tricky_x(QDQ_F32, 0.1f, QDQ_DIVIDE, {5, 200});
    const operand scale(QDQ_F32, {0.1, 0.2, 0.3, 0.4, 0.5}, {5});
    const operand zero_point(QDQ_I32, {reference::is_integer(stored()) ? 5.0 : 0.0});
    const qdq_tensor zero_point_tensor = zero_point.tensor();
    const bool takes_it = reference::is_integer(stored()) || test_support::current_device() == QDQ_DEVICE_HOST;
    EXPECT_TRUE(
        quantizes_as_oracle(x.tensor(), scale.tensor(), takes_it ? &zero_point_tensor : nullptr, stored(), {}, {}));
}

TEST_P(QuantizeTest, writes_over_x_where_element_sizes_are_equal) {
    for (qdq_dtype x_type : supported::float_types) {
        if (reference::bits_of(x_type) != reference::bits_of(stored())) {
            continue;
        }
        storage in_place = tricky_x(x_type, 0.1f, QDQ_DIVIDE, {3, 1001});
        for (int64_t i = 0; x_type != QDQ_F32 && i < in_place.elements(); ++i) {
            in_place.set_code(i, static_cast<uint32_t>(i * 7919) & 0xffff);  // NaNs, too
        }
        const storage x = in_place;
        const storage expected(stored(), {3, 1001});
        const operand scale(QDQ_F32, {0.1});
        const qdq_tensor scale_tensor = scale.tensor();
        qdq_tensor in_place_x = in_place.tensor();
        qdq_tensor in_place_y = in_place_x;
        in_place_y.dtype = stored();
        for (qdq_nan nan : {QDQ_NAN_LOWEST, QDQ_NAN_ZERO}) {
            in_place = x;
            in_place_x.data = in_place_y.data = in_place.tensor().data;
            qdq_options options{};
            options.nan = nan;
            reference::quantize(x.tensor(), scale_tensor, nullptr, expected.tensor(), &options);
            ASSERT_EQ(test_support::quantize(&in_place_x, &scale_tensor, nullptr, &in_place_y, &options), QDQ_OK)
                << qdq_last_error();
            EXPECT_TRUE(same_codes(stored(), expected.bytes(), in_place.bytes(), x.elements(),
                                   [](int64_t) { return "in place"; }));
        }
    }
}

TEST_P(QuantizeTest, an_empty_tensor_succeeds_and_touches_nothing) {
    const operand scale(QDQ_F32, {0.1});
    const qdq_tensor scale_tensor = scale.tensor();
    for (const dimensions &shape : {dimensions{0}, dimensions{4, 0, 3}}) {
        const view x(nullptr, QDQ_F32, shape);
        const view y(nullptr, stored(), shape);
        const qdq_tensor x_tensor = x.tensor();
        const qdq_tensor y_tensor = y.tensor();
        EXPECT_EQ(test_support::quantize(&x_tensor, &scale_tensor, nullptr, &y_tensor, nullptr), QDQ_OK)
            << qdq_last_error();
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, QuantizeTest,
                         testing::ValuesIn(test_support::every_kernel(supported::stored_types,
                                                                      test_support::built_targets())),
                         test_support::name_of_case);

}  // namespace
}  // namespace kernel_test

// Rows in groups that have scales of their own: calls drawn at random, byte by byte against the oracle, group by group.
#include "drawn_call.h"

#include "conformance/supported.h"
#include "reference/row_groups.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <functional>
#include <numeric>

namespace api_test {
namespace {

using offsets_of_groups = std::vector<int64_t>;

// Groups of no rows, of few and of many.
offsets_of_groups draw_offsets(int64_t rows, int64_t unit, test_support::choices &from) {
    offsets_of_groups offsets{0};
    while (offsets.back() < rows) {
        const int64_t more = from.one_of<int64_t>({0, 1, from.between(1, 9), from.between(1, rows)});
        offsets.push_back(std::min(offsets.back() + more * unit, rows));
    }
    for (int64_t empty = from.between(0, 2); empty > 0; empty--) {
        offsets.push_back(rows);
    }
    return offsets;
}

// Rows of floats, groups of them, and operands of one of the granularities.
struct grouped_call {
    dimensions shape, scale_shape, block_shape;
    offsets_of_groups offsets;
    std::optional<tensor_memory> x, scale, zero_point, y;
    qdq_options options{};
    qdq_scale_options how{};

    grouped_call(test_support::choices &from, qdq_dtype codes, qdq_dtype floats_type, int64_t rows, int64_t channels) {
        shape = {rows, channels};
        if (from.chance(4)) {
            shape.insert(shape.begin() + 1, 2);
        }
        const int64_t row = std::accumulate(shape.begin() + 1, shape.end(), int64_t{1}, std::multiplies<>());
        const int64_t per_byte = 8 / std::min<int64_t>(reference::bits_of(codes), 8);
        offsets = draw_offsets(rows, row % per_byte == 0 ? 1 : per_byte, from);
        scale_shape = {count()};
        switch (from.between(0, 2)) {
        case 0: break;
        case 1:
            options.axis = from.chance(2) ? -1 : static_cast<int32_t>(shape.size()) - 1;
            scale_shape.push_back(channels);
            break;
        default:
            scale_shape.insert(scale_shape.end(), shape.size() - 1, 1);
            scale_shape.push_back((channels + 31) / 32);
            options.axis = -1;
            options.block_size = std::min<int64_t>(32, channels);
        }
        x = floats(floats_type, shape, from.chance(3) ? spread(row) : dimensions{});
        y = tensor_memory(codes, shape, per_byte == 1 && from.chance(3) ? spread(row) : dimensions{});
    }

    int64_t count() const { return static_cast<int64_t>(offsets.size()) - 1; }

    // Rows that are apart.
    dimensions spread(int64_t row) const {
        dimensions strides(shape.size(), 1);
        for (size_t d = shape.size() - 1; d > 0; d--) {
            strides[d - 1] = d == 1 ? row + 3 : strides[d] * shape[d];
        }
        return strides;
    }
};

class Grouped : public Api {};

template<typename Expect> void for_each_drawn(Expect &&expect) {
    test_support::for_each_target([&](const std::string &) {
        for (unsigned i = 0; i < 120 && !testing::Test::HasFailure(); i++) {
            test_support::random_choices from(9000011 + i);
            const bool is_large = i % 25 == 0;
            const int64_t rows = is_large ? from.between(300, 700) : from.between(0, 40);
            const int64_t channels = is_large ? 1024 : from.one_of<int64_t>({1, 3, 32, 64, 70, 100});
            const qdq_dtype codes = from.one_of(supported::stored_types);
            grouped_call call(from, codes, from.one_of(supported::float_types), rows, channels);
            if (!test_support::is_taken(i)) {
                continue;
            }
            qdq_set_num_threads(i % 2 == 0 ? 1 : 3);
            SCOPED_TRACE("call " + std::to_string(i) + ": to " + std::to_string(codes) + ", shape " +
                         testing::PrintToString(call.shape) + ", offsets " + testing::PrintToString(call.offsets) +
                         ", scale " + testing::PrintToString(call.scale_shape));
            expect(call, from);
        }
    });
}

TEST_F(Grouped, quantize_and_dequantize_equal_the_oracle) {
    for_each_drawn([](grouped_call &call, test_support::choices &from) {
        const qdq_dtype codes = call.y->view().dtype;
        tensor_memory scale = scales(call.scale_shape);
        std::optional<tensor_memory> zero_point;
        if (reference::is_integer(codes) && from.chance(2)) {
            zero_point = zero_points(QDQ_I8, call.scale_shape);
        }
        if (from.chance(4)) {
            call.options.rounding = QDQ_STOCHASTIC;
            call.options.random_seed = 7;
            call.options.random_offset = static_cast<uint64_t>(from.between(0, 100));
        }
        const tensor_memory *shift = zero_point ? &*zero_point : nullptr;
        tensor_memory expected = *call.y;
        const qdq_tensor of_x = call.x->view(), of_scale = scale.view(), of_y = call.y->view();
        const qdq_tensor of_zero_point = shift != nullptr ? shift->view() : qdq_tensor{};
        const qdq_tensor *const given = shift != nullptr ? &of_zero_point : nullptr;
        reference::quantize_grouped({of_x, call.offsets.data(), call.count(), of_scale, given, expected.view()},
                                    &call.options);
        ASSERT_EQ(
            qdq_quantize_grouped(&of_x, call.offsets.data(), call.count(), &of_scale, given, &of_y, &call.options),
            QDQ_OK)
            << qdq_last_error();
        EXPECT_TRUE(same_bytes(expected, *call.y));
        call.options.rounding = QDQ_NEAREST_EVEN;
        tensor_memory values(of_x.dtype, call.shape), expected_values = values;
        const qdq_tensor of_values = values.view();
        ASSERT_EQ(qdq_dequantize_grouped(&of_y, call.offsets.data(), call.count(), &of_scale, given, &of_values,
                                         &call.options),
                  QDQ_OK)
            << qdq_last_error();
        reference::dequantize_grouped(
            {of_y, call.offsets.data(), call.count(), of_scale, given, expected_values.view()}, &call.options);
        EXPECT_TRUE(same_bytes(expected_values, values));
    });
}

TEST_F(Grouped, dynamic_calls_equal_the_oracle) {
    for_each_drawn([](grouped_call &call, test_support::choices &from) {
        const qdq_dtype codes = call.y->view().dtype;
        const bool shifts = reference::is_integer(codes) && from.chance(2);
        call.how.rule =
            shifts ? QDQ_SCALE_MINMAX : from.one_of<qdq_scale_rule>({QDQ_SCALE_ABSMAX, QDQ_SCALE_POWER_CEIL});
        if (from.chance(4)) {
            call.how.clip_ratio_count = 2;
            call.how.last_clip_ratio = 0.5f;
        }
        if (from.chance(3)) {
            call.options.rounding = QDQ_STOCHASTIC;
            call.options.random_seed = 11;
            call.options.random_offset = static_cast<uint64_t>(from.between(0, 100));
        }
        tensor_memory scale(call.how.rule == QDQ_SCALE_POWER_CEIL ? QDQ_E8M0 : QDQ_F32, call.scale_shape),
            expected_scale = scale, zero_point(QDQ_I32, call.scale_shape), expected_zero_point = zero_point;
        tensor_memory expected = *call.y;
        const qdq_tensor of_x = call.x->view(), of_scale = scale.view(), of_y = call.y->view(),
                         of_zero_point = zero_point.view(), to_zero_point = expected_zero_point.view();
        reference::quantize_dynamic_grouped({of_x, call.offsets.data(), call.count(), expected_scale.view(),
                                             shifts ? &to_zero_point : nullptr, expected.view()},
                                            &call.how, &call.options);
        ASSERT_EQ(qdq_quantize_dynamic_grouped(&of_x, call.offsets.data(), call.count(), &of_scale,
                                               shifts ? &of_zero_point : nullptr, &of_y, &call.how, &call.options),
                  QDQ_OK)
            << qdq_last_error();
        EXPECT_TRUE(same_bytes(expected_scale, scale)) << "scale";
        EXPECT_TRUE(same_bytes(expected_zero_point, zero_point)) << "zero point";
        EXPECT_TRUE(same_bytes(expected, *call.y)) << "y";
    });
}

// A valid call of 4 rows in 2 groups, of which tests change one thing.
struct refusable {
    tensor_memory x = floats(QDQ_F32, {4, 6}), scale = scales({2}), zero_point{QDQ_I8, {2}}, y{QDQ_I8, {4, 6}};
    qdq_tensor of_x = x.view(), of_scale = scale.view(), of_zero_point = zero_point.view(), of_y = y.view();
    const qdq_tensor *given_x = &of_x, *given_scale = &of_scale, *given_zero_point = nullptr, *given_y = &of_y;
    offsets_of_groups offsets{0, 1, 4};
    const int64_t *given_offsets = offsets.data();
    int64_t groups = 2;
    qdq_scale_options how{};
    qdq_options options{};

    qdq_status quantize() {
        return qdq_quantize_grouped(given_x, given_offsets, groups, given_scale, given_zero_point, given_y, &options);
    }
    qdq_status quantize_dynamic() {
        return qdq_quantize_dynamic_grouped(given_x, given_offsets, groups, given_scale, given_zero_point, given_y,
                                            &how, &options);
    }
};

enum class calls { both, of_static, of_dynamic };

template<typename Change> void expect_refused(const std::string &message, Change change, calls which = calls::both) {
    refusable call;
    change(call);
    const auto before = std::tuple{call.scale, call.zero_point, call.y, call.x};
    if (which != calls::of_dynamic) {
        EXPECT_EQ(call.quantize(), QDQ_INVALID_ARGUMENT) << message;
        EXPECT_EQ(qdq_last_error(), "qdq_quantize_grouped: " + message);
    }
    if (which != calls::of_static) {
        EXPECT_EQ(call.quantize_dynamic(), QDQ_INVALID_ARGUMENT) << message;
        EXPECT_EQ(qdq_last_error(), "qdq_quantize_dynamic_grouped: " + message);
    }
    EXPECT_TRUE(before == (std::tuple{call.scale, call.zero_point, call.y, call.x})) << message;
}

TEST_F(Grouped, what_is_wrong_is_refused) {
    refusable fine;
    EXPECT_EQ(fine.quantize(), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(fine.quantize_dynamic(), QDQ_OK) << qdq_last_error();
    expect_refused("x: NULL", [](refusable &c) { c.given_x = nullptr; });
    expect_refused("scale: NULL", [](refusable &c) { c.given_scale = nullptr; });
    expect_refused("y: NULL", [](refusable &c) { c.given_y = nullptr; });
    expect_refused("offsets: NULL", [](refusable &c) { c.given_offsets = nullptr; });
    expect_refused("groups: -1 is below 0", [](refusable &c) { c.groups = -1; });
    expect_refused("offsets[0] is 1, not 0", [](refusable &c) { c.offsets[0] = 1; });
    expect_refused("offsets[2] is 4, below the one before it, 5", [](refusable &c) { c.offsets[1] = 5; });
    expect_refused("offsets[2] is 3, and x has 4 rows", [](refusable &c) { c.offsets[2] = 3; });
    expect_refused("offsets[2] is 5, and x has 4 rows", [](refusable &c) { c.offsets[2] = 5; });
    static constexpr int64_t none[] = {0};
    expect_refused("offsets[0] is 0, and x has 4 rows", [](refusable &c) {
        c.groups = 0;
        c.of_scale.shape = none;
    });
    expect_refused("x: rank 0 is not in 1..8", [](refusable &c) { c.of_x.rank = 0; });
    expect_refused("x: rank 9 is not in 1..8", [](refusable &c) { c.of_x.rank = 9; });
    expect_refused("scale: rank 0 is not in 1..8", [](refusable &c) { c.of_scale.rank = 0; });
    expect_refused("scale: shape is NULL and rank is 1", [](refusable &c) { c.of_scale.shape = nullptr; });
    expect_refused("scale: dtype -1 is not a qdq_dtype", [](refusable &c) { set_raw(c.of_scale.dtype, -1); });
    static constexpr int64_t three[] = {3}, six_columns[] = {2, 5};
    expect_refused("scale: shape[0] is 3, and there are 2 groups", [](refusable &c) { c.of_scale.shape = three; });
    expect_refused("zero_point: shape[0] is 3, and there are 2 groups", [](refusable &c) {
        c.given_zero_point = &c.of_zero_point;
        c.of_zero_point.shape = three;
    });
    expect_refused(
        "group 0: scale: shape[0] is 5, but x's shape[1], 6, has 6 blocks of 1 (options: axis 1, block_size 0)",
        [](refusable &c) {
            c.of_scale.rank = 2;
            c.of_scale.shape = six_columns;
            c.options.axis = 1;
        });
    static constexpr int64_t one_of_each[] = {2, 1, 1}, single_rows[] = {1, 6};
    expect_refused("group 1: scale: it has one element, but x's shape[0], 3, has 3 blocks of 1", [](refusable &c) {
        c.of_scale.rank = 3;
        c.of_scale.shape = one_of_each;
        c.options.block_shape = single_rows;
    });
    expect_refused("scale: data is NULL", [](refusable &c) { c.of_scale.data = nullptr; });
    expect_refused("x: data is NULL", [](refusable &c) { c.of_x.data = nullptr; });
    expect_refused("y: it overlaps scale", [](refusable &c) { c.of_y.data = c.of_scale.data; });
    expect_refused("y: it overlaps x; y may only be x itself, with the same strides and element size",
                   [](refusable &c) { c.of_y.data = static_cast<char *>(c.of_x.data) + 1; });
    expect_refused("x: it overlaps scale", [](refusable &c) { c.of_scale.data = c.of_x.data; }, calls::of_dynamic);
    expect_refused("how: rule 6 is not in 0..5", [](refusable &c) { set_raw(c.how.rule, 6); }, calls::of_dynamic);
    static constexpr int64_t same_place[] = {0};
    expect_refused(
        "scale: its strides make elements overlap one another", [](refusable &c) { c.of_scale.strides = same_place; },
        calls::of_dynamic);
}

// A number of groups that is wrong may be that of offsets that there are not.
TEST_F(Grouped, offsets_are_read_when_their_number_is_that_of_scales) {
    const auto lead_nowhere = [](refusable &c) {
        c.given_offsets = reinterpret_cast<const int64_t *>(alignof(int64_t));
        c.groups = int64_t{1} << 40;
    };
    expect_refused("scale: shape[0] is 2, and there are 1099511627776 groups", lead_nowhere);
    static constexpr int64_t as_many[] = {int64_t{1} << 40};
    expect_refused("zero_point: shape[0] is 2, and there are 1099511627776 groups", [&](refusable &c) {
        lead_nowhere(c);
        c.of_scale.shape = as_many;
        c.given_zero_point = &c.of_zero_point;
    });
}

// Of a float format zero points are 0: the last group's decides as the first one's does.
TEST_F(Grouped, a_wrong_last_group_writes_nothing) {
    expect_refused(
        "group 1: zero_point: element 0 is not 0, and f8e4m3 takes no zero point",
        [](refusable &c) {
            c.offsets[1] = 2;  // as many rows in each
            c.of_y.dtype = QDQ_F8E4M3;
            c.zero_point.fill([](int64_t i) { return static_cast<uint32_t>(i); });
            c.given_zero_point = &c.of_zero_point;
        },
        calls::of_static);
}

TEST_F(Grouped, packed_groups_begin_at_whole_bytes) {
    tensor_memory x = floats(QDQ_F32, {4, 3}), scale = scales({2}), y(QDQ_I4, {4, 3});
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
    const int64_t odd[] = {0, 1, 4}, even[] = {0, 2, 4};
    EXPECT_EQ(qdq_quantize_grouped(&of_x, odd, 2, &of_scale, nullptr, &of_y, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_grouped: offsets[1] is 1, where no whole byte of codes begins");
    EXPECT_EQ(qdq_quantize_grouped(&of_x, even, 2, &of_scale, nullptr, &of_y, nullptr), QDQ_OK) << qdq_last_error();
}

TEST_F(Grouped, what_is_of_a_whole_call_is_unsupported) {
    refusable c;
    qdq_diagnostics met;
    c.how.diagnostics = &met;
    EXPECT_EQ(c.quantize_dynamic(), QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_dynamic_grouped: how: diagnostics: it is of a call without groups");
    float global = 1;
    c.how = {.global_sense = QDQ_GLOBAL_SCALE, .global_scale = &global};
    c.of_scale.dtype = QDQ_F8E4M3;
    EXPECT_EQ(c.quantize_dynamic(), QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_dynamic_grouped: how: global_scale: it is of a call without groups");
    c.options.global_scale = &global;
    EXPECT_EQ(c.quantize(), QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_grouped: options: global_scale: it is of a call without groups");
    c.options.scale_is_arranged = 1;
    EXPECT_EQ(c.quantize(), QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_grouped: options: scale_is_arranged: it is of a call without groups");
}

TEST_F(Grouped, strides_of_packed_codes_are_ignored) {
    const tensor_memory x = floats(QDQ_F32, {4, 6}), scale = scales({2});
    const tensor_memory dense(QDQ_I4, {4, 6}), expected = dense, actual = dense;
    const int64_t strides[] = {-9, 2}, offsets[] = {0, 1, 4};
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_dense = dense.view();
    qdq_tensor of_expected = expected.view(), of_actual = actual.view();
    of_expected.strides = of_actual.strides = strides;
    reference::quantize_grouped({of_x, offsets, 2, of_scale, nullptr, of_dense}, nullptr);
    reference::quantize_grouped({of_x, offsets, 2, of_scale, nullptr, of_expected}, nullptr);
    EXPECT_TRUE(same_bytes(dense, expected));
    ASSERT_EQ(qdq_quantize_grouped(&of_x, offsets, 2, &of_scale, nullptr, &of_actual, nullptr), QDQ_OK)
        << qdq_last_error();
    EXPECT_TRUE(same_bytes(dense, actual));
}

// Where it would begin may be past the address space, as UBSan notices.
TEST_F(Grouped, a_last_group_without_rows_begins_nowhere) {
    const tensor_memory x = floats(QDQ_F32, {1, 6}), scale = scales({2}), expected(QDQ_I8, {1, 6}), actual = expected;
    const int64_t strides[] = {INT64_MAX, 1}, offsets[] = {0, 1, 1};
    qdq_tensor of_x = x.view(), of_actual = actual.view();
    const qdq_tensor of_scale = scale.view(), of_expected = expected.view();
    reference::quantize_grouped({of_x, offsets, 2, of_scale, nullptr, of_expected}, nullptr);
    of_x.strides = of_actual.strides = strides;
    ASSERT_EQ(qdq_quantize_grouped(&of_x, offsets, 2, &of_scale, nullptr, &of_actual, nullptr), QDQ_OK)
        << qdq_last_error();
    EXPECT_TRUE(same_bytes(expected, actual));
}

// Its rows lead nowhere, whatever its strides are.
TEST_F(Grouped, x_without_elements_has_scales_of_zeros) {
    const int64_t shape[] = {5, 0}, strides[] = {int64_t{1} << 62, 1}, offsets[] = {0, 3, 5};
    tensor_memory scale(QDQ_F32, {2});
    const qdq_tensor of_scale = scale.view();
    const qdq_tensor x{nullptr, QDQ_F32, 2, shape, strides, {}}, y{nullptr, QDQ_I8, 2, shape, nullptr, {}};
    ASSERT_EQ(qdq_quantize_dynamic_grouped(&x, offsets, 2, &of_scale, nullptr, &y, nullptr, nullptr), QDQ_OK)
        << qdq_last_error();
    EXPECT_EQ(scale.codes(), std::vector<uint32_t>(2, 0x3f800000));
    EXPECT_EQ(qdq_quantize_grouped(&x, offsets, 2, &of_scale, nullptr, &y, nullptr), QDQ_OK) << qdq_last_error();
}

}  // namespace
}  // namespace api_test

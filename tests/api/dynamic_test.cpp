// Scales that are computed of x, and codes by them: calls drawn at random, byte by byte against the oracle.
#include "drawn_dynamic.h"

#include "conformance/supported.h"
#include "reference/scales.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

namespace api_test {
namespace {

constexpr int calls = 3000;
constexpr int64_t largest = 3000000;
constexpr unsigned pairs = 40;

// Of several boxes that both outputs share; some are smaller.
dimensions shape_of_pair(test_support::choices &from) {
    dimensions shape = {from.one_of<int64_t>({64, 100, 257, 400}), from.one_of<int64_t>({1024, 1500, 2049})};
    if (from.chance(3)) {
        shape.insert(from.chance(2) ? shape.begin() : shape.begin() + 1, from.one_of<int64_t>({2, 3}));
    }
    if (from.chance(3)) {
        shape[0] = std::min<int64_t>(shape[0], 5);
    }
    return shape;
}

void expect_outputs(const dynamic_outputs &expected, const dynamic_outputs &actual, const char *by) {
    EXPECT_TRUE(same_bytes(expected.scale, actual.scale)) << by << ": scale";
    if (expected.zero_point) {
        EXPECT_TRUE(same_bytes(*expected.zero_point, *actual.zero_point)) << by << ": zero point";
    }
    EXPECT_TRUE(same_bytes(expected.y, actual.y)) << by << ": y";
    EXPECT_EQ(std::bit_cast<uint32_t>(expected.global), std::bit_cast<uint32_t>(actual.global)) << by << ": global";
    const qdq_diagnostics &e = expected.diagnostics, &a = actual.diagnostics;
    EXPECT_TRUE(same_diagnostics(e, a)) << by << ": nan " << e.nan << " " << a.nan << ", infinite " << e.infinite << " "
                                        << a.infinite << ", clipped " << e.clipped << " " << a.clipped << ", flushed "
                                        << e.flushed << " " << a.flushed << ", squared error " << e.squared_error << " "
                                        << a.squared_error << ", amax " << e.amax << " " << a.amax;
}

void expect_oracle_result(const dynamic_call &call) {
    const qdq_tensor x = call.x->view();
    const dynamic_outputs expected = expected_outputs(call);
    dynamic_outputs scales(call), at_once(call), planned(call);
    qdq_scale_options how = scales.how();
    scales.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
        EXPECT_EQ(qdq_compute_scales(&x, y.dtype, &scale, zero_point, &how, &call.options), QDQ_OK) << qdq_last_error();
    });
    dynamic_outputs with_codes = scales;
    with_codes.y = expected.y;
    expect_outputs(expected, with_codes, "scales");
    how = at_once.how();
    at_once.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
        EXPECT_EQ(qdq_quantize_dynamic(&x, &scale, zero_point, &y, &how, &call.options), QDQ_OK) << qdq_last_error();
    });
    expect_outputs(expected, at_once, "at once");
    how = planned.how();
    planned.with_views([&](const qdq_tensor &scale, const qdq_tensor *zero_point, const qdq_tensor &y) {
        qdq_plan plan;
        ASSERT_EQ(qdq_plan_quantize_dynamic(&plan, &x, &scale, zero_point, &y, &how, &call.options), QDQ_OK)
            << qdq_last_error();
        void *const shift = zero_point ? zero_point->data : nullptr;
        EXPECT_EQ(qdq_run_dynamic(&plan, x.data, scale.data, shift, y.data, nullptr), QDQ_OK) << qdq_last_error();
    });
    expect_outputs(expected, planned, "by a plan");
}

// Of two calls of one x at once, by a call and by plans.
void expect_oracle_results(const dynamic_call &first, const dynamic_call &second) {
    const dynamic_outputs expected = expected_outputs(first), other_expected = expected_outputs(second);
    dynamic_outputs at_once(first), other_at_once(second), planned(first), other_planned(second);
    with_pair(first, at_once, second, other_at_once,
              [](const qdq_tensor &x, const qdq_dynamic_output &to_first, const qdq_dynamic_output &to_second) {
                  EXPECT_EQ(qdq_quantize_dynamic_pair(&x, &to_first, &to_second), QDQ_OK) << qdq_last_error();
              });
    expect_outputs(expected, at_once, "the first at once");
    expect_outputs(other_expected, other_at_once, "the second at once");
    const auto data = [](const qdq_tensor *t) { return t != nullptr ? t->data : nullptr; };
    with_pair(first, planned, second, other_planned,
              [=](const qdq_tensor &x, const qdq_dynamic_output &to_first, const qdq_dynamic_output &to_second) {
                  qdq_plan plan, other_plan;
                  ASSERT_EQ(qdq_plan_quantize_dynamic_pair(&plan, &other_plan, &x, &to_first, &to_second), QDQ_OK)
                      << qdq_last_error();
                  EXPECT_EQ(qdq_run_dynamic_pair(&plan, &other_plan, x.data, to_first.scale->data,
                                                 data(to_first.zero_point), to_first.y->data, to_second.scale->data,
                                                 data(to_second.zero_point), to_second.y->data, nullptr),
                            QDQ_OK)
                      << qdq_last_error();
              });
    expect_outputs(expected, planned, "the first by a plan");
    expect_outputs(other_expected, other_planned, "the second by a plan");
}

class Dynamic : public Api {};

// Scales and i8 codes of x by so many threads.
std::pair<tensor_memory, tensor_memory> outputs_of(const tensor_memory &x, const dimensions &scale_shape, int threads) {
    const qdq_tensor of_x = x.view();
    tensor_memory scale(QDQ_F32, scale_shape), y(QDQ_I8, dimensions(of_x.shape, of_x.shape + of_x.rank));
    const qdq_tensor of_scale = scale.view(), of_y = y.view();
    qdq_set_num_threads(threads);
    EXPECT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, nullptr, nullptr), QDQ_OK) << qdq_last_error();
    return {scale, y};
}

TEST_F(Dynamic, calls_equal_the_oracle) {
    const unsigned seed = test_support::drawn_seed();
    test_support::for_each_target([=](const std::string &) {
        for (unsigned i = 0; i < calls && !testing::Test::HasFailure(); i++) {
            test_support::random_choices random(seed * 1000003 + i);
            drawn_call drawn(random, largest);
            if (drawn.way != direction::quantize || !test_support::is_taken(i)) {
                continue;
            }
            qdq_set_num_threads(i % 2 == 0 ? 1 : 3);
            const dynamic_call call(drawn, random);
            SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " + call.description());
            expect_oracle_result(call);
        }
    });
}

// Rows begin within bytes, and blocks divide them. Areas have parts of several rows: scales are many, or searched.
TEST_F(Dynamic, packed_rows_of_odd_lengths_give_what_quantize_gives) {
    const struct {
        dimensions shape;
        int64_t block;
        int32_t candidates;
    } cases[] = {{{3, 357}, 3, 2}, {{3, 357}, 3, 1}, {{5, 3003}, 3, 1}, {{3, 5, 355}, 5, 3}, {{5, 4095}, 7, 1}};
    test_support::for_each_target([&](const std::string &target) {
        for (const auto &[shape, block, candidates] : cases) {
            for (const qdq_dtype type : {QDQ_I4, QDQ_F4E2M1}) {
                dimensions scale_shape = shape;
                scale_shape.back() /= block;
                const tensor_memory x = floats(QDQ_F32, shape), scale(QDQ_F32, scale_shape);
                const tensor_memory y(type, shape), expected(type, shape);
                const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view(), of_all = expected.view();
                qdq_scale_options how{};
                if (candidates > 1) {
                    how.clip_ratio = 0.5f;
                    how.last_clip_ratio = 1;
                    how.clip_ratio_count = candidates;
                }
                ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, nullptr), QDQ_OK);
                ASSERT_EQ(qdq_quantize(&of_x, &of_scale, nullptr, &of_all, nullptr), QDQ_OK);
                EXPECT_TRUE(same_bytes(expected, y)) << target << ", blocks of " << block << " of "
                                                     << testing::PrintToString(shape) << ", " << candidates;
            }
        }
    });
}

// Two outputs of one x, whose granularities, types and layouts are drawn each on its own.
TEST_F(Dynamic, pairs_equal_the_oracle) {
    test_support::for_each_target([=](const std::string &) {
        for (unsigned i = 0; i < pairs && !testing::Test::HasFailure(); i++) {
            test_support::random_choices random(7000003 + i);
            const drawn_call drawn(random, direction::quantize, shape_of_pair(random));
            const drawn_call other_drawn(random, direction::quantize, drawn.shape);
            if (!test_support::is_taken(i)) {
                continue;
            }
            qdq_set_num_threads(i % 2 == 0 ? 1 : 3);
            const dynamic_call first(drawn, random), second(first, other_drawn, random);
            SCOPED_TRACE("pair " + std::to_string(i) + ": " + first.description() + "; " + second.description());
            expect_oracle_results(first, second);
        }
    });
}

// Calls, and pairs of which some outputs are rounded so.
TEST_F(Dynamic, stochastic_calls_equal_the_oracle) {
    test_support::for_each_target([=](const std::string &) {
        int stochastic = 0;
        for (unsigned i = 0; i < calls / 8 && !testing::Test::HasFailure(); i++) {
            test_support::random_choices random(5000011 + i);
            const bool is_pair = i % 16 == 0;
            const dimensions shape = shape_of_pair(random);
            drawn_call drawn = is_pair ? drawn_call(random, direction::quantize, shape) : drawn_call(random, largest);
            drawn.draw_stochastic();
            if (drawn.options.rounding != QDQ_STOCHASTIC || !test_support::is_taken(i)) {
                continue;
            }
            stochastic++;
            qdq_set_num_threads(i % 2 == 0 ? 1 : 3);
            const dynamic_call first(drawn, random);
            SCOPED_TRACE("call " + std::to_string(i) + ": " + first.description());
            expect_oracle_result(first);
            if (is_pair) {
                const drawn_call other(random, direction::quantize, drawn.shape);
                const dynamic_call second(first, other, random);
                SCOPED_TRACE(second.description());
                expect_oracle_results(first, second);
            }
        }
        EXPECT_GT(stochastic, 0);
    });
}

// Of every f16 and bf16, twice over, as a group: every rule, for every stored type and type of scale.
TEST_F(Dynamic, rules_of_every_input_of_16_bits) {
    constexpr int64_t inputs = 65536, each = 2;
    for (const qdq_dtype floats : {QDQ_F16, QDQ_BF16}) {
        tensor_memory x(floats, {inputs, each});
        x.fill([](int64_t i) { return static_cast<uint32_t>(i / each); });
        const qdq_tensor of_x = x.view();
        for (const qdq_dtype codes : supported::stored_types) {
            for (const qdq_scale_rule rule : {QDQ_SCALE_ABSMAX, QDQ_SCALE_MINMAX, QDQ_SCALE_POWER_FLOOR,
                                              QDQ_SCALE_POWER_CEIL, QDQ_SCALE_POWER_EVEN, QDQ_SCALE_POWER_ROUND_UP}) {
                const bool is_power = rule >= QDQ_SCALE_POWER_FLOOR, shifts = rule == QDQ_SCALE_MINMAX;
                if (shifts && !reference::is_integer(codes)) {
                    continue;
                }
                const qdq_scale_options how{.rule = rule};
                for (const qdq_dtype type : is_power ? std::vector{QDQ_E8M0, QDQ_F32, QDQ_BF16}
                                                     : std::vector{QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_F8E4M3}) {
                    SCOPED_TRACE(std::to_string(floats) + " to " + std::to_string(codes) + ", rule " +
                                 std::to_string(rule) + ", scale " + std::to_string(type));
                    tensor_memory scale(type, {inputs, 1}), expected = scale, zero_point(QDQ_I32, {inputs, 1}),
                                                            expected_zero_point = zero_point;
                    const qdq_tensor of_scale = scale.view(), of_zero_point = zero_point.view();
                    const qdq_tensor *shift = shifts ? &of_zero_point : nullptr;
                    ASSERT_EQ(qdq_compute_scales(&of_x, codes, &of_scale, shift, &how, nullptr), QDQ_OK)
                        << qdq_last_error();
                    const qdq_tensor to = expected_zero_point.view();
                    reference::compute_scales(of_x, codes, expected.view(), shifts ? &to : nullptr, &how, nullptr);
                    ASSERT_TRUE(same_bytes(expected, scale));
                    ASSERT_TRUE(same_bytes(expected_zero_point, zero_point));
                }
            }
        }
    }
}

// A scale for each row of x, and a zero point where the rule has one.
void expect_scales_of(const tensor_memory &x, qdq_scale_rule rule) {
    const qdq_tensor of_x = x.view();
    tensor_memory scale(QDQ_F32, {of_x.shape[0], 1}), zero_point(QDQ_I32, {of_x.shape[0], 1}),
        expected = scale, expected_zero_point = zero_point;
    const qdq_tensor of_scale = scale.view(), of_zero_point = zero_point.view(), shift = expected_zero_point.view();
    const bool shifts = rule == QDQ_SCALE_MINMAX;
    const qdq_scale_options how{.rule = rule};
    EXPECT_EQ(qdq_compute_scales(&of_x, QDQ_I8, &of_scale, shifts ? &of_zero_point : nullptr, &how, nullptr), QDQ_OK);
    reference::compute_scales(of_x, QDQ_I8, expected.view(), shifts ? &shift : nullptr, &how, nullptr);
    EXPECT_TRUE(same_bytes(expected, scale)) << "rule " << rule;
    EXPECT_TRUE(same_bytes(expected_zero_point, zero_point)) << "rule " << rule;
}

// The f32 next to 555482784 is 32 below it: a zero point that is nearest to it is a code, and no higher one.
TEST_F(Dynamic, zero_points_below_a_highest_code_that_is_no_f32) {
    test_support::for_each_target([](const std::string &) {
        const tensor_memory x = tensor_memory::of<float>(QDQ_F32, {2}, {-1, -3}), scale(QDQ_F32, {2}),
                            zero_point(QDQ_I32, {2}), expected_scale = scale, expected = zero_point;
        const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_zero_point = zero_point.view(),
                         to = expected.view();
        const qdq_scale_options how{.rule = QDQ_SCALE_MINMAX};
        qdq_options options{};
        options.quant_min = -1245494911;
        options.quant_max = 555482784;
        ASSERT_EQ(qdq_compute_scales(&of_x, QDQ_I32, &of_scale, &of_zero_point, &how, &options), QDQ_OK)
            << qdq_last_error();
        reference::compute_scales(of_x, QDQ_I32, expected_scale.view(), &to, &how, &options);
        EXPECT_EQ(zero_point.codes(), std::vector<uint32_t>(2, 555482752));
        EXPECT_TRUE(same_bytes(expected, zero_point));
    });
}

// Groups that hold what is rare at any place of a long row, by every target, with zero points and without.
TEST_F(Dynamic, one_element_decides_wherever_it_is) {
    const std::vector<uint32_t> rare = {0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0x42c80000, 0xc2c80000};
    test_support::for_each_target([&](const std::string &) {
        for (const int64_t length : {16, 17, 31, 63, 64, 65, 127, 130, 257}) {
            for (int64_t place = 0; place < length; place++) {
                for (const uint32_t bits : rare) {
                    tensor_memory x(QDQ_F32, {3, length});
                    x.fill([=](int64_t i) { return i == length + place ? bits : 0x3f800000u + uint32_t(i % 7); });
                    expect_scales_of(x, QDQ_SCALE_ABSMAX);
                    expect_scales_of(x, QDQ_SCALE_MINMAX);
                    ASSERT_FALSE(HasFailure()) << length << ", " << place << ", " << bits;
                }
            }
        }
    });
}

TEST_F(Dynamic, large_groups_are_reduced_by_several_threads) {
    for (const auto &[shape, scale_shape] :
         {std::pair{dimensions{2048, 1031}, dimensions{1, 1}}, std::pair{dimensions{4099, 513}, dimensions{1, 513}},
          std::pair{dimensions{3, 700001}, dimensions{3, 1}}, std::pair{dimensions{1000, 1030}, dimensions{8, 9}}}) {
        tensor_memory x(QDQ_BF16, shape);  // the last elements are the largest, and below 0
        x.fill([n = int64_t{shape[0] * shape[1]}](int64_t i) { return static_cast<uint32_t>(0xbf00 + i * 100 / n); });
        const auto one = outputs_of(x, scale_shape, 1), four = outputs_of(x, scale_shape, 4);
        EXPECT_TRUE(same_bytes(one.first, four.first));
        EXPECT_TRUE(same_bytes(one.second, four.second));
        tensor_memory expected = one.first;
        reference::compute_scales(x.view(), QDQ_I8, expected.view(), nullptr, nullptr, nullptr);
        EXPECT_TRUE(same_bytes(expected, one.first));
    }
}

// 485 rows of 135 are an area: an odd number of codes.
TEST_F(Dynamic, areas_of_packed_rows_begin_at_whole_bytes) {
    const dimensions shape{4000, 135};
    const tensor_memory x = floats(QDQ_F32, shape);
    tensor_memory scale(QDQ_F32, {4000, 1}), y(QDQ_I4, shape), expected = y;
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
    qdq_set_num_threads(1);
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, nullptr, nullptr), QDQ_OK) << qdq_last_error();
    reference::quantize(of_x, of_scale, nullptr, expected.view(), nullptr);
    EXPECT_TRUE(same_bytes(expected, y));
}

// Rows of several pieces, several of them an area, one after another with gaps: some of zeros, and some whose scale no
// kernel of rows takes.
tensor_memory long_rows(qdq_dtype type, int64_t rows, int64_t columns, int64_t gap = 7) {
    const uint32_t subnormal = type == QDQ_F32 ? 0x00400000 : 0x40, nan = type == QDQ_F32 ? 0x7fc00000 : 0x7fc0;
    tensor_memory x = floats(type, {rows, columns}, {columns + gap, 1});
    const std::vector<uint32_t> codes = x.codes();
    x.fill([&](int64_t i) {
        switch (i / columns) {
        case 5: return uint32_t{0};
        case 20: return subnormal;
        case 40: return i % columns == 3 ? nan : codes[static_cast<size_t>(i)];
        default: return codes[static_cast<size_t>(i)];
        }
    });
    return x;
}

// The last of them, which go through the caches, are 17 MiB.
TEST_F(Dynamic, long_rows_whose_codes_pass_the_caches_equal_the_oracle) {
    constexpr int64_t columns = 2176;
    for (const auto &[from, to, rule, rows, stores] :
         {std::tuple{QDQ_F32, QDQ_I8, QDQ_SCALE_ABSMAX, int64_t{75}, QDQ_STORES_NONTEMPORAL},
          {QDQ_BF16, QDQ_U8, QDQ_SCALE_MINMAX, 75, QDQ_STORES_NONTEMPORAL},
          {QDQ_F32, QDQ_F8E4M3, QDQ_SCALE_ABSMAX, 75, QDQ_STORES_NONTEMPORAL},
          {QDQ_BF16, QDQ_F8E4M3, QDQ_SCALE_ABSMAX, 75, QDQ_STORES_NONTEMPORAL},
          {QDQ_BF16, QDQ_F8E4M3, QDQ_SCALE_ABSMAX, 2700, QDQ_STORES_BY_SIZE}}) {
        const qdq_options options{.stores = stores};
        const tensor_memory x = long_rows(from, rows, columns);
        const qdq_scale_options how{.rule = rule};
        tensor_memory scale(QDQ_F32, {rows, 1}), zero_point(QDQ_I32, {rows, 1}),
            y(to, {rows, columns}, {columns + 3, 1});
        tensor_memory expected_scale = scale, expected_zero_point = zero_point, expected = y;
        const auto run = [&](tensor_memory &s, tensor_memory &z, tensor_memory &codes, auto &&call) {
            const qdq_tensor of_x = x.view(), of_scale = s.view(), shift = z.view(), of_y = codes.view();
            call(of_x, of_scale, rule == QDQ_SCALE_MINMAX ? &shift : nullptr, of_y);
        };
        run(expected_scale, expected_zero_point, expected,
            [&](const qdq_tensor &of_x, const qdq_tensor &of_scale, const qdq_tensor *shift, const qdq_tensor &of_y) {
                reference::compute_scales(of_x, to, of_scale, shift, &how, &options);
                reference::quantize(of_x, of_scale, shift, of_y, &options);
            });
        test_support::for_each_target([&](const std::string &) {
            for (const int threads : {1, 3}) {
                qdq_set_num_threads(threads);
                tensor_memory own_scale = scale, own_zero_point = zero_point, own = y;
                run(own_scale, own_zero_point, own,
                    [&](const qdq_tensor &of_x, const qdq_tensor &of_scale, const qdq_tensor *shift,
                        const qdq_tensor &of_y) {
                        EXPECT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, shift, &of_y, &how, &options), QDQ_OK)
                            << qdq_last_error();
                    });
                EXPECT_TRUE(same_bytes(expected_scale, own_scale));
                EXPECT_TRUE(same_bytes(expected_zero_point, own_zero_point));
                EXPECT_TRUE(same_bytes(expected, own)) << reference::name_of(to);
            }
        });
    }
}

// Groups of a row lie end to end, and several of them pass together where y begins at a cache line. So do blocks, of
// which the last are half a kernel's group. Rows that are apart by a gap begin at cache lines, too. Those of the last
// call are 16 MiB.
TEST_F(Dynamic, codes_of_groups_that_pass_the_caches_equal_those_that_stay) {
    constexpr int64_t line = 64;
    struct streamed {
        qdq_dtype from, to;
        int64_t group, groups, rows = 91;
        qdq_stores stores = QDQ_STORES_NONTEMPORAL;
        int64_t gap = 0;
    };
    for (const auto &[from, to, group, groups, rows, passing, gap] :
         {streamed{QDQ_F32, QDQ_I8, 128, 15},
          {QDQ_BF16, QDQ_F8E4M3, 128, 15},
          {QDQ_BF16, QDQ_I8, 64, 30},
          {QDQ_F32, QDQ_F8E4M3, 640, 3},
          {QDQ_BF16, QDQ_F8E4M3, 32, 59},
          {QDQ_F32, QDQ_I8, 32, 64},
          {QDQ_F32, QDQ_I8, 48, 40},
          {QDQ_BF16, QDQ_F4E2M1, 16, 110},
          {QDQ_F32, QDQ_I4, 32, 59},
          {QDQ_BF16, QDQ_F8E4M3, 2176, 1, 91, QDQ_STORES_NONTEMPORAL, 64},
          {QDQ_F16, QDQ_U8, 2176, 1, 91, QDQ_STORES_NONTEMPORAL, 128},
          {QDQ_F32, QDQ_F4E2M1, 2176, 1, 91, QDQ_STORES_NONTEMPORAL, 128},
          {QDQ_BF16, QDQ_F8E4M3, 32, 59, 9001, QDQ_STORES_BY_SIZE}}) {
        const int64_t columns = group * groups, bytes = rows * (columns + gap) * reference::bits_of(to) / 8;
        const tensor_memory x = long_rows(from, rows, columns, gap);
        const int64_t shape[] = {rows, columns}, strides[] = {columns + gap, 1}, block[] = {1, group};
        const auto run = [&](qdq_stores stores, char *y) {
            tensor_memory scale(QDQ_F32, {rows, groups});
            const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y{y, to, 2, shape, strides, {}};
            const qdq_options options{.block_shape = block, .stores = stores};
            EXPECT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, nullptr, &options), QDQ_OK)
                << qdq_last_error();
            return scale;
        };
        test_support::for_each_target([&](const std::string &) {
            for (const int64_t past_line : {0, 16}) {
                std::vector<char> stays(bytes, 0x55), memory(bytes + 2 * line, 0x55);
                void *aligned = memory.data();
                size_t room = memory.size();
                char *const y = static_cast<char *>(std::align(line, bytes, aligned, room)) + past_line;
                const tensor_memory expected = run(QDQ_STORES_CACHED, stays.data());
                EXPECT_TRUE(same_bytes(expected, run(passing, y)));
                EXPECT_TRUE(std::equal(stays.begin(), stays.end(), y))
                    << reference::name_of(to) << " past " << past_line;
                const auto is_kept = [](char byte) { return byte == 0x55; };
                EXPECT_TRUE(std::all_of(memory.data(), y, is_kept));
                EXPECT_TRUE(std::all_of(y + stays.size(), memory.data() + memory.size(), is_kept));
            }
        });
    }
}

// They are copied, area by area, the last of which are larger: steps of 2, rows of 7 with gaps, and no stride of 1 at
// all, one of them negative or 0. Columns that lie backwards are reduced where they are.
TEST_F(Dynamic, elements_that_lie_apart_give_what_dense_ones_give) {
    struct scattered {
        qdq_dtype from, to;
        dimensions shape, strides, block;
    };
    for (const scattered &c : {scattered{QDQ_BF16, QDQ_I8, {9, 5000}, {10007, 2}, {1, 500}},
                               {QDQ_BF16, QDQ_F8E4M3, {9, 5000}, {10007, 2}, {1, 64}},
                               {QDQ_F16, QDQ_I8, {3, 10000}, {20007, 2}, {1, 5500}},
                               {QDQ_F16, QDQ_I8, {3, 4900}, {20007, 2}, {1, 2500}},
                               {QDQ_F16, QDQ_I8, {12, 5000}, {10007, 2}, {4, 100}},
                               {QDQ_F32, QDQ_I8, {64, 3, 40}, {80, 0, 2}, {1, 3, 40}},
                               {QDQ_F16, QDQ_I8, {4, 1111}, {1200, -1}, {1, 1}},
                               {QDQ_F32, QDQ_U8, {30, 100}, {100, -1}, {30, 1}},
                               {QDQ_F32, QDQ_U8, {130, 7, 7}, {98, 14, 1}, {1, 1, 7}},
                               {QDQ_F16, QDQ_I16, {41, 60, 20}, {2, 2000, -90}, {1, 60, 1}},
                               {QDQ_F32, QDQ_F8E5M2, {33, 33, 33}, {1100, 3, 101}, {1, 1, 10}},
                               {QDQ_F32, QDQ_I8, {3000, 11}, {12, 1}, {7, 1}}}) {
        const tensor_memory apart = floats(c.from, c.shape, c.strides);
        tensor_memory dense(c.from, c.shape);
        dense.fill([codes = apart.codes()](int64_t i) { return codes[static_cast<size_t>(i)]; });
        dimensions of_scale(c.shape.size());
        std::transform(c.shape.begin(), c.shape.end(), c.block.begin(), of_scale.begin(),
                       [](int64_t extent, int64_t block) { return (extent + block - 1) / block; });
        const auto outputs_by = [&](const tensor_memory &x, int threads) {
            tensor_memory scale(QDQ_F32, of_scale), y(c.to, c.shape);
            const qdq_tensor from = x.view(), scales = scale.view(), to = y.view();
            const qdq_options options{.block_shape = c.block.data()};
            qdq_set_num_threads(threads);
            EXPECT_EQ(qdq_quantize_dynamic(&from, &scales, nullptr, &to, nullptr, &options), QDQ_OK)
                << qdq_last_error();
            return std::pair{scale, y};
        };
        test_support::for_each_target([&](const std::string &) {
            const auto [scale, y] = outputs_by(dense, 1);
            for (const int threads : {1, 3}) {
                const auto [own_scale, own_y] = outputs_by(apart, threads);
                EXPECT_TRUE(same_bytes(scale, own_scale)) << threads << " threads";
                EXPECT_TRUE(same_bytes(y, own_y)) << threads << " threads";
            }
        });
    }
}

TEST_F(Dynamic, x_without_elements_has_scales_of_zeros) {
    tensor_memory x(QDQ_F32, {0, 3}), y(QDQ_I8, {0, 3}), scale(QDQ_F32), by_column(QDQ_F32, {3});
    const qdq_tensor of_x = x.view(), of_y = y.view(), of_scale = scale.view(), of_columns = by_column.view();
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, nullptr, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(scale.codes(), std::vector<uint32_t>{0x3f800000});
    const qdq_options columns{.axis = 1};
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_columns, nullptr, &of_y, nullptr, &columns), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(by_column.codes(), std::vector<uint32_t>(3, 0x3f800000));
}

TEST_F(Dynamic, y_may_be_x) {
    const dimensions shape{100, 70};
    for (const dimensions &strides : {dimensions{}, {150, 2}}) {  // which are copied
        tensor_memory x = floats(QDQ_F16, shape, strides), expected(QDQ_I16, shape, strides), scale(QDQ_F32, {100, 1});
        const qdq_tensor of_x = x.view(), of_scale = scale.view(), to = expected.view();
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &to, nullptr, nullptr), QDQ_OK) << qdq_last_error();
        qdq_tensor y = of_x;
        y.dtype = QDQ_I16;
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &y, nullptr, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(x.codes(), expected.codes());
    }
}

// A valid call, of which tests change one thing.
struct refusable {
    tensor_memory x = floats(QDQ_F32, {4, 6}), scale{QDQ_F32, {4, 1}}, zero_point{QDQ_I8, {4, 1}}, y{QDQ_I8, {4, 6}};
    qdq_tensor of_x = x.view(), of_scale = scale.view(), of_zero_point = zero_point.view(), of_y = y.view();
    bool shifts = false;
    qdq_scale_options how{};
    qdq_options options{};

    // Refused by the call, and where addresses play no part by a plan and for scales alone; and nothing is written.
    void expect(qdq_status status, const std::string &message) {
        const tensor_memory scale_before = scale, zero_point_before = zero_point, y_before = y;
        const qdq_tensor *shift = shifts ? &of_zero_point : nullptr;
        EXPECT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, shift, &of_y, &how, &options), status) << message;
        EXPECT_EQ(qdq_last_error(), "qdq_quantize_dynamic: " + message);
        EXPECT_EQ(scale, scale_before);
        EXPECT_EQ(zero_point, zero_point_before);
        EXPECT_EQ(y, y_before);
        qdq_plan plan;
        if (qdq_plan_quantize_dynamic(&plan, &of_x, &of_scale, shift, &of_y, &how, &options) != QDQ_OK) {
            EXPECT_EQ(qdq_last_error(), "qdq_plan_quantize_dynamic: " + message);
            return;
        }
        EXPECT_EQ(qdq_run_dynamic(&plan, of_x.data, of_scale.data, shift ? shift->data : nullptr, of_y.data, nullptr),
                  status);
        EXPECT_EQ(qdq_last_error(), "qdq_run_dynamic: " + message);
    }
};

// As messages have it.
std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%g", value);
    return text;
}

template<typename Change> void expect_refused(const std::string &message, Change change) {
    refusable call;
    change(call);
    call.expect(QDQ_INVALID_ARGUMENT, message);
}

TEST_F(Dynamic, what_is_wrong_is_refused) {
    refusable fine;
    EXPECT_EQ(qdq_quantize_dynamic(&fine.of_x, &fine.of_scale, nullptr, &fine.of_y, nullptr, nullptr), QDQ_OK);
    expect_refused("how: rule 6 is not in 0..5", [](refusable &c) { set_raw(c.how.rule, 6); });
    expect_refused("how: rule -1 is not in 0..5", [](refusable &c) { set_raw(c.how.rule, -1); });
    expect_refused("how: clip_ratio 1.5 is not in 0..1", [](refusable &c) { c.how.clip_ratio = 1.5f; });
    expect_refused("how: clip_ratio nan is not in 0..1", [](refusable &c) { c.how.clip_ratio = NAN; });
    expect_refused("how: least_scale -1 is not a finite number of 0 or more",
                   [](refusable &c) { c.how.least_scale = -1; });
    expect_refused("how: least_scale inf is not a finite number of 0 or more",
                   [](refusable &c) { c.how.least_scale = INFINITY; });
    expect_refused("how: least_scale 1 is not for powers of two (rule 2)",
                   [](refusable &c) { c.how = {.rule = QDQ_SCALE_POWER_FLOOR, .least_scale = 1}; });
    expect_refused("how: clip_ratio_count -1 is not in 0..1024", [](refusable &c) { c.how.clip_ratio_count = -1; });
    expect_refused("how: clip_ratio_count 1025 is not in 0..1024", [](refusable &c) { c.how.clip_ratio_count = 1025; });
    expect_refused("how: last_clip_ratio 0.5 is of clip_ratio_count 2 or more, not 1", [](refusable &c) {
        c.how.clip_ratio_count = 1;
        c.how.last_clip_ratio = 0.5f;
    });
    for (const float last : {0.0f, 2.5f, NAN}) {
        expect_refused("how: last_clip_ratio " + number(last) + " is not above 0 and at most 2", [=](refusable &c) {
            c.how.clip_ratio_count = 2;
            c.how.last_clip_ratio = last;
        });
    }
    expect_refused("how: rule 1 needs integer codes, not f8e4m3", [](refusable &c) {
        c.how.rule = QDQ_SCALE_MINMAX;
        c.shifts = true;
        c.of_y.dtype = QDQ_F8E4M3;
    });
    expect_refused("zero_point: rule 0 computes none", [](refusable &c) { c.shifts = true; });
    expect_refused("zero_point: NULL, and rule 1 computes one", [](refusable &c) { c.how.rule = QDQ_SCALE_MINMAX; });
    expect_refused("zero_point: type u8 does not have all codes from -128 to 127", [](refusable &c) {
        c.how.rule = QDQ_SCALE_MINMAX;
        c.shifts = true;
        c.of_zero_point.dtype = QDQ_U8;
    });
    expect_refused("zero_point: it has one element, and there are 4 scales", [](refusable &c) {
        c.how.rule = QDQ_SCALE_MINMAX;
        c.shifts = true;
        c.of_zero_point.rank = 0;
    });
    expect_refused("scale: rule 0 does not compute scales of type e8m0",
                   [](refusable &c) { c.of_scale.dtype = QDQ_E8M0; });
    expect_refused("scale: rule 5 does not compute scales of type f16", [](refusable &c) {
        c.how.rule = QDQ_SCALE_POWER_ROUND_UP;
        c.of_scale.dtype = QDQ_F16;
    });
    expect_refused("options: scale_mode 1: x is divided by scales that are computed",
                   [](refusable &c) { c.options.scale_mode = QDQ_MULTIPLY; });
    expect_refused("options: quant_max 0 is not above 0, as rule 0 needs",
                   [](refusable &c) { c.options.quant_min = -5; });
    expect_refused("y: shape[1] is 5, x's is 6", [](refusable &c) {
        static constexpr int64_t other[] = {4, 5};
        c.of_y.shape = other;
    });
    expect_refused("scale: its strides make elements overlap one another", [](refusable &c) {
        static constexpr int64_t none[] = {0, 0};
        c.of_scale.strides = none;
    });
    expect_refused("scale: data is NULL", [](refusable &c) { c.of_scale.data = nullptr; });
    expect_refused("x: data is NULL", [](refusable &c) { c.of_x.data = nullptr; });
    expect_refused("y: data is NULL", [](refusable &c) { c.of_y.data = nullptr; });
    expect_refused("scale: it overlaps x", [](refusable &c) { c.of_scale.data = c.of_x.data; });
    expect_refused("scale: it overlaps y", [](refusable &c) { c.of_y.data = c.of_scale.data; });
    expect_refused("scale: it overlaps zero_point", [](refusable &c) {
        c.how.rule = QDQ_SCALE_MINMAX;
        c.shifts = true;
        c.of_zero_point.data = static_cast<char *>(c.of_scale.data) + 12;
    });
    expect_refused("zero_point: it overlaps x", [](refusable &c) {
        c.how.rule = QDQ_SCALE_MINMAX;
        c.shifts = true;
        c.of_zero_point.data = c.of_x.data;
    });
    expect_refused("y: it overlaps x; y may only be x itself, with the same strides and element size",
                   [](refusable &c) { c.of_y.data = c.of_x.data; });
}

// The same with a scale of the tensor's own.
template<typename Change> void expect_global_refused(const std::string &message, Change change) {
    float global = 1;
    expect_refused(message, [&](refusable &c) {
        c.of_scale.dtype = QDQ_F8E4M3;
        c.how.global_sense = QDQ_GLOBAL_SCALE;
        c.how.computes_global = 1;
        c.how.global_scale = &global;
        change(c);
    });
    EXPECT_EQ(global, 1);
}

TEST_F(Dynamic, what_is_wrong_about_a_global_scale_is_refused) {
    expect_global_refused("how: global_sense 3 is not in 0..2", [](refusable &c) { set_raw(c.how.global_sense, 3); });
    expect_global_refused("how: global_scale has no global_sense",
                          [](refusable &c) { c.how.global_sense = QDQ_GLOBAL_NONE; });
    expect_refused("how: global_scale has no global_sense", [](refusable &c) { c.how.computes_global = 1; });
    expect_refused("how: global_scale has no global_sense", [](refusable &c) { c.how.global_largest = 256; });
    expect_global_refused("how: global_scale: NULL, and global_sense is 1",
                          [](refusable &c) { c.how.global_scale = nullptr; });
    expect_global_refused("how: global_scale is of rule 0, not 2",
                          [](refusable &c) { c.how.rule = QDQ_SCALE_POWER_FLOOR; });
    expect_global_refused("how: global_largest 449 is not in 0..448", [](refusable &c) { c.how.global_largest = 449; });
    expect_global_refused("scale: type f32 has no global_scale; f8e4m3 has",
                          [](refusable &c) { c.of_scale.dtype = QDQ_F32; });
    expect_global_refused("how: global_scale: it overlaps x",
                          [](refusable &c) { c.how.global_scale = static_cast<float *>(c.of_x.data); });
    expect_global_refused("how: global_scale: it overlaps scale",
                          [](refusable &c) { c.how.global_scale = static_cast<float *>(c.of_scale.data); });
    expect_global_refused("how: global_scale: it overlaps y", [](refusable &c) {
        c.how.global_scale = reinterpret_cast<float *>(static_cast<char *>(c.of_y.data) + 8);
    });
}

TEST_F(Dynamic, a_given_global_scale_is_finite_and_above_0) {
    for (const float given : {0.0f, -2.0f, INFINITY, NAN}) {
        float global = given;
        expect_refused("how: global_scale " + number(given) + " is not a finite number above 0", [&](refusable &c) {
            c.of_scale.dtype = QDQ_F8E4M3;
            c.how.global_sense = QDQ_GLOBAL_SCALE;
            c.how.global_scale = &global;
        });
    }
}

// Scales and codes of one row of 16 numbers as e2m1.
struct nvfp4_row {
    std::vector<float> x = std::vector<float>(16);
    uint8_t scale = 0, y[8] = {};
    float global = 0;

    void quantize(qdq_scale_options how) {
        static constexpr int64_t shape[] = {1, 16}, scale_shape[] = {1, 1};
        const qdq_tensor of_x{x.data(), QDQ_F32, 2, shape, nullptr, {}}, of_y{y, QDQ_F4E2M1, 2, shape, nullptr, {}};
        const qdq_tensor of_scale{&scale, QDQ_F8E4M3, 2, scale_shape, nullptr, {}};
        how.global_scale = how.global_sense == QDQ_GLOBAL_NONE ? nullptr : &global;
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
    }
};

// 10, 20, 30, 40 are 1, 2, 3, 4 times 10; by a scale of 6.5 two of them are not met. Of 6, 3, 2, 1 it is the other way.
TEST_F(Dynamic, four_over_six_takes_the_lesser_error) {
    nvfp4_row four, six;
    four.x = {10, 20, 30, 40, 10, 20, 30, 40, -10, -20, -30, -40, 10, 20, 30, 40};
    four.quantize({.last_clip_ratio = 1.5f, .clip_ratio_count = 2});
    EXPECT_EQ(four.scale, 0x52);  // 10
    EXPECT_EQ(four.y[0], 0x42);   // 1, 2
    EXPECT_EQ(four.y[1], 0x65);   // 3, 4
    six.x = {6, 3, 2, 1, 6, 3, 2, 1, 6, 3, 2, 1, 6, 3, 2, 1};
    six.quantize({.last_clip_ratio = 1.5f, .clip_ratio_count = 2});
    EXPECT_EQ(six.scale, 0x38);  // 1
    EXPECT_EQ(six.y[0], 0x57);   // 6, 3
}

TEST_F(Dynamic, the_first_of_equal_candidates_is_taken) {
    nvfp4_row row;  // zeros
    row.x[3] = 1.5f;
    row.quantize({.clip_ratio = 1, .last_clip_ratio = 2, .clip_ratio_count = 2});
    EXPECT_EQ(row.scale, 0x28);  // a quarter: 6 of them, as 3 of twice as much
}

TEST_F(Dynamic, clip_ratios_of_many_groups_are_searched) {
    const struct {
        dimensions shape, blocks;
    } cases[] = {
        {{3000, 4}, {1, 4}},   {{60, 105}, {1, 5}}, {{40, 1000}, {1, 8}},  {{3, 5001}, {1, 5001}},
        {{300, 70}, {300, 1}}, {{70, 64}, {33, 1}}, {{100, 96}, {32, 32}}, {{5, 130, 66}, {5, 1, 66}},
        {{9, 1100}, {1, 100}}, {{7000}, {7000}},
    };
    for (const qdq_dtype codes : {QDQ_I4, QDQ_F8E4M3, QDQ_I2}) {
        for (const auto &[shape, blocks] : cases) {
            const tensor_memory x = floats(QDQ_BF16, shape);
            dimensions groups = shape;
            for (size_t i = 0; i < groups.size(); i++) {
                groups[i] = (groups[i] + blocks[i] - 1) / blocks[i];
            }
            tensor_memory scale(QDQ_F32, groups), expected = scale;
            const qdq_tensor of_x = x.view(), of_scale = scale.view();
            const qdq_scale_options how{.last_clip_ratio = 0.5f, .clip_ratio_count = 4};
            qdq_options options{};
            options.block_shape = blocks.data();
            ASSERT_EQ(qdq_compute_scales(&of_x, codes, &of_scale, nullptr, &how, &options), QDQ_OK) << qdq_last_error();
            reference::compute_scales(of_x, codes, expected.view(), nullptr, &how, &options);
            EXPECT_TRUE(same_bytes(expected, scale))
                << qdq_dtype_name(codes) << " " << shape.back() << " " << blocks.back();
        }
    }
}

// 6 * 448 is the largest product of a code and a scale.
TEST_F(Dynamic, a_global_scale_has_two_senses) {
    for (const qdq_global_sense sense : {QDQ_GLOBAL_SCALE, QDQ_GLOBAL_INVERSE}) {
        nvfp4_row row;
        row.x[5] = -2688 * 4;
        row.x[6] = 2688 * 2;
        row.quantize({.global_sense = sense, .computes_global = 1});
        EXPECT_EQ(row.global, sense == QDQ_GLOBAL_SCALE ? 4 : 0.25f);
        EXPECT_EQ(row.scale, 0x7e);  // 448
        EXPECT_EQ(row.y[2], 0xf0);   // 0, -6
        EXPECT_EQ(row.y[3], 0x05);   // 3, 0
        row.global = sense == QDQ_GLOBAL_SCALE ? 8 : 0.125f;
        row.quantize({.global_sense = sense});
        EXPECT_EQ(row.scale, 0x76);  // 224
        EXPECT_EQ(row.y[2], 0xf0);
        row.quantize({.global_sense = sense, .computes_global = 1, .global_largest = 256});
        EXPECT_EQ(row.global, sense == QDQ_GLOBAL_SCALE ? 7 : 1 / 7.0f);
        EXPECT_EQ(row.scale, 0x78);  // 256
    }
}

TEST_F(Dynamic, a_global_scale_of_zeros_and_of_the_least_number_is_usable) {
    nvfp4_row row;
    row.quantize({.global_sense = QDQ_GLOBAL_SCALE, .computes_global = 1});
    EXPECT_EQ(row.global, 1 / 2688.0f);
    row.quantize({.global_sense = QDQ_GLOBAL_INVERSE, .computes_global = 1});
    EXPECT_EQ(row.global, 2688);
    row.x[0] = 0x1p-149f;
    row.quantize({.global_sense = QDQ_GLOBAL_INVERSE, .computes_global = 1});
    EXPECT_EQ(row.global, std::numeric_limits<float>::max());
    row.quantize({.global_sense = QDQ_GLOBAL_SCALE, .computes_global = 1});
    EXPECT_EQ(row.global, 1);
}

TEST_F(Dynamic, diagnostics_count_what_is_met) {
    const std::vector<float> values = {1, NAN, -INFINITY, 200, -127.5f, 0.25f, 0, -3.125f};
    const int64_t shape[] = {8}, by_one[] = {1};
    float scale = 0;
    int8_t y[8];
    qdq_diagnostics met;
    const qdq_tensor of_x{const_cast<float *>(values.data()), QDQ_F32, 1, shape, nullptr, {}};
    const qdq_tensor of_scale{&scale, QDQ_F32, 1, by_one, nullptr, {}}, of_y{y, QDQ_I8, 1, shape, nullptr, {}};
    const qdq_scale_options how{.diagnostics = &met};
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(met.nan, 1);
    EXPECT_EQ(met.infinite, 1);
    EXPECT_TRUE(std::isnan(met.amax));
    const int64_t finite_shape[] = {5};
    const qdq_tensor finite{const_cast<float *>(values.data() + 3), QDQ_F32, 1, finite_shape, nullptr, {}};
    const qdq_tensor codes{y, QDQ_I8, 1, finite_shape, nullptr, {}};
    const qdq_scale_options clips{.clip_ratio = 0.635f, .diagnostics = &met};  // 200 by 127
    ASSERT_EQ(qdq_quantize_dynamic(&finite, &of_scale, nullptr, &codes, &clips, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(scale, 1);
    EXPECT_EQ(met.nan + met.infinite, 0);
    EXPECT_EQ(met.clipped, 1);  // -127.5 is -128
    EXPECT_EQ(met.flushed, 1);
    EXPECT_EQ(met.amax, 200);
    EXPECT_EQ(met.squared_error, 73 * 73 + 0.25 + 0.0625 + 0.015625);
}

TEST_F(Dynamic, diagnostics_are_the_same_for_any_number_of_threads) {
    const dimensions shape{1000, 1030};
    const tensor_memory x = floats(QDQ_F16, shape);
    tensor_memory scale(QDQ_F32, {1000, 10}), y(QDQ_F8E5M2, shape);
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
    qdq_diagnostics met[3];
    for (int i = 0; i < 3; i++) {
        qdq_set_num_threads(std::vector{1, 2, 7}[static_cast<size_t>(i)]);
        const qdq_scale_options how{.clip_ratio = 0.75f, .diagnostics = &met[i]};
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(same_diagnostics(met[0], met[i]));
    }
    qdq_diagnostics expected;
    const qdq_scale_options how{.clip_ratio = 0.75f, .diagnostics = &expected};
    reference::compute_scales(of_x, QDQ_F8E5M2, of_scale, nullptr, &how, nullptr);
    EXPECT_TRUE(same_diagnostics(expected, met[0]));
}

// Each error is the largest that counts, of rows that are one tile, several, and several rows of one.
TEST_F(Dynamic, diagnostics_of_the_largest_errors_are_exact) {
    for (const dimensions &shape : {dimensions{3, 5000}, {1100, 64}, {40, 1100}}) {
        tensor_memory x(QDQ_F32, shape), scale(QDQ_F32, {shape[0], 1}), y(QDQ_F8E5M2, shape);
        x.fill([](int64_t) { return std::bit_cast<uint32_t>(0x1p100f); });
        const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
        qdq_diagnostics expected, met;
        const qdq_scale_options oracle{.clip_ratio = 0x1p-60f, .diagnostics = &expected},
            how{.clip_ratio = 0x1p-60f, .diagnostics = &met};
        reference::compute_scales(of_x, QDQ_F8E5M2, of_scale, nullptr, &oracle, nullptr);
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(same_diagnostics(expected, met)) << shape[0] << ": " << met.squared_error;
        EXPECT_EQ(met.clipped, shape[0] * shape[1]);
    }
}

// Halfway between the last two codes, of rows and of columns: no larger errors are summed in 32 bits.
TEST_F(Dynamic, diagnostics_of_the_largest_errors_of_unclipped_elements_are_exact) {
    const dimensions shape{1100, 600};
    for (const dimensions &groups : {dimensions{1100, 1}, {1, 600}}) {
        tensor_memory x(QDQ_F32, shape), scale(QDQ_F32, groups), y(QDQ_F8E4M3, shape);
        const float most = 0x1.fffffep0f;  // the scale
        x.fill([&](int64_t i) { return std::bit_cast<uint32_t>((i % 600 == i / 600 ? 448 : 432) * most); });
        const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
        qdq_diagnostics expected, met;
        const qdq_scale_options oracle{.diagnostics = &expected}, how{.diagnostics = &met};
        reference::compute_scales(of_x, QDQ_F8E4M3, of_scale, nullptr, &oracle, nullptr);
        ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(same_diagnostics(expected, met)) << groups[0] << ": " << met.squared_error;
        EXPECT_EQ(met.clipped, 0);
        EXPECT_GT(met.squared_error, 0);
    }
}

// A zero point of i32 that an f32 has not: it is added before rounding as the one next to it. It is the highest code,
// as 1 + 89 / scale is 1'000'000'064.
TEST_F(Dynamic, diagnostics_know_a_zero_point_as_the_float_that_was_added) {
    tensor_memory x(QDQ_F32, {90}), scale(QDQ_F32, {1}), zero_point(QDQ_I32, {1}), y(QDQ_I32, {90});
    x.fill([](int64_t i) { return std::bit_cast<uint32_t>(static_cast<float>(-i)); });
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_zero_point = zero_point.view(), of_y = y.view();
    qdq_options options{};
    options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
    options.quant_min = 1;
    options.quant_max = 1'000'000'007;
    qdq_diagnostics expected, met;
    const qdq_scale_options oracle{.rule = QDQ_SCALE_MINMAX, .diagnostics = &expected},
        how{.rule = QDQ_SCALE_MINMAX, .diagnostics = &met};
    reference::compute_scales(of_x, QDQ_I32, of_scale, &of_zero_point, &oracle, &options);
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, &of_zero_point, &of_y, &how, &options), QDQ_OK)
        << qdq_last_error();
    EXPECT_EQ(zero_point.codes()[0], 1'000'000'007u);
    EXPECT_TRUE(same_diagnostics(expected, met)) << met.squared_error << " " << expected.squared_error;
}

// Codes that 0 is none of: what pads a tile would count.
TEST_F(Dynamic, diagnostics_count_nothing_that_pads) {
    for (const qdq_dtype codes : {QDQ_I4, QDQ_I8}) {
        for (const dimensions &shape : {dimensions{3, 5001}, {5, 50}, {2, 3, 61}}) {
            dimensions by_row = shape;
            by_row.back() = 1;
            tensor_memory x = floats(QDQ_F32, shape), scale(QDQ_F32, by_row), y(codes, shape);
            const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
            qdq_options options{};
            options.quant_min = 1;
            options.quant_max = 7;
            qdq_diagnostics expected, met;
            const qdq_scale_options oracle{.diagnostics = &expected}, how{.diagnostics = &met};
            reference::compute_scales(of_x, codes, of_scale, nullptr, &oracle, &options);
            ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_y, &how, &options), QDQ_OK)
                << qdq_last_error();
            EXPECT_TRUE(same_diagnostics(expected, met)) << shape.back() << ": " << met.squared_error;
        }
    }
}

TEST_F(Dynamic, diagnostics_are_of_x_where_y_is_x) {
    tensor_memory x = floats(QDQ_F16, {50, 70}), scale(QDQ_F32, {50, 1});
    const qdq_tensor of_x = x.view(), of_scale = scale.view();
    qdq_tensor y = of_x;
    y.dtype = QDQ_I16;
    qdq_diagnostics expected, met;
    const qdq_scale_options oracle{.diagnostics = &expected}, how{.diagnostics = &met};
    reference::compute_scales(of_x, QDQ_I16, of_scale, nullptr, &oracle, nullptr);
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &y, &how, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(same_diagnostics(expected, met));
}

TEST_F(Dynamic, diagnostics_may_overlap_nothing) {
    expect_refused("how: diagnostics: it overlaps x",
                   [](refusable &c) { c.how.diagnostics = static_cast<qdq_diagnostics *>(c.of_x.data); });
}

TEST_F(Dynamic, plans_run_by_their_own_function) {
    refusable c;
    qdq_plan of_scales, of_codes;
    ASSERT_EQ(qdq_plan_quantize_dynamic(&of_scales, &c.of_x, &c.of_scale, nullptr, &c.of_y, nullptr, nullptr), QDQ_OK);
    ASSERT_EQ(qdq_plan_quantize(&of_codes, &c.of_x, &c.of_scale, nullptr, &c.of_y, nullptr), QDQ_OK);
    EXPECT_EQ(qdq_run(&of_scales, c.of_x.data, c.of_y.data, nullptr), QDQ_INVALID_ARGUMENT);
    const auto run = [&](const qdq_plan *plan, void *stream) {
        return qdq_run_dynamic(plan, c.of_x.data, c.of_scale.data, nullptr, c.of_y.data, stream);
    };
    EXPECT_EQ(run(&of_codes, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_run_dynamic: plan: qdq_plan_quantize_dynamic has not made it");
    EXPECT_EQ(run(nullptr, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_run_dynamic: plan: NULL");
    int stream = 0;
    EXPECT_EQ(run(&of_scales, &stream), QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(run(&of_scales, nullptr), QDQ_OK);
    EXPECT_EQ(qdq_plan_quantize_dynamic(nullptr, &c.of_x, &c.of_scale, nullptr, &c.of_y, nullptr, nullptr),
              QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(qdq_compute_scales(nullptr, QDQ_I8, &c.of_scale, nullptr, nullptr, nullptr), QDQ_INVALID_ARGUMENT);
    qdq_tensor on_device = c.of_x;
    on_device.device.kind = QDQ_DEVICE_CUDA;
    EXPECT_NE(qdq_compute_scales(&on_device, QDQ_I8, &c.of_scale, nullptr, nullptr, nullptr), QDQ_OK);
}

// Scales and codes of blocks along rows and along columns.
struct rows_and_columns {
    static inline const dimensions shape{64, 17000};
    tensor_memory row_scale, column_scale{QDQ_E8M0, {2, 17000}}, row_codes{QDQ_F8E4M3, shape}, column_codes = row_codes;
    qdq_diagnostics row_diagnostics{}, column_diagnostics{};

    explicit rows_and_columns(int64_t block) : row_scale(QDQ_E8M0, {64, (17000 + block - 1) / block}) {}

    // Calls run(output of rows, output of columns).
    template<typename Run> void run(int64_t block, bool is_diagnosed, Run &&run) {
        const qdq_scale_options how{.rule = QDQ_SCALE_POWER_FLOOR,
                                    .diagnostics = is_diagnosed ? &row_diagnostics : nullptr};
        const qdq_scale_options other_how{.rule = QDQ_SCALE_POWER_FLOOR,
                                          .diagnostics = is_diagnosed ? &column_diagnostics : nullptr};
        const int64_t along_rows[] = {1, block}, along_columns[] = {32, 1};
        const qdq_options rows{.block_shape = along_rows}, columns{.block_shape = along_columns};
        const qdq_tensor of_rows = row_scale.view(), of_columns = column_scale.view(), y = row_codes.view(),
                         z = column_codes.view();
        run(qdq_dynamic_output{&of_rows, nullptr, &y, &how, &rows},
            qdq_dynamic_output{&of_columns, nullptr, &z, &other_how, &columns});
    }
};

void expect_equal(const rows_and_columns &expected, const rows_and_columns &got) {
    EXPECT_TRUE(same_bytes(expected.row_scale, got.row_scale));
    EXPECT_TRUE(same_bytes(expected.column_scale, got.column_scale));
    EXPECT_TRUE(same_bytes(expected.row_codes, got.row_codes));
    EXPECT_TRUE(same_bytes(expected.column_codes, got.column_codes));
    EXPECT_TRUE(same_diagnostics(expected.row_diagnostics, got.row_diagnostics));
    EXPECT_TRUE(same_diagnostics(expected.column_diagnostics, got.column_diagnostics));
}

// As training has them, by one thread and by several. 8192 columns of 32 rows are a box, and no whole blocks of 48.
TEST_F(Dynamic, blocks_along_rows_and_columns_at_once_equal_two_calls) {
    const tensor_memory x = floats(QDQ_BF16, rows_and_columns::shape);
    const qdq_tensor of_x = x.view();
    for (const int64_t block : {32, 48}) {
        for (const bool is_diagnosed : {false, true}) {
            rows_and_columns expected(block);
            expected.run(block, is_diagnosed, [&](const qdq_dynamic_output &rows, const qdq_dynamic_output &columns) {
                for (const qdq_dynamic_output *o : {&rows, &columns}) {
                    ASSERT_EQ(qdq_quantize_dynamic(&of_x, o->scale, nullptr, o->y, o->how, o->options), QDQ_OK)
                        << qdq_last_error();
                }
            });
            for (const int threads : {1, 3}) {
                qdq_set_num_threads(threads);
                rows_and_columns got(block);
                got.run(block, is_diagnosed, [&](const qdq_dynamic_output &rows, const qdq_dynamic_output &columns) {
                    ASSERT_EQ(qdq_quantize_dynamic_pair(&of_x, &rows, &columns), QDQ_OK) << qdq_last_error();
                });
                expect_equal(expected, got);
            }
        }
    }
}

TEST_F(Dynamic, a_pair_of_x_without_elements_has_scales_of_zeros) {
    const tensor_memory x(QDQ_F32, {0, 3});
    tensor_memory scale(QDQ_F32), by_column(QDQ_F32, {3}), y(QDQ_I8, {0, 3});
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_columns = by_column.view(), of_y = y.view();
    const qdq_options columns{.axis = 1};
    const qdq_dynamic_output first{&of_scale, nullptr, &of_y, nullptr, nullptr},
        second{&of_columns, nullptr, &of_y, nullptr, &columns};
    ASSERT_EQ(qdq_quantize_dynamic_pair(&of_x, &first, &second), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(scale.codes(), std::vector<uint32_t>{0x3f800000});
    EXPECT_EQ(by_column.codes(), std::vector<uint32_t>(3, 0x3f800000));
}

// A valid call of a pair, of which tests change one thing.
struct refusable_pair {
    refusable first, second;
    qdq_tensor of_x = first.of_x;
    const qdq_tensor *x = &of_x;
    bool has_first = true, has_second = true;

    refusable_pair() {
        second.scale = tensor_memory(QDQ_F32, {1, 6});
        second.of_scale = second.scale.view();
    }

    static qdq_dynamic_output output(const refusable &c) {
        return {&c.of_scale, c.shifts ? &c.of_zero_point : nullptr, &c.of_y, &c.how, &c.options};
    }

    void expect(const std::string &message) {
        const auto before = [this] { return std::tuple{first.scale, second.scale, first.y, second.y, first.x}; };
        const auto unchanged = before();
        const qdq_dynamic_output to_first = output(first), to_second = output(second);
        EXPECT_EQ(qdq_quantize_dynamic_pair(x, has_first ? &to_first : nullptr, has_second ? &to_second : nullptr),
                  QDQ_INVALID_ARGUMENT);
        EXPECT_EQ(qdq_last_error(), "qdq_quantize_dynamic_pair: " + message);
        EXPECT_TRUE(unchanged == before());
        qdq_plan plan, other_plan;
        if (qdq_plan_quantize_dynamic_pair(&plan, &other_plan, x, has_first ? &to_first : nullptr,
                                           has_second ? &to_second : nullptr) != QDQ_OK) {
            EXPECT_EQ(qdq_last_error(), "qdq_plan_quantize_dynamic_pair: " + message);
            return;
        }
        EXPECT_EQ(qdq_run_dynamic_pair(&plan, &other_plan, x->data, first.of_scale.data, nullptr, first.of_y.data,
                                       second.of_scale.data, nullptr, second.of_y.data, nullptr),
                  QDQ_INVALID_ARGUMENT);
        EXPECT_EQ(qdq_last_error(), "qdq_run_dynamic_pair: " + message);
        EXPECT_TRUE(unchanged == before());
    }
};

template<typename Change> void expect_pair_refused(const std::string &message, Change change) {
    refusable_pair pair;
    change(pair);
    pair.expect(message);
}

TEST_F(Dynamic, what_is_wrong_of_a_pair_is_refused) {
    expect_pair_refused("x: NULL", [](refusable_pair &p) { p.x = nullptr; });
    expect_pair_refused("first: NULL", [](refusable_pair &p) { p.has_first = false; });
    expect_pair_refused("second: NULL", [](refusable_pair &p) { p.has_second = false; });
    expect_pair_refused("first: how: rule 6 is not in 0..5", [](refusable_pair &p) { set_raw(p.first.how.rule, 6); });
    expect_pair_refused("second: zero_point: NULL, and rule 1 computes one",
                        [](refusable_pair &p) { p.second.how.rule = QDQ_SCALE_MINMAX; });
    expect_pair_refused("second: y: data is NULL", [](refusable_pair &p) { p.second.of_y.data = nullptr; });
    expect_pair_refused("first: scale: data is NULL", [](refusable_pair &p) { p.first.of_scale.data = nullptr; });
    expect_pair_refused("first: scale: it overlaps y",
                        [](refusable_pair &p) { p.first.of_scale.data = p.first.of_y.data; });
    expect_pair_refused("first: y: it overlaps y of the second",
                        [](refusable_pair &p) { p.second.of_y.data = p.first.of_y.data; });
    expect_pair_refused("first: scale: it overlaps y of the second",
                        [](refusable_pair &p) { p.second.of_y.data = p.first.of_scale.data; });
    expect_pair_refused("second: scale: it overlaps x",
                        [](refusable_pair &p) { p.second.of_scale.data = p.of_x.data; });
}

// Of elements of one size y may be x where it is alone; here the other output reads x, too.
TEST_F(Dynamic, no_output_of_a_pair_may_be_x) {
    const tensor_memory x = floats(QDQ_F32, {4, 6});
    tensor_memory scale(QDQ_F32), other_scale(QDQ_F32), y(QDQ_I8, {4, 6});
    const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_other = other_scale.view(), of_y = y.view();
    qdq_tensor in_place = of_x;
    in_place.dtype = QDQ_I32;
    const qdq_dynamic_output to_x{&of_scale, nullptr, &in_place, nullptr, nullptr},
        to_y{&of_other, nullptr, &of_y, nullptr, nullptr};
    EXPECT_EQ(qdq_quantize_dynamic_pair(&of_x, &to_x, &to_y), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_dynamic_pair: first: y: it overlaps x of the second");
    EXPECT_EQ(qdq_quantize_dynamic_pair(&of_x, &to_y, &to_x), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_dynamic_pair: first: x: it overlaps y of the second");
}

// Both read a given one; what is computed each writes on its own.
TEST_F(Dynamic, a_pair_may_share_a_given_global_scale) {
    refusable_pair pair;
    float global = 2;
    for (refusable *c : {&pair.first, &pair.second}) {
        c->of_scale.dtype = QDQ_F8E4M3;
        c->how.global_sense = QDQ_GLOBAL_SCALE;
        c->how.global_scale = &global;
    }
    const qdq_dynamic_output first = refusable_pair::output(pair.first), second = refusable_pair::output(pair.second);
    EXPECT_EQ(qdq_quantize_dynamic_pair(&pair.of_x, &first, &second), QDQ_OK) << qdq_last_error();
    pair.first.how.computes_global = pair.second.how.computes_global = 1;
    pair.expect("first: how: global_scale: it overlaps how: global_scale of the second");
}

TEST_F(Dynamic, plans_of_a_pair_are_of_one_x) {
    refusable_pair pair;
    const qdq_dynamic_output first = refusable_pair::output(pair.first), second = refusable_pair::output(pair.second);
    qdq_plan plan, other_plan, of_another;
    const qdq_plan none{};
    ASSERT_EQ(qdq_plan_quantize_dynamic_pair(&plan, &other_plan, &pair.of_x, &first, &second), QDQ_OK);
    const tensor_memory transposed = floats(QDQ_F32, {3, 6});
    tensor_memory scale(QDQ_F32), y(QDQ_I8, {3, 6});
    const qdq_tensor of_x = transposed.view(), of_scale = scale.view(), of_y = y.view();
    ASSERT_EQ(qdq_plan_quantize_dynamic(&of_another, &of_x, &of_scale, nullptr, &of_y, nullptr, nullptr), QDQ_OK);
    const auto expect_refused = [&](const qdq_plan *a, const qdq_plan *b, void *stream, const std::string &message) {
        EXPECT_EQ(qdq_run_dynamic_pair(a, b, pair.of_x.data, first.scale->data, nullptr, first.y->data,
                                       second.scale->data, nullptr, second.y->data, stream),
                  QDQ_INVALID_ARGUMENT);
        EXPECT_EQ(qdq_last_error(), "qdq_run_dynamic_pair: " + message);
    };
    expect_refused(nullptr, &other_plan, nullptr, "first: plan: NULL");
    expect_refused(&plan, nullptr, nullptr, "second: plan: NULL");
    expect_refused(&none, &other_plan, nullptr, "first: plan: no call that quantizes dynamically has made it");
    expect_refused(&plan, &of_another, nullptr, "second: plan: it is of another x than the first");
    expect_refused(&plan, &other_plan, &scale,
                   "first: stream: target " + std::string(qdq_current_target()) + " runs on the CPU and takes none");
    EXPECT_EQ(qdq_plan_quantize_dynamic_pair(&plan, nullptr, &pair.of_x, &first, &second), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_plan_quantize_dynamic_pair: second: plan: NULL");
    // Either runs alone.
    EXPECT_EQ(qdq_run_dynamic(&plan, pair.of_x.data, first.scale->data, nullptr, first.y->data, nullptr), QDQ_OK);
}

}  // namespace
}  // namespace api_test

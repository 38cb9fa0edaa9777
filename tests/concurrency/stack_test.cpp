// How much stack a call takes: calls on a painted stack, and on a thread of 64 KiB, in every layout, on every target.
#include "child.h"
#include "stack_of.h"

#include "api/call.h"
#include "api/drawn_call.h"
#include "conformance/supported.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>

namespace concurrency_test {
namespace {

using namespace api_test;

void in_order(void *, int64_t count, qdq_task task, void *task_context) {
    for (int64_t i = 0; i < count; i++) {
        task(i, task_context);
    }
}

// What a call and the run of its plan take.
size_t stack_of_call(const arguments &given) {
    qdq_status called = QDQ_OUT_OF_MEMORY, run = QDQ_OUT_OF_MEMORY;
    const size_t by_call = expect_stated_stack([&] { called = call(given); });
    const size_t by_plan = expect_stated_stack([&] {
        qdq_plan plan;
        run = prepare(&plan, given);
        if (run == QDQ_OK) {
            run = qdq_run(&plan, given.x->data, given.y->data, nullptr);
        }
    });
    EXPECT_EQ(called, run);
    return std::max(by_call, by_plan);
}

size_t stack_of_call(direction way, const tensor_memory &x, const tensor_memory &scale, const tensor_memory *zero,
                     const tensor_memory &y, const qdq_options &options) {
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    const qdq_tensor c_zero = zero != nullptr ? zero->view() : qdq_tensor{};
    return stack_of_call({way, &c_x, &c_scale, zero != nullptr ? &c_zero : nullptr, &c_y, &options});
}

struct layout {
    dimensions shape, scale, x_strides, y_strides;
};

const layout layouts[] = {
    {{}, {}, {}, {}},
    {{70000}, {}, {}, {}},
    {{130, 132}, {130, 1}, {}, {}},
    {{130, 132}, {1, 132}, {}, {}},
    {{130, 132}, {130, 1}, {1, 130}, {}},
    {{130, 132}, {1, 132}, {}, {1, 130}},
    {{130, 132}, {13, 7}, {}, {}},
    {{130, 132}, {13, 7}, {1, 130}, {}},
    {{64, 160}, {64, 5}, {}, {}},
    {{1001, 7}, {1001, 1}, {}, {}},
    {{20, 2016}, {1, 2016}, {}, {}},
    {{130, 132}, {}, {300, 2}, {400, 3}},
    {{130, 132}, {}, {-132, -1}, {}},
    {{5, 6, 7, 8, 9}, {5, 1, 7, 1, 9}, {}, {}},
    {{2, 2, 2, 2, 2, 2, 2, 3}, {1, 2, 1, 2, 1, 2, 1, 3}, {}, {}},
    {{1100, 1000}, {1100, 1}, {}, {}},
};

class Stack : public Api {
protected:
    void SetUp() override {
        if (!stack_can_be_measured) {
            GTEST_SKIP() << "instrumented code takes more";
        }
    }

    size_t most = 0;

    // There and back, in every packing.
    void measure(const layout &l, qdq_dtype floating, qdq_dtype codes, qdq_options options = {}) {
        const bool packed = reference::is_packed(codes);
        const dimensions dense;
        const tensor_memory zero = zero_points(QDQ_I32, l.scale);
        const tensor_memory *const zero_or_none = reference::is_integer(codes) ? &zero : nullptr;
        for (const qdq_packing packing : supported::packings_of(codes)) {
            if (packing == QDQ_SPLIT_HALVES && product(l.shape) % 32 != 0) {
                continue;
            }
            options.packing = packing;
            const size_t there =
                stack_of_call(direction::quantize, floats(floating, l.shape, l.x_strides), scales(l.scale),
                              zero_or_none, tensor_memory(codes, l.shape, packed ? dense : l.y_strides), options);
            const size_t back =
                stack_of_call(direction::dequantize, stored(codes, l.shape, packed ? dense : l.x_strides),
                              scales(l.scale), zero_or_none, tensor_memory(floating, l.shape, l.y_strides), options);
            most = std::max({most, there, back});
        }
    }

    static int64_t product(const dimensions &shape) {
        return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
    }
};

// In a child, which has no threads yet. Of the process this is the first test, so that the call is also its first.
TEST_F(Stack, of_the_first_call_that_creates_threads_is_at_most_what_the_header_says) {
    const dimensions shape{1100, 1000};
    const tensor_memory x = floats(QDQ_F32, shape), y(QDQ_I8, shape), scale = scales({});
    EXPECT_EQ(in_child([&] {
                  stack_of_call(direction::quantize, x, scale, nullptr, y, {});
                  return testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
}

TEST_F(Stack, of_a_call_is_at_most_what_the_header_says) {
    // Parts run here, too, as a caller's pool would have them.
    qdq_set_parallel_for(in_order, nullptr);
    for (const std::string &target : test_support::host_targets()) {
        if (!test_support::usable(target)) {
            continue;
        }
        ASSERT_EQ(qdq_force_target(target.c_str()), QDQ_OK);
        qdq_set_num_threads(4);
        for (const layout &l : layouts) {
            for (const qdq_dtype floating : {QDQ_F32, QDQ_F16}) {
                for (const qdq_dtype codes : {QDQ_I8, QDQ_I16, QDQ_I32, QDQ_I4, QDQ_U2, QDQ_F8E4M3, QDQ_F4E2M1}) {
                    SCOPED_TRACE(target + ", shape " + testing::PrintToString(l.shape) + ", scale " +
                                 testing::PrintToString(l.scale) + ", " + reference::name_of(codes));
                    measure(l, floating, codes);
                }
            }
        }
        for (const layout &l : layouts) {
            measure(l, QDQ_F32, QDQ_I8, {.stores = QDQ_STORES_NONTEMPORAL});
        }
    }
    EXPECT_GT(most, size_t{16} << 10) << "nothing was measured";
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

// QDQ_TEST_SEED=<n> draws others.
TEST_F(Stack, of_drawn_calls_is_at_most_what_the_header_says) {
    constexpr int calls = 500;
    constexpr int64_t largest = 2000000;
    const char *wanted = std::getenv("QDQ_TEST_SEED");
    const unsigned seed = wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
    test_support::for_each_target([&](const std::string &) {
        qdq_set_num_threads(3);
        for (unsigned i = 0; i < calls && !HasFailure(); i++) {
            if (test_support::is_taken(i)) {
                test_support::random_choices random(seed * 1000003 + i);
                drawn_call drawn(random, largest);
                drawn.draw_stochastic();
                drawn.draw_storage();
                SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " +
                             drawn.description());
                const size_t taken =
                    stack_of_call(drawn.way, *drawn.x, *drawn.scale, drawn.zero_point ? &*drawn.zero_point : nullptr,
                                  *drawn.y, drawn.options);
                most = std::max(most, taken);
            }
        }
    });
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

// Scales and codes at once, scales alone, and by a plan.
size_t stack_of_dynamic(const layout &l, qdq_dtype codes, const qdq_scale_options &how, qdq_dtype scale_type,
                        const qdq_options &options = {}) {
    const bool shifts = how.rule == QDQ_SCALE_MINMAX, packed = reference::is_packed(codes);
    const tensor_memory x = floats(QDQ_F32, l.shape, l.x_strides),
                        y(codes, l.shape, packed ? dimensions{} : l.y_strides), scale(scale_type, l.scale),
                        zero(QDQ_I32, l.scale);
    const qdq_tensor c_x = x.view(), c_y = y.view(), c_scale = scale.view(), c_zero = zero.view();
    const qdq_tensor *const shift = shifts ? &c_zero : nullptr;
    return std::max(
        {expect_stated_stack(
             [&] { EXPECT_EQ(qdq_quantize_dynamic(&c_x, &c_scale, shift, &c_y, &how, &options), QDQ_OK); }),
         expect_stated_stack(
             [&] { EXPECT_EQ(qdq_compute_scales(&c_x, codes, &c_scale, shift, &how, &options), QDQ_OK); }),
         expect_stated_stack([&] {
             qdq_plan plan;
             EXPECT_EQ(qdq_plan_quantize_dynamic(&plan, &c_x, &c_scale, shift, &c_y, &how, &options), QDQ_OK);
             EXPECT_EQ(qdq_run_dynamic(&plan, c_x.data, c_scale.data, shift ? c_zero.data : nullptr, c_y.data, nullptr),
                       QDQ_OK);
         })});
}

TEST_F(Stack, of_a_dynamic_call_is_at_most_what_the_header_says) {
    for (const qdq_parallel_for pool : {qdq_parallel_for{nullptr}, qdq_parallel_for{in_order}}) {
        test_support::for_each_target([&](const std::string &) {
            qdq_set_parallel_for(pool, nullptr);
            qdq_set_num_threads(4);
            for (const layout &l : layouts) {
                for (const qdq_dtype codes : {QDQ_I8, QDQ_I4, QDQ_F8E4M3}) {
                    SCOPED_TRACE("shape " + testing::PrintToString(l.shape) + ", scale " +
                                 testing::PrintToString(l.scale) + ", " + reference::name_of(codes));
                    const qdq_scale_rule rule = reference::is_integer(codes) ? QDQ_SCALE_MINMAX : QDQ_SCALE_ABSMAX;
                    float global = 1;
                    qdq_diagnostics met;
                    const qdq_scale_options plain{.rule = rule},
                        searched{.rule = rule, .last_clip_ratio = 0.5f, .clip_ratio_count = 3, .diagnostics = &met},
                        global_too{.last_clip_ratio = 1.5f,
                                   .clip_ratio_count = 2,
                                   .global_sense = QDQ_GLOBAL_SCALE,
                                   .computes_global = 1,
                                   .global_scale = &global,
                                   .diagnostics = &met};
                    most = std::max({most, stack_of_dynamic(l, codes, plain, QDQ_F32),
                                     stack_of_dynamic(l, codes, plain, QDQ_F32, {.rounding = QDQ_STOCHASTIC}),
                                     stack_of_dynamic(l, codes, {.rule = rule, .diagnostics = &met}, QDQ_F32),
                                     stack_of_dynamic(l, codes, searched, QDQ_F32),
                                     stack_of_dynamic(l, codes, global_too, QDQ_F8E4M3)});
                }
            }
        });
    }
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

// Areas of such elements are copied; scales are f32, or have one above them, or are searched.
TEST_F(Stack, of_a_dynamic_call_of_elements_that_lie_apart_is_at_most_what_the_header_says) {
    const layout rows{{90, 7, 70}, {90, 7, 1}, {1030, 142, 2}, {}},
        scattered{{90, 7, 70}, {90, 1, 70}, {1030, 142, 2}, {500, -70, 1}};
    float global = 1;
    const qdq_scale_options plain{}, searched{.last_clip_ratio = 0.5f, .clip_ratio_count = 3},
        global_too{.last_clip_ratio = 1.5f,
                   .clip_ratio_count = 2,
                   .global_sense = QDQ_GLOBAL_SCALE,
                   .computes_global = 1,
                   .global_scale = &global};
    for (const qdq_parallel_for pool : {qdq_parallel_for{nullptr}, qdq_parallel_for{in_order}}) {
        test_support::for_each_target([&](const std::string &) {
            qdq_set_parallel_for(pool, nullptr);
            qdq_set_num_threads(4);
            for (const layout &l : {rows, scattered}) {
                for (const qdq_dtype codes : {QDQ_I8, QDQ_F8E4M3}) {
                    most = std::max({most, stack_of_dynamic(l, codes, plain, QDQ_F32),
                                     stack_of_dynamic(l, codes, searched, QDQ_F32),
                                     stack_of_dynamic(l, codes, global_too, QDQ_F8E4M3)});
                }
            }
        });
    }
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

// Several boxes, of blocks along rows and along columns, by threads and by one.
TEST_F(Stack, of_a_pair_of_outputs_is_at_most_what_the_header_says) {
    const dimensions shape{64, 9000};
    const tensor_memory x = floats(QDQ_F32, shape), row_scale(QDQ_F32, {64, 282}), column_scale(QDQ_F32, {2, 9000}),
                        y(QDQ_F8E4M3, shape), z(QDQ_I8, shape), zero(QDQ_I8, {2, 9000});
    const qdq_tensor c_x = x.view(), of_rows = row_scale.view(), of_columns = column_scale.view(), c_y = y.view(),
                     c_z = z.view(), c_zero = zero.view();
    const int64_t along_rows[] = {1, 32}, along_columns[] = {32, 1};
    const qdq_options rows{.block_shape = along_rows}, columns{.block_shape = along_columns};
    const qdq_scale_options shifted{.rule = QDQ_SCALE_MINMAX, .last_clip_ratio = 0.5f, .clip_ratio_count = 2};
    const qdq_dynamic_output first{&of_rows, nullptr, &c_y, nullptr, &rows},
        second{&of_columns, &c_zero, &c_z, &shifted, &columns};
    for (const qdq_parallel_for pool : {qdq_parallel_for{nullptr}, qdq_parallel_for{in_order}}) {
        test_support::for_each_target([&](const std::string &) {
            qdq_set_parallel_for(pool, nullptr);
            qdq_set_num_threads(4);
            most = std::max(most, expect_stated_stack([&] {
                                EXPECT_EQ(qdq_quantize_dynamic_pair(&c_x, &first, &second), QDQ_OK) << qdq_last_error();
                            }));
            most = std::max(
                most, expect_stated_stack([&] {
                    qdq_plan plan, other_plan;
                    EXPECT_EQ(qdq_plan_quantize_dynamic_pair(&plan, &other_plan, &c_x, &first, &second), QDQ_OK);
                    EXPECT_EQ(qdq_run_dynamic_pair(&plan, &other_plan, c_x.data, of_rows.data, nullptr, c_y.data,
                                                   of_columns.data, c_zero.data, c_z.data, nullptr),
                              QDQ_OK);
                }));
        });
    }
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

TEST_F(Stack, of_rows_in_groups_is_at_most_what_the_header_says) {
    const std::vector<int64_t> offsets = {0, 3, 3, 10, 40, 400};
    const dimensions shape{400, 1000};
    for (const qdq_parallel_for pool : {qdq_parallel_for{nullptr}, qdq_parallel_for{in_order}}) {
        test_support::for_each_target([&](const std::string &) {
            qdq_set_parallel_for(pool, nullptr);
            qdq_set_num_threads(4);
            for (const dimensions &of_scale : {dimensions{5}, dimensions{5, 1000}}) {
                const tensor_memory x = floats(QDQ_F16, shape), scale = scales(of_scale), y(QDQ_I4, shape);
                const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
                const qdq_options options{.axis = 1}, by_chance{.rounding = QDQ_STOCHASTIC, .axis = 1};
                most = std::max(
                    most, expect_stated_stack([&] {
                        EXPECT_EQ(qdq_quantize_dynamic_grouped(&c_x, offsets.data(), 5, &c_scale, nullptr, &c_y,
                                                               nullptr, &by_chance),
                                  QDQ_OK);
                        EXPECT_EQ(qdq_quantize_grouped(&c_x, offsets.data(), 5, &c_scale, nullptr, &c_y, &options),
                                  QDQ_OK);
                        EXPECT_EQ(qdq_dequantize_grouped(&c_y, offsets.data(), 5, &c_scale, nullptr, &c_x, &options),
                                  QDQ_OK);
                    }));
                most = std::max(most, expect_stated_stack([&] {
                                    EXPECT_EQ(qdq_quantize_dynamic_grouped(&c_x, offsets.data(), 5, &c_scale, nullptr,
                                                                           &c_y, nullptr, &options),
                                              QDQ_OK);
                                }));
            }
        });
    }
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

TEST_F(Stack, of_transcoding_is_at_most_what_the_header_says) {
    test_support::for_each_target([&](const std::string &) {
        qdq_set_num_threads(4);
        for (const layout &l : layouts) {
            for (const auto &[from, to] : {std::pair{QDQ_I4, QDQ_I8}, {QDQ_F8E4M3, QDQ_F4E2M1}, {QDQ_U2, QDQ_I16}}) {
                SCOPED_TRACE("shape " + testing::PrintToString(l.shape) + ", " + reference::name_of(from));
                const tensor_memory x = stored(from, l.shape), scale = scales(l.scale), one = scales({}),
                                    y(to, l.shape, reference::is_packed(to) ? dimensions{} : l.y_strides);
                const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_one = one.view(), c_y = y.view();
                for (const qdq_rounding rounding : {QDQ_NEAREST_EVEN, QDQ_STOCHASTIC}) {
                    const qdq_options options{.rounding = rounding};
                    most = std::max(
                        most, expect_stated_stack([&] {
                            EXPECT_EQ(qdq_transcode(&c_x, &c_scale, nullptr, nullptr, &c_y, &c_one, nullptr, &options),
                                      QDQ_OK);
                        }));
                }
            }
        }
    });
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

TEST_F(Stack, of_a_failing_call_is_at_most_what_the_header_says) {
    const tensor_memory x = floats(QDQ_F32, {4}), y(QDQ_I8, {4}), scale = scales({3}), zero = zero_points(QDQ_I32, {3});
    stack_of_call(direction::quantize, x, scale, &zero, y, {});
    expect_stated_stack([] { qdq_force_target("none of that name"); });
}

}  // namespace
}  // namespace concurrency_test

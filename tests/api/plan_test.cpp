// Plans: chosen once, run often.
#include "call.h"

#include <bit>
#include <cstring>
#include <memory>

namespace api_test {
namespace {

class Plan : public Api {
protected:
    const dimensions shape{6, 100};
    const tensor_memory x = floats(QDQ_F32, shape);
    tensor_memory scale = scales({6, 1});
    tensor_memory zero_point = zero_points(QDQ_I8, {6, 1});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_zero_point = zero_point.view();

    arguments given(const qdq_tensor &y) const {
        return {direction::quantize, &c_x, &c_scale, &c_zero_point, &y, nullptr};
    }
    qdq_plan prepared() const {
        const tensor_memory layout(QDQ_I8, shape);
        const qdq_tensor c_layout = layout.view();
        qdq_plan plan;
        EXPECT_EQ(prepare(&plan, given(c_layout)), QDQ_OK) << qdq_last_error();
        return plan;
    }
    tensor_memory expected() const {
        tensor_memory y(QDQ_I8, shape);
        const qdq_tensor c_y = y.view();
        call_reference(given(c_y));
        return y;
    }
    void expect_run(const qdq_plan &plan) const {
        const tensor_memory y(QDQ_I8, shape);
        ASSERT_EQ(qdq_run(&plan, c_x.data, y.view().data, nullptr), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(expected() == y);
    }
};

TEST_F(Plan, runs_many_times) {
    const qdq_plan plan = prepared();
    for (int i = 0; i < 100; i++) {
        expect_run(plan);
    }
}

TEST_F(Plan, reads_scale_and_zero_point_at_each_run) {
    const qdq_plan plan = prepared();
    expect_run(plan);
    scale.fill([](int64_t i) { return std::bit_cast<uint32_t>(3.0f + static_cast<float>(i)); });
    expect_run(plan);
    zero_point.fill([](int64_t i) { return static_cast<uint32_t>(50 + i); });
    expect_run(plan);
    scale.fill([](int64_t i) { return std::bit_cast<uint32_t>(i % 2 == 0 ? -0.25f : 0.0f); });
    expect_run(plan);
}

TEST_F(Plan, may_be_copied_and_the_original_destroyed) {
    auto original = std::make_unique<qdq_plan>(prepared());
    const qdq_plan copy = *original;
    std::memset(original.get(), 0xff, sizeof *original);
    original.reset();
    expect_run(copy);
}

TEST_F(Plan, may_be_moved_to_any_suitably_aligned_address) {
    std::vector<uint64_t> storage(2 * sizeof(qdq_plan) / sizeof(uint64_t) + 1);
    for (size_t offset : {0u, 1u, 7u}) {
        qdq_plan *plan = reinterpret_cast<qdq_plan *>(storage.data() + offset);
        *plan = prepared();
        expect_run(*plan);
    }
}

TEST_F(Plan, does_not_keep_the_shapes_and_strides_it_was_prepared_with) {
    dimensions given_shape{6, 100}, given_strides{100, 1}, scale_shape{6, 1}, scale_strides{1, 1};
    qdq_tensor temporary_x = c_x, temporary_scale = c_scale, temporary_y = c_x;
    temporary_x.shape = temporary_y.shape = given_shape.data();
    temporary_x.strides = temporary_y.strides = given_strides.data();
    temporary_y.dtype = QDQ_I8;
    temporary_y.data = nullptr;
    temporary_scale.shape = scale_shape.data();
    temporary_scale.strides = scale_strides.data();
    qdq_options options{};
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize(&plan, &temporary_x, &temporary_scale, &c_zero_point, &temporary_y, &options), QDQ_OK)
        << qdq_last_error();
    for (dimensions *list : {&given_shape, &given_strides, &scale_shape, &scale_strides}) {
        list->assign(2, -1);
    }
    temporary_x = temporary_scale = temporary_y = {};
    std::memset(&options, 0xff, sizeof options);
    expect_run(plan);
}

TEST_F(Plan, runs_on_other_data_than_it_was_prepared_with) {
    const qdq_plan plan = prepared();
    tensor_memory other = stored(QDQ_I32, shape);  // any bits: NaN and infinities among them
    qdq_tensor c_other = other.view();
    c_other.dtype = QDQ_F32;
    tensor_memory y(QDQ_I8, shape), wanted = y;
    const qdq_tensor c_wanted = wanted.view();
    call_reference({direction::quantize, &c_other, &c_scale, &c_zero_point, &c_wanted, nullptr});
    ASSERT_EQ(qdq_run(&plan, c_other.data, y.view().data, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(wanted == y);
}

TEST_F(Plan, keeps_the_target_it_was_prepared_for) {
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) == 0 || qdq_target_device(i) != QDQ_DEVICE_HOST) {
            continue;
        }
        ASSERT_EQ(qdq_force_target(qdq_target_name(i)), QDQ_OK) << qdq_last_error();
        const qdq_plan plan = prepared();
        ASSERT_EQ(qdq_force_target(nullptr), QDQ_OK);
        expect_run(plan);
    }
}

TEST_F(Plan, of_every_option_gives_the_result_of_the_call) {
    for (auto rounding : {QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP}) {
        for (auto mode : {QDQ_DIVIDE, QDQ_MULTIPLY}) {
            for (auto order : {QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING}) {
                for (auto sign : {QDQ_ZP_SUBTRACT, QDQ_ZP_ADD}) {
                    for (int32_t limit : {0, 100}) {
                        qdq_options options{};
                        options.scale_mode = mode;
                        options.quantize_zp = order;
                        options.dequantize_zp = sign;
                        options.rounding = rounding;
                        options.quant_min = -limit;
                        options.quant_max = limit;
                        expect_both_ways(shape, {}, {}, scale, &zero_point, options);
                    }
                }
            }
        }
    }
}

// Whole groups, which one kernel call takes where it has the rounding.
TEST_F(Plan, of_blocks_rounds_as_asked) {
    for (auto rounding : {QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP}) {
        qdq_options options{};
        options.rounding = rounding;
        expect_both_ways({4, 128}, {}, {}, scales({4, 4}, {}), nullptr, options);
    }
}

}  // namespace
}  // namespace api_test

// y in the place of x: allowed where the element sizes are equal and the layouts the same.
#include "call.h"

namespace api_test {
namespace {

struct pair {
    direction way;
    qdq_dtype from, to;
};

class InPlace : public testing::TestWithParam<pair> {
protected:
    static tensor_memory input(const dimensions &shape, const dimensions &strides = {}) {
        return GetParam().way == direction::quantize ? floats(GetParam().from, shape, strides)
                                                     : stored(GetParam().from, shape, strides);
    }

    // The same bytes of `x`, seen as the type of y.
    static qdq_tensor as_output(const qdq_tensor &x) {
        qdq_tensor y = x;
        y.dtype = GetParam().to;
        return y;
    }

    static void expect_same_as_apart(const dimensions &shape, const dimensions &strides, const tensor_memory &scale) {
        SCOPED_TRACE("shape " + testing::PrintToString(shape) + ", strides " + testing::PrintToString(strides));
        const tensor_memory x = input(shape, strides), apart(GetParam().to, shape, strides), in_place = x;
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_apart = apart.view();
        const qdq_tensor c_in_place = in_place.view(), c_y = as_output(c_in_place);
        const qdq_status status = call({GetParam().way, &c_x, &c_scale, nullptr, &c_apart, nullptr});
        if (status == QDQ_UNSUPPORTED) {
            GTEST_SKIP() << qdq_last_error();
        }
        ASSERT_EQ(status, QDQ_OK) << qdq_last_error();
        ASSERT_EQ(call({GetParam().way, &c_in_place, &c_scale, nullptr, &c_y, nullptr}), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(apart == in_place);
    }

    static void expect_overlap_refused(const qdq_tensor &x, const qdq_tensor &y, const tensor_memory &memory) {
        const tensor_memory scale = scales({}), before = memory;
        const qdq_tensor c_scale = scale.view();
        const qdq_status status = call({GetParam().way, &x, &c_scale, nullptr, &y, nullptr});
        if (status == QDQ_UNSUPPORTED) {
            GTEST_SKIP() << qdq_last_error();
        }
        EXPECT_EQ(status, QDQ_INVALID_ARGUMENT);
        EXPECT_NE(std::string(qdq_last_error()).find("overlap"), std::string::npos) << qdq_last_error();
        EXPECT_TRUE(before == memory);
    }
};

INSTANTIATE_TEST_SUITE_P(
    , InPlace,
    testing::Values(pair{direction::quantize, QDQ_F32, QDQ_I32}, pair{direction::quantize, QDQ_F16, QDQ_I16},
                    pair{direction::quantize, QDQ_BF16, QDQ_U16}, pair{direction::dequantize, QDQ_I32, QDQ_F32},
                    pair{direction::dequantize, QDQ_I16, QDQ_F16}, pair{direction::dequantize, QDQ_U16, QDQ_BF16}),
    [](const auto &info) {
        return std::string(reference::name_of(info.param.from)) + "_to_" + reference::name_of(info.param.to);
    });

TEST_P(InPlace, dense) {
    expect_same_as_apart({1}, {}, scales({}));
    expect_same_as_apart({5, 333}, {}, scales({}));
    expect_same_as_apart({5, 333}, {}, scales({5, 1}));
    expect_same_as_apart({5, 333}, {}, scales({1, 333}));
    expect_same_as_apart({64, 64}, {}, scales({4, 2}));
}

TEST_P(InPlace, large_enough_for_threads_and_streaming_stores) {
    expect_same_as_apart({1500, 1001}, {}, scales({}));
    expect_same_as_apart({1500, 1001}, {}, scales({1500, 1}));
}

TEST_P(InPlace, strided) {
    expect_same_as_apart({17, 33}, {1, 17}, scales({17, 1}));
    expect_same_as_apart({17, 33}, {66, 2}, scales({1, 33}));
    expect_same_as_apart({17, 33}, {-33, -1}, scales({}));
}

TEST_P(InPlace, shifted_by_one_element_is_refused) {
    const tensor_memory memory = input({40});
    const dimensions shape{32};
    qdq_tensor x = memory.view();
    x.shape = shape.data();
    qdq_tensor y = as_output(x);
    y.data = static_cast<char *>(x.data) + reference::bits_of(x.dtype) / 8;
    expect_overlap_refused(x, y, memory);
}

TEST_P(InPlace, with_another_layout_is_refused) {
    const tensor_memory memory = input({8, 8});
    const dimensions transposed{1, 8};
    const qdq_tensor x = memory.view();
    qdq_tensor y = as_output(x);
    y.strides = transposed.data();
    expect_overlap_refused(x, y, memory);
}

TEST_P(InPlace, through_a_plan_prepared_without_data) {
    const tensor_memory x = input({500}), scale = scales({}), apart(GetParam().to, {500}), in_place = x;
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_apart = apart.view();
    qdq_tensor no_x = c_x, no_y = as_output(c_x);
    no_x.data = no_y.data = nullptr;
    qdq_plan plan;
    const qdq_status status = prepare(&plan, {GetParam().way, &no_x, &c_scale, nullptr, &no_y, nullptr});
    if (status == QDQ_UNSUPPORTED) {
        GTEST_SKIP() << qdq_last_error();
    }
    ASSERT_EQ(status, QDQ_OK) << qdq_last_error();
    ASSERT_EQ(qdq_run(&plan, c_x.data, c_apart.data, nullptr), QDQ_OK) << qdq_last_error();
    void *shared = in_place.view().data;
    ASSERT_EQ(qdq_run(&plan, shared, shared, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(apart == in_place);
}

}  // namespace
}  // namespace api_test

// y in the place of x: allowed where the element sizes are equal and the layouts the same.
#include "call.h"

#include <array>

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

    static void expect_same_as_apart(const dimensions &shape, const dimensions &strides, const tensor_memory &scale,
                                     const qdq_options *options = nullptr) {
        SCOPED_TRACE("shape " + testing::PrintToString(shape) + ", strides " + testing::PrintToString(strides));
        const tensor_memory x = input(shape, strides), apart(GetParam().to, shape, strides), in_place = x;
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_apart = apart.view();
        const qdq_tensor c_in_place = in_place.view(), c_y = as_output(c_in_place);
        const qdq_status status = call({GetParam().way, &c_x, &c_scale, nullptr, &c_apart, options});
        if (status == QDQ_UNSUPPORTED) {
            GTEST_SKIP() << qdq_last_error();
        }
        ASSERT_EQ(status, QDQ_OK) << qdq_last_error();
        ASSERT_EQ(call({GetParam().way, &c_in_place, &c_scale, nullptr, &c_y, options}), QDQ_OK) << qdq_last_error();
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
    expect_same_as_apart({17, 33}, {}, scales({17, 1}));
}

TEST_P(InPlace, ragged_blocks) {
    for (const int64_t block : {32, 33, 128}) {
        qdq_options options{};
        options.axis = 1;
        options.block_size = block;
        expect_same_as_apart({5, 1000}, {}, scales({5, (1000 + block - 1) / block}), &options);
    }
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

// Packed codes at the first byte of memory, and at the fifth as many floats, or one scale.
class PackedCodes : public testing::TestWithParam<std::tuple<direction, qdq_dtype>> {
protected:
    enum class beside { floats, scale };

    static direction way() { return std::get<0>(GetParam()); }
    static int64_t codes_in_4_bytes() { return 32 / reference::bits_of(std::get<1>(GetParam())); }

    qdq_status status_of(int64_t count, beside fifth) {
        const float half = 0.5f;
        std::memcpy(&memory[4], &half, sizeof half);
        std::memcpy(&memory[128], &half, sizeof half);
        const qdq_tensor codes{memory.data(), std::get<1>(GetParam()), 1, &count, nullptr, {}};
        const qdq_tensor floats{&memory[fifth == beside::floats ? 4 : 16], QDQ_F32, 1, &count, nullptr, {}};
        const qdq_tensor scale{&memory[fifth == beside::scale ? 4 : 128], QDQ_F32, 0, nullptr, nullptr, {}};
        const bool quantizes = way() == direction::quantize;
        const qdq_tensor &x = quantizes ? floats : codes, &y = quantizes ? codes : floats;
        return call({way(), &x, &scale, nullptr, &y, nullptr});
    }

private:
    alignas(64) std::array<std::byte, 192> memory{};
};

INSTANTIATE_TEST_SUITE_P(, PackedCodes,
                         testing::Combine(testing::Values(direction::quantize, direction::dequantize),
                                          testing::Values(QDQ_I4, QDQ_U2, QDQ_F4E2M1)),
                         [](const auto &info) {
                             return name_of(std::get<0>(info.param)) + "_" + qdq_dtype_name(std::get<1>(info.param));
                         });

TEST_P(PackedCodes, that_fill_their_last_byte_in_part_have_all_of_it) {
    const qdq_status whole = status_of(codes_in_4_bytes(), beside::floats);
    if (whole == QDQ_UNSUPPORTED) {
        GTEST_SKIP() << qdq_last_error();
    }
    EXPECT_EQ(whole, QDQ_OK) << qdq_last_error();
    EXPECT_EQ(status_of(codes_in_4_bytes() + 1, beside::floats), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("overlaps x"), std::string::npos) << qdq_last_error();
}

TEST_P(PackedCodes, that_fill_their_last_byte_in_part_share_it_with_no_scale) {
    const qdq_status whole = status_of(codes_in_4_bytes(), beside::scale);
    if (whole == QDQ_UNSUPPORTED) {
        GTEST_SKIP() << qdq_last_error();
    }
    EXPECT_EQ(whole, QDQ_OK) << qdq_last_error();
    const bool writes_codes = way() == direction::quantize;
    EXPECT_EQ(status_of(codes_in_4_bytes() + 1, beside::scale), writes_codes ? QDQ_INVALID_ARGUMENT : QDQ_OK);
}

}  // namespace
}  // namespace api_test

// CANN's aclnnQuantize: statuses, executors and their lifetime and agreement with the oracle.
// docs/frontends.md names these tests.
#include "acl_tensor.h"
#include "allocations.h"
#include "cases.h"

#include <acl/acl.h>
#include <aclnn/acl_meta.h>
#include <aclnnop/aclnn_quantize.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <utility>

extern "C" {
int use_aclnn_from_c99(void);
int use_aclnn_from_c11(void);
}

namespace compat_test {
namespace {

// CANN's numbers, which compiled programs hold.
static_assert(ACL_FLOAT == 0 && ACL_FLOAT16 == 1 && ACL_INT8 == 2 && ACL_INT32 == 3 && ACL_UINT8 == 4);
static_assert(ACL_INT16 == 6 && ACL_DOUBLE == 11 && ACL_BOOL == 12 && ACL_BF16 == 27 && ACL_INT4 == 29);
static_assert(ACL_HIFLOAT8 == 34 && ACL_FLOAT8_E5M2 == 35 && ACL_FLOAT8_E4M3FN == 36 && ACL_FLOAT4_E1M2 == 41);
static_assert(ACL_FORMAT_UNDEFINED == -1 && ACL_FORMAT_NCHW == 0 && ACL_FORMAT_ND == 2 && ACL_FORMAT_FRACTAL_NZ == 29);
static_assert(ACLNN_SUCCESS == 0 && ACLNN_ERR_PARAM_NULLPTR == 161001 && ACLNN_ERR_PARAM_INVALID == 161002);
static_assert(ACLNN_ERR_RUNTIME_ERROR == 361001 && ACLNN_ERR_INNER == 561000);
static_assert(ACLNN_ERR_INNER_FIND_KERNEL_ERROR == 561003 && ACLNN_ERR_INNER_CREATE_EXECUTOR == 561101);
static_assert(ACLNN_ERR_INNER_NULLPTR == 561103);
static_assert(std::is_same_v<aclnnStatus, int32_t>);
static_assert(ACL_MEM_MALLOC_HUGE_FIRST == 0 && ACL_MEM_MALLOC_NORMAL_ONLY_P2P == 5 && ACL_ERROR_NONE == 0);
static_assert(ACL_MEM_TYPE_LOW_BAND_WIDTH == 0x0100 && ACL_MEM_TYPE_HIGH_BAND_WIDTH == 0x1000);
static_assert(ACL_MEMCPY_HOST_TO_HOST == 0 && ACL_MEMCPY_HOST_TO_DEVICE == 1 && ACL_MEMCPY_DEVICE_TO_HOST == 2);
static_assert(ACL_ERROR_INVALID_PARAM == 100000 && ACL_ERROR_RT_INVALID_DEVICEID == 107001);
static_assert(ACL_ERROR_RT_MEMORY_ALLOCATION == 207001);

// A valid call on a 2 x 3 x that each test spoils in one place.
class Aclnn : public testing::Test {
protected:
    std::vector<float> memory = std::vector<float>(64, 1.0f);  // of any input of up to 64 elements
    std::vector<int8_t> y = std::vector<int8_t>(256, 77);
    tensor_ptr x = make({2, 3}, ACL_FLOAT, memory.data());
    tensor_ptr scales = make({3}, ACL_FLOAT, memory.data());
    tensor_ptr zero_points = make({3}, ACL_INT32, memory.data());
    tensor_ptr out = make({2, 3}, ACL_INT8, y.data());
    int dtype = ACL_INT8;
    int32_t axis = 1;

    static constexpr uint64_t no_size = 0xdead;
    uint64_t workspace_size = no_size;
    aclOpExecutor *executor = nullptr;

    aclnnStatus first_phase() {
        return aclnnQuantizeGetWorkspaceSize(x.get(), scales.get(), zero_points.get(), raw<aclDataType>(dtype), axis,
                                             out.get(), &workspace_size, &executor);
    }
    void expect_first_phase(aclnnStatus status, const std::vector<std::string> &words) {
        EXPECT_EQ(first_phase(), status) << aclGetRecentErrMsg();
        expect_message(words);
        EXPECT_EQ(workspace_size, no_size);
        EXPECT_EQ(executor, nullptr);
    }
    void expect_invalid(const std::vector<std::string> &words) { expect_first_phase(ACLNN_ERR_PARAM_INVALID, words); }
    void expect_second_phase(aclnnStatus status, const std::vector<std::string> &words, void *workspace = nullptr,
                             uint64_t size = 0, aclrtStream stream = nullptr) {
        const std::vector<int8_t> before = y;
        EXPECT_EQ(aclnnQuantize(workspace, size, executor, stream), status);
        expect_message(words);
        EXPECT_EQ(y, before);
    }
    static void expect_message(const std::vector<std::string> &words) {
        const std::string message = aclGetRecentErrMsg();
        for (const std::string &word : words) {
            EXPECT_NE(message.find(word), std::string::npos) << "'" << message << "' should mention '" << word << "'";
        }
    }
    void expect_accepted() {
        EXPECT_EQ(first_phase(), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        EXPECT_EQ(workspace_size, 0u);
        EXPECT_EQ(aclnnQuantize(nullptr, workspace_size, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        workspace_size = no_size;
        executor = nullptr;
    }
    // In place of one of the four: the same type and shape, elsewhere.
    tensor_ptr another(const tensor_ptr &instead_of, const void *data, int format = ACL_FORMAT_ND) const {
        const bool is_matrix = &instead_of == &x || &instead_of == &out;
        const int type = &instead_of == &zero_points ? ACL_INT32 : &instead_of == &out ? ACL_INT8 : ACL_FLOAT;
        return make(is_matrix ? dimensions{2, 3} : dimensions{3}, type, data, format);
    }
    void prepare() { ASSERT_EQ(first_phase(), ACLNN_SUCCESS) << aclGetRecentErrMsg(); }
};

TEST(AclnnHeader, is_plain_c) {
    EXPECT_EQ(use_aclnn_from_c99(), 0);
    EXPECT_EQ(use_aclnn_from_c11(), 0);
}

TEST(AclnnHeader, has_no_message_before_the_first_failure) {
    const char *message = "";
    std::thread([&] { message = aclGetRecentErrMsg(); }).join();
    EXPECT_EQ(message, nullptr);
}

// 0.5 + 1 rounds to 2, where round(0.5) + 1 would be 1.
TEST_F(Aclnn, adds_the_zero_point_before_rounding) {
    memory[0] = 0.5f;
    const std::vector<int8_t> one{1};
    const float scale = 1;
    x = make({1}, ACL_FLOAT, memory.data());
    scales = make({1}, ACL_FLOAT, &scale);
    zero_points = make({1}, ACL_INT8, one.data());
    out = make({1}, ACL_INT8, y.data());
    expect_accepted();
    EXPECT_EQ(y[0], 2);
}

TEST_F(Aclnn, makes_0_of_nan_whatever_the_zero_point) {
    memory[0] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<int8_t> one{1};
    const float scale = 1;
    x = make({1}, ACL_FLOAT, memory.data());
    scales = make({1}, ACL_FLOAT, &scale);
    zero_points = make({1}, ACL_INT8, one.data());
    out = make({1}, ACL_INT8, y.data());
    expect_accepted();
    EXPECT_EQ(y[0], 0);
}

TEST_F(Aclnn, gives_the_nullptr_status_for_a_missing_tensor) {
    for (tensor_ptr *tensor : {&x, &scales, &out}) {
        tensor_ptr kept = std::move(*tensor);
        expect_first_phase(ACLNN_ERR_PARAM_NULLPTR, {"NULL"});
        *tensor = std::move(kept);
    }
    zero_points = nullptr;
    expect_accepted();
}

TEST_F(Aclnn, gives_the_nullptr_status_for_missing_results) {
    EXPECT_EQ(aclnnQuantizeGetWorkspaceSize(x.get(), scales.get(), nullptr, ACL_INT8, 1, out.get(), nullptr, &executor),
              ACLNN_ERR_PARAM_NULLPTR);
    expect_message({"workspaceSize"});
    EXPECT_EQ(
        aclnnQuantizeGetWorkspaceSize(x.get(), scales.get(), nullptr, ACL_INT8, 1, out.get(), &workspace_size, nullptr),
        ACLNN_ERR_PARAM_NULLPTR);
    expect_message({"executor"});
    EXPECT_EQ(workspace_size, no_size);
    EXPECT_EQ(executor, nullptr);
}

TEST_F(Aclnn, takes_x_of_f32_f16_bf16) {
    zero_points = nullptr;
    for (int type : every_data_type) {
        x = make({2, 3}, type, memory.data());
        if (type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16) {
            expect_accepted();
        } else {
            expect_invalid({": x", std::to_string(type)});
        }
    }
}

TEST_F(Aclnn, takes_scales_of_f32_f16_bf16) {
    zero_points = nullptr;
    for (int type : every_data_type) {
        scales = make({3}, type, memory.data());
        x = make({2, 3}, type == ACL_BF16 ? ACL_BF16 : ACL_FLOAT16, memory.data());
        if (type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16) {
            expect_accepted();
        } else {
            expect_invalid({"scales", std::to_string(type)});
        }
    }
}

TEST_F(Aclnn, takes_zero_points_of_i32_i8_u8_f32_bf16) {
    for (int type : every_data_type) {
        const int floats = type == ACL_BF16 ? ACL_BF16 : ACL_FLOAT;
        x = make({2, 3}, floats, memory.data());
        scales = make({3}, floats, memory.data());
        zero_points = make({3}, type, memory.data());
        if (type == ACL_INT32 || type == ACL_INT8 || type == ACL_UINT8 || type == ACL_FLOAT || type == ACL_BF16) {
            expect_accepted();
        } else {
            expect_invalid({"zeroPoints", std::to_string(type)});
        }
    }
}

TEST_F(Aclnn, wants_all_of_bf16_where_scales_or_zero_points_is) {
    for (int x_type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
        for (int scales_type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
            for (int zero_points_type : {-1, int{ACL_INT8}, int{ACL_BF16}}) {
                const bool none = zero_points_type < 0;
                x = make({2, 3}, x_type, memory.data());
                scales = make({3}, scales_type, memory.data());
                zero_points = none ? nullptr : make({3}, zero_points_type, memory.data());
                const bool asks = scales_type == ACL_BF16 || zero_points_type == ACL_BF16;
                const bool all =
                    x_type == ACL_BF16 && scales_type == ACL_BF16 && (none || zero_points_type == ACL_BF16);
                SCOPED_TRACE(testing::PrintToString(std::vector<int>{x_type, scales_type, zero_points_type}));
                if (!asks || all) {
                    expect_accepted();
                } else {
                    expect_invalid({"bf16"});
                }
            }
        }
    }
}

TEST_F(Aclnn, takes_a_dtype_of_i8_u8_i32_and_float8) {
    zero_points = nullptr;
    for (int type : every_data_type) {
        dtype = type;
        out = make({2, 3}, type, y.data());
        if (type == ACL_INT8 || type == ACL_UINT8 || type == ACL_INT32 || type == ACL_FLOAT8_E4M3FN ||
            type == ACL_FLOAT8_E5M2 || type == ACL_HIFLOAT8) {
            expect_accepted();
        } else {
            expect_invalid({"dtype", std::to_string(type)});
        }
    }
}

// 1, 2, 448 and 0 as e4m3fn; a zero point other than 0 has no meaning for float8.
TEST_F(Aclnn, rounds_to_float8_and_saturates) {
    memory = {0.5f, 1.0f, 1e9f, 0.0f};
    const std::vector<float> scale{0.5f}, zero{0}, one{1};
    dtype = ACL_FLOAT8_E4M3FN;
    x = make({4}, ACL_FLOAT, memory.data());
    scales = make({1}, ACL_FLOAT, scale.data());
    zero_points = make({1}, ACL_FLOAT, zero.data());
    out = make({4}, ACL_FLOAT8_E4M3FN, y.data());
    expect_accepted();
    EXPECT_EQ(std::vector<int8_t>(y.begin(), y.begin() + 4), (std::vector<int8_t>{0x38, 0x40, 0x7e, 0}));
    zero_points = make({1}, ACL_FLOAT, one.data());
    prepare();
    expect_second_phase(ACLNN_ERR_PARAM_INVALID, {"aclnnQuantize: zeroPoints"});
    aclDestroyAclOpExecutor(executor);
}

// Of 1.0625 and 40960 both neighbours are as near.
TEST_F(Aclnn, rounds_to_hifloat8_with_ties_away_from_0_and_saturates) {
    memory = {0.53125f, -0.53125f, 20480.0f, 1e-9f};
    const std::vector<float> scale{0.5f};
    dtype = ACL_HIFLOAT8;
    x = make({4}, ACL_FLOAT, memory.data());
    scales = make({1}, ACL_FLOAT, scale.data());
    zero_points = nullptr;
    out = make({4}, ACL_HIFLOAT8, y.data());
    expect_accepted();
    EXPECT_EQ(std::vector<uint8_t>(y.begin(), y.begin() + 4), (std::vector<uint8_t>{0x09, 0x89, 0x6e, 0}));
}

TEST_F(Aclnn, wants_an_out_of_dtype) {
    dtype = ACL_UINT8;
    expect_invalid({"out", "2", "4"});
}

TEST_F(Aclnn, takes_one_to_eight_dimensions_of_x) {
    for (size_t rank = 0; rank < 10; rank++) {
        const dimensions shape(rank, 1);
        x = make(shape, ACL_FLOAT, memory.data());
        out = make(shape, ACL_INT8, y.data());
        scales = make({1}, ACL_FLOAT, memory.data());
        zero_points = nullptr;
        if (rank >= 1 && rank <= 8) {
            expect_accepted();
        } else {
            expect_invalid({": x", std::to_string(rank)});
        }
    }
}

TEST_F(Aclnn, refuses_a_negative_dimension) {
    x = make({2, -3}, ACL_FLOAT, memory.data());
    out = make({2, -3}, ACL_INT8, y.data());
    expect_invalid({": x", "below 0"});
}

TEST_F(Aclnn, wants_an_out_of_the_shape_of_x) {
    for (const dimensions &shape : {dimensions{}, {6}, {3, 2}, {2, 3, 1}, {2, 4}}) {
        out = make(shape, ACL_INT8, y.data());
        expect_invalid({"out", "shape"});
    }
}

TEST_F(Aclnn, wants_one_dimension_of_scales_and_zero_points) {
    for (const dimensions &shape : {dimensions{}, {1, 3}, {3, 1}}) {
        scales = make(shape, ACL_FLOAT, memory.data());
        expect_invalid({"scales", std::to_string(shape.size())});
    }
    scales = make({3}, ACL_FLOAT, memory.data());
    for (const dimensions &shape : {dimensions{}, {1, 3}, {3, 1}}) {
        zero_points = make(shape, ACL_INT32, memory.data());
        expect_invalid({"zeroPoints", std::to_string(shape.size())});
    }
}

TEST_F(Aclnn, wants_as_many_zero_points_as_scales) {
    for (int64_t count : {1, 2, 4}) {
        zero_points = make({count}, ACL_INT32, memory.data());
        expect_invalid({"zeroPoints", std::to_string(count), "3"});
    }
}

TEST_F(Aclnn, wants_one_scale_or_as_many_as_x_has_along_the_axis) {
    zero_points = nullptr;
    for (int64_t count : {0, 2, 4, 6}) {
        scales = make({count}, ACL_FLOAT, memory.data());
        expect_invalid({"scales", std::to_string(count), "3"});
    }
    for (int32_t each : {1, -1}) {
        axis = each;
        scales = make({3}, ACL_FLOAT, memory.data());
        expect_accepted();
    }
    for (int32_t each : {0, -2}) {
        axis = each;
        scales = make({2}, ACL_FLOAT, memory.data());
        expect_accepted();
    }
}

TEST_F(Aclnn, wants_an_axis_of_x) {
    for (int32_t each : {-3, 2, 99, INT32_MIN, INT32_MAX}) {
        axis = each;
        expect_invalid({"axis", std::to_string(each)});
    }
}

TEST_F(Aclnn, does_not_look_at_the_axis_for_one_scale) {
    scales = make({1}, ACL_FLOAT, memory.data());
    zero_points = make({1}, ACL_INT32, memory.data());
    for (int32_t each : {-99, 99}) {
        axis = each;
        expect_accepted();
    }
}

TEST_F(Aclnn, refuses_private_formats_only) {
    for (int format : private_formats) {
        for (tensor_ptr *tensor : {&x, &scales, &zero_points, &out}) {
            tensor_ptr kept = std::move(*tensor);
            *tensor = another(*tensor, memory.data(), format);
            expect_invalid({"format", std::to_string(format)});
            *tensor = std::move(kept);
        }
    }
    for (int format : public_formats) {
        x = make({2, 3}, ACL_FLOAT, memory.data(), format);
        expect_accepted();
    }
}

TEST_F(Aclnn, takes_empty_tensors) {
    x = make({0, 3}, ACL_FLOAT, nullptr);
    out = make({0, 3}, ACL_INT8, nullptr);
    expect_accepted();
    axis = 0;
    scales = make({0}, ACL_FLOAT, nullptr);
    zero_points = make({0}, ACL_INT32, nullptr);
    expect_accepted();
    EXPECT_EQ(y, std::vector<int8_t>(256, 77));
}

TEST_F(Aclnn, counts_a_tensors_offset_in_elements) {
    for (size_t i = 0; i < memory.size(); i++) {
        memory[i] = static_cast<float>(i);
    }
    x = make({2, 3}, ACL_FLOAT, memory.data(), ACL_FORMAT_ND, {8, 2}, 5);
    scales = make({1}, ACL_FLOAT, memory.data(), ACL_FORMAT_ND, {1}, 1);
    zero_points = nullptr;
    out = make({2, 3}, ACL_INT8, y.data(), ACL_FORMAT_ND, {}, 1);
    expect_accepted();
    EXPECT_EQ(std::vector<int8_t>(y.begin(), y.begin() + 8), (std::vector<int8_t>{77, 5, 7, 9, 13, 15, 17, 77}));
}

// The second phase.

TEST_F(Aclnn, gives_the_nullptr_status_for_a_missing_executor) {
    expect_second_phase(ACLNN_ERR_PARAM_NULLPTR, {"executor"});
}

TEST_F(Aclnn, refuses_a_workspace_size_that_the_first_phase_did_not_give_and_keeps_the_executor) {
    prepare();
    expect_second_phase(ACLNN_ERR_PARAM_NULLPTR, {"workspaceSize", "16"}, nullptr, 16);
    expect_second_phase(ACLNN_ERR_PARAM_INVALID, {"workspaceSize", "16"}, memory.data(), 16);
    EXPECT_EQ(aclnnQuantize(memory.data(), 0, executor, nullptr), ACLNN_SUCCESS);
    EXPECT_NE(y[0], 77);
}

TEST_F(Aclnn, takes_any_stream_and_has_computed_when_it_returns) {
    zero_points = nullptr;
    aclrtStream first = nullptr, second = nullptr;
    ASSERT_EQ(aclrtCreateStream(&first), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateStream(&second), ACL_SUCCESS);
    EXPECT_NE(first, nullptr);
    EXPECT_NE(first, second);
    for (aclrtStream stream : {first, second, aclrtStream{nullptr}}) {
        y.assign(256, 77);
        prepare();
        EXPECT_EQ(aclnnQuantize(nullptr, 0, executor, stream), ACLNN_SUCCESS);
        EXPECT_EQ(y[0], 1);
        EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    }
    EXPECT_EQ(aclrtDestroyStream(first), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(second), ACL_SUCCESS);
}

TEST_F(Aclnn, has_a_status_for_an_executor_that_has_gone_or_never_was) {
    prepare();
    aclOpExecutor *const consumed = executor;
    EXPECT_EQ(aclnnQuantize(nullptr, 0, consumed, nullptr), ACLNN_SUCCESS);
    prepare();
    aclOpExecutor *const destroyed = executor;
    EXPECT_EQ(aclDestroyAclOpExecutor(destroyed), ACLNN_SUCCESS);
    prepare();  // in their place, perhaps
    int64_t something = 0;
    for (auto *other : {consumed, destroyed, reinterpret_cast<aclOpExecutor *>(&something),
                        reinterpret_cast<aclOpExecutor *>(x.get()), raw_handle(1), raw_handle(UINT64_MAX)}) {
        executor = other;
        expect_second_phase(ACLNN_ERR_PARAM_INVALID, {"executor"});
        EXPECT_EQ(aclSetAclOpExecutorRepeatable(other), ACLNN_ERR_PARAM_INVALID);
        EXPECT_EQ(aclDestroyAclOpExecutor(other), ACLNN_ERR_PARAM_INVALID);
        EXPECT_EQ(aclSetInputTensorAddr(other, 0, x.get(), memory.data()), ACLNN_ERR_PARAM_INVALID);
        EXPECT_EQ(aclSetOutputTensorAddr(other, 0, out.get(), y.data()), ACLNN_ERR_PARAM_INVALID);
    }
}

TEST_F(Aclnn, has_as_many_executors_as_there_is_memory_for) {
    std::vector<aclOpExecutor *> all;
    for (int i = 0; i < 1000; i++) {
        prepare();
        all.push_back(executor);
    }
    std::ranges::sort(all);
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    for (aclOpExecutor *each : all) {
        EXPECT_EQ(aclnnQuantize(nullptr, 0, each, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
    }
}

TEST_F(Aclnn, makes_executors_on_many_threads_at_once) {
    std::vector<std::thread> threads;
    std::atomic<int> failures = 0;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&] {
            const std::vector<float> own_x(6, 4.0f), own_scales(3, 2.0f);
            std::vector<int8_t> own_y(6);
            const tensor_ptr ax = make({2, 3}, ACL_FLOAT, own_x.data()), as = make({3}, ACL_FLOAT, own_scales.data()),
                             ay = make({2, 3}, ACL_INT8, own_y.data());
            for (int i = 0; i < 2000; i++) {
                uint64_t size = 0;
                aclOpExecutor *mine[3] = {};
                for (aclOpExecutor *&each : mine) {
                    failures += aclnnQuantizeGetWorkspaceSize(ax.get(), as.get(), nullptr, ACL_INT8, 1, ay.get(), &size,
                                                              &each) != ACLNN_SUCCESS;
                }
                for (aclOpExecutor *each : mine) {
                    own_y.assign(6, 0);
                    failures += aclnnQuantize(nullptr, size, each, nullptr) != ACLNN_SUCCESS;
                    failures += own_y != std::vector<int8_t>(6, 2);
                }
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(failures, 0);
}

TEST_F(Aclnn, gives_the_nullptr_status_for_a_tensor_without_an_address) {
    for (tensor_ptr *tensor : {&x, &scales, &zero_points, &out}) {
        tensor_ptr kept = std::move(*tensor);
        *tensor = another(*tensor, nullptr);
        prepare();
        expect_second_phase(ACLNN_ERR_PARAM_NULLPTR, {"address"});
        EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
        *tensor = std::move(kept);
    }
}

TEST_F(Aclnn, refuses_an_out_that_overlaps_an_input_or_itself) {
    out = make({2, 3}, ACL_INT8, memory.data());
    prepare();
    expect_second_phase(ACLNN_ERR_PARAM_INVALID, {"aclnnQuantize: out: it overlaps scales"});
    aclDestroyAclOpExecutor(executor);
    out = make({2, 3}, ACL_INT8, y.data(), ACL_FORMAT_ND, {0, 1});
    prepare();
    expect_second_phase(ACLNN_ERR_PARAM_INVALID, {"aclnnQuantize: out: its strides"});
    aclDestroyAclOpExecutor(executor);
}

// The calls of acl/acl.h.

TEST(AclRuntime, moves_bytes_between_host_and_device) {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const std::vector<int32_t> from{1, 2, 3};
    std::vector<int32_t> to(3);
    void *device = nullptr;
    ASSERT_EQ(aclrtMalloc(&device, 12, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(device) % 64, 0u);
    EXPECT_EQ(aclrtMemcpy(device, 12, from.data(), 12, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(to.data(), 12, device, 12, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_EQ(to, from);
    EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST(AclRuntime, has_a_status_for_what_it_cannot_do) {
    int32_t number = 0;
    void *device = nullptr;
    EXPECT_EQ(aclrtSetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtResetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT_EQ(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMalloc(&device, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMalloc(&device, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMemcpy(nullptr, 4, &number, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMemcpy(&number, 4, nullptr, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM);
    EXPECT_EQ(aclrtMemcpy(&number, 3, &number, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("4 bytes for the 3"), std::string::npos);
}

// Executors.

TEST_F(Aclnn, runs_a_repeatable_executor_again_on_what_the_memory_holds_then) {
    zero_points = nullptr;
    prepare();
    ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
    for (float value : {1.0f, 2.0f, 3.0f}) {
        std::fill_n(memory.data() + 3, 3, value);  // the second row of x; the scales are the first
        ASSERT_EQ(aclnnQuantize(nullptr, 0, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        EXPECT_EQ(y[5], static_cast<int8_t>(value));
    }
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(Aclnn, moves_the_operands_of_a_repeatable_executor) {
    x = make({2, 3}, ACL_FLOAT, nullptr);
    scales = make({3}, ACL_FLOAT, nullptr);
    zero_points = make({3}, ACL_INT32, nullptr);
    out = make({2, 3}, ACL_INT8, nullptr);
    prepare();
    ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
    struct {
        std::vector<float> x, scales;
        std::vector<int32_t> zero_points;
        std::vector<int8_t> out;
    } places[] = {{std::vector<float>(6, 10), std::vector<float>(3, 2), std::vector<int32_t>(3, 1), {}},
                  {std::vector<float>(6, 60), std::vector<float>(3, 4), std::vector<int32_t>(3, 2), {}}};
    for (auto &place : places) {
        place.out.resize(6);
        ASSERT_EQ(aclSetInputTensorAddr(executor, 0, x.get(), place.x.data()), ACLNN_SUCCESS);
        ASSERT_EQ(aclSetInputTensorAddr(executor, 1, scales.get(), place.scales.data()), ACLNN_SUCCESS);
        ASSERT_EQ(aclSetInputTensorAddr(executor, 2, zero_points.get(), place.zero_points.data()), ACLNN_SUCCESS);
        ASSERT_EQ(aclSetOutputTensorAddr(executor, 0, out.get(), place.out.data()), ACLNN_SUCCESS);
        ASSERT_EQ(aclnnQuantize(nullptr, 0, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
    }
    EXPECT_EQ(places[0].out, std::vector<int8_t>(6, 6));
    EXPECT_EQ(places[1].out, std::vector<int8_t>(6, 17));
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(Aclnn, refuses_to_move_what_the_executor_was_not_made_with) {
    zero_points = nullptr;
    prepare();
    for (size_t index : {size_t{1}, size_t{2}, size_t{3}, SIZE_MAX}) {
        EXPECT_EQ(aclSetInputTensorAddr(executor, index, x.get(), memory.data()), ACLNN_ERR_PARAM_INVALID);
        EXPECT_EQ(aclSetOutputTensorAddr(executor, index, out.get(), y.data()), ACLNN_ERR_PARAM_INVALID);
    }
    EXPECT_EQ(aclSetOutputTensorAddr(executor, 0, x.get(), y.data()), ACLNN_ERR_PARAM_INVALID);
    aclDestroyAclOpExecutor(executor);
}

TEST_F(Aclnn, gives_the_inner_nullptr_status_in_the_functions_about_executors) {
    prepare();
    EXPECT_EQ(aclSetAclOpExecutorRepeatable(nullptr), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(aclDestroyAclOpExecutor(nullptr), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(aclSetInputTensorAddr(nullptr, 0, x.get(), memory.data()), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(aclSetInputTensorAddr(executor, 0, nullptr, memory.data()), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(aclSetOutputTensorAddr(nullptr, 0, out.get(), memory.data()), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(aclSetOutputTensorAddr(executor, 0, nullptr, memory.data()), ACLNN_ERR_INNER_NULLPTR);
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

// Tensors.

TEST_F(Aclnn, makes_no_tensor_of_null_dimensions) {
    const int64_t shape[] = {2, 3};
    EXPECT_EQ(aclCreateTensor(nullptr, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, shape, 2, nullptr), nullptr);
    EXPECT_EQ(aclCreateTensor(shape, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 2, nullptr), nullptr);
    const tensor_ptr scalar(aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr));
    EXPECT_NE(scalar, nullptr);
    EXPECT_EQ(aclDestroyTensor(nullptr), ACLNN_SUCCESS);
}

TEST_F(Aclnn, gives_back_all_memory) {
    const int64_t before = live_allocations();
    {
        const tensor_ptr own = make({2, 3}, ACL_FLOAT, memory.data());
        EXPECT_EQ(live_allocations(), before + 1);
    }
    expect_accepted();  // freed by its run
    prepare();          // destroyed without a run
    aclDestroyAclOpExecutor(executor);
    prepare();  // repeatable
    aclSetAclOpExecutorRepeatable(executor);
    aclnnQuantize(nullptr, 0, executor, nullptr);
    aclDestroyAclOpExecutor(executor);
    prepare();  // after a failed run
    aclnnQuantize(nullptr, 1, executor, nullptr);
    aclDestroyAclOpExecutor(executor);
    dtype = ACL_FLOAT;  // none was made
    EXPECT_EQ(first_phase(), ACLNN_ERR_PARAM_INVALID);
    EXPECT_EQ(live_allocations(), before);
}

TEST_F(Aclnn, has_a_status_for_a_shortage_of_memory) {
    {
        const memory_shortage shortage;
        EXPECT_EQ(aclCreateTensor(nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr), nullptr);
        void *memory_of_device = nullptr;
        EXPECT_EQ(aclrtMalloc(&memory_of_device, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    }
    {  // executors come from memory that is kept, until more are there at once than ever before
        std::vector<aclOpExecutor *> all;
        {
            const memory_shortage shortage;
            while (first_phase() == ACLNN_SUCCESS && all.size() < 1 << 20) {
                all.push_back(std::exchange(executor, nullptr));
                workspace_size = no_size;
            }
            expect_first_phase(ACLNN_ERR_INNER_CREATE_EXECUTOR, {"memory"});
        }
        EXPECT_GE(all.size(), 64u);
        std::ranges::for_each(all, aclDestroyAclOpExecutor);
    }
    prepare();
    {
        const memory_shortage shortage;
        EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_INNER);
    }
    EXPECT_EQ(aclnnQuantize(nullptr, 0, executor, nullptr), ACLNN_SUCCESS);
}

// Types x rank x axis x number of scales x layouts x executors.
class AclnnOracle : public testing::Test {
protected:
    random_bits random{20240505};
    rotation<layout, 5> x_layouts{every_layout}, scale_layouts{every_layout}, zero_point_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts};

    void expect_oracle_result(qdq_dtype x_type, qdq_dtype scales_type, const qdq_dtype *zero_points_type,
                              qdq_dtype stored, const dimensions &shape, int32_t axis, bool one_scale) {
        const auto dimension = static_cast<size_t>(axis < 0 ? axis + static_cast<int32_t>(shape.size()) : axis);
        const dimensions scale_shape{one_scale ? 1 : shape[dimension]};
        const tensor_memory x = random_floats(random, x_type, shape, x_layouts.next());
        const tensor_memory scales = random_scales(random, scales_type, scale_shape, scale_layouts.next());
        const layout z_layout = zero_point_layouts.next();
        const qdq_dtype z_type = zero_points_type != nullptr ? *zero_points_type : QDQ_I8;
        const tensor_memory z = reference::is_integer(z_type) ? random_codes(random, z_type, scale_shape, z_layout)
                                                              : random_floats(random, z_type, scale_shape, z_layout);
        tensor_memory y(stored, shape, strides_of(y_layouts.next(), shape));
        qdq_options options{};
        options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
        options.nan = QDQ_NAN_ZERO;
        const tensor_memory expected = filled(y, [&](const int64_t *i) {
            const dimensions at{one_scale ? 0 : i[dimension]};
            return reference::quantize_element(float_at(x, i), float_at(scales, at.data()),
                                               zero_point_at(zero_points_type != nullptr ? &z : nullptr, at.data()),
                                               stored, options);
        });
        const tensor_ptr acl_x = make(x), acl_scales = make(scales), acl_z = make(z), acl_y = make(y);
        const aclTensor *z_or_null = zero_points_type != nullptr ? acl_z.get() : nullptr;
        uint64_t size = 1;
        aclOpExecutor *executor = nullptr;
        ASSERT_EQ(aclnnQuantizeGetWorkspaceSize(acl_x.get(), acl_scales.get(), z_or_null, acl_type(stored), axis,
                                                acl_y.get(), &size, &executor),
                  ACLNN_SUCCESS)
            << aclGetRecentErrMsg();
        const bool repeatable = random.below(2) == 0;
        if (repeatable) {
            ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
        }
        ASSERT_EQ(aclnnQuantize(nullptr, size, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        if (repeatable) {
            ASSERT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
        }
        ASSERT_TRUE(same_bytes(expected, y));
    }
};

TEST_F(AclnnOracle, agrees) {
    const qdq_dtype zero_point_types[] = {QDQ_I8, QDQ_U8, QDQ_I32, QDQ_BF16, QDQ_F32};
    int combinations = 0;
    for (qdq_dtype x : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
        for (qdq_dtype scales : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
            for (int z = -1; z < 5; z++) {
                const qdq_dtype *zero_points = z < 0 ? nullptr : &zero_point_types[z];
                const bool asks_for_bf16 = scales == QDQ_BF16 || z == 3;
                if (asks_for_bf16 && !(x == QDQ_BF16 && scales == QDQ_BF16 && (z < 0 || z == 3))) {
                    continue;
                }
                for (qdq_dtype stored : {QDQ_I8, QDQ_U8, QDQ_I32, QDQ_F8E4M3, QDQ_F8E5M2, QDQ_HIF8}) {
                    if (!reference::is_integer(stored) && zero_points != nullptr) {
                        continue;
                    }
                    combinations++;
                    for (int rank = 1; rank <= 8; rank++) {
                        for (int32_t axis = -rank; axis < rank; axis++) {
                            for (bool one_scale : {true, false}) {
                                const dimensions shape = random_shape(random, rank);
                                SCOPED_TRACE("x " + std::to_string(x) + ", scales " + std::to_string(scales) + ", z " +
                                             std::to_string(z) + ", stored " + std::to_string(stored) + ", axis " +
                                             std::to_string(axis) + ", shape " + testing::PrintToString(shape));
                                expect_oracle_result(x, scales, zero_points, stored, shape, axis, one_scale);
                                if (HasFatalFailure()) {
                                    return;
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    EXPECT_EQ(combinations, (3 * 2 * 5 + 2) * 3 + (3 * 2 + 1) * 3);
    EXPECT_TRUE(x_layouts.came_round() && scale_layouts.came_round() && zero_point_layouts.came_round());
}

}  // namespace
}  // namespace compat_test

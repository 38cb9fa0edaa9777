// CANN's aclnnAscendQuant, aclnnAscendAntiQuant, aclnnDynamicQuant and aclnnDynamicMxQuant: their rules, the cases of
// their documents, and agreement with the oracle. docs/frontends.md names these tests.
#include "acl_tensor.h"
#include "reference/scales.h"

#include <aclnnop/aclnn_ascend_anti_quant.h>
#include <aclnnop/aclnn_ascend_quant.h>
#include <aclnnop/aclnn_ascend_quant_v3.h>
#include <aclnnop/aclnn_dynamic_mx_quant.h>
#include <aclnnop/aclnn_dynamic_quant.h>
#include <aclnnop/aclnn_dynamic_quant_v2.h>
#include <aclnnop/aclnn_dynamic_quant_v3.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

namespace compat_test {
namespace {

using second_phase = aclnnStatus(void *, uint64_t, aclOpExecutor *, aclrtStream);
using bytes = std::vector<uint8_t>;

std::vector<uint16_t> f16_of(const std::vector<float> &values) {
    std::vector<uint16_t> codes;
    for (float value : values) {
        codes.push_back(static_cast<uint16_t>(reference::encode_ieee(reference::f16_format, value)));
    }
    return codes;
}

// The functions of this file on tensors that each test gives or spoils in one place.
class Operators : public testing::Test {
protected:
    std::vector<float> memory = std::vector<float>(4096, 1.0f);  // of any operand
    std::vector<uint8_t> y = bytes(4096, 77), scale = bytes(4096, 77);

    tensor_ptr of(const dimensions &shape, int type, int format = ACL_FORMAT_ND) const {
        return make(shape, type, memory.data(), format);
    }

    static void expect_message(const std::vector<std::string> &words) {
        const char *const message = aclGetRecentErrMsg();
        for (const std::string &word : words) {
            EXPECT_NE(std::string(message).find(word), std::string::npos) << message << " should mention " << word;
        }
    }
    // A first phase that refuses leaves what it would have written as it was.
    template<typename First>
    void expect_refused(const std::vector<std::string> &words, First first,
                        aclnnStatus status = ACLNN_ERR_PARAM_INVALID) {
        uint64_t size = 0xdead;
        aclOpExecutor *executor = nullptr;
        EXPECT_EQ(first(&size, &executor), status) << aclGetRecentErrMsg();
        expect_message(words);
        EXPECT_EQ(size, 0xdeadu);
        EXPECT_EQ(executor, nullptr);
    }
    // Both phases, with the workspace that the first one asks for. Gives its size.
    template<typename First> uint64_t expect_done(First first, second_phase *second) {
        uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        EXPECT_EQ(first(&size, &executor), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        bytes workspace(size);
        EXPECT_EQ(second(workspace.data(), size, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        return size;
    }
    // The second phase refuses what the first one could not see, and writes nothing.
    template<typename First>
    void expect_refused_later(const std::vector<std::string> &words, First first, second_phase *second) {
        const bytes y_before = y, scale_before = scale;
        uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        ASSERT_EQ(first(&size, &executor), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        bytes workspace(size);
        EXPECT_EQ(second(workspace.data(), size, executor, nullptr), ACLNN_ERR_PARAM_INVALID);
        expect_message(words);
        EXPECT_EQ(y, y_before);
        EXPECT_EQ(scale, scale_before);
        EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
    }
};

// aclnnAscendQuant and V3.

struct ascend_quant_call {
    const aclTensor *x, *scale, *offset, *y;
    bool sqrt_mode = false;
    const char *round_mode = "round";
    int32_t dst_type = ACL_INT8, axis = -1;

    aclnnStatus operator()(uint64_t *size, aclOpExecutor **executor) const {
        return aclnnAscendQuantV3GetWorkspaceSize(x, scale, offset, sqrt_mode, round_mode, dst_type, axis, y, size,
                                                  executor);
    }
};

// The sample of CANN's document.
TEST_F(Operators, multiply_by_the_scale_and_add_the_offset_before_rounding) {
    const std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 7}, channels{1, 2};
    const tensor_ptr x = make({4, 2}, ACL_FLOAT, numbers.data()), s = make({2}, ACL_FLOAT, channels.data()),
                     codes = make({4, 2}, ACL_INT8, y.data());
    EXPECT_EQ(expect_done(ascend_quant_call{x.get(), s.get(), s.get(), codes.get()}, aclnnAscendQuantV3), 0u);
    EXPECT_EQ(bytes(y.begin(), y.begin() + 8), (bytes{1, 4, 3, 8, 5, 12, 7, 16}));
    y.assign(4096, 77);
    expect_done(
        [&](uint64_t *size, aclOpExecutor **executor) {
            return aclnnAscendQuantGetWorkspaceSize(x.get(), s.get(), s.get(), false, "round", ACL_INT8, codes.get(),
                                                    size, executor);
        },
        aclnnAscendQuant);
    EXPECT_EQ(bytes(y.begin(), y.begin() + 8), (bytes{1, 4, 3, 8, 5, 12, 7, 16}));
    const std::vector<float> tie{0.5f}, one{1};
    expect_done(ascend_quant_call{make({1}, ACL_FLOAT, tie.data()).get(), make({1}, ACL_FLOAT, one.data()).get(),
                                  make({1}, ACL_FLOAT, one.data()).get(), make({1}, ACL_INT8, y.data()).get()},
                aclnnAscendQuantV3);
    EXPECT_EQ(y[0], 2);  // round(0.5) + 1 would be 1
}

TEST_F(Operators, square_the_scale_in_sqrt_mode_in_a_workspace) {
    const std::vector<float> numbers{1, 2, 3, 4}, roots{3, 0.5f};
    const tensor_ptr x = make({2, 2}, ACL_FLOAT, numbers.data()), s = make({2}, ACL_FLOAT, roots.data()),
                     codes = make({2, 2}, ACL_INT8, y.data());
    const ascend_quant_call call{x.get(), s.get(), nullptr, codes.get(), true};
    EXPECT_EQ(expect_done(call, aclnnAscendQuantV3), 8u);
    EXPECT_EQ(bytes(y.begin(), y.begin() + 4), (bytes{9, 0, 27, 1}));
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    ASSERT_EQ(call(&size, &executor), ACLNN_SUCCESS);
    bytes workspace(size);
    EXPECT_EQ(aclnnAscendQuantV3(nullptr, size, executor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(aclnnAscendQuantV3(nullptr, 0, executor, nullptr), ACLNN_ERR_PARAM_NULLPTR);
    EXPECT_EQ(aclnnAscendQuantV3(workspace.data(), 4, executor, nullptr), ACLNN_ERR_PARAM_INVALID);
    expect_message({"aclnnAscendQuantV3: workspaceSize: 4", "gave 8"});
    EXPECT_EQ(aclnnAscendQuantV3(workspace.data(), size, executor, nullptr), ACLNN_SUCCESS);
}

TEST_F(Operators, refuse_the_executor_of_another_function) {
    const tensor_ptr x = of({2, 3}, ACL_FLOAT), s = of({3}, ACL_FLOAT), codes = make({2, 3}, ACL_INT8, y.data());
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    ASSERT_EQ((ascend_quant_call{x.get(), s.get(), nullptr, codes.get()}(&size, &executor)), ACLNN_SUCCESS);
    for (second_phase *other : {&aclnnAscendQuant, &aclnnAscendAntiQuant, &aclnnDynamicQuant, &aclnnDynamicQuantV2,
                                &aclnnDynamicQuantV3, &aclnnDynamicMxQuant}) {
        EXPECT_EQ(other(nullptr, 0, executor, nullptr), ACLNN_ERR_PARAM_INVALID);
        expect_message({"executor: it is aclnnAscendQuantV3's"});
    }
    EXPECT_EQ(aclnnAscendQuantV3(nullptr, 0, executor, nullptr), ACLNN_SUCCESS);
}

TEST_F(Operators, run_a_repeatable_executor_on_any_workspace_and_moved_operands) {
    std::vector<float> numbers{1, 2, 3, 4}, roots{3, 0.5f}, other_roots{2, 2};
    const tensor_ptr x = make({2, 2}, ACL_FLOAT, numbers.data()), s = make({2}, ACL_FLOAT, roots.data()),
                     codes = make({2, 2}, ACL_INT8, y.data());
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    ASSERT_EQ((ascend_quant_call{x.get(), s.get(), nullptr, codes.get(), true}(&size, &executor)), ACLNN_SUCCESS);
    ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
    std::vector<bytes> workspaces(2, bytes(size));
    for (bytes &workspace : workspaces) {
        y.assign(4096, 77);
        EXPECT_EQ(aclnnAscendQuantV3(workspace.data(), size, executor, nullptr), ACLNN_SUCCESS);
        EXPECT_EQ(bytes(y.begin(), y.begin() + 4), (bytes{9, 0, 27, 1}));
        workspace.assign(size, 0xff);  // which the next run does not look at
    }
    ASSERT_EQ(aclSetInputTensorAddr(executor, 1, s.get(), other_roots.data()), ACLNN_SUCCESS);
    EXPECT_EQ(aclnnAscendQuantV3(workspaces[0].data(), size, executor, nullptr), ACLNN_SUCCESS);
    EXPECT_EQ(bytes(y.begin(), y.begin() + 4), (bytes{4, 8, 12, 16}));
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(Operators, round_as_round_mode_says) {
    const std::vector<float> numbers{-1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 1.2f}, one{1};
    const tensor_ptr x = make({6}, ACL_FLOAT, numbers.data()), s = make({1}, ACL_FLOAT, one.data());
    const struct {
        const char *mode;
        std::vector<int> codes;
    } modes[] = {{"round", {-2, 0, 0, 2, 2, 1}},
                 {"floor", {-2, -1, 0, 1, 2, 1}},
                 {"ceil", {-1, 0, 1, 2, 3, 2}},
                 {"trunc", {-1, 0, 0, 1, 2, 1}}};
    for (const auto &[mode, expected] : modes) {
        const tensor_ptr codes = make({6}, ACL_INT8, y.data());
        expect_done(ascend_quant_call{x.get(), s.get(), nullptr, codes.get(), false, mode}, aclnnAscendQuantV3);
        for (size_t i = 0; i < expected.size(); i++) {
            EXPECT_EQ(static_cast<int8_t>(y[i]), expected[i]) << mode << " of " << numbers[i];
        }
    }
    const tensor_ptr codes = make({6}, ACL_INT8, y.data()), f8 = make({6}, ACL_FLOAT8_E5M2, y.data()),
                     hif8 = make({6}, ACL_HIFLOAT8, y.data());
    for (const char *mode : {"hybrid", "ROUND", ""}) {
        expect_refused({"aclnnAscendQuantV3: roundMode: \"" + std::string(mode) + "\"", "round, floor, ceil, trunc"},
                       ascend_quant_call{x.get(), s.get(), nullptr, codes.get(), false, mode});
    }
    expect_refused({"roundMode: NULL"}, ascend_quant_call{x.get(), s.get(), nullptr, codes.get(), false, nullptr});
    expect_refused({"roundMode: \"floor\"", "float8"},
                   ascend_quant_call{x.get(), s.get(), nullptr, f8.get(), false, "floor", ACL_FLOAT8_E5M2});
    expect_refused({"roundMode: \"hybrid\" is not round, the one for float8"},
                   ascend_quant_call{x.get(), s.get(), nullptr, f8.get(), false, "hybrid", ACL_FLOAT8_E5M2});
    expect_refused({"roundMode: \"hybrid\" is not offered; of HIFLOAT8 round is"},
                   ascend_quant_call{x.get(), s.get(), nullptr, hif8.get(), false, "hybrid", ACL_HIFLOAT8});
}

TEST_F(Operators, pack_codes_of_4_bits_as_int4_and_in_int32) {
    const std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 99, -1, -2, -3, -4, -5, -6, -7, -99}, one{1};
    const tensor_ptr x = make({1, 16}, ACL_FLOAT, numbers.data()), s = make({1}, ACL_FLOAT, one.data());
    const bytes packed{0x10, 0x32, 0x54, 0x76, 0xef, 0xcd, 0xab, 0x89};
    for (auto [type, length] : {std::pair<int, int64_t>{ACL_INT4, 16}, {ACL_INT32, 2}}) {
        const tensor_ptr codes = make({1, length}, type, y.data());
        y.assign(4096, 77);
        expect_done(ascend_quant_call{x.get(), s.get(), nullptr, codes.get(), false, "round", type},
                    aclnnAscendQuantV3);
        EXPECT_EQ(bytes(y.begin(), y.begin() + 9), (bytes{0x10, 0x32, 0x54, 0x76, 0xef, 0xcd, 0xab, 0x89, 77}));
    }
    const auto refused = [&](const std::vector<std::string> &words, const dimensions &shape, const dimensions &of_codes,
                             int type, const dimensions &strides = {}, int64_t offset = 0) {
        const tensor_ptr other = of(shape, ACL_FLOAT),
                         codes = make(of_codes, type, y.data(), ACL_FORMAT_ND, strides, offset);
        expect_refused(words, ascend_quant_call{other.get(), s.get(), nullptr, codes.get(), false, "round", type});
    };
    refused({"y: its shape", "an eighth"}, {2, 12}, {2, 2}, ACL_INT32);
    refused({"y: its shape", "an eighth"}, {2, 16}, {3, 2}, ACL_INT32);
    refused({"y: its shape", "an eighth"}, {2, 16}, {2, 16}, ACL_INT32);
    refused({"x: the last dimension, 3,"}, {2, 3}, {2, 3}, ACL_INT4);
    refused({"y: its codes of 4 bits are not dense"}, {2, 4}, {2, 4}, ACL_INT4, {6, 1});
    refused({"y: its codes of 4 bits are not dense"}, {2, 16}, {2, 2}, ACL_INT32, {3, 1});
    refused({"begin within a byte"}, {2, 4}, {2, 4}, ACL_INT4, {4, 1}, 1);
}

TEST_F(Operators, take_the_types_of_ascend_quant) {
    const tensor_ptr codes = make({2, 4}, ACL_INT8, y.data());
    for (int type : every_data_type) {
        const tensor_ptr x = of({2, 4}, type), s = of({4}, type);
        const ascend_quant_call call{x.get(), s.get(), nullptr, codes.get()};
        if (type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16) {
            expect_done(call, aclnnAscendQuantV3);
        } else {
            expect_refused({": x: data type " + std::to_string(type)}, call);
        }
    }
    for (int x_type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
        for (int scale_type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
            for (int offset_type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT8}) {
                const tensor_ptr x = of({2, 4}, x_type), s = of({4}, scale_type), o = of({4}, offset_type);
                const ascend_quant_call call{x.get(), s.get(), o.get(), codes.get()};
                if (x_type != ACL_FLOAT && scale_type != x_type) {
                    expect_refused({"scale: data type"}, call);
                } else if (offset_type != scale_type) {
                    expect_refused({"offset: data type"}, call);
                } else {
                    expect_done(call, aclnnAscendQuantV3);
                }
            }
        }
    }
    const tensor_ptr x = of({2, 8}, ACL_FLOAT), s = of({1}, ACL_FLOAT), wrong = make({2, 8}, ACL_INT8, y.data());
    for (int type : every_data_type) {
        const tensor_ptr of_type = make({2, type == ACL_INT32 ? 1 : 8}, type, y.data());
        const ascend_quant_call call{x.get(), s.get(), nullptr, of_type.get(), false, "round", type};
        if (type == ACL_INT8 || type == ACL_INT4 || type == ACL_INT32 || type == ACL_FLOAT8_E4M3FN ||
            type == ACL_FLOAT8_E5M2 || type == ACL_HIFLOAT8) {
            expect_done(call, aclnnAscendQuantV3);
        } else {
            expect_refused({"dstType: data type " + std::to_string(type)}, call);
        }
    }
    expect_refused({"y: data type 2 is not dstType, 29"},
                   ascend_quant_call{x.get(), s.get(), nullptr, wrong.get(), false, "round", ACL_INT4});
}

TEST_F(Operators, take_scales_along_one_of_the_last_two_dimensions) {
    const tensor_ptr x = of({2, 3, 4}, ACL_FLOAT), codes = make({2, 3, 4}, ACL_INT8, y.data());
    const auto call = [&](const tensor_ptr &s, int32_t axis) {
        return ascend_quant_call{x.get(), s.get(), nullptr, codes.get(), false, "round", ACL_INT8, axis};
    };
    for (const dimensions &shape : {dimensions{4}, {1}, {1, 1, 4}, {1, 1, 1}}) {
        for (int32_t axis : {-1, 2}) {
            expect_done(call(of(shape, ACL_FLOAT), axis), aclnnAscendQuantV3);
        }
    }
    for (const dimensions &shape : {dimensions{3}, {1}, {1, 3, 1}}) {
        for (int32_t axis : {-2, 1}) {
            expect_done(call(of(shape, ACL_FLOAT), axis), aclnnAscendQuantV3);
        }
    }
    for (int32_t axis : {-3, 0, -4, 3, INT32_MIN, INT32_MAX}) {
        expect_refused({"axis: " + std::to_string(axis)}, call(of({1}, ACL_FLOAT), axis));
    }
    for (const dimensions &shape : {dimensions{3}, {2}, {1, 3, 1}, {2, 1, 4}, {2, 3, 4}, {0}}) {
        expect_refused({"scale: it has neither one element", "4 along axis -1"}, call(of(shape, ACL_FLOAT), -1));
    }
    for (const dimensions &shape : {dimensions{}, {1, 4}, {1, 1, 1, 4}}) {
        expect_refused({"scale: " + std::to_string(shape.size()) + " dimensions"}, call(of(shape, ACL_FLOAT), -1));
    }
    const tensor_ptr s = of({4}, ACL_FLOAT), o = of({1}, ACL_FLOAT);
    expect_refused({"offset: its shape"}, ascend_quant_call{x.get(), s.get(), o.get(), codes.get()});
}

TEST_F(Operators, refuse_tensors_that_no_function_takes) {
    const tensor_ptr x = of({2, 4}, ACL_FLOAT), s = of({4}, ACL_FLOAT), codes = make({2, 4}, ACL_INT8, y.data());
    const auto null = ACLNN_ERR_PARAM_NULLPTR;
    expect_refused({"aclnnAscendQuantV3: x: NULL"}, ascend_quant_call{nullptr, s.get(), nullptr, codes.get()}, null);
    expect_refused({"scale: NULL"}, ascend_quant_call{x.get(), nullptr, nullptr, codes.get()}, null);
    expect_refused({"y: NULL"}, ascend_quant_call{x.get(), s.get(), nullptr, nullptr}, null);
    aclOpExecutor *executor = nullptr;
    EXPECT_EQ((ascend_quant_call{x.get(), s.get(), nullptr, codes.get()}(nullptr, &executor)), null);
    expect_message({"workspaceSize: NULL"});
    for (int format : private_formats) {
        const tensor_ptr other = of({2, 4}, ACL_FLOAT, format);
        expect_refused({"x: format " + std::to_string(format)},
                       ascend_quant_call{other.get(), s.get(), nullptr, codes.get()});
    }
    for (const dimensions &shape : {dimensions{}, {2, -4}, dimensions(9, 1)}) {
        const tensor_ptr other = of(shape, ACL_FLOAT);
        expect_refused({": x: "}, ascend_quant_call{other.get(), s.get(), nullptr, codes.get()});
    }
    const tensor_ptr transposed = make({4, 2}, ACL_INT8, y.data());
    expect_refused({"y: its shape is not x's"}, ascend_quant_call{x.get(), s.get(), nullptr, transposed.get()});
}

// What sqrtMode computes is a scale of f32.
std::optional<tensor_memory> squares(const tensor_memory &scale) {
    const qdq_tensor t = scale.view();
    tensor_memory squared(QDQ_F32, dimensions(t.shape, t.shape + t.rank));
    return filled(squared,
                  [&](const int64_t *i) { return std::bit_cast<uint32_t>(float_at(scale, i) * float_at(scale, i)); });
}

// Types x axis x scales x rounding x layouts, against the oracle.
TEST_F(Operators, quantize_as_the_oracle) {
    random_bits random{1};
    rotation<layout, 5> x_layouts{every_layout}, scale_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts};
    const char *const modes[] = {"round", "floor", "ceil", "trunc"};
    const qdq_rounding roundings[] = {QDQ_NEAREST_EVEN, QDQ_DOWN, QDQ_UP, QDQ_TOWARD_ZERO};
    for (int i = 0; i < 3000 && !HasFailure(); i++) {
        const int rank = 1 + static_cast<int>(random.below(8));
        dimensions shape = random_shape(random, rank);
        const auto stored = std::vector<qdq_dtype>{QDQ_I8, QDQ_I4, QDQ_F8E4M3, QDQ_F8E5M2,
                                                   QDQ_HIF8}[static_cast<size_t>(random.below(5))];
        shape.back() *= stored == QDQ_I4 ? 8 : 1;
        const auto type = std::vector<qdq_dtype>{QDQ_F32, QDQ_F16, QDQ_BF16}[static_cast<size_t>(random.below(3))];
        const auto axis = static_cast<int32_t>(-1 - random.below(std::min(rank, 2)));
        const auto along = static_cast<size_t>(axis + rank);
        const int64_t count = random.below(2) == 0 ? 1 : shape[along];
        dimensions scale_shape{count};
        if (random.below(2) == 0) {
            scale_shape = dimensions(shape.size(), 1);
            scale_shape[along] = count;
        }
        const auto mode = static_cast<size_t>(reference::is_integer(stored) ? random.below(4) : 0);
        const bool sqrt_mode = random.below(3) == 0, has_offset = reference::is_integer(stored) && random.below(2) == 0;
        const tensor_memory x = random_floats(random, type, shape, x_layouts.next()),
                            s = random_scales(random, type, scale_shape, scale_layouts.next()),
                            o = random_floats(random, type, scale_shape, scale_layouts.next());
        tensor_memory y(stored, shape, stored == QDQ_I4 ? dimensions{} : strides_of(y_layouts.next(), shape));
        tensor_memory expected = y;
        qdq_options options{};
        options.scale_mode = QDQ_MULTIPLY;
        options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
        options.nan = QDQ_NAN_ZERO;
        options.rounding = roundings[mode];
        options.axis = axis;
        const std::optional<tensor_memory> squared = sqrt_mode ? squares(s) : std::nullopt;
        const qdq_tensor of_offset = o.view();
        reference::quantize(x.view(), (squared ? *squared : s).view(), has_offset ? &of_offset : nullptr,
                            expected.view(), &options);
        dimensions of_codes = shape;
        const bool in_int32 = stored == QDQ_I4 && random.below(2) == 0;
        of_codes.back() /= in_int32 ? 8 : 1;
        const tensor_ptr ax = make(x), as = make(s), ao = make(o),
                         ay = in_int32 ? make(of_codes, ACL_INT32, y.view().data) : make(y);
        expect_done(ascend_quant_call{ax.get(), as.get(), has_offset ? ao.get() : nullptr, ay.get(), sqrt_mode,
                                      modes[mode], in_int32 ? int32_t{ACL_INT32} : int32_t{acl_type(stored)}, axis},
                    aclnnAscendQuantV3);
        EXPECT_TRUE(same_bytes(expected, y)) << i;
    }
}

// aclnnAscendAntiQuant.

struct anti_quant_call {
    const aclTensor *x, *scale, *offset, *y;
    int64_t dst_type = ACL_FLOAT16;
    bool sqrt_mode = false;

    aclnnStatus operator()(uint64_t *size, aclOpExecutor **executor) const {
        return aclnnAscendAntiQuantGetWorkspaceSize(x, scale, offset, dst_type, sqrt_mode, y, size, executor);
    }
};

// The sample of CANN's document.
TEST_F(Operators, add_the_offset_and_multiply_by_the_scale) {
    const std::vector<int8_t> numbers{0, 1, 2, 3, 4, 5, 6, 7};
    const std::vector<float> one{1};
    std::vector<uint16_t> values(8);
    const tensor_ptr x = make({4, 2}, ACL_INT8, numbers.data()), s = make({1}, ACL_FLOAT, one.data()),
                     to = make({4, 2}, ACL_FLOAT16, values.data());
    EXPECT_EQ(expect_done(anti_quant_call{x.get(), s.get(), s.get(), to.get()}, aclnnAscendAntiQuant), 0u);
    EXPECT_EQ(values, f16_of({1, 2, 3, 4, 5, 6, 7, 8}));
    const std::vector<float> three{3};
    const tensor_ptr root = make({1}, ACL_FLOAT, three.data());
    EXPECT_EQ(
        expect_done(anti_quant_call{x.get(), root.get(), nullptr, to.get(), ACL_FLOAT16, true}, aclnnAscendAntiQuant),
        4u);
    EXPECT_EQ(values, f16_of({0, 9, 18, 27, 36, 45, 54, 63}));
}

TEST_F(Operators, take_the_types_of_anti_quant) {
    const tensor_ptr s = of({1}, ACL_FLOAT);
    for (int type : every_data_type) {
        const tensor_ptr x = of({2, type == ACL_INT32 ? 1 : 8}, type), to = make({2, 8}, ACL_FLOAT16, y.data());
        const anti_quant_call call{x.get(), s.get(), nullptr, to.get()};
        if (type == ACL_INT8 || type == ACL_INT4 || type == ACL_INT32 || type == ACL_FLOAT8_E4M3FN ||
            type == ACL_FLOAT8_E5M2 || type == ACL_HIFLOAT8) {
            expect_done(call, aclnnAscendAntiQuant);
        } else {
            expect_refused({": x: data type " + std::to_string(type)}, call);
        }
    }
    const tensor_ptr x = of({2, 8}, ACL_INT8), f8 = of({2, 8}, ACL_FLOAT8_E5M2), bf16 = of({1}, ACL_BF16);
    for (int type : every_data_type) {
        const tensor_ptr to = make({2, 8}, type, y.data()), other = of({1}, type),
                         f16 = make({2, 8}, ACL_FLOAT16, y.data());
        const bool is_result = type == ACL_FLOAT16 || type == ACL_BF16,
                   is_scale = type == ACL_FLOAT || type == ACL_BF16;
        const anti_quant_call to_type{x.get(), s.get(), nullptr, to.get(), type},
            by_type{x.get(), other.get(), nullptr, f16.get()};
        if (is_result) {
            expect_done(to_type, aclnnAscendAntiQuant);
        } else {
            expect_refused({"y: data type " + std::to_string(type)}, to_type);
        }
        if (is_scale) {
            expect_done(by_type, aclnnAscendAntiQuant);
        } else {
            expect_refused({"scale: data type " + std::to_string(type)}, by_type);
        }
    }
    const tensor_ptr to = make({2, 8}, ACL_FLOAT16, y.data());
    expect_refused({"y: data type 1 is not dstType, 27"},
                   anti_quant_call{x.get(), s.get(), nullptr, to.get(), ACL_BF16});
    expect_refused({"offset: data type 27 is not scale's, 0"}, anti_quant_call{x.get(), s.get(), bf16.get(), to.get()});
    expect_refused({"scale: its data type is not f32 for an x of float8"},
                   anti_quant_call{f8.get(), bf16.get(), nullptr, to.get()});
    expect_refused({"sqrtMode: it is true for an x of float8"},
                   anti_quant_call{f8.get(), s.get(), nullptr, to.get(), ACL_FLOAT16, true});
    expect_refused_later({"aclnnAscendAntiQuant: offset"}, anti_quant_call{f8.get(), s.get(), s.get(), to.get()},
                         aclnnAscendAntiQuant);
}

TEST_F(Operators, take_a_scalar_x_of_anti_quant) {
    const bytes codes{3, 0x21, 0x43, 0x65, 0xf7};
    const std::vector<float> two{2}, eighth{1, 2, 3, 4, 5, 6, 7, 8};
    const tensor_ptr byte = make({}, ACL_INT8, codes.data()), word = make({}, ACL_INT32, codes.data() + 1),
                     s = make({1}, ACL_FLOAT, two.data()), each = make({8}, ACL_FLOAT, eighth.data()),
                     one = make({}, ACL_FLOAT16, y.data()), eight = make({8}, ACL_FLOAT16, y.data()),
                     int4 = make({}, ACL_INT4, codes.data());
    const auto halves = [&](size_t count) {
        std::vector<uint16_t> found(count);
        std::memcpy(found.data(), y.data(), 2 * count);
        return found;
    };
    expect_done(anti_quant_call{byte.get(), s.get(), s.get(), one.get()}, aclnnAscendAntiQuant);
    EXPECT_EQ(halves(1), f16_of({10}));
    expect_done(anti_quant_call{word.get(), s.get(), nullptr, eight.get()}, aclnnAscendAntiQuant);
    EXPECT_EQ(halves(8), f16_of({2, 4, 6, 8, 10, 12, 14, -2}));
    expect_done(anti_quant_call{word.get(), each.get(), nullptr, eight.get()}, aclnnAscendAntiQuant);
    EXPECT_EQ(halves(8), f16_of({1, 4, 9, 16, 25, 36, 49, -8}));
    expect_refused({"y: its shape is not (8,), as of a scalar x"},
                   anti_quant_call{word.get(), s.get(), nullptr, one.get()});
    expect_refused({"y: its shape is not (), as of a scalar x"},
                   anti_quant_call{byte.get(), s.get(), nullptr, eight.get()});
    expect_refused({"x: a scalar has no even last dimension"},
                   anti_quant_call{int4.get(), s.get(), nullptr, one.get()});
    expect_refused({"scale: 8 elements are neither one nor one for each"},
                   anti_quant_call{byte.get(), each.get(), nullptr, one.get()});
}

TEST_F(Operators, take_the_shapes_of_anti_quant) {
    const tensor_ptr x = of({2, 3, 4}, ACL_INT8), to = make({2, 3, 4}, ACL_FLOAT16, y.data());
    for (const dimensions &shape : {dimensions{1}, {4}, {3}, {1, 1, 1}, {1, 1, 4}, {1, 3, 1}}) {
        const tensor_ptr s = of(shape, ACL_FLOAT);
        expect_done(anti_quant_call{x.get(), s.get(), s.get(), to.get()}, aclnnAscendAntiQuant);
    }
    for (const dimensions &shape : {dimensions{2}, {5}, {2, 1, 1}, {1, 3, 4}, {1, 4, 1}, {1, 1, 3}}) {
        const tensor_ptr s = of(shape, ACL_FLOAT);
        expect_refused({"scale: ", "neither one nor one for each"},
                       anti_quant_call{x.get(), s.get(), nullptr, to.get()});
    }
    for (const dimensions &shape : {dimensions{}, {0}, {1, 4}, {1, 1, 1, 4}}) {
        const tensor_ptr s = of(shape, ACL_FLOAT);
        expect_refused({"scale: it is empty, or has " + std::to_string(shape.size()) + " dimensions"},
                       anti_quant_call{x.get(), s.get(), nullptr, to.get()});
    }
    const tensor_ptr one = of({1}, ACL_FLOAT), four = of({4}, ACL_FLOAT), odd = of({2, 3}, ACL_INT4),
                     to_odd = make({2, 3}, ACL_FLOAT16, y.data()),
                     strided = make({2, 4}, ACL_INT4, memory.data(), 2, {6, 1}),
                     to_even = make({2, 4}, ACL_FLOAT16, y.data()), packed = of({2, 1}, ACL_INT32);
    expect_refused({"offset: its shape"}, anti_quant_call{x.get(), one.get(), four.get(), to.get()});
    expect_refused({"y: the last dimension, 3,"}, anti_quant_call{odd.get(), one.get(), nullptr, to_odd.get()});
    expect_refused({"x: its codes of 4 bits are not dense"},
                   anti_quant_call{strided.get(), one.get(), nullptr, to_even.get()});
    expect_refused({"x: its shape is not y's with an eighth"},
                   anti_quant_call{packed.get(), one.get(), nullptr, to_even.get()});
}

TEST_F(Operators, dequantize_as_the_oracle) {
    random_bits random{2};
    rotation<layout, 5> x_layouts{every_layout}, scale_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts};
    for (int i = 0; i < 3000 && !HasFailure(); i++) {
        const int rank = 1 + static_cast<int>(random.below(8));
        dimensions shape = random_shape(random, rank);
        const auto stored = std::vector<qdq_dtype>{QDQ_I8, QDQ_I4, QDQ_F8E4M3, QDQ_F8E5M2,
                                                   QDQ_HIF8}[static_cast<size_t>(random.below(5))];
        shape.back() *= stored == QDQ_I4 ? 8 : 1;
        const bool is_float8 = !reference::is_integer(stored);
        const auto scale_type = is_float8 || random.below(2) == 0 ? QDQ_F32 : QDQ_BF16;
        const auto to = random.below(2) == 0 ? QDQ_F16 : QDQ_BF16;
        const auto along = static_cast<size_t>(rank - 1 - random.below(std::min(rank, 2)));
        const int64_t count = random.below(2) == 0 ? 1 : shape[along];
        dimensions scale_shape = dimensions(shape.size(), 1);
        scale_shape[along] = count;
        const bool sqrt_mode = !is_float8 && random.below(3) == 0, has_offset = !is_float8 && random.below(2) == 0;
        const tensor_memory x = random_codes(random, stored, shape, x_layouts.next()),
                            s = random_scales(random, scale_type, scale_shape, scale_layouts.next()),
                            o = random_floats(random, scale_type, scale_shape, scale_layouts.next());
        tensor_memory y(to, shape, strides_of(y_layouts.next(), shape));
        tensor_memory expected = y;
        qdq_options options{};
        options.dequantize_zp = QDQ_ZP_ADD;
        const std::optional<tensor_memory> squared = sqrt_mode ? squares(s) : std::nullopt;
        const qdq_tensor of_offset = o.view();
        reference::dequantize(x.view(), (squared ? *squared : s).view(), has_offset ? &of_offset : nullptr,
                              expected.view(), &options);
        dimensions of_codes = shape;
        const bool in_int32 = stored == QDQ_I4 && random.below(2) == 0;
        of_codes.back() /= in_int32 ? 8 : 1;
        const tensor_ptr ax = in_int32 ? make(of_codes, ACL_INT32, x.view().data) : make(x), as = make(s), ao = make(o),
                         ay = make(y);
        expect_done(
            anti_quant_call{ax.get(), as.get(), has_offset ? ao.get() : nullptr, ay.get(), acl_type(to), sqrt_mode},
            aclnnAscendAntiQuant);
        EXPECT_TRUE(same_bytes(expected, y)) << i;
    }
}

// aclnnDynamicQuant, V2 and V3.

struct dynamic_quant_call {
    const aclTensor *x, *factors, *groups, *y, *scale;
    int64_t dst_type = ACL_INT8;
    const char *mode = "pertoken";
    bool is_symmetrical = true;
    const aclTensor *offset = nullptr;

    aclnnStatus operator()(uint64_t *size, aclOpExecutor **executor) const {
        return aclnnDynamicQuantV3GetWorkspaceSize(x, factors, groups, dst_type, is_symmetrical, mode, y, scale, offset,
                                                   size, executor);
    }
};

// The samples of torch_npu's document: rows of 127, and rows multiplied first.
TEST_F(Operators, scale_each_row_by_its_largest_magnitude) {
    const std::vector<uint16_t> numbers =
        f16_of({0.7261f, 0.3726f, 0.9126f, 0.9023f, 0.9990f, 0.1279f, 0.8628f, 0.6240f, 0.9028f});
    std::vector<float> scales(3);
    const tensor_ptr x = make({3, 3}, ACL_FLOAT16, numbers.data()), codes = make({3, 3}, ACL_INT8, y.data()),
                     s = make({3}, ACL_FLOAT, scales.data());
    const uint64_t size = expect_done(
        [&](uint64_t *workspace, aclOpExecutor **executor) {
            return aclnnDynamicQuantGetWorkspaceSize(x.get(), nullptr, codes.get(), s.get(), workspace, executor);
        },
        aclnnDynamicQuant);
    EXPECT_EQ(size, 0u);
    EXPECT_EQ(bytes(y.begin(), y.begin() + 9), (bytes{101, 52, 127, 115, 127, 16, 121, 88, 127}));
    EXPECT_NEAR(scales[0], 0.0072, 5e-5);
    EXPECT_NEAR(scales[1], 0.0079, 5e-5);
    EXPECT_NEAR(scales[2], 0.0071, 5e-5);
}

TEST_F(Operators, multiply_by_smooth_scales_first) {
    const std::vector<uint16_t> numbers =
        f16_of({0.6680f, 0.9492f, 0.0845f, 0.1924f, 0.5278f, 0.1484f, 0.6631f, 0.9497f, 0.0957f});
    const std::vector<uint16_t> factors = f16_of({0.8042f, 0.0884f, 0.8901f});
    std::vector<float> scales(3);
    const tensor_ptr x = make({3, 3}, ACL_FLOAT16, numbers.data()), f = make({3}, ACL_FLOAT16, factors.data()),
                     codes = make({3, 3}, ACL_INT8, y.data()), s = make({3}, ACL_FLOAT, scales.data());
    const uint64_t size = expect_done(
        [&](uint64_t *workspace, aclOpExecutor **executor) {
            return aclnnDynamicQuantV2GetWorkspaceSize(x.get(), f.get(), nullptr, ACL_INT8, codes.get(), s.get(),
                                                       nullptr, workspace, executor);
        },
        aclnnDynamicQuantV2);
    EXPECT_EQ(size, 36u);
    EXPECT_EQ(bytes(y.begin(), y.begin() + 9), (bytes{127, 20, 18, 127, 38, 108, 127, 20, 20}));
    EXPECT_NEAR(scales[1], 0.0012, 5e-5);
}

TEST_F(Operators, make_1_of_the_scale_of_zeros_and_code_0_of_nan) {
    const std::vector<uint16_t> numbers = f16_of({0, -0.0f, std::numeric_limits<float>::quiet_NaN(), 1});
    std::vector<float> scales(2);
    const tensor_ptr x = make({2, 2}, ACL_FLOAT16, numbers.data()), codes = make({2, 2}, ACL_INT8, y.data()),
                     s = make({2}, ACL_FLOAT, scales.data());
    expect_done(dynamic_quant_call{x.get(), nullptr, nullptr, codes.get(), s.get()}, aclnnDynamicQuantV3);
    EXPECT_EQ(scales[0], 1.0f);
    EXPECT_TRUE(std::isnan(scales[1]));
    EXPECT_EQ(bytes(y.begin(), y.begin() + 4), (bytes{0, 0, 0, 0}));
}

TEST_F(Operators, take_the_types_of_dynamic_quant) {
    const tensor_ptr s = make({2}, ACL_FLOAT, scale.data());
    for (int type : every_data_type) {
        const tensor_ptr x = of({2, 8}, type), codes = make({2, 8}, ACL_INT8, y.data());
        const dynamic_quant_call call{x.get(), nullptr, nullptr, codes.get(), s.get()};
        if (type == ACL_FLOAT16 || type == ACL_BF16) {
            expect_done(call, aclnnDynamicQuantV3);
        } else {
            expect_refused({": x: data type " + std::to_string(type)}, call);
        }
    }
    const tensor_ptr x = of({2, 8}, ACL_FLOAT16), f = of({8}, ACL_BF16), f2 = of({2, 8}, ACL_FLOAT16);
    for (int type : every_data_type) {
        const tensor_ptr codes = make({2, type == ACL_INT32 ? 1 : 8}, type, y.data()),
                         i8 = make({2, 8}, ACL_INT8, y.data()), other = make({2}, type, scale.data()),
                         groups = of({2}, type);
        const dynamic_quant_call call{x.get(), nullptr, nullptr, codes.get(), s.get(), type};
        if (type == ACL_INT8 || type == ACL_INT4 || type == ACL_INT32 || type == ACL_FLOAT8_E4M3FN ||
            type == ACL_FLOAT8_E5M2 || type == ACL_HIFLOAT8) {
            expect_done(call, aclnnDynamicQuantV3);
        } else {
            expect_refused({"yOut: data type " + std::to_string(type)}, call);
        }
        if (type != ACL_FLOAT) {
            expect_refused({"scaleOut: data type " + std::to_string(type)},
                           dynamic_quant_call{x.get(), nullptr, nullptr, i8.get(), other.get()});
        }
        if (type != ACL_INT32 && type != ACL_INT64) {
            expect_refused({"groupIndexOptional: data type " + std::to_string(type)},
                           dynamic_quant_call{x.get(), f2.get(), groups.get(), i8.get(), s.get()});
        }
    }
    const tensor_ptr codes = make({2, 8}, ACL_INT8, y.data());
    expect_refused({"smoothScalesOptional: data type 27 is not x's, 1"},
                   dynamic_quant_call{x.get(), f.get(), nullptr, codes.get(), s.get()});
    expect_refused({"yOut: data type 2 is not dstType, 29"},
                   dynamic_quant_call{x.get(), nullptr, nullptr, codes.get(), s.get(), ACL_INT4});
    expect_refused({"aclnnDynamicQuantV2: yOut: data type 2 is not dstType, 3"},
                   [&](uint64_t *size, aclOpExecutor **executor) {
                       return aclnnDynamicQuantV2GetWorkspaceSize(x.get(), nullptr, nullptr, ACL_INT32, codes.get(),
                                                                  s.get(), nullptr, size, executor);
                   });
}

// The sample of CANN's document for V2, with the groups of its program: rows times themselves.
TEST_F(Operators, compute_offsets_as_documented) {
    std::vector<float> counting(128), scales(4), offsets(4);
    std::iota(counting.begin(), counting.end(), 0.0f);
    const std::vector<uint16_t> numbers = f16_of(counting);
    const std::vector<int32_t> ends{1, 2, 3, 4};
    const tensor_ptr x = make({4, 32}, ACL_FLOAT16, numbers.data()), f = make({4, 32}, ACL_FLOAT16, numbers.data()),
                     groups = make({4}, ACL_INT32, ends.data()), codes = make({4, 32}, ACL_INT8, y.data()),
                     s = make({4}, ACL_FLOAT, scales.data()), o = make({4}, ACL_FLOAT, offsets.data());
    const uint64_t size = expect_done(
        [&](uint64_t *workspace, aclOpExecutor **executor) {
            return aclnnDynamicQuantV2GetWorkspaceSize(x.get(), f.get(), groups.get(), ACL_INT8, codes.get(), s.get(),
                                                       o.get(), workspace, executor);
        },
        aclnnDynamicQuantV2);
    EXPECT_EQ(size, 128u * 4);
    EXPECT_EQ(scales, (std::vector<float>{961.0f / 255, 2945.0f / 255, 4929.0f / 255, 6913.0f / 255}));
    EXPECT_EQ(offsets[0], -128.0f);
    EXPECT_NEAR(offsets[3], -467.951f, 1e-3);
    const std::vector<int> first{-128, -128, -127, -126, -124, -121, -118, -115}, last{-128, -121, -114, -106, -99};
    for (size_t i = 0; i < first.size(); i++) {
        EXPECT_EQ(static_cast<int8_t>(y[i]), first[i]) << i;
    }
    for (size_t i = 0; i < last.size(); i++) {
        EXPECT_EQ(static_cast<int8_t>(y[96 + i]), last[i]) << i;
    }
    EXPECT_EQ(y[31], 127);
    EXPECT_EQ(y[127], 127);
}

TEST_F(Operators, make_1_of_the_scale_of_equal_elements_where_there_are_offsets) {
    const std::vector<uint16_t> numbers = f16_of({3, 3, std::numeric_limits<float>::quiet_NaN(), 1, 1, NAN});
    std::vector<float> scales(3), offsets(3);
    const tensor_ptr x = make({3, 2}, ACL_FLOAT16, numbers.data()), codes = make({3, 2}, ACL_INT8, y.data()),
                     s = make({3}, ACL_FLOAT, scales.data()), o = make({3}, ACL_FLOAT, offsets.data());
    expect_done(
        dynamic_quant_call{x.get(), nullptr, nullptr, codes.get(), s.get(), ACL_INT8, "pertoken", false, o.get()},
        aclnnDynamicQuantV3);
    EXPECT_EQ(scales[0], 1.0f);
    EXPECT_EQ(offsets[0], 124.0f);
    for (size_t row : {1, 2}) {
        EXPECT_TRUE(std::isnan(scales[row]) && std::isnan(offsets[row])) << row;
    }
    EXPECT_EQ(bytes(y.begin(), y.begin() + 6), (bytes{127, 127, 0, 0, 0, 0}));
}

TEST_F(Operators, take_offsets_where_quantization_is_asymmetric) {
    const tensor_ptr x = of({2, 8}, ACL_FLOAT16), codes = make({2, 8}, ACL_INT8, y.data()),
                     s = make({2}, ACL_FLOAT, scale.data()), o = make({2}, ACL_FLOAT, scale.data() + 8),
                     f16 = of({2}, ACL_FLOAT16), row = make({1, 2}, ACL_FLOAT, scale.data() + 8),
                     f8 = make({2, 8}, ACL_FLOAT8_E5M2, y.data());
    const auto call = [&](bool is_symmetrical, const tensor_ptr &offset, const tensor_ptr &to, int type) {
        return dynamic_quant_call{x.get(), nullptr,    nullptr,        to.get(),    s.get(),
                                  type,    "pertoken", is_symmetrical, offset.get()};
    };
    EXPECT_EQ(expect_done(call(false, o, codes, ACL_INT8), aclnnDynamicQuantV3), 64u);
    expect_refused({"offsetOut: NULL, and isSymmetrical is false"}, call(false, nullptr, codes, ACL_INT8));
    expect_refused({"offsetOut: it is given, and isSymmetrical is true"}, call(true, o, codes, ACL_INT8));
    expect_refused({"offsetOut: data type 1 is not supported"}, call(false, f16, codes, ACL_INT8));
    expect_refused({"offsetOut: its shape is not scaleOut's"}, call(false, row, codes, ACL_INT8));
    expect_refused({"yOut: data type 35 is not supported where offsetOut is given"},
                   call(false, o, f8, ACL_FLOAT8_E5M2));
}

TEST_F(Operators, refuse_offsets_over_other_tensors) {
    std::vector<uint16_t> numbers = f16_of(std::vector<float>(16, 1)), factors = f16_of(std::vector<float>(8, 1));
    const tensor_ptr x = make({2, 8}, ACL_FLOAT16, numbers.data()), f = make({8}, ACL_FLOAT16, factors.data()),
                     codes = make({2, 8}, ACL_INT8, y.data()), apart = make({2}, ACL_FLOAT, scale.data()),
                     half = make({2}, ACL_FLOAT, scale.data() + 4), over_x = make({2}, ACL_FLOAT, numbers.data()),
                     over_f = make({2}, ACL_FLOAT, factors.data()), over_y = make({2}, ACL_FLOAT, y.data());
    const auto call = [&](const tensor_ptr &s, const tensor_ptr &o) {
        return dynamic_quant_call{x.get(),  f.get(),    nullptr, codes.get(), s.get(),
                                  ACL_INT8, "pertoken", false,   o.get()};
    };
    const bytes before = y;
    expect_refused_later({"offsetOut: it overlaps scaleOut"}, call(apart, half), aclnnDynamicQuantV3);
    expect_refused_later({"offsetOut: it overlaps x"}, call(apart, over_x), aclnnDynamicQuantV3);
    expect_refused_later({"scaleOut: it overlaps x"}, call(over_x, apart), aclnnDynamicQuantV3);
    expect_refused_later({"offsetOut: it overlaps smoothScalesOptional"}, call(apart, over_f), aclnnDynamicQuantV3);
    expect_refused_later({"yOut: it overlaps offsetOut"}, call(apart, over_y), aclnnDynamicQuantV3);
    EXPECT_EQ(y, before);
}

TEST_F(Operators, take_the_shapes_of_dynamic_quant) {
    const tensor_ptr x = of({2, 3, 4}, ACL_FLOAT16), codes = make({2, 3, 4}, ACL_INT8, y.data());
    const struct {
        const char *mode;
        dimensions scale;
        int64_t factors;
    } modes[] = {{"pertoken", {2, 3}, 4}, {"pertensor", {1}, 4}, {"perchannel", {2, 4}, 3}};
    for (const auto &[mode, shape, factors] : modes) {
        for (const auto &[other, its_shape, its_factors] : modes) {
            const tensor_ptr s = make(its_shape, ACL_FLOAT, scale.data()), f = of({its_factors}, ACL_FLOAT16),
                             right = make(shape, ACL_FLOAT, scale.data());
            const dynamic_quant_call call{x.get(), nullptr, nullptr, codes.get(), s.get(), ACL_INT8, mode},
                smooth{x.get(), f.get(), nullptr, codes.get(), right.get(), ACL_INT8, mode};
            if (shape == its_shape) {
                expect_done(call, aclnnDynamicQuantV3);
            } else {
                expect_refused({"scaleOut: its shape is not"}, call);
            }
            if (factors == its_factors) {
                expect_done(smooth, aclnnDynamicQuantV3);
            } else {
                expect_refused({"smoothScalesOptional: its last dimension"}, smooth);
            }
        }
    }
    const tensor_ptr s = make({2, 3}, ACL_FLOAT, scale.data()), matrix = of({3, 4}, ACL_FLOAT16),
                     line = of({4}, ACL_FLOAT16), line_codes = make({4}, ACL_INT8, y.data());
    for (const char *mode : {"PERTOKEN", "", static_cast<const char *>(nullptr)}) {
        expect_refused(
            {"quantMode: \"" + std::string(mode != nullptr ? mode : "NULL"), "pertoken, pertensor, perchannel"},
            dynamic_quant_call{x.get(), nullptr, nullptr, codes.get(), s.get(), ACL_INT8, mode});
    }
    expect_refused({"smoothScalesOptional: 2 dimensions, not 1"},
                   dynamic_quant_call{x.get(), matrix.get(), nullptr, codes.get(), s.get()});
    expect_refused({": x: 1 dimensions are not in 2..8"},
                   dynamic_quant_call{line.get(), nullptr, nullptr, line_codes.get(), s.get()});
    const tensor_ptr odd = of({2, 31}, ACL_BF16), odd_codes = make({2, 31}, ACL_INT4, y.data()),
                     of_rows = make({2}, ACL_FLOAT, scale.data());
    expect_refused({": x: the last dimension, 31,"},
                   dynamic_quant_call{odd.get(), nullptr, nullptr, odd_codes.get(), of_rows.get(), ACL_INT4});
}

TEST_F(Operators, take_groups_of_rows_that_end_at_the_last_row) {
    const std::vector<uint16_t> ones = f16_of(std::vector<float>(12, 1)), factors = f16_of({1, 2, 4, 8, 2, 1});
    const tensor_ptr x = make({2, 3, 2}, ACL_FLOAT16, ones.data()), f = make({3, 2}, ACL_FLOAT16, factors.data()),
                     codes = make({2, 3, 2}, ACL_INT8, y.data()), s = make({2, 3}, ACL_FLOAT, scale.data());
    const auto with = [&](const tensor_ptr &ends) {
        return dynamic_quant_call{x.get(), f.get(), ends.get(), codes.get(), s.get()};
    };
    std::vector<int32_t> ends{1, 1, 6};
    std::vector<int64_t> wide{1, 1, 6};
    for (const tensor_ptr &given : {make({3}, ACL_INT32, ends.data()), make({3}, ACL_INT64, wide.data())}) {
        EXPECT_EQ(expect_done(with(given), aclnnDynamicQuantV3), 48u);
        EXPECT_EQ(bytes(y.begin(), y.begin() + 4), (bytes{64, 127, 127, 64}));  // the second group has no rows
    }
    const tensor_ptr given = make({3}, ACL_INT32, ends.data());
    for (const std::vector<int32_t> &wrong :
         {std::vector<int32_t>{2, 1, 6}, {1, 2, 5}, {1, 2, 7}, {-1, 2, 6}, {0, 7, 6}}) {
        ends = wrong;
        expect_refused_later({"groupIndexOptional: "}, with(given), aclnnDynamicQuantV3);
    }
    const tensor_ptr two = make({2}, ACL_INT32, ends.data()), matrix = make({3, 1}, ACL_INT32, ends.data());
    expect_refused({"groupIndexOptional: it has not one dimension of as many elements", "3"}, with(two));
    expect_refused({"groupIndexOptional: it has not one dimension"}, with(matrix));
    expect_refused({"smoothScalesOptional: NULL, and groupIndexOptional is not"},
                   dynamic_quant_call{x.get(), nullptr, given.get(), codes.get(), s.get()});
    expect_refused({"groupIndexOptional: it is given, and quantMode is perchannel"},
                   dynamic_quant_call{x.get(), f.get(), given.get(), codes.get(), s.get(), ACL_INT8, "perchannel"});
}

// The product of x and factors, in f32. A factor of -0 counts as 0.
tensor_memory smoothed(const tensor_memory &x, const tensor_memory &factors, const std::vector<int64_t> &ends,
                       size_t along) {
    const qdq_tensor t = x.view();
    const dimensions shape(t.shape, t.shape + t.rank);
    tensor_memory product(QDQ_F32, shape);
    return filled(product, [&](const int64_t *i) {
        dimensions at{i[along]};
        if (!ends.empty()) {
            int64_t row = 0;
            for (size_t d = 0; d + 1 < shape.size(); d++) {
                row = row * shape[d] + i[d];
            }
            at = {std::ranges::upper_bound(ends, row) - ends.begin(), i[along]};
        }
        return reference::encode_f32(float_at(x, i) * (0.0f + float_at(factors, at.data())));
    });
}

TEST_F(Operators, compute_scales_as_the_oracle) {
    random_bits random{3};
    rotation<layout, 5> x_layouts{every_layout}, factor_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts}, scale_layouts{distinct_layouts};
    const char *const modes[] = {"pertoken", "pertensor", "perchannel"};
    for (int i = 0; i < 2000 && !HasFailure(); i++) {
        const int rank = 2 + static_cast<int>(random.below(7));
        dimensions shape = random_shape(random, rank, 7);
        const auto stored = std::vector<qdq_dtype>{QDQ_I8, QDQ_I4, QDQ_F8E4M3, QDQ_F8E5M2,
                                                   QDQ_HIF8}[static_cast<size_t>(random.below(5))];
        shape.back() *= stored == QDQ_I4 ? 8 : 1;
        const auto type = random.below(2) == 0 ? QDQ_F16 : QDQ_BF16;
        const auto mode = static_cast<size_t>(random.below(3));
        const size_t shared = shape.size() - (mode == 2 ? 2 : 1);
        const int64_t rows = reference::element_count(tensor_memory(QDQ_I8, shape).view()) / shape.back();
        const bool has_factors = random.below(2) == 0, has_groups = has_factors && mode != 2 && random.below(2) == 0;
        std::vector<int64_t> ends;
        for (int64_t g = 0; has_groups && g < 3; g++) {
            ends.push_back(g == 2 ? rows : (ends.empty() ? 0 : ends.back()) + random.below(rows / 3 + 1));
        }
        const dimensions factor_shape =
            has_groups ? dimensions{3, shape.back()} : dimensions{shape[mode == 2 ? shared : shape.size() - 1]};
        const tensor_memory x = random_floats(random, type, shape, x_layouts.next()),
                            factors = random_floats(random, type, factor_shape, factor_layouts.next());
        const tensor_memory product =
            has_factors ? smoothed(x, factors, ends, mode == 2 ? shared : shape.size() - 1) : x;
        dimensions with_1 = shape, scale_shape = shape;
        with_1[shared] = 1;
        scale_shape.erase(scale_shape.begin() + static_cast<std::ptrdiff_t>(shared));
        if (mode == 1) {
            with_1 = scale_shape = {1};
        }
        tensor_memory dense_scale(QDQ_F32, with_1);
        tensor_memory y(stored, shape, stored == QDQ_I4 ? dimensions{} : strides_of(y_layouts.next(), shape));
        tensor_memory expected = y, scales(QDQ_F32, scale_shape, strides_of(scale_layouts.next(), scale_shape));
        tensor_memory expected_scales = scales;
        qdq_options options{};
        options.nan = QDQ_NAN_ZERO;
        reference::compute_scales(product.view(), stored, dense_scale.view(), nullptr, nullptr, &options);
        reference::quantize(product.view(), dense_scale.view(), nullptr, expected.view(), &options);
        expected_scales = filled(expected_scales, [&](const int64_t *at) {
            dimensions whole(at, at + scale_shape.size());
            if (mode != 1) {
                whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(shared), 0);
            }
            return code_at(dense_scale, whole.data());
        });
        dimensions of_codes = shape;
        const bool in_int32 = stored == QDQ_I4 && random.below(2) == 0;
        of_codes.back() /= in_int32 ? 8 : 1;
        const tensor_ptr ax = make(x), af = make(factors), ag = make({3}, ACL_INT64, ends.data()),
                         ay = in_int32 ? make(of_codes, ACL_INT32, y.view().data) : make(y), as = make(scales);
        expect_done(
            dynamic_quant_call{ax.get(), has_factors ? af.get() : nullptr, has_groups ? ag.get() : nullptr, ay.get(),
                               as.get(), in_int32 ? int{ACL_INT32} : int{acl_type(stored)}, modes[mode]},
            aclnnDynamicQuantV3);
        EXPECT_TRUE(same_bytes(expected_scales, scales)) << i << " " << modes[mode];
        EXPECT_TRUE(same_bytes(expected, y)) << i << " " << modes[mode];
    }
}

// Scale and offset of values that share them, by the document's formulas.
std::pair<float, float> documented(const std::vector<float> &values, float lowest, float highest) {
    float most = values[0], least = values[0];
    for (const float value : values) {
        if (std::isnan(value)) {
            return {NAN, NAN};
        }
        most = std::max(most, value);
        least = std::min(least, value);
    }
    const float range = most - least, step = range / (highest - lowest), scale = step == 0 ? 1 : step;
    const float quotient = most / scale, offset = highest - quotient;
    return {std::isnan(scale) ? NAN : scale, std::isnan(offset) ? NAN : offset};
}

TEST_F(Operators, compute_offsets_as_the_oracle) {
    random_bits random{6};
    rotation<layout, 5> x_layouts{every_layout}, factor_layouts{every_layout};
    rotation<layout, 4> y_layouts{distinct_layouts}, scale_layouts{distinct_layouts};
    const char *const modes[] = {"pertoken", "pertensor", "perchannel"};
    for (int i = 0; i < 1000 && !HasFailure(); i++) {
        const int rank = 2 + static_cast<int>(random.below(4));
        dimensions shape = random_shape(random, rank, 7);
        const auto stored = random.below(2) == 0 ? QDQ_I8 : QDQ_I4;
        shape.back() *= stored == QDQ_I4 ? 8 : 1;
        const auto type = random.below(2) == 0 ? QDQ_F16 : QDQ_BF16;
        const auto mode = static_cast<size_t>(random.below(3));
        const size_t shared = shape.size() - (mode == 2 ? 2 : 1), smooth = mode == 2 ? shared : shape.size() - 1;
        const bool has_factors = random.below(2) == 0, repeats = random.below(2) == 0;
        const tensor_memory x = random_floats(random, type, shape, x_layouts.next()),
                            factors = random_floats(random, type, {shape[smooth]}, factor_layouts.next()),
                            ones = filled(tensor_memory(type, {shape[smooth]}),
                                          [&](const int64_t *) { return type == QDQ_F16 ? 0x3c00 : 0x3f80; }),
                            product = smoothed(x, has_factors ? factors : ones, {}, smooth);
        std::map<dimensions, std::vector<float>> groups;
        const auto group_of = [&](const int64_t *at) {
            dimensions group(at, at + shape.size());
            group.erase(group.begin() + static_cast<std::ptrdiff_t>(shared));
            return mode == 1 ? dimensions{0} : group;
        };
        filled(tensor_memory(QDQ_F32, shape), [&](const int64_t *at) {
            groups[group_of(at)].push_back(float_at(product, at));
            return 0;
        });
        const float highest = stored == QDQ_I8 ? 127 : 7;
        const auto value_of = [&](const dimensions &group, bool offset) {
            const auto [step, shift] = documented(groups.at(group), -highest - 1, highest);
            return reference::encode_f32(offset ? shift : step);
        };
        dimensions scale_shape = shape, with_1 = shape;
        with_1[shared] = 1;
        scale_shape.erase(scale_shape.begin() + static_cast<std::ptrdiff_t>(shared));
        scale_shape = mode == 1 ? dimensions{1} : scale_shape;
        with_1 = mode == 1 ? dimensions(shape.size(), 1) : with_1;
        tensor_memory y(stored, shape, stored == QDQ_I4 ? dimensions{} : strides_of(y_layouts.next(), shape)),
            scales(QDQ_F32, scale_shape, strides_of(scale_layouts.next(), scale_shape)),
            offsets(QDQ_F32, scale_shape, strides_of(scale_layouts.next(), scale_shape));
        tensor_memory expected = y;
        const auto filled_by = [&](const tensor_memory &like, bool offset) {
            return filled(like,
                          [&](const int64_t *at) { return value_of(dimensions(at, at + scale_shape.size()), offset); });
        };
        const auto spread = [&](bool offset) {
            return filled(tensor_memory(QDQ_F32, with_1),
                          [&](const int64_t *at) { return value_of(group_of(at), offset); });
        };
        qdq_options options{};
        options.nan = QDQ_NAN_ZERO;
        options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
        const tensor_memory of_scale = spread(false), of_offset = spread(true);
        const qdq_tensor offset_view = of_offset.view();
        reference::quantize(product.view(), of_scale.view(), &offset_view, expected.view(), &options);
        const tensor_memory expected_scales = filled_by(scales, false), expected_offsets = filled_by(offsets, true);
        dimensions of_codes = shape;
        const bool in_int32 = stored == QDQ_I4 && random.below(2) == 0;
        of_codes.back() /= in_int32 ? 8 : 1;
        const tensor_ptr ax = make(x), af = make(factors), as = make(scales), ao = make(offsets),
                         ay = in_int32 ? make(of_codes, ACL_INT32, y.view().data) : make(y);
        const dynamic_quant_call call{ax.get(),    has_factors ? af.get() : nullptr,
                                      nullptr,     ay.get(),
                                      as.get(),    in_int32 ? int{ACL_INT32} : int{acl_type(stored)},
                                      modes[mode], false,
                                      ao.get()};
        if (repeats) {
            uint64_t size = 0;
            aclOpExecutor *executor = nullptr;
            ASSERT_EQ(call(&size, &executor), ACLNN_SUCCESS) << aclGetRecentErrMsg();
            ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
            for (int run = 0; run < 2; run++) {
                bytes workspace(size);
                ASSERT_EQ(aclnnDynamicQuantV3(workspace.data(), size, executor, nullptr), ACLNN_SUCCESS)
                    << aclGetRecentErrMsg();
            }
            EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
        } else {
            expect_done(call, aclnnDynamicQuantV3);
        }
        EXPECT_TRUE(same_bytes(expected_scales, scales)) << i << " " << modes[mode];
        EXPECT_TRUE(same_bytes(expected_offsets, offsets)) << i << " " << modes[mode];
        EXPECT_TRUE(same_bytes(expected, y)) << i << " " << modes[mode];
    }
}

// aclnnDynamicMxQuant.

struct mx_quant_call {
    const aclTensor *x, *y, *scale;
    int64_t dst_type = ACL_FLOAT8_E4M3FN, axis = -1, block = 32, scale_alg = 0;
    const char *round_mode = "rint";

    aclnnStatus operator()(uint64_t *size, aclOpExecutor **executor) const {
        return aclnnDynamicMxQuantGetWorkspaceSize(x, axis, const_cast<char *>(round_mode), dst_type, block, scale_alg,
                                                   y, scale, size, executor);
    }
};

// The sample of CANN's document: 0, 8, 64 and 512 of bf16.
TEST_F(Operators, scale_blocks_by_powers_of_two) {
    const std::vector<uint16_t> numbers{0, 16640, 17024, 17408};
    const tensor_ptr x = make({1, 4}, ACL_BF16, numbers.data()), codes = make({1, 4}, ACL_FLOAT8_E4M3FN, y.data()),
                     s = make({1, 1, 2}, ACL_FLOAT8_E8M0, scale.data());
    for (const char *mode : {"rint", static_cast<const char *>(nullptr)}) {
        y.assign(4096, 77);
        scale.assign(4096, 77);
        EXPECT_EQ(expect_done(mx_quant_call{x.get(), codes.get(), s.get(), 36, -1, 32, 0, mode}, aclnnDynamicMxQuant),
                  1u);
        EXPECT_EQ(bytes(y.begin(), y.begin() + 5), (bytes{0, 72, 96, 120, 77}));
        EXPECT_EQ(bytes(scale.begin(), scale.begin() + 3), (bytes{128, 0, 77}));
    }
}

// Along dimension 0 of [96, 2]: three blocks, whose fourth scale is 0; neighbours lie side by side.
TEST_F(Operators, lay_two_scales_along_the_axis_side_by_side) {
    std::vector<float> numbers(96 * 2, 1.0f);
    const float of_blocks[3][2] = {{256, 512}, {1024, 2048}, {4096, 8192}};
    for (size_t b = 0; b < 3; b++) {
        numbers[b * 64] = of_blocks[b][0];
        numbers[b * 64 + 1] = of_blocks[b][1];
    }
    const tensor_ptr x = make({96, 2}, ACL_FLOAT, numbers.data()), codes = make({96, 2}, ACL_FLOAT8_E4M3FN, y.data()),
                     s = make({2, 2, 2}, ACL_FLOAT8_E8M0, scale.data());
    EXPECT_EQ(expect_done(mx_quant_call{x.get(), codes.get(), s.get(), 36, 0}, aclnnDynamicMxQuant), 6u);
    EXPECT_EQ(bytes(scale.begin(), scale.begin() + 9), (bytes{127, 129, 128, 130, 131, 0, 132, 0, 77}));
}

TEST_F(Operators, take_the_types_of_mx_quant) {
    const tensor_ptr s = make({2, 1, 2}, ACL_FLOAT8_E8M0, scale.data());
    for (int type : every_data_type) {
        const tensor_ptr x = of({2, 32}, type), codes = make({2, 32}, ACL_FLOAT4_E2M1, y.data()),
                         bf16 = of({2, 32}, ACL_BF16), of_type = make({2, 32}, type, y.data()),
                         other = make({2, 1, 2}, type, scale.data());
        const mx_quant_call call{x.get(), codes.get(), s.get(), ACL_FLOAT4_E2M1},
            to{bf16.get(), of_type.get(), s.get(), type}, by{bf16.get(), codes.get(), other.get(), ACL_FLOAT4_E2M1};
        if (type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16) {
            expect_done(call, aclnnDynamicMxQuant);
        } else {
            expect_refused({": x: data type " + std::to_string(type)}, call);
        }
        if (type == ACL_FLOAT8_E5M2 || type == ACL_FLOAT8_E4M3FN || type == ACL_FLOAT4_E2M1 ||
            type == ACL_FLOAT4_E1M2) {
            expect_done(to, aclnnDynamicMxQuant);
        } else {
            expect_refused({"yOut: data type " + std::to_string(type)}, to);
        }
        if (type != ACL_FLOAT8_E8M0) {
            expect_refused({"mxscaleOut: data type " + std::to_string(type)}, by);
        }
    }
    const tensor_ptr x = of({2, 32}, ACL_BF16), codes = make({2, 32}, ACL_FLOAT4_E2M1, y.data());
    expect_refused({"yOut: data type 40 is not dstType, 36"}, mx_quant_call{x.get(), codes.get(), s.get(), 36});
}

TEST_F(Operators, take_the_attributes_of_mx_quant) {
    const tensor_ptr x = of({2, 64}, ACL_BF16), codes = make({2, 64}, ACL_FLOAT8_E4M3FN, y.data()),
                     fp4 = make({2, 64}, ACL_FLOAT4_E2M1, y.data()), s = make({2, 1, 2}, ACL_FLOAT8_E8M0, scale.data()),
                     along_0 = make({1, 64, 2}, ACL_FLOAT8_E8M0, scale.data()), wide = of({2, 64}, ACL_FLOAT),
                     narrow = of({2, 16}, ACL_FLOAT), narrow_codes = make({2, 16}, ACL_FLOAT8_E4M3FN, y.data());
    for (int64_t axis : {-3, 2, 99}) {
        expect_refused({"axis: " + std::to_string(axis)}, mx_quant_call{x.get(), codes.get(), s.get(), 36, axis});
    }
    for (int64_t axis : {0, -2}) {
        expect_done(mx_quant_call{x.get(), codes.get(), along_0.get(), 36, axis}, aclnnDynamicMxQuant);
    }
    for (int64_t block : {32, 64, 1024}) {
        expect_done(mx_quant_call{x.get(), codes.get(), s.get(), 36, -1, block}, aclnnDynamicMxQuant);
    }
    for (int64_t block : {0, -32, 16, 33, 1056}) {
        expect_refused({"blocksize: " + std::to_string(block) + " is not a multiple of 32 in 32..1024"},
                       mx_quant_call{x.get(), codes.get(), s.get(), 36, -1, block});
    }
    expect_refused({"blocksize: 64; an x of f32"}, mx_quant_call{wide.get(), codes.get(), s.get(), 36, -1, 64});
    expect_refused({"blocksize: 32; an x of f32"}, mx_quant_call{narrow.get(), narrow_codes.get(), s.get(), 36});
    expect_done(mx_quant_call{x.get(), codes.get(), s.get(), 36, -1, 32, 1}, aclnnDynamicMxQuant);
    expect_refused({"scaleAlg: 2 is not 0 or 1"}, mx_quant_call{x.get(), codes.get(), s.get(), 36, -1, 32, 2});
    expect_refused({"scaleAlg: 1 is not 0"}, mx_quant_call{x.get(), fp4.get(), s.get(), 40, -1, 32, 1});
    for (const char *mode : {"floor", "round", ""}) {
        expect_refused({"roundModeOptional: \"" + std::string(mode) + "\" is not rint, the one for float8"},
                       mx_quant_call{x.get(), codes.get(), s.get(), 36, -1, 32, 0, mode});
    }
    for (const char *mode : {"ceil", "Round", ""}) {
        expect_refused({"roundModeOptional: \"" + std::string(mode) + "\" is not one of rint, floor, round"},
                       mx_quant_call{x.get(), fp4.get(), s.get(), 40, -1, 32, 0, mode});
    }
}

// Of a block whose scale is 1, two codes in a byte: the first number makes it so.
TEST_F(Operators, round_codes_of_float4_as_round_mode_says) {
    const std::vector<float> of_e2m1{4, 0.25f, -0.25f, 1.25f, -1.25f, 2.5f, -2.5f, 5, -5, -7.5f, 0.1f, -0.1f, -0.0f, 3};
    const std::vector<float> of_e1m2{1,       0.125f, -0.125f, 0.375f, -0.375f, 1.125f,
                                     -1.125f, -1.9f,  0.05f,   -0.05f, 1.9f,    -0.0f};
    const struct {
        int type;
        const std::vector<float> &numbers;
        const char *mode;
        std::vector<float> expected;
    } cases[] = {
        {ACL_FLOAT4_E2M1, of_e2m1, "rint", {4, 0, -0.0f, 1, -1, 2, -2, 4, -4, -6, 0, -0.0f, -0.0f, 3}},
        {ACL_FLOAT4_E2M1, of_e2m1, "floor", {4, 0, -0.5f, 1, -1.5f, 2, -3, 4, -6, -6, 0, -0.5f, -0.0f, 3}},
        {ACL_FLOAT4_E2M1, of_e2m1, "round", {4, 0.5f, -0.5f, 1.5f, -1.5f, 3, -3, 6, -6, -6, 0, -0.0f, -0.0f, 3}},
        {ACL_FLOAT4_E1M2, of_e1m2, "rint", {1, 0, -0.0f, 0.5f, -0.5f, 1, -1, -1.75f, 0, -0.0f, 1.75f, -0.0f}},
        {ACL_FLOAT4_E1M2, of_e1m2, "floor", {1, 0, -0.25f, 0.25f, -0.5f, 1, -1.25f, -1.75f, 0, -0.25f, 1.75f, -0.0f}},
        {ACL_FLOAT4_E1M2,
         of_e1m2,
         "round",
         {1, 0.25f, -0.25f, 0.5f, -0.5f, 1.25f, -1.25f, -1.75f, 0, -0.0f, 1.75f, -0.0f}}};
    for (const auto &[type, numbers, mode, expected] : cases) {
        const auto count = static_cast<int64_t>(numbers.size());
        const auto halves = f16_of(numbers);
        const tensor_ptr x = make({count}, ACL_FLOAT16, halves.data()), codes = make({count}, type, y.data()),
                         s = make({1, 2}, ACL_FLOAT8_E8M0, scale.data());
        const bool is_rint = std::string(mode) == "rint";
        EXPECT_EQ(expect_done(mx_quant_call{x.get(), codes.get(), s.get(), type, -1, 32, 0, mode}, aclnnDynamicMxQuant),
                  is_rint ? 1u : 1u + 4 * numbers.size());
        EXPECT_EQ(scale[0], 127);
        for (size_t i = 0; i < numbers.size(); i++) {
            const int code = y[i / 2] >> (i % 2 * 4) & 15;
            const float found =
                reference::decode_float(type == ACL_FLOAT4_E2M1 ? QDQ_F4E2M1 : QDQ_F4E1M2, static_cast<uint32_t>(code));
            EXPECT_EQ(found, expected[i]) << mode << " of " << numbers[i];
            EXPECT_EQ(std::signbit(found), std::signbit(expected[i])) << mode << " of " << numbers[i];
        }
    }
}

TEST_F(Operators, take_the_shapes_of_mx_quant) {
    const tensor_ptr x = of({3, 80}, ACL_BF16), codes = make({3, 80}, ACL_FLOAT8_E4M3FN, y.data()),
                     s = make({3, 2, 2}, ACL_FLOAT8_E8M0, scale.data());
    expect_done(mx_quant_call{x.get(), codes.get(), s.get()}, aclnnDynamicMxQuant);
    for (const dimensions &shape : {dimensions{3, 3}, {3, 4}, {3, 3, 1}, {3, 1, 2}, {2, 2, 2}, {3, 2, 2, 1}}) {
        const tensor_ptr other = make(shape, ACL_FLOAT8_E8M0, scale.data());
        expect_refused({"mxscaleOut: its shape is not x's with 2 in dimension 1, and 2 at the end"},
                       mx_quant_call{x.get(), codes.get(), other.get()});
    }
    const tensor_ptr strided = make({3, 2, 2}, ACL_FLOAT8_E8M0, scale.data(), ACL_FORMAT_ND, {8, 2, 1}),
                     padded = make({3, 80}, ACL_FLOAT8_E4M3FN, y.data(), ACL_FORMAT_ND, {96, 1}),
                     wrong = make({80, 3}, ACL_FLOAT8_E4M3FN, y.data()), deep = of(dimensions(8, 2), ACL_BF16),
                     deep_codes = make(dimensions(8, 2), ACL_FLOAT8_E4M3FN, y.data()), odd = of({2, 33}, ACL_BF16),
                     odd_codes = make({2, 33}, ACL_FLOAT4_E2M1, y.data()),
                     odd_quarters = make({2, 33}, ACL_FLOAT4_E1M2, y.data()),
                     odd_scale = make({2, 1, 2}, ACL_FLOAT8_E8M0, scale.data());
    expect_refused({"mxscaleOut: its strides are not dense"}, mx_quant_call{x.get(), codes.get(), strided.get()});
    expect_refused({"yOut: its strides are not dense"}, mx_quant_call{x.get(), padded.get(), s.get()});
    expect_refused({"yOut: its shape is not x's"}, mx_quant_call{x.get(), wrong.get(), s.get()});
    expect_refused({": x: 8 dimensions are not in 1..7"}, mx_quant_call{deep.get(), deep_codes.get(), s.get()});
    expect_refused({": x: the last dimension, 33,"}, mx_quant_call{odd.get(), odd_codes.get(), odd_scale.get(), 40});
    expect_refused({": x: the last dimension, 33,"}, mx_quant_call{odd.get(), odd_quarters.get(), odd_scale.get(), 41});
}

TEST_F(Operators, refuse_scales_over_other_tensors) {
    const tensor_ptr x = make({1, 64}, ACL_BF16, scale.data()), codes = make({1, 64}, ACL_FLOAT8_E4M3FN, y.data()),
                     over_x = make({1, 1, 2}, ACL_FLOAT8_E8M0, scale.data() + 127),
                     over_y = make({1, 1, 2}, ACL_FLOAT8_E8M0, y.data() + 63),
                     beside = make({1, 1, 2}, ACL_FLOAT8_E8M0, y.data() + 64);
    expect_refused_later({"mxscaleOut: it overlaps x"}, mx_quant_call{x.get(), codes.get(), over_x.get()},
                         aclnnDynamicMxQuant);
    expect_refused_later({"mxscaleOut: it overlaps yOut"}, mx_quant_call{x.get(), codes.get(), over_y.get()},
                         aclnnDynamicMxQuant);
    expect_done(mx_quant_call{x.get(), codes.get(), beside.get()}, aclnnDynamicMxQuant);
    const tensor_ptr fp4 = make({1, 64}, ACL_FLOAT4_E2M1, y.data());
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    const mx_quant_call by_floor{x.get(), fp4.get(), beside.get(), ACL_FLOAT4_E2M1, -1, 32, 0, "floor"};
    ASSERT_EQ(by_floor(&size, &executor), ACLNN_SUCCESS);
    EXPECT_EQ(aclnnDynamicMxQuant(y.data() + 40, size, executor, nullptr), ACLNN_ERR_PARAM_INVALID);
    expect_message({"mxscaleOut: it overlaps workspace"});
    EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(Operators, write_nothing_for_an_empty_x) {
    const tensor_ptr x = make({0, 64}, ACL_BF16, nullptr), codes = make({0, 64}, ACL_FLOAT8_E4M3FN, nullptr),
                     i8 = make({0, 64}, ACL_INT8, nullptr), s = make({0, 1, 2}, ACL_FLOAT8_E8M0, nullptr),
                     one = make({1}, ACL_FLOAT, scale.data()), to = make({0, 64}, ACL_BF16, nullptr);
    expect_done(mx_quant_call{x.get(), codes.get(), s.get()}, aclnnDynamicMxQuant);
    expect_done(dynamic_quant_call{x.get(), nullptr, nullptr, i8.get(), one.get(), ACL_INT8, "pertensor"},
                aclnnDynamicQuantV3);
    expect_done(anti_quant_call{i8.get(), one.get(), nullptr, to.get(), ACL_BF16}, aclnnAscendAntiQuant);
    EXPECT_EQ(scale, bytes(4096, 77));
}

// [outer, pairs, inner, 2] of [outer, blocks, inner].
tensor_memory paired(const tensor_memory &plain, const dimensions &shape, size_t axis) {
    const dimensions of_plain(plain.view().shape, plain.view().shape + plain.view().rank);
    tensor_memory scales(QDQ_E8M0, shape);
    return filled(scales, [&](const int64_t *i) {
        dimensions at(i, i + of_plain.size());
        at[axis] = 2 * i[axis] + i[of_plain.size()];
        return at[axis] < of_plain[axis] ? code_at(plain, at.data()) : 0;
    });
}

// The code of FLOAT4 that a number over its scale has by the modes floor and round, chosen among all of its sign.
uint32_t float4_code(qdq_dtype type, double number, bool is_floor) {
    const bool is_negative = std::signbit(number);
    const double magnitude = std::fabs(number);
    uint32_t best = 0;
    for (uint32_t code = 1; code < 8; code++) {
        const double here = reference::decode_float(type, code), below = reference::decode_float(type, code - 1);
        const bool is_reached = !is_floor     ? magnitude >= (below + here) / 2
                                : is_negative ? magnitude > below
                                              : magnitude >= here;
        best = is_reached ? code : best;
    }
    return best | (is_negative ? 8 : 0);
}

TEST_F(Operators, quantize_blocks_as_the_oracle) {
    random_bits random{4};
    rotation<layout, 5> x_layouts{every_layout};
    for (int i = 0; i < 2000 && !HasFailure(); i++) {
        const int rank = 1 + static_cast<int>(random.below(4));
        dimensions shape = random_shape(random, rank, 4);
        const auto axis = static_cast<size_t>(random.below(rank));
        const int64_t block = random.below(3) == 0 ? 64 : 32;
        shape[axis] = 1 + random.below(5 * block);
        const auto stored = std::vector<qdq_dtype>{QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F4E2M1,
                                                   QDQ_F4E1M2}[static_cast<size_t>(random.below(4))];
        const bool is_packed = reference::is_packed(stored);
        shape.back() += is_packed ? shape.back() % 2 : 0;
        const bool by_largest = !is_packed && random.below(2) == 0, is_f32 = block == 32 && shape[axis] >= 32;
        const auto type = std::vector<qdq_dtype>{QDQ_F16, QDQ_BF16,
                                                 is_f32 ? QDQ_F32 : QDQ_BF16}[static_cast<size_t>(random.below(3))];
        const tensor_memory x = random_floats(random, type, shape, x_layouts.next());
        dimensions plain_shape = shape, scale_shape = shape;
        plain_shape[axis] = (shape[axis] + block - 1) / block;
        scale_shape[axis] = (plain_shape[axis] + 1) / 2;
        scale_shape.push_back(2);
        tensor_memory plain(QDQ_E8M0, plain_shape), y(stored, shape), scales(QDQ_E8M0, scale_shape);
        tensor_memory expected = y;
        qdq_options options{};
        options.axis = static_cast<int32_t>(axis);
        options.block_size = block;
        qdq_scale_options how{};
        how.rule = by_largest ? QDQ_SCALE_POWER_ROUND_UP : QDQ_SCALE_POWER_FLOOR;
        reference::compute_scales(x.view(), stored, plain.view(), nullptr, &how, &options);
        reference::quantize(x.view(), plain.view(), nullptr, expected.view(), &options);
        const char *const mode =
            is_packed ? std::vector<const char *>{"rint", "floor", "round"}[static_cast<size_t>(random.below(3))]
                      : "rint";
        if (std::string(mode) != "rint") {
            expected = filled(expected, [&](const int64_t *at) {
                dimensions of_block(at, at + rank);
                of_block[axis] /= block;
                const double number = static_cast<double>(float_at(x, at)) /
                                      reference::decode_float(QDQ_E8M0, code_at(plain, of_block.data()));
                return std::isnan(number) ? code_at(expected, at)
                                          : float4_code(stored, number, std::string(mode) == "floor");
            });
        }
        const tensor_ptr ax = make(x), ay = make(y), as = make(scales);
        const auto given_axis = static_cast<int64_t>(axis) - (random.below(2) == 0 ? rank : 0);
        expect_done(mx_quant_call{ax.get(), ay.get(), as.get(), acl_type(stored), given_axis, block, by_largest, mode},
                    aclnnDynamicMxQuant);
        EXPECT_TRUE(same_bytes(paired(plain, scale_shape, axis), scales)) << i;
        EXPECT_TRUE(same_bytes(expected, y)) << i;
    }
}

TEST_F(Operators, run_repeatable_executors_of_computed_scales_again) {
    std::vector<uint16_t> numbers = f16_of(std::vector<float>(64, 2));
    std::vector<uint16_t> factors = f16_of(std::vector<float>(32, 0.5f));
    const tensor_ptr x = make({2, 32}, ACL_FLOAT16, numbers.data()), f = make({32}, ACL_FLOAT16, factors.data()),
                     codes = make({2, 32}, ACL_INT8, y.data()), f8 = make({2, 32}, ACL_FLOAT8_E4M3FN, y.data()),
                     s = make({2}, ACL_FLOAT, scale.data()), mx = make({2, 1, 2}, ACL_FLOAT8_E8M0, scale.data());
    const auto repeat = [&](auto call, second_phase *second, auto check) {
        uint64_t size = 0;
        aclOpExecutor *executor = nullptr;
        ASSERT_EQ(call(&size, &executor), ACLNN_SUCCESS) << aclGetRecentErrMsg();
        ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
        for (float value : {2.0f, 254.0f}) {
            numbers = f16_of(std::vector<float>(64, value));
            ASSERT_EQ(aclSetInputTensorAddr(executor, 0, x.get(), numbers.data()), ACLNN_SUCCESS);
            bytes workspace(size);
            EXPECT_EQ(second(workspace.data(), size, executor, nullptr), ACLNN_SUCCESS) << aclGetRecentErrMsg();
            check(value);
        }
        EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
    };
    repeat(dynamic_quant_call{x.get(), f.get(), nullptr, codes.get(), s.get()}, aclnnDynamicQuantV3, [&](float value) {
        float computed = 0;
        std::memcpy(&computed, scale.data() + 4, 4);
        EXPECT_EQ(computed, value / 2 / 127);
        EXPECT_EQ(y[63], 127);
    });
    const tensor_ptr f4 = make({2, 32}, ACL_FLOAT4_E2M1, y.data());
    repeat(mx_quant_call{x.get(), f4.get(), mx.get(), 40, -1, 32, 0, "floor"}, aclnnDynamicMxQuant, [&](float value) {
        EXPECT_EQ(scale[0], value == 2 ? 127 + 1 - 2 : 127 + 7 - 2);
        EXPECT_EQ(y[31], value == 2 ? 0x66 : 0x77);
    });
    repeat(mx_quant_call{x.get(), f8.get(), mx.get()}, aclnnDynamicMxQuant, [&](float value) {
        EXPECT_EQ(scale[2], value == 2 ? 127 + 1 - 8 : 127 + 7 - 8);
        EXPECT_EQ(scale[3], 0);
    });
}

}  // namespace
}  // namespace compat_test

// Every argument rule of qdq.h: which status, and a message that names the argument. Nothing may be written.
#include "call.h"

#include "conformance/supported.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace api_test {
namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

// A valid call on a 2 x 6 tensor that each test spoils in one place.
class Rejects : public testing::TestWithParam<direction> {
protected:
    dimensions x_shape{2, 6}, y_shape{2, 6}, scale_shape{}, zero_point_shape{};
    tensor_memory x_memory = quantizes() ? floats(QDQ_F32, {2, 6}) : stored(QDQ_I8, {2, 6});
    tensor_memory y_memory{quantizes() ? QDQ_I8 : QDQ_F32, {2, 6}};
    tensor_memory scale_memory = scales({12});
    tensor_memory zero_point_memory = zero_points(QDQ_I8, {12});
    qdq_tensor x = x_memory.view(), y = y_memory.view();
    qdq_tensor scale = reshaped(scale_memory.view(), scale_shape);
    qdq_tensor zero_point = reshaped(zero_point_memory.view(), zero_point_shape);
    qdq_options options{};

    static bool quantizes() { return GetParam() == direction::quantize; }

    static qdq_tensor reshaped(qdq_tensor view, const dimensions &shape) {
        view.rank = static_cast<int32_t>(shape.size());
        view.shape = shape.data();
        return view;
    }
    void set_scale_shape(dimensions shape) {
        scale_shape = std::move(shape);
        scale = reshaped(scale, scale_shape);
    }
    void set_zero_point_shape(dimensions shape) {
        zero_point_shape = std::move(shape);
        zero_point = reshaped(zero_point, zero_point_shape);
    }

    // With what a message about it contains.
    std::vector<std::pair<qdq_tensor *, const char *>> every_tensor() {
        return {{&x, ": x"}, {&scale, "scale"}, {&zero_point, "zero_point"}, {&y, ": y"}};
    }

    arguments given() { return {GetParam(), &x, &scale, &zero_point, &y, &options}; }

    // The call fails with `status` and a message containing each of `words`; y keeps its poison.
    static void expect_call_failure(qdq_status status, const arguments &bad, const std::vector<std::string> &words,
                                    const tensor_memory &y_memory) {
        const tensor_memory before = y_memory;
        ASSERT_EQ(call(bad), status) << qdq_last_error();
        const std::string message = qdq_last_error();
        for (const std::string &word : words) {
            EXPECT_NE(message.find(word), std::string::npos) << "'" << message << "' should mention '" << word << "'";
        }
        EXPECT_TRUE(before == y_memory) << "y was written";
    }

    static void expect_plan_failure(qdq_status status, const arguments &bad, const std::vector<std::string> &words) {
        qdq_plan plan, before;
        std::memset(&plan, 0x5a, sizeof plan);
        before = plan;
        ASSERT_EQ(prepare(&plan, bad), status) << qdq_last_error();
        const std::string message = qdq_last_error();
        for (const std::string &word : words) {
            EXPECT_NE(message.find(word), std::string::npos) << "'" << message << "' should mention '" << word << "'";
        }
        EXPECT_EQ(std::memcmp(&plan, &before, sizeof plan), 0) << "the plan was written";
    }

    void expect_failure(qdq_status status, const arguments &bad, const std::vector<std::string> &words) {
        expect_call_failure(status, bad, words, y_memory);
        expect_plan_failure(status, bad, words);
    }
    void expect_invalid(const std::vector<std::string> &words) { expect_failure(QDQ_INVALID_ARGUMENT, given(), words); }
    // For rules that a plan, which has no data, cannot check.
    void expect_call_invalid(const std::vector<std::string> &words) {
        expect_call_failure(QDQ_INVALID_ARGUMENT, given(), words, y_memory);
    }
};

INSTANTIATE_TEST_SUITE_P(, Rejects, testing::Values(direction::quantize, direction::dequantize),
                         [](const auto &info) { return name_of(info.param); });

TEST_P(Rejects, nothing_in_the_call_the_other_tests_spoil) { EXPECT_EQ(call(given()), QDQ_OK) << qdq_last_error(); }

// Null pointers.

TEST_P(Rejects, a_null_x) {
    arguments bad = given();
    bad.x = nullptr;
    expect_failure(QDQ_INVALID_ARGUMENT, bad, {": x"});
}

TEST_P(Rejects, a_null_scale) {
    arguments bad = given();
    bad.scale = nullptr;
    expect_failure(QDQ_INVALID_ARGUMENT, bad, {"scale"});
}

TEST_P(Rejects, a_null_y) {
    arguments bad = given();
    bad.y = nullptr;
    expect_failure(QDQ_INVALID_ARGUMENT, bad, {": y"});
}

TEST_P(Rejects, a_null_plan) {
    EXPECT_EQ(prepare(nullptr, given()), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("plan"), std::string::npos);
}

TEST_P(Rejects, neither_a_null_zero_point_nor_null_options) {
    arguments good = given();
    good.zero_point = nullptr;
    good.options = nullptr;
    EXPECT_EQ(call(good), QDQ_OK) << qdq_last_error();
}

TEST_P(Rejects, null_x_data) {
    x.data = nullptr;
    expect_call_invalid({": x", "data"});
}

TEST_P(Rejects, null_y_data) {
    y.data = nullptr;
    expect_call_invalid({": y", "data"});
}

TEST_P(Rejects, null_scale_data) {
    scale.data = nullptr;
    expect_invalid({"scale", "data"});
}

TEST_P(Rejects, null_zero_point_data) {
    zero_point.data = nullptr;
    expect_invalid({"zero_point", "data"});
}

TEST_P(Rejects, a_null_shape_with_a_rank) {
    x.shape = nullptr;
    expect_invalid({": x", "shape"});
}

TEST_P(Rejects, a_null_shape_of_y) {
    y.shape = nullptr;
    expect_invalid({": y", "shape"});
}

TEST_P(Rejects, a_null_shape_of_the_scale) {
    scale.rank = 1;
    scale.shape = nullptr;
    expect_invalid({"scale", "shape"});
}

TEST_P(Rejects, a_null_shape_of_the_zero_point) {
    zero_point.rank = 1;
    zero_point.shape = nullptr;
    expect_invalid({"zero_point", "shape"});
}

// Devices.

TEST_P(Rejects, unknown_devices) {
    for (auto [tensor, name] : every_tensor()) {
        set_raw(tensor->device.kind, 7);
        expect_invalid({name, "7", "qdq_device_kind"});
        tensor->device.kind = QDQ_DEVICE_HOST;
    }
}

TEST_P(Rejects, tensors_on_two_devices) {
    for (auto [tensor, name] : every_tensor()) {
        for (const qdq_device &other : {qdq_device{QDQ_DEVICE_CUDA, 0, 0}, qdq_device{QDQ_DEVICE_OPENCL, 0, 0},
                                        qdq_device{QDQ_DEVICE_HOST, 1, 0}}) {
            tensor->device = other;
            expect_invalid({": x", "two devices", "nothing is moved"});
        }
        tensor->device = {};
    }
}

TEST_P(Rejects, numbers_and_offsets_of_the_host) {
    for (auto [tensor, name] : every_tensor()) {
        tensor->device.id = 1;
    }
    expect_invalid({": x", "id 1", "host"});
    for (auto [tensor, name] : every_tensor()) {
        tensor->device = {};
        tensor->device.offset = 4;
        expect_invalid({name, "offset 4"});
        tensor->device = {};
    }
}

// Whether this machine has the device or not.
TEST_P(Rejects, offsets_in_memory_objects_below_0_or_between_two_elements) {
    for (auto [tensor, name] : every_tensor()) {
        tensor->device.kind = QDQ_DEVICE_OPENCL;
    }
    for (auto [tensor, name] : every_tensor()) {
        for (int64_t offset : {int64_t{-4}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
            tensor->device.offset = offset;
            expect_invalid({name, "offset " + std::to_string(offset), "below 0"});
        }
        tensor->device.offset = 2;
        if (tensor->dtype == QDQ_F32) {
            expect_invalid({name, "offset 2", "4 bytes"});
        }
        tensor->device.offset = 0;
    }
}

TEST_P(Rejects, devices_without_a_usable_target) {
    for (qdq_device_kind kind : {QDQ_DEVICE_CUDA, QDQ_DEVICE_OPENCL}) {
        bool usable = false;
        for (int32_t i = 0; i < qdq_target_count(); i++) {
            usable |= qdq_target_device(i) == kind && qdq_target_usable(i);
        }
        if (usable) {
            continue;
        }
        for (auto [tensor, name] : every_tensor()) {
            tensor->device.kind = kind;
        }
        expect_failure(QDQ_UNSUPPORTED, given(), {"target"});
    }
}

// Element types.

TEST_P(Rejects, unknown_dtypes) {
    const int past_the_last = static_cast<int>(supported::every_type.size());
    for (int value : {-1, past_the_last, 99, std::numeric_limits<int>::max()}) {
        const std::string shown = std::to_string(value);
        for (auto [tensor, name] : every_tensor()) {
            const qdq_tensor good = *tensor;
            set_raw(tensor->dtype, value);
            expect_invalid({name, "dtype", shown});
            *tensor = good;
        }
    }
}

TEST_P(Rejects, types_on_the_wrong_side) {
    for (qdq_dtype integer : supported::stored_types) {
        if (!reference::is_integer(integer)) {
            continue;
        }
        qdq_tensor &floating = quantizes() ? x : y;
        floating.dtype = integer;
        expect_invalid({quantizes() ? ": x" : ": y", "dtype"});
    }
}

TEST_P(Rejects, floats_as_stored_types) {
    for (qdq_dtype type : {QDQ_F32, QDQ_F16, QDQ_BF16, QDQ_E8M0}) {
        qdq_tensor &codes = quantizes() ? y : x;
        codes.dtype = type;
        expect_invalid({quantizes() ? ": y" : ": x", "dtype"});
    }
}

TEST_P(Rejects, an_integer_scale) {
    for (qdq_dtype integer : supported::stored_types) {
        if (!reference::is_integer(integer)) {
            continue;
        }
        scale.dtype = integer;
        expect_invalid({"scale", "dtype"});
    }
}

// Shapes.

TEST_P(Rejects, ranks_outside_0_to_8) {
    const dimensions nine(9, 1);
    for (int32_t rank : {-1, 9, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
        for (auto [tensor, name] : every_tensor()) {
            const qdq_tensor good = *tensor;
            tensor->rank = rank;
            tensor->shape = nine.data();
            expect_invalid({name, "rank", std::to_string(rank)});
            *tensor = good;
        }
    }
}

TEST_P(Rejects, negative_dimensions) {
    const dimensions bad{2, -6};
    for (auto [tensor, name] : every_tensor()) {
        const qdq_tensor good = *tensor;
        *tensor = reshaped(*tensor, bad);
        expect_invalid({name, "shape", "-6"});
        *tensor = good;
    }
}

TEST_P(Rejects, a_y_of_another_rank) {
    y_shape = {12};
    y = reshaped(y, y_shape);
    expect_invalid({": y", "rank"});
}

TEST_P(Rejects, a_y_of_another_shape) {
    y_shape = {2, 5};
    y = reshaped(y, y_shape);
    expect_invalid({": y", "shape", "5", "6"});
}

TEST_P(Rejects, a_transposed_shape_of_y) {
    y_shape = {6, 2};
    y = reshaped(y, y_shape);
    expect_invalid({": y", "shape"});
}

TEST_P(Rejects, shapes_of_more_than_2_to_the_63_elements) {
    for (const dimensions &huge : {dimensions{largest, 2}, {int64_t{1} << 62, 4}, {largest, largest}}) {
        x = reshaped(x, huge);
        y = reshaped(y, huge);
        expect_invalid({"x"});
    }
}

TEST_P(Rejects, strides_that_leave_the_address_space) {
    constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
    set_scale_shape({2, 6});
    set_zero_point_shape({2, 6});
    for (const dimensions &strides : {dimensions{largest / 2, 1},
                                      {1, lowest},
                                      {largest, 0},
                                      {0, largest},
                                      {largest, 1},
                                      {largest, -largest},
                                      {lowest, lowest},
                                      {lowest + 1, 0}}) {
        SCOPED_TRACE(testing::PrintToString(strides));
        for (auto [tensor, name] : every_tensor()) {
            tensor->strides = strides.data();
            expect_invalid({name, "address space"});
            tensor->strides = nullptr;
        }
    }
}

TEST_P(Rejects, data_whose_elements_leave_the_address_space) {
    const dimensions backwards{-6, -1};
    set_scale_shape({2, 6});
    set_zero_point_shape({2, 6});
    for (auto [tensor, name] : every_tensor()) {
        const qdq_tensor good = *tensor;
        tensor->data = reinterpret_cast<void *>(std::numeric_limits<uintptr_t>::max() - 5);
        expect_call_invalid({name, "address space"});
        tensor->data = reinterpret_cast<void *>(uintptr_t{3});
        tensor->strides = backwards.data();
        expect_call_invalid({name, "address space"});
        *tensor = good;
    }
}

// Of x and y at any place below 2^64, be it one that a signed number has no room for.
TEST_P(Rejects, no_data_by_the_sign_of_its_address) {
    x.data = reinterpret_cast<void *>(uintptr_t{1} << 63);
    y.data = reinterpret_cast<void *>((uintptr_t{1} << 63) - 4);
    expect_call_invalid({": y", "overlap"});
}

// Scale and zero point.

TEST_P(Rejects, a_scale_whose_length_is_not_that_of_the_axis) {
    options.axis = 0;
    set_scale_shape({6});
    expect_invalid({"scale", "6", "2"});
    options.axis = 1;
    set_scale_shape({7});
    expect_invalid({"scale", "7", "6"});
}

TEST_P(Rejects, a_scale_with_more_blocks_than_elements) {
    set_scale_shape({3, 1});
    expect_invalid({"scale", "3", "2"});
    set_scale_shape({1, 7});
    expect_invalid({"scale", "7", "6"});
}

TEST_P(Rejects, a_scale_of_neither_one_dimension_nor_the_rank_of_x) {
    set_scale_shape({1, 2, 6});
    expect_invalid({"scale", "rank", "3", "2"});
}

TEST_P(Rejects, a_scale_without_elements) {
    for (const dimensions &shape : {dimensions{0}, {2, 0}, {0, 6}, {0, 0}, {largest, 0}, {0, largest, largest}}) {
        SCOPED_TRACE(testing::PrintToString(shape));
        set_scale_shape(shape);
        expect_invalid({"scale"});
    }
}

TEST_P(Rejects, an_axis_out_of_range) {
    set_scale_shape({6});
    for (int32_t axis : {2, -3, 99, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
        options.axis = axis;
        expect_invalid({"axis", std::to_string(axis)});
    }
}

TEST_P(Rejects, an_axis_out_of_range_in_the_blocked_form) {
    set_scale_shape({2, 3});
    options.block_size = 2;
    for (int32_t axis : {2, -3}) {
        options.axis = axis;
        expect_invalid({"axis", std::to_string(axis)});
    }
}

TEST_P(Rejects, a_negative_block_size) {
    options.axis = 1;
    for (const dimensions &scales : {dimensions{}, {2, 3}}) {
        set_scale_shape(scales);
        for (int64_t size : {int64_t{-1}, int64_t{-2}, std::numeric_limits<int64_t>::min()}) {
            options.block_size = size;
            expect_invalid({"block_size " + std::to_string(size) + " is below 0"});
        }
    }
}

TEST_P(Rejects, a_block_size_that_does_not_fit_the_scale) {
    set_scale_shape({2, 3});
    options.axis = 1;
    for (int64_t size : {int64_t{1}, int64_t{3}, int64_t{6}, largest}) {  // 6 / 2 = 3 blocks would fit
        options.block_size = size;
        expect_invalid({"scale", "block_size", std::to_string(size)});
    }
}

TEST_P(Rejects, a_block_shape_below_0) {
    const int64_t block_shape[] = {2, -3};
    set_scale_shape({1, 2});
    options.block_shape = block_shape;
    expect_invalid({"block_shape", "-3"});
}

TEST_P(Rejects, a_block_shape_that_does_not_fit_the_scale) {
    const int64_t block_shape[] = {2, 4};
    set_scale_shape({1, 3});
    options.block_shape = block_shape;
    expect_invalid({"scale", "3", "2", "4"});
}

TEST_P(Rejects, a_block_shape_with_a_scale_of_another_rank) {
    const int64_t block_shape[] = {2, 1};
    set_scale_shape({6});
    options.axis = 1;
    options.block_shape = block_shape;
    expect_invalid({"block_shape", "rank"});
}

TEST_P(Rejects, a_block_shape_and_a_block_size) {
    const int64_t block_shape[] = {2, 3};
    set_scale_shape({1, 2});
    options.block_shape = block_shape;
    options.block_size = 3;
    expect_invalid({"block_shape", "block_size", "3"});
}

TEST_P(Rejects, one_scale_where_a_block_size_asks_for_more) {
    for (const dimensions &one : {dimensions{}, {1}, {1, 1}}) {
        set_scale_shape(one);
        for (auto [axis, size] : {std::pair{0, int64_t{1}}, {1, 5}, {-1, 1}, {-2, 1}}) {
            options.axis = axis;
            options.block_size = size;
            expect_invalid({"scale", "one element", "block"});
        }
        options.axis = 2;
        options.block_size = 6;
        expect_invalid({"axis 2"});
    }
}

TEST_P(Rejects, one_scale_where_a_block_shape_asks_for_more) {
    for (const dimensions &one : {dimensions{}, {1}, {1, 1}}) {
        set_scale_shape(one);
        for (const dimensions &blocks : {dimensions{1, 6}, {2, 5}, {0, 1}}) {
            options.block_shape = blocks.data();
            expect_invalid({"scale", "one element", "block"});
        }
    }
}

TEST_P(Rejects, a_scale_that_does_not_fit_an_x_without_elements) {
    set_zero_point_shape({});
    x_shape = y_shape = {0, 6};
    x = reshaped(x, x_shape);
    y = reshaped(y, y_shape);
    options.axis = 1;
    for (const dimensions &shape : {dimensions{7}, {0}, {2, 6}, {0, 7}, {0, 4}, {1, 1, 6}}) {
        SCOPED_TRACE(testing::PrintToString(shape));
        set_scale_shape(shape);
        expect_invalid({"scale"});
    }
    set_scale_shape({6});
    set_zero_point_shape({5});
    expect_invalid({"zero_point"});
}

TEST_P(Rejects, a_zero_point_of_neither_one_element_nor_the_shape_of_the_scale) {
    set_scale_shape({6});
    options.axis = 1;
    set_zero_point_shape({5});
    expect_invalid({"zero_point"});
    set_zero_point_shape({2, 6});
    expect_invalid({"zero_point"});
    set_zero_point_shape({0});
    expect_invalid({"zero_point"});
}

TEST_P(Rejects, a_zero_point_per_channel_with_one_scale) {
    options.axis = 1;
    set_zero_point_shape({6});
    expect_invalid({"zero_point"});
}

// Options.

TEST_P(Rejects, a_zero_point_of_a_type_that_holds_none) {
    for (qdq_dtype type : {QDQ_I4, QDQ_F8E4M3, QDQ_F4E2M1, QDQ_E8M0}) {
        zero_point.dtype = type;
        expect_invalid({"zero_point", "not a zero-point type", qdq_dtype_name(type)});
    }
}

TEST_P(Rejects, split_halves_of_a_count_that_is_no_multiple_of_32) {
    qdq_tensor &codes = quantizes() ? y : x;
    codes.dtype = QDQ_I4;
    options.packing = QDQ_SPLIT_HALVES;
    expect_invalid({"options", "split halves", "32", "12"});
}

TEST_P(Rejects, orders_of_4_bit_codes_for_codes_of_2_bits) {
    qdq_tensor &codes = quantizes() ? y : x;
    for (qdq_dtype type : {QDQ_I2, QDQ_U2}) {
        codes.dtype = type;
        for (qdq_packing packing : {QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
            options.packing = packing;
            expect_invalid({"options", "packing", reference::name_of(type), "lowest bits"});
        }
    }
}

TEST_P(Rejects, values_outside_the_enums) {
    for (int value : {-1, 3, 1000}) {
        options = {};
        set_raw(options.scale_mode, value);
        expect_invalid({"scale_mode", std::to_string(value)});
    }
    for (int value : {-1, 2, 1000}) {
        options = {};
        set_raw(options.quantize_zp, value);
        expect_invalid({"quantize_zp", std::to_string(value)});
        options = {};
        set_raw(options.dequantize_zp, value);
        expect_invalid({"dequantize_zp", std::to_string(value)});
        options = {};
        set_raw(options.nan, value);
        expect_invalid({"nan", std::to_string(value)});
    }
    for (int value : {-1, 3, 1000}) {
        options = {};
        set_raw(options.stores, value);
        expect_invalid({"stores", std::to_string(value)});
    }
    for (int value : {-1, 6, 1000}) {
        options = {};
        set_raw(options.rounding, value);
        expect_invalid({"rounding", std::to_string(value)});
    }
}

TEST_P(Rejects, another_rounding_to_a_float_type) {
    if (!quantizes()) {
        GTEST_SKIP() << "dequantization has one rounding";
    }
    for (qdq_dtype type : {QDQ_F8E4M3, QDQ_F8E5M2, QDQ_F4E2M1}) {
        y.dtype = type;
        for (qdq_rounding rounding : {QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP}) {
            options.rounding = rounding;
            expect_invalid({"rounding " + std::to_string(rounding), "integer"});
        }
    }
}

TEST_P(Rejects, a_quant_range_that_is_not_within_the_stored_type) {
    qdq_tensor &codes = quantizes() ? y : x;
    for (auto [low, high] : {std::pair{1, 0}, {10, -10}, {-129, 127}, {-128, 128}, {0, 200}, {-1000, 1000}}) {
        options.quant_min = low;
        options.quant_max = high;
        expect_invalid({"quant_min", "quant_max", std::to_string(low), std::to_string(high)});
    }
    codes.dtype = QDQ_U8;
    zero_point.dtype = QDQ_U8;
    options.quant_min = -1;
    options.quant_max = 255;
    expect_invalid({"quant_min", "-1"});
    codes.dtype = QDQ_F8E4M3;
    options.quant_min = 0;
    expect_invalid({"quant_min", "integer", quantizes() ? "y" : "x"});
}

TEST_P(Rejects, a_rounding_of_a_float_y_but_to_nearest_even) {
    (quantizes() ? y : x).dtype = QDQ_F8E4M3;
    arguments changed = given();
    changed.zero_point = nullptr;
    options.rounding = QDQ_UP;
    if (quantizes()) {
        expect_failure(QDQ_INVALID_ARGUMENT, changed, {"rounding", std::to_string(QDQ_UP), "integer y", "f8e4m3"});
    } else {
        EXPECT_EQ(call(changed), QDQ_OK) << "dequantize does not round to codes: " << qdq_last_error();
    }
}

TEST_P(Rejects, a_stream_on_the_host) {
    int not_a_stream = 0;
    options.stream = &not_a_stream;
    expect_invalid({"stream", qdq_current_target()});
}

// Memory.

TEST_P(Rejects, a_y_that_overlaps_x_in_part) {
    tensor_memory shared(QDQ_F32, {64});
    char *base = static_cast<char *>(shared.view().data);
    x.data = base + 32;
    for (int offset : {0, 4, 20, 28, 36, 40, 44, 80}) {  // of 12 elements of 1 and 4 bytes; some touch
        const int reach = quantizes() ? 12 : 48;
        y.data = base + offset;
        const bool overlaps = offset + reach > 32 && offset < 32 + (quantizes() ? 48 : 12);
        if (overlaps) {
            expect_call_failure(QDQ_INVALID_ARGUMENT, given(), {": y", "overlap"}, shared);
        } else {
            EXPECT_EQ(call(given()), QDQ_OK) << qdq_last_error();
        }
    }
}

TEST_P(Rejects, a_y_at_the_address_of_an_x_of_another_element_size) {
    tensor_memory shared(QDQ_F32, {2, 6});
    x.data = y.data = shared.view().data;
    expect_call_failure(QDQ_INVALID_ARGUMENT, given(), {": y", "overlap"}, shared);
}

TEST_P(Rejects, a_plan_run_on_overlapping_data) {
    qdq_plan plan;
    ASSERT_EQ(prepare(&plan, given()), QDQ_OK) << qdq_last_error();
    tensor_memory shared(QDQ_F32, {2, 6});
    const tensor_memory before = shared;
    EXPECT_EQ(qdq_run(&plan, shared.view().data, shared.view().data, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("overlap"), std::string::npos) << qdq_last_error();
    EXPECT_TRUE(before == shared);
}

TEST_P(Rejects, a_y_that_overlaps_the_scale) {
    scale.data = y.data;
    expect_call_invalid({": y", "overlap", "scale"});
    scale.data = static_cast<char *>(y.data) + (quantizes() ? 8 : 44);  // y's last 4 bytes
    expect_call_invalid({": y", "overlap", "scale"});
}

TEST_P(Rejects, a_y_that_overlaps_the_zero_point) {
    zero_point.data = y.data;
    expect_call_invalid({": y", "overlap", "zero_point"});
    zero_point.data = static_cast<char *>(y.data) + (quantizes() ? 11 : 47);  // y's last byte
    expect_call_invalid({": y", "overlap", "zero_point"});
}

TEST_P(Rejects, strides_that_make_elements_of_y_overlap) {
    // 2 x 6: repeated rows, repeated columns, one element for all, and rows that run into one another.
    for (const dimensions &strides : {dimensions{0, 1}, {6, 0}, {0, 0}, {1, 1}, {5, 1}, {-5, 1}, {1, -1}}) {
        y.strides = strides.data();
        const tensor_memory before = y_memory;
        ASSERT_EQ(call(given()), QDQ_INVALID_ARGUMENT) << testing::PrintToString(strides);
        EXPECT_NE(std::string(qdq_last_error()).find(": y"), std::string::npos) << qdq_last_error();
        EXPECT_TRUE(before == y_memory);
        expect_plan_failure(QDQ_INVALID_ARGUMENT, given(), {": y"});
    }
}

// The two rules of qdq.h about overlap look at ranges and strides, not at every element.
TEST_P(Rejects, a_y_between_the_rows_of_x) {
    tensor_memory shared(QDQ_F32, {100});
    const dimensions of_f32{12, 1}, of_i8{48, 1};
    x.data = shared.view().data;
    x.strides = quantizes() ? of_f32.data() : of_i8.data();
    y.data = static_cast<float *>(shared.view().data) + 6;
    y.strides = quantizes() ? of_i8.data() : of_f32.data();
    expect_call_failure(QDQ_INVALID_ARGUMENT, given(), {": y", "overlap"}, shared);
}

TEST_P(Rejects, strides_of_y_of_which_none_steps_over_the_other) {
    const dimensions strides{2, 3};  // of 3 x 2: elements 0, 3, 2, 5, 4 and 7
    x_shape = y_shape = {3, 2};
    x = reshaped(x, x_shape);
    y = reshaped(y, y_shape);
    y.strides = strides.data();
    expect_invalid({": y", "overlap"});
}

TEST_P(Rejects, a_plan_run_on_data_whose_elements_leave_the_address_space) {
    qdq_plan plan;
    ASSERT_EQ(prepare(&plan, given()), QDQ_OK) << qdq_last_error();
    void *const last = reinterpret_cast<void *>(std::numeric_limits<uintptr_t>::max());
    EXPECT_EQ(qdq_run(&plan, last, y.data, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find(": x: "), std::string::npos) << qdq_last_error();
    EXPECT_EQ(qdq_run(&plan, x.data, last, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find(": y: "), std::string::npos) << qdq_last_error();
}

TEST_P(Rejects, neither_a_plan_whose_bytes_are_more_than_2_to_the_63) {
    if (!quantizes()) {
        GTEST_SKIP() << "floats reach the end of the address space sooner";
    }
    const dimensions shape{(int64_t{1} << 61) - 64}, none{0};
    x = reshaped(x, shape);
    y = reshaped(y, shape);
    x.strides = none.data();
    y.dtype = QDQ_I4;
    y.data = nullptr;
    qdq_plan plan;
    EXPECT_EQ(prepare(&plan, given()), QDQ_OK) << qdq_last_error();
}

// Types without a kernel.

class EveryPair : public Api {};

TEST_F(EveryPair, of_a_float_and_a_stored_type_runs_or_is_unsupported_with_both_names) {
    const tensor_memory scale = scales({});
    const qdq_tensor c_scale = scale.view();
    for (qdq_dtype floating : supported::float_types) {
        for (qdq_dtype codes : supported::stored_types) {
            for (direction way : {direction::quantize, direction::dequantize}) {
                const qdq_dtype from = way == direction::quantize ? floating : codes;
                const qdq_dtype to = way == direction::quantize ? codes : floating;
                SCOPED_TRACE(name_of(way) + " " + reference::name_of(from) + " to " + reference::name_of(to));
                const tensor_memory x = way == direction::quantize ? floats(from, {7}) : stored(from, {7});
                const tensor_memory y(to, {7}), before = y;
                const qdq_tensor c_x = x.view(), c_y = y.view();
                const qdq_status status = call({way, &c_x, &c_scale, nullptr, &c_y, nullptr});
                if (status == QDQ_OK) {
                    continue;
                }
                EXPECT_EQ(status, QDQ_UNSUPPORTED);
                const std::string message = qdq_last_error();
                EXPECT_NE(message.find(reference::name_of(from)), std::string::npos) << message;
                EXPECT_NE(message.find(reference::name_of(to)), std::string::npos) << message;
                EXPECT_TRUE(before == y);
            }
        }
    }
}

TEST_F(EveryPair, of_f32_and_the_8_bit_integers_is_supported) {
    const tensor_memory scale = scales({});
    for (qdq_dtype codes : {QDQ_I8, QDQ_U8}) {
        expect_reference_result(direction::quantize, floats(QDQ_F32, {7}), scale, nullptr, tensor_memory(codes, {7}));
        expect_reference_result(direction::dequantize, stored(codes, {7}), scale, nullptr, tensor_memory(QDQ_F32, {7}));
    }
}

TEST_F(EveryPair, with_a_float_target_takes_no_zero_point_but_zero) {
    const tensor_memory scale = scales({});
    for (qdq_dtype codes : supported::stored_types) {
        if (reference::is_integer(codes)) {
            continue;
        }
        SCOPED_TRACE(reference::name_of(codes));
        const tensor_memory x = floats(QDQ_F32, {7}), y(codes, {7});
        const qdq_tensor c_x = x.view(), c_y = y.view(), c_scale = scale.view();
        if (call({direction::quantize, &c_x, &c_scale, nullptr, &c_y, nullptr}) == QDQ_UNSUPPORTED) {
            std::printf("[   NOTE   ] no kernel to %s yet\n", reference::name_of(codes));
            continue;
        }
        for (int8_t value : {0, 1, -3}) {
            const tensor_memory zero_point = tensor_memory::of<int8_t>(QDQ_I8, {}, {value});
            const qdq_tensor c_zero_point = zero_point.view();
            const tensor_memory before = y;
            const qdq_status status = call({direction::quantize, &c_x, &c_scale, &c_zero_point, &c_y, nullptr});
            EXPECT_EQ(status, value == 0 ? QDQ_OK : QDQ_INVALID_ARGUMENT) << int{value};
            if (value != 0) {
                EXPECT_NE(std::string(qdq_last_error()).find("zero_point"), std::string::npos) << qdq_last_error();
                EXPECT_TRUE(before == y);
            }
        }
    }
}

TEST_F(EveryPair, with_a_float_target_names_the_first_zero_point_that_is_not_zero) {
    // Dense, transposed, with gaps, backwards, repeated along either dimension, and longer than the pieces that are
    // looked at as a whole.
    const struct {
        dimensions shape, strides;
    } layouts[] = {{{5, 7}, {}},     {{5, 7}, {1, 5}},       {{5, 7}, {20, 2}},  {{5, 7}, {-7, -1}},
                   {{5, 7}, {0, 1}}, {{5, 7}, {1, 0}},       {{5, 1}, {3, 9}},   {{1, 7}, {0, -2}},
                   {{2, 9000}, {}},  {{9000, 2}, {1, 9000}}, {{3, 5000}, {0, 1}}};
    for (const auto &[shape, strides] : layouts) {
        SCOPED_TRACE(testing::PrintToString(shape) + " by " + testing::PrintToString(strides));
        const tensor_memory x = floats(QDQ_F32, shape), scale = scales(shape), y(QDQ_F8E4M3, shape);
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
        for (qdq_dtype type : {QDQ_I8, QDQ_F16, QDQ_F32}) {
            tensor_memory zero_point(type, shape, strides);
            const qdq_tensor c_zero_point = zero_point.view();
            const auto quantize = [&] { return qdq_quantize(&c_x, &c_scale, &c_zero_point, &c_y, nullptr); };
            zero_point.fill([](int64_t) { return 0; });
            EXPECT_EQ(quantize(), QDQ_OK) << qdq_last_error();
            const int64_t count = shape[0] * shape[1];
            for (int64_t place = 0; place < count; place += count > 100 ? 997 : 1) {
                zero_point.fill([](int64_t) { return 0; });
                const int64_t index[] = {place / shape[1], place % shape[1]};
                reference::store_code(c_zero_point, index, 1);
                const std::vector<uint32_t> codes = zero_point.codes();
                const int64_t first = std::find(codes.begin(), codes.end(), 1u) - codes.begin();
                ASSERT_EQ(quantize(), QDQ_INVALID_ARGUMENT);
                const std::string message = qdq_last_error();
                ASSERT_NE(message.find("element " + std::to_string(first) + " is"), std::string::npos) << message;
            }
        }
    }
}

TEST_F(EveryPair, with_a_float_target_looks_once_at_a_zero_point_that_stride_0_repeats) {
    const dimensions shape{int64_t{1} << 20, int64_t{1} << 20}, none{0, 0};  // one by one 2^40 take a day
    const tensor_memory scale = scales({}), zero_point = tensor_memory::of<int8_t>(QDQ_I8, {}, {0});
    qdq_tensor c_scale = scale.view(), c_zero_point = zero_point.view();
    for (qdq_tensor *operand : {&c_scale, &c_zero_point}) {
        operand->rank = 2;
        operand->shape = shape.data();
        operand->strides = none.data();
    }
    const qdq_tensor x{nullptr, QDQ_F32, 2, shape.data(), nullptr}, y{nullptr, QDQ_F8E4M3, 2, shape.data(), nullptr};
    qdq_plan plan;
    EXPECT_EQ(qdq_plan_quantize(&plan, &x, &c_scale, &c_zero_point, &y, nullptr), QDQ_OK) << qdq_last_error();
}

// Running plans.

TEST(Run, rejects_a_null_plan) {
    float x = 1;
    int8_t y = 0x5a;
    EXPECT_EQ(qdq_run(nullptr, &x, &y, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("plan"), std::string::npos) << qdq_last_error();
}

TEST(Run, rejects_a_plan_that_was_never_prepared) {
    const qdq_plan zeros{};
    float x = 1;
    int8_t y = 0x5a;
    EXPECT_EQ(qdq_run(&zeros, &x, &y, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(y, 0x5a);
}

TEST(Run, rejects_null_data) {
    const tensor_memory x = floats(QDQ_F32, {7}), scale = scales({}), y(QDQ_I8, {7});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize(&plan, &c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(qdq_run(&plan, nullptr, c_y.data, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find(": x"), std::string::npos) << qdq_last_error();
    EXPECT_EQ(qdq_run(&plan, c_x.data, nullptr, nullptr), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find(": y"), std::string::npos) << qdq_last_error();
}

TEST(Run, rejects_a_stream_on_the_cpu) {
    const tensor_memory x = floats(QDQ_F32, {7}), scale = scales({}), y(QDQ_I8, {7}), before = y;
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_quantize(&plan, &c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    int not_a_stream = 0;
    EXPECT_EQ(qdq_run(&plan, c_x.data, c_y.data, &not_a_stream), QDQ_INVALID_ARGUMENT);
    EXPECT_NE(std::string(qdq_last_error()).find("stream"), std::string::npos) << qdq_last_error();
    EXPECT_TRUE(before == y);
}

}  // namespace
}  // namespace api_test

// Scales in the orders of tensor cores, there and back, and what is refused.
#include "call.h"

#include "reference/scales.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace api_test {
namespace {

constexpr qdq_scale_layout layouts[] = {QDQ_SCALES_TILED_128X4, QDQ_SCALES_COLUMN_WORDS};

// Codes that tell their place.
tensor_memory numbered(const dimensions &shape, const dimensions &strides = {}, qdq_dtype type = QDQ_E8M0) {
    tensor_memory scale(type, shape, strides);
    scale.fill([](int64_t i) { return static_cast<uint32_t>(1 + i * 37 % 253); });
    return scale;
}

std::vector<uint8_t> expected_bytes(const tensor_memory &scale, int64_t matrices, int64_t rows, int64_t columns,
                                    qdq_scale_layout layout) {
    const int64_t each = reference::arranged_bytes(layout, rows, columns);
    std::vector<uint8_t> bytes(static_cast<size_t>(matrices * each));
    const std::vector<uint32_t> codes = scale.codes();
    for (int64_t i = 0; i < matrices * rows * columns; i++) {
        const int64_t place = reference::arranged_place(layout, rows, columns, i / columns % rows, i % columns);
        bytes[static_cast<size_t>(i / (rows * columns) * each + place)] =
            static_cast<uint8_t>(codes[static_cast<size_t>(i)]);
    }
    return bytes;
}

class ScaleLayouts : public Api {};

TEST_F(ScaleLayouts, are_the_oracles_and_come_back) {
    for (const qdq_scale_layout layout : layouts) {
        for (const int64_t rows : {1, 3, 31, 32, 33, 127, 128, 129, 300}) {
            for (const int64_t columns : {1, 3, 4, 5, 9, 64}) {
                for (const bool is_transposed : {false, true}) {
                    SCOPED_TRACE(std::to_string(layout) + ": " + std::to_string(rows) + " x " +
                                 std::to_string(columns) + (is_transposed ? ", column-major" : ""));
                    const dimensions shape{2, rows, columns};
                    const tensor_memory scale =
                        numbered(shape, is_transposed ? dimensions{rows * columns, 1, rows} : dimensions{});
                    const qdq_tensor of_scale = scale.view();
                    const int64_t each = qdq_arranged_bytes(layout, rows, columns);
                    ASSERT_EQ(each, reference::arranged_bytes(layout, rows, columns));
                    std::vector<uint8_t> arranged(static_cast<size_t>(2 * each), 0xee);
                    ASSERT_EQ(qdq_arrange_scales(&of_scale, layout, arranged.data(), 2 * each), QDQ_OK)
                        << qdq_last_error();
                    EXPECT_EQ(arranged, expected_bytes(scale, 2, rows, columns, layout));
                    tensor_memory back(QDQ_E8M0, shape,
                                       is_transposed ? dimensions{rows * columns, 1, rows} : dimensions{});
                    const qdq_tensor of_back = back.view();
                    ASSERT_EQ(qdq_restore_scales(arranged.data(), 2 * each, layout, &of_back), QDQ_OK)
                        << qdq_last_error();
                    EXPECT_TRUE(same_bytes(scale, back));
                }
            }
        }
    }
}

// The first rows of a tile are 16 bytes apart; cuBLAS's documentation has them so.
TEST_F(ScaleLayouts, tiles_by_hand) {
    const tensor_memory scale = numbered({128, 8});
    const qdq_tensor of_scale = scale.view();
    std::vector<uint8_t> arranged(1024);
    ASSERT_EQ(qdq_arrange_scales(&of_scale, QDQ_SCALES_TILED_128X4, arranged.data(), 1024), QDQ_OK);
    const auto code = [&](int64_t row, int64_t column) { return scale.codes()[static_cast<size_t>(row * 8 + column)]; };
    EXPECT_EQ(arranged[16], code(1, 0));
    EXPECT_EQ(arranged[4], code(32, 0));
    EXPECT_EQ(arranged[15], code(96, 3));
    EXPECT_EQ(arranged[512], code(0, 4));
}

TEST_F(ScaleLayouts, scales_are_computed_by_columns) {
    const tensor_memory x = floats(QDQ_F32, {40, 96});
    tensor_memory rows(QDQ_E8M0, {40, 3}), columns(QDQ_E8M0, {40, 3}, {1, 40}), y(QDQ_F8E4M3, {40, 96});
    const qdq_tensor of_x = x.view(), of_rows = rows.view(), of_columns = columns.view(), of_y = y.view();
    const qdq_scale_options how{.rule = QDQ_SCALE_POWER_ROUND_UP};
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_rows, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
    const tensor_memory by_rows = y;
    ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_columns, nullptr, &of_y, &how, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(rows.codes(), columns.codes());
    EXPECT_TRUE(same_bytes(by_rows, y));
}

TEST_F(ScaleLayouts, no_scales_take_no_bytes) {
    const tensor_memory scale(QDQ_E8M0, {0, 4});
    const qdq_tensor of_scale = scale.view();
    EXPECT_EQ(qdq_arrange_scales(&of_scale, QDQ_SCALES_TILED_128X4, nullptr, 0), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(qdq_arranged_bytes(QDQ_SCALES_TILED_128X4, -1, 4), 0);
    EXPECT_EQ(qdq_arranged_bytes(static_cast<qdq_scale_layout>(2), 4, 4), 0);
}

struct stored_call {
    const char *name;
    qdq_dtype codes, scale;
    int64_t block;
    qdq_global_sense sense;
};

constexpr stored_call formats[] = {{"MXFP8", QDQ_F8E4M3, QDQ_E8M0, 32, QDQ_GLOBAL_NONE},
                                   {"MXFP6", QDQ_F6E2M3, QDQ_E8M0, 32, QDQ_GLOBAL_NONE},
                                   {"MXFP4", QDQ_F4E2M1, QDQ_E8M0, 32, QDQ_GLOBAL_NONE},
                                   {"NVFP4", QDQ_F4E2M1, QDQ_F8E4M3, 16, QDQ_GLOBAL_SCALE},
                                   {"NVFP4, inverse", QDQ_F4E2M1, QDQ_F8E4M3, 16, QDQ_GLOBAL_INVERSE}};

class StoredScales : public Api {};

void expect_both_ways(const stored_call &format, const dimensions &shape, const qdq_options &options) {
    dimensions scale_shape = shape;
    scale_shape.back() = (shape.back() + format.block - 1) / format.block;
    const tensor_memory by_rows = numbered(scale_shape, {}, format.scale);
    for (const qdq_scale_layout layout : layouts) {
        qdq_options how = options;
        how.axis = -1;
        how.block_size = format.block;
        how.scale_is_arranged = 1;
        how.scale_layout = layout;
        const tensor_memory scale = arranged(by_rows, layout);
        SCOPED_TRACE(std::string(format.name) + ", layout " + std::to_string(layout) + ", " +
                     testing::PrintToString(shape));
        expect_reference_result(direction::dequantize, stored(format.codes, shape), scale, nullptr,
                                tensor_memory(QDQ_BF16, shape), how);
        expect_reference_result(direction::quantize, floats(QDQ_F32, shape), scale, nullptr,
                                tensor_memory(format.codes, shape), how);
    }
}

TEST_F(StoredScales, of_consumers_formats_give_what_the_oracle_gives) {
    const float global = 1.0f / 3;
    for (const stored_call &format : formats) {
        qdq_options options{};
        options.global_sense = format.sense;
        options.global_scale = format.sense == QDQ_GLOBAL_NONE ? nullptr : &global;
        for (const dimensions &shape : {dimensions{1, 32}, {130, 64}, {3, 129, 4096}, {5, 48}, {2, 3, 5, 100}}) {
            expect_both_ways(format, shape, options);
        }
    }
}

// A scale of one element is at the beginning of a tile; one for each row, or of two-dimensional blocks, is a matrix,
// too.
TEST_F(StoredScales, may_be_any_matrix) {
    for (const dimensions &scale_shape : {dimensions{1, 1}, {300, 1}, {1, 7}, {3, 4}, {300, 7}}) {
        for (const qdq_scale_layout layout : layouts) {
            qdq_options options{};
            options.scale_is_arranged = 1;
            options.scale_layout = layout;
            SCOPED_TRACE(testing::PrintToString(scale_shape) + ", layout " + std::to_string(layout));
            expect_both_ways({300, 7}, {}, {}, arranged(numbered(scale_shape), layout), nullptr, options);
            expect_both_ways({300, 7}, {1, 300}, {7, 1}, arranged(numbered(scale_shape), layout), nullptr, options);
        }
    }
}

// In runs of elements, of which each has one scale.
TEST_F(StoredScales, may_be_a_matrix_of_long_blocks_that_are_rounded_stochastically) {
    for (const qdq_scale_layout layout : layouts) {
        qdq_options options{};
        options.scale_is_arranged = 1;
        options.scale_layout = layout;
        options.rounding = QDQ_STOCHASTIC;
        expect_both_ways({5, 4096}, {}, {}, arranged(numbered({5, 2}), layout), nullptr, options);
    }
}

// Whatever the other scales are; also f32 ones, which kernels else read where they lie.
TEST_F(StoredScales, have_a_global_one_of_any_value) {
    for (const float global : {3.0f, 1.0f / 3, 0.0f, -2.0f, 0x1p-149f, std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::quiet_NaN()}) {
        for (const qdq_global_sense sense : {QDQ_GLOBAL_SCALE, QDQ_GLOBAL_INVERSE}) {
            qdq_options options{};
            options.global_sense = sense;
            options.global_scale = &global;
            SCOPED_TRACE(std::to_string(global) + ", sense " + std::to_string(sense));
            for (const dimensions &scale_shape : {dimensions{}, {4}, {1, 256}, {4, 1}, {4, 8}}) {
                expect_both_ways({4, 256}, {}, {}, scales(scale_shape), nullptr, options);
            }
            expect_both_ways({4, 256}, {}, {}, floats(QDQ_BF16, {4, 8}), nullptr, options);
        }
    }
}

TEST_F(StoredScales, a_plan_reads_the_global_one_when_it_runs) {
    const tensor_memory codes = stored(QDQ_I8, {2, 64}), scale = scales({2, 1});
    tensor_memory y(QDQ_F32, {2, 64}), twice(QDQ_F32, {2, 64});
    const qdq_tensor of_codes = codes.view(), of_scale = scale.view(), of_y = y.view(), of_twice = twice.view();
    float global = 1;
    qdq_options options{};
    options.global_sense = QDQ_GLOBAL_SCALE;
    options.global_scale = &global;
    qdq_plan plan;
    ASSERT_EQ(qdq_plan_dequantize(&plan, &of_codes, &of_scale, nullptr, &of_y, &options), QDQ_OK) << qdq_last_error();
    ASSERT_EQ(qdq_run(&plan, of_codes.data, of_y.data, nullptr), QDQ_OK);
    global = 2;
    ASSERT_EQ(qdq_run(&plan, of_codes.data, of_twice.data, nullptr), QDQ_OK);
    for (int64_t i = 0; i < 128; i++) {
        ASSERT_EQ(2 * static_cast<const float *>(of_y.data)[i], static_cast<const float *>(of_twice.data)[i]);
    }
}

// The same call twice: the second may be one that is kept, of other options.
TEST_F(StoredScales, are_not_taken_from_a_call_without_them) {
    float x[64] = {2}, scale = 1, global = 2;
    int8_t y[64];
    const int64_t shape[] = {64};
    const qdq_tensor of_x{x, QDQ_F32, 1, shape, nullptr, {}}, of_scale{&scale, QDQ_F32, 0, nullptr, nullptr, {}},
        of_y{y, QDQ_I8, 1, shape, nullptr, {}};
    qdq_options options{};
    ASSERT_EQ(qdq_quantize(&of_x, &of_scale, nullptr, &of_y, &options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(y[0], 2);
    options.global_scale = &global;
    EXPECT_EQ(qdq_quantize(&of_x, &of_scale, nullptr, &of_y, &options), QDQ_INVALID_ARGUMENT);
    options.global_sense = QDQ_GLOBAL_SCALE;
    for (const float value : {2.0f, 4.0f}) {
        global = value;
        ASSERT_EQ(qdq_quantize(&of_x, &of_scale, nullptr, &of_y, &options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(y[0], value == 2 ? 1 : 0);
    }
}

struct stored_arguments {
    tensor_memory x = stored(QDQ_F8E4M3, {4, 64}), scale = arranged(numbered({4, 2}), QDQ_SCALES_TILED_128X4);
    tensor_memory y{QDQ_F32, {4, 64}};
    qdq_tensor of_x = x.view(), of_scale = scale.view(), of_y = y.view();
    qdq_options options{};
    float global = 1;
};

template<typename Change>
void expect_storage_refused(const std::string &message, Change change, qdq_status status = QDQ_INVALID_ARGUMENT) {
    stored_arguments c;
    c.options.scale_is_arranged = 1;
    change(c);
    const tensor_memory before = c.y;
    EXPECT_EQ(qdq_dequantize(&c.of_x, &c.of_scale, nullptr, &c.of_y, &c.options), status) << message;
    EXPECT_EQ(qdq_last_error(), "qdq_dequantize: " + message);
    qdq_plan plan;
    EXPECT_EQ(qdq_plan_dequantize(&plan, &c.of_x, &c.of_scale, nullptr, &c.of_y, &c.options), status) << message;
    EXPECT_EQ(qdq_last_error(), "qdq_plan_dequantize: " + message);
    EXPECT_EQ(c.y, before);
}

TEST_F(StoredScales, what_is_wrong_is_refused) {
    using call = stored_arguments;
    expect_storage_refused("options: scale_is_arranged 2 is not in 0..1",
                           [](call &c) { c.options.scale_is_arranged = 2; });
    expect_storage_refused("options: scale_layout 2 is not in 0..1",
                           [](call &c) { set_raw(c.options.scale_layout, 2); });
    expect_storage_refused("scale: it is arranged, and its type, bf16, is neither e8m0 nor f8e4m3",
                           [](call &c) { c.of_scale.dtype = QDQ_BF16; });
    expect_storage_refused("scale: it is arranged, and its rank, 1, is below 2: it has no rows and columns",
                           [](call &c) { c.of_scale.rank = 1; });
    static constexpr int64_t dense[] = {2, 1};
    expect_storage_refused("scale: it is arranged, and has strides", [](call &c) { c.of_scale.strides = dense; });
    expect_storage_refused("y: it overlaps scale",
                           [](call &c) { c.of_scale.data = static_cast<std::byte *>(c.of_y.data) - 511; });
    expect_storage_refused("scale: its elements reach past the address space",
                           [](call &c) { c.of_scale.data = reinterpret_cast<void *>(UINTPTR_MAX - 510); });
    expect_storage_refused("options: global_sense 3 is not in 0..2",
                           [](call &c) { set_raw(c.options.global_sense, 3); });
    expect_storage_refused("options: global_scale is NULL, and global_sense is 2",
                           [](call &c) { c.options.global_sense = QDQ_GLOBAL_INVERSE; });
    expect_storage_refused("options: global_scale is not NULL, and global_sense is 0",
                           [](call &c) { c.options.global_scale = &c.global; });
    expect_storage_refused("y: it overlaps global_scale", [](call &c) {
        c.options.global_sense = QDQ_GLOBAL_SCALE;
        c.options.global_scale = static_cast<float *>(c.of_y.data) + 255;
    });
}

// All that is around a call's own bytes may be the caller's: y ends where the scales begin.
TEST_F(StoredScales, lie_beside_y) {
    stored_arguments c;
    c.options.scale_is_arranged = 1;
    std::vector<std::byte> memory(512 + 4 * 256);
    std::memcpy(memory.data() + 1024, c.of_scale.data, 512);
    c.of_y.data = memory.data();
    c.of_scale.data = memory.data() + 1024;
    EXPECT_EQ(qdq_dequantize(&c.of_x, &c.of_scale, nullptr, &c.of_y, &c.options), QDQ_OK) << qdq_last_error();
}

struct refusable {
    tensor_memory scale = numbered({3, 5});
    qdq_tensor of_scale = scale.view();
    std::vector<uint8_t> arranged = std::vector<uint8_t>(1024, 0xee);
    void *at = arranged.data();
    int layout = QDQ_SCALES_TILED_128X4;  // which sanitizers load whatever it is
    int64_t bytes = 1024;

    qdq_scale_layout its_layout() const { return static_cast<qdq_scale_layout>(layout); }
};

template<typename Change>
void expect_refused(const std::string &message, Change change, qdq_status status = QDQ_INVALID_ARGUMENT) {
    refusable c;
    change(c);
    const std::vector<uint8_t> before = c.arranged;
    const tensor_memory scale_before = c.scale;
    EXPECT_EQ(qdq_arrange_scales(&c.of_scale, c.its_layout(), c.at, c.bytes), status) << message;
    EXPECT_EQ(qdq_last_error(), "qdq_arrange_scales: " + message);
    EXPECT_EQ(qdq_restore_scales(c.at, c.bytes, c.its_layout(), &c.of_scale), status) << message;
    EXPECT_EQ(qdq_last_error(), "qdq_restore_scales: " + message);
    EXPECT_EQ(c.arranged, before);
    EXPECT_EQ(c.scale, scale_before);
}

TEST_F(ScaleLayouts, what_is_wrong_is_refused) {
    expect_refused("scale: its type is neither e8m0 nor f8e4m3", [](refusable &c) { c.of_scale.dtype = QDQ_F32; });
    expect_refused("scale: rank 1 is not in 2..8: its last dimensions are a matrix",
                   [](refusable &c) { c.of_scale.rank = 1; });
    expect_refused("scale: shape is NULL", [](refusable &c) { c.of_scale.shape = nullptr; });
    expect_refused("scale: shape[1] is -1, below 0", [](refusable &c) {
        static constexpr int64_t other[] = {3, -1};
        c.of_scale.shape = other;
    });
    expect_refused("scale: shape and strides reach past the address space", [](refusable &c) {
        static constexpr int64_t other[] = {3, int64_t{1} << 62};
        c.of_scale.strides = other;
    });
    expect_refused("arranged: 1024 bytes, and the scales take 9223372036854775807", [](refusable &c) {
        static constexpr int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 30}, none[] = {0, 0};
        c.of_scale.shape = huge;
        c.of_scale.strides = none;
    });
    expect_refused("layout: 2 is no qdq_scale_layout", [](refusable &c) { c.layout = 2; });
    expect_refused("arranged: 1023 bytes, and the scales take 1024", [](refusable &c) { c.bytes = 1023; });
    expect_refused("arranged: 1024 bytes, and the scales take 32",
                   [](refusable &c) { c.layout = QDQ_SCALES_COLUMN_WORDS; });
    expect_refused("arranged: NULL", [](refusable &c) { c.at = nullptr; });
    expect_refused("scale: data is NULL", [](refusable &c) { c.of_scale.data = nullptr; });
    expect_refused("scale: it overlaps arranged", [](refusable &c) { c.of_scale.data = c.arranged.data() + 1023; });
    expect_refused(
        "scale: it is on a device, and scales are arranged on the host alone",
        [](refusable &c) { c.of_scale.device.kind = QDQ_DEVICE_CUDA; }, QDQ_UNSUPPORTED);
    EXPECT_EQ(qdq_arrange_scales(nullptr, QDQ_SCALES_TILED_128X4, nullptr, 0), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_arrange_scales: scale: NULL");
    refusable c;
    static constexpr int64_t none[] = {0, 0};
    c.of_scale.strides = none;
    EXPECT_EQ(qdq_arrange_scales(&c.of_scale, c.its_layout(), c.at, c.bytes), QDQ_OK)
        << "one scale, read again and again";
    EXPECT_EQ(qdq_restore_scales(c.at, c.bytes, c.its_layout(), &c.of_scale), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_restore_scales: scale: its strides make elements overlap one another");
}

}  // namespace
}  // namespace api_test

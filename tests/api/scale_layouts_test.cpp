// Scales in the orders of tensor cores, there and back, and what is refused.
#include "call.h"

#include "reference/scales.h"

#include <string>

namespace api_test {
namespace {

constexpr qdq_scale_layout layouts[] = {QDQ_SCALES_TILED_128X4, QDQ_SCALES_COLUMN_WORDS};

// Codes that tell their place.
tensor_memory numbered(const dimensions &shape, const dimensions &strides = {}) {
    tensor_memory scale(QDQ_E8M0, shape, strides);
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

struct refusable {
    tensor_memory scale = numbered({3, 5});
    qdq_tensor of_scale = scale.view();
    std::vector<uint8_t> arranged = std::vector<uint8_t>(1024, 0xee);
    void *at = arranged.data();
    qdq_scale_layout layout = QDQ_SCALES_TILED_128X4;
    int64_t bytes = 1024;
};

template<typename Change>
void expect_refused(const std::string &message, Change change, qdq_status status = QDQ_INVALID_ARGUMENT) {
    refusable c;
    change(c);
    const std::vector<uint8_t> before = c.arranged;
    const tensor_memory scale_before = c.scale;
    EXPECT_EQ(qdq_arrange_scales(&c.of_scale, c.layout, c.at, c.bytes), status) << message;
    EXPECT_EQ(qdq_last_error(), "qdq_arrange_scales: " + message);
    EXPECT_EQ(qdq_restore_scales(c.at, c.bytes, c.layout, &c.of_scale), status) << message;
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
    expect_refused("layout: 2 is no qdq_scale_layout", [](refusable &c) { set_raw(c.layout, 2); });
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
    EXPECT_EQ(qdq_arrange_scales(&c.of_scale, c.layout, c.at, c.bytes), QDQ_OK) << "one scale, read again and again";
    EXPECT_EQ(qdq_restore_scales(c.at, c.bytes, c.layout, &c.of_scale), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_restore_scales: scale: its strides make elements overlap one another");
}

}  // namespace
}  // namespace api_test

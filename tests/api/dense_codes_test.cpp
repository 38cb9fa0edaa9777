// Codes of 6 bits, four in three bytes.
#include "call.h"

#include "support/targets.h"

#include <string>

namespace api_test {
namespace {

constexpr qdq_dtype types[] = {QDQ_F6E2M3, QDQ_F6E3M2};

tensor_memory dense_of(const tensor_memory &codes) {
    const qdq_tensor view = codes.view();
    tensor_memory dense = tensor_memory::dense(view.dtype, dimensions(view.shape, view.shape + view.rank));
    const std::vector<uint32_t> values = codes.codes();
    dense.fill([&](int64_t i) { return values[static_cast<size_t>(i)] & 0x3f; });
    reference::clear_padding(dense.view(), QDQ_DENSE);
    return dense;
}

struct layout {
    dimensions shape, strides, scale_shape, block_shape;
};

void expect_both_ways(const layout &l, qdq_dtype type, qdq_options options = {}) {
    SCOPED_TRACE(testing::PrintToString(l.shape) + ", strides " + testing::PrintToString(l.strides) + ", scale " +
                 testing::PrintToString(l.scale_shape));
    options.packing = QDQ_DENSE;
    options.block_shape = l.block_shape.empty() ? nullptr : l.block_shape.data();
    expect_reference_result(direction::quantize, floats(QDQ_F32, l.shape, l.strides), scales(l.scale_shape), nullptr,
                            tensor_memory::dense(type, l.shape), options);
    expect_reference_result(direction::dequantize, dense_of(stored(type, l.shape)), scales(l.scale_shape), nullptr,
                            tensor_memory(QDQ_BF16, l.shape, l.strides), options);
}

class DenseCodes : public Api {};

TEST_F(DenseCodes, are_a_stream_of_bits) {
    const float x[5] = {0.125f, 0.25f, 0.375f, 0.5f, -7.5f};  // 1, 2, 3, 4 and 63
    const float one = 1;
    uint8_t y[5] = {99, 99, 99, 99, 99};
    const int64_t shape[] = {5};
    const qdq_tensor of_x{const_cast<float *>(x), QDQ_F32, 1, shape, nullptr, {}},
        of_one{const_cast<float *>(&one), QDQ_F32, 0, nullptr, nullptr, {}}, of_y{y, QDQ_F6E2M3, 1, shape, nullptr, {}};
    qdq_options options{};
    options.packing = QDQ_DENSE;
    ASSERT_EQ(qdq_quantize(&of_x, &of_one, nullptr, &of_y, &options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(std::vector<uint8_t>(y, y + 5), (std::vector<uint8_t>{0x81, 0x30, 0x10, 0x3f, 99}));
    float back[5];
    const qdq_tensor of_back{back, QDQ_F32, 1, shape, nullptr, {}};
    ASSERT_EQ(qdq_dequantize(&of_y, &of_one, nullptr, &of_back, &options), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(std::vector<float>(back, back + 5), std::vector<float>(x, x + 5));
}

TEST_F(DenseCodes, of_every_length_are_the_oracles) {
    test_support::for_each_target([](const std::string &) {
        for (int64_t length = 0; length < 150; length++) {
            expect_both_ways({{length}, {}, {}, {}}, types[length % 2]);
        }
    });
}

// Rows that end within a byte, blocks that cut them, any strides of the floats, and runs of many elements.
TEST_F(DenseCodes, of_any_layout_are_the_oracles) {
    test_support::for_each_target([](const std::string &) {
        for (const int threads : {1, 3}) {
            qdq_set_num_threads(threads);
            for (const layout &l : {layout{{}, {}, {}, {}},
                                    {{7, 13}, {}, {7, 1}, {}},
                                    {{7, 13}, {1, 7}, {1, 13}, {}},
                                    {{7, 13}, {-13, -1}, {3, 5}, {3, 3}},
                                    {{3, 5, 2049}, {1, 3, 15}, {3, 1, 65}, {1, 5, 32}},
                                    {{6, 4096}, {}, {6, 128}, {}},
                                    {{2, 3, 4, 5, 6, 7}, {}, {}, {}},
                                    {{701, 1001}, {}, {701, 1}, {}},
                                    {{700, 1000}, {}, {700, 1}, {}}}) {
                expect_both_ways(l, types[threads % 2]);
            }
        }
    });
}

TEST_F(DenseCodes, have_no_strides) {
    tensor_memory dense = dense_of(stored(QDQ_F6E2M3, {2, 6})), y(QDQ_F32, {2, 6}), expected = y;
    const tensor_memory one = scales({});
    qdq_tensor of_x = dense.view();
    const qdq_tensor of_y = y.view(), of_expected = expected.view(), of_one = one.view();
    qdq_options options{};
    options.packing = QDQ_DENSE;
    ASSERT_EQ(qdq_dequantize(&of_x, &of_one, nullptr, &of_expected, &options), QDQ_OK) << qdq_last_error();
    static constexpr int64_t strides[] = {100, 7};
    of_x.strides = strides;
    ASSERT_EQ(qdq_dequantize(&of_x, &of_one, nullptr, &of_y, &options), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(same_bytes(expected, y));
}

TEST_F(DenseCodes, of_a_dynamic_call_are_those_by_its_scales) {
    for (const dimensions &shape : {dimensions{5, 96}, {3, 37}, {2, 300000}}) {
        const tensor_memory x = floats(QDQ_F32, shape);
        const int64_t blocks = (shape[1] + 31) / 32;
        tensor_memory scale(QDQ_E8M0, {shape[0], blocks}), codes(QDQ_F6E3M2, shape),
            dense = tensor_memory::dense(QDQ_F6E3M2, shape), other_scale = scale;
        const qdq_tensor of_x = x.view(), of_scale = scale.view(), of_codes = codes.view(), of_dense = dense.view(),
                         of_other = other_scale.view();
        qdq_scale_options how{.rule = QDQ_SCALE_POWER_FLOOR};
        qdq_options options{};
        options.axis = 1;
        options.block_size = 32;
        for (const int candidates : {1, 3}) {
            how.clip_ratio_count = candidates;
            how.last_clip_ratio = candidates == 1 ? 0.0f : 0.5f;
            options.packing = QDQ_LOW_FIRST;
            ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_scale, nullptr, &of_codes, &how, &options), QDQ_OK)
                << qdq_last_error();
            options.packing = QDQ_DENSE;
            ASSERT_EQ(qdq_quantize_dynamic(&of_x, &of_other, nullptr, &of_dense, &how, &options), QDQ_OK)
                << qdq_last_error();
            EXPECT_TRUE(same_bytes(scale, other_scale));
            EXPECT_TRUE(same_bytes(dense_of(codes), dense));
        }
    }
}

struct refusable {
    tensor_memory x = floats(QDQ_F32, {8}), y = tensor_memory::dense(QDQ_F6E2M3, {8}), scale = scales({});
    qdq_tensor of_x = x.view(), of_y = y.view(), of_scale = scale.view();
    qdq_options options{};
};

template<typename Change>
void expect_refused(const std::string &message, Change change, qdq_status status = QDQ_INVALID_ARGUMENT) {
    refusable c;
    c.options.packing = QDQ_DENSE;
    change(c);
    const tensor_memory before = c.y;
    EXPECT_EQ(qdq_quantize(&c.of_x, &c.of_scale, nullptr, &c.of_y, &c.options), status) << message;
    EXPECT_EQ(qdq_last_error(), "qdq_quantize: " + message);
    EXPECT_EQ(c.y, before);
}

TEST_F(DenseCodes, that_are_wrong_are_refused) {
    expect_refused("options: packing 3 is of f6e2m3 and f6e3m2, not i8", [](refusable &c) { c.of_y.dtype = QDQ_I8; });
    expect_refused("options: packing 3 is of f6e2m3 and f6e3m2, not f4e2m1",
                   [](refusable &c) { c.of_y.dtype = QDQ_F4E2M1; });
    expect_refused("options: packing 4 is not in 0..3", [](refusable &c) { set_raw(c.options.packing, 4); });
    expect_refused(
        "options: packing 3: it is for tensors on the host, and it does not round stochastically",
        [](refusable &c) { c.options.rounding = QDQ_STOCHASTIC; }, QDQ_UNSUPPORTED);
    expect_refused("y: it overlaps scale",
                   [](refusable &c) { c.of_scale.data = static_cast<std::byte *>(c.of_y.data) + 5; });
    refusable c;
    c.options.packing = QDQ_DENSE;
    c.of_scale.data = static_cast<std::byte *>(c.of_y.data) + 6;  // 6 bytes are y's
    EXPECT_EQ(qdq_quantize(&c.of_x, &c.of_scale, nullptr, &c.of_y, &c.options), QDQ_OK) << qdq_last_error();
}

TEST_F(DenseCodes, are_neither_transcoded_nor_diagnosed) {
    refusable c;
    const tensor_memory codes = stored(QDQ_F6E3M2, {8});
    const qdq_tensor of_codes = codes.view();
    qdq_options plain{};
    c.options.packing = QDQ_DENSE;
    EXPECT_EQ(qdq_transcode(&of_codes, &c.of_scale, nullptr, &plain, &c.of_y, &c.of_scale, nullptr, &c.options),
              QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_transcode, quantizing y: options: codes of packing 3 are not transcoded");
    EXPECT_EQ(qdq_transcode(&c.of_y, &c.of_scale, nullptr, &c.options, &of_codes, &c.of_scale, nullptr, &plain),
              QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_transcode, dequantizing x: options: codes of packing 3 are not transcoded");
    qdq_diagnostics met{};
    const qdq_scale_options how{.diagnostics = &met};
    EXPECT_EQ(qdq_quantize_dynamic(&c.of_x, &c.of_scale, nullptr, &c.of_y, &how, &c.options), QDQ_UNSUPPORTED);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_dynamic: how: diagnostics are not of codes of packing 3");
}

}  // namespace
}  // namespace api_test

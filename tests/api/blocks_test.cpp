// Calls on ggml's blocks: any shapes and strides, threads, sizes past the caches, and what is refused.
#include "call.h"
#include "expected_blocks.h"

#include "support/block_formats.h"
#include "support/inputs.h"
#include "support/targets.h"

#include <qdq/blocks.hpp>

#include <gmock/gmock.h>

#include <span>
#include <string>

namespace api_test {
namespace {

using test_support::named_format;

tensor_memory numbers(const dimensions &shape, const dimensions &strides = {}) {
    tensor_memory x(QDQ_F32, shape, strides);
    test_support::random_bits drawn(7);
    x.fill([&](int64_t) { return 0x3f000000 + (drawn.next32() & 0x80ffffff); });
    return x;
}

// There and back, with these strides of the floats and of the blocks; gaps stay as they are.
void expect_both_ways(const dimensions &shape, const dimensions &strides, const dimensions &block_strides,
                      std::span<const named_format> formats = test_support::block_formats) {
    for (const auto &[format, name] : formats) {
        SCOPED_TRACE(name);
        const tensor_memory x = numbers(shape, strides), y(QDQ_U8, shape_of_blocks(shape, format), block_strides);
        const tensor_memory expected = expected_blocks(x, format, y), back(QDQ_F32, shape, strides);
        const qdq_tensor c_x = x.view(), c_y = y.view(), c_back = back.view();
        ASSERT_EQ(qdq_quantize_blocks(&c_x, &c_y, format), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(same_bytes(expected, y));
        const tensor_memory expected_back = expected_values(y, format, back);
        ASSERT_EQ(qdq_dequantize_blocks(&c_y, &c_back, format), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(same_bytes(expected_back, back));
    }
}

class Blocks : public Api {};

TEST_F(Blocks, lie_along_the_last_of_any_dimensions) {
    for (const dimensions &shape : {dimensions{32}, {2048}, {3, 64}, {5, 1, 96}, {2, 3, 4, 32}, {70, 32}, {3, 2112}}) {
        expect_both_ways(shape, {}, {});
    }
    expect_both_ways({2, 1, 2, 1, 3, 1, 2, 64}, {}, {});
}

TEST_F(Blocks, have_any_strides) {
    constexpr int64_t row = 2 * 34 + 3;
    expect_both_ways({9, 64}, {70, 1}, {});
    expect_both_ways({9, 64}, {}, {row, 1});
    expect_both_ways({9, 64}, {1, 9}, {1, 9});
    expect_both_ways({9, 64}, {-64, 1}, {row, 1});
    expect_both_ways({9, 64}, {128, 2}, {-2 * row, -2});
    expect_both_ways({70, 3, 32}, {32, 32 * 70, 1}, {});
    expect_both_ways({3, 70, 32}, {32, 96, 1}, {34, 102, 1});
    expect_both_ways({2, 3, 4160}, {4160, 2 * 4160, 1}, {});
    expect_both_ways({3, 5, 7, 64}, {64, 3 * 64, 15 * 64, 1}, {});
}

TEST_F(Blocks, of_rows_that_are_the_same_memory) {
    const tensor_memory x = numbers({1, 64});
    const int64_t shape[] = {40, 64}, strides[] = {0, 1};
    qdq_tensor c_x = x.view();
    c_x.shape = shape;
    c_x.strides = strides;
    const tensor_memory y(QDQ_U8, {40, 68});
    const qdq_tensor c_y = y.view();
    ASSERT_EQ(qdq_quantize_blocks(&c_x, &c_y, QDQ_Q8_0), QDQ_OK) << qdq_last_error();
    tensor_memory row(QDQ_U8, {1, 68});
    const std::vector<uint32_t> expected = expected_blocks(x, QDQ_Q8_0, row).codes(), actual = y.codes();
    for (size_t i = 0; i < actual.size(); i++) {
        ASSERT_EQ(actual[i], expected[i % 68]) << i;
    }
}

// Larger than the caches, so that values go past them, split over threads.
TEST_F(Blocks, are_the_same_on_any_number_of_threads) {
    test_support::for_each_target([](const std::string &) {
        for (const int threads : {1, 3}) {
            qdq_set_num_threads(threads);
            expect_both_ways({3, 32 * 40000}, {}, {}, std::span(test_support::block_formats).first(1));
        }
    });
}

TEST_F(Blocks, by_the_cpp_interface) {
    constexpr auto format = qdq::block_format::mxfp4;
    std::vector<float> x(64, -0.5f), back(64);
    x[3] = x[35] = 4;
    EXPECT_EQ(qdq::block_bytes(format), 17);
    std::vector<std::uint8_t> blocks(34);
    ASSERT_TRUE(qdq::quantize_blocks(x, blocks, format));
    ASSERT_TRUE(qdq::dequantize_blocks(blocks, back, format));
    EXPECT_EQ(back, x);
    const qdq::result wrong = qdq::quantize_blocks(x, blocks, qdq::block_format::q8_0);
    EXPECT_FALSE(wrong);
    EXPECT_THAT(wrong.message(), testing::HasSubstr("y: shape[0] is 34"));
    EXPECT_FALSE(qdq::quantize_blocks({x, {65}}, blocks, format));  // more than there are
}

TEST_F(Blocks, have_a_size) {
    for (const auto &[format, name] : test_support::block_formats) {
        EXPECT_EQ(qdq_block_bytes(format), reference::bytes_of(format)) << name;
    }
    for (const int wrong : {-1, static_cast<int>(std::ssize(test_support::block_formats)), 1 << 30}) {
        qdq_block_format format;
        set_raw(format, wrong);
        EXPECT_EQ(qdq_block_bytes(format), 0);
    }
}

TEST_F(Blocks, without_elements_are_nothing) {
    const int64_t none[] = {0, 64}, no_bytes[] = {0, 68};
    const qdq_tensor x{nullptr, QDQ_F32, 2, none, nullptr, {}}, y{nullptr, QDQ_U8, 2, no_bytes, nullptr, {}};
    EXPECT_EQ(qdq_quantize_blocks(&x, &y, QDQ_Q8_0), QDQ_OK);
    EXPECT_EQ(qdq_dequantize_blocks(&y, &x, QDQ_Q8_0), QDQ_OK);
}

// 3 rows of 2 blocks of Q8_0.
class RefusedBlocks : public Api {
protected:
    const tensor_memory floats = numbers({3, 64}), blocks{QDQ_U8, {3, 68}};
    const tensor_memory before = blocks;
    qdq_tensor x = floats.view(), y = blocks.view();

    void expect_refused(qdq_status status, const char *message, qdq_block_format format = QDQ_Q8_0) {
        EXPECT_EQ(qdq_quantize_blocks(&x, &y, format), status);
        EXPECT_THAT(qdq_last_error(), testing::HasSubstr(message));
        EXPECT_EQ(blocks, before);
        x = floats.view();
        y = blocks.view();
    }
    void expect_invalid(const char *message) { expect_refused(QDQ_INVALID_ARGUMENT, message); }
};

TEST_F(RefusedBlocks, of_other_types) {
    x.dtype = QDQ_I8;
    expect_invalid("qdq_quantize_blocks: x: its type is none of f32, f16 and bf16");
    y.dtype = QDQ_I8;
    expect_invalid("qdq_quantize_blocks: y: its type is not u8");
    set_raw(x.dtype, -1);
    expect_invalid("x: its type is none");
    set_raw(y.dtype, 77);
    expect_invalid("y: its type is not u8");
    EXPECT_EQ(qdq_dequantize_blocks(&x, &y, QDQ_Q8_0), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_dequantize_blocks: y: its type is none of f32, f16 and bf16");
}

TEST_F(RefusedBlocks, of_no_format) {
    for (const int wrong : {-1, static_cast<int>(std::ssize(test_support::block_formats))}) {
        qdq_block_format format;
        set_raw(format, wrong);
        expect_refused(QDQ_INVALID_ARGUMENT, "format: ", format);
    }
}

TEST_F(RefusedBlocks, of_other_shapes) {
    const int64_t wrong[] = {3, 65}, fewer[] = {3, 67}, rows[] = {2, 68}, negative[] = {-3, 64};
    x.shape = wrong;
    expect_invalid("x: shape[1] is 65, no multiple of 32, the elements of a block");
    y.shape = fewer;
    expect_invalid("y: shape[1] is 67, and 68 is what x's 64 asks for");
    y.shape = rows;
    expect_invalid("y: shape[0] is 2, and 3 is what x's 3 asks for");
    x.shape = negative;
    expect_invalid("x: shape[0] is -3, below 0");
    x.shape = nullptr;
    expect_invalid("x: shape is NULL");
    for (const int rank : {0, 9, -1}) {
        x.rank = rank;
        expect_invalid("is not in 1..8");
    }
    x.rank = 1;
    x.shape = wrong + 1;
    expect_invalid("y: rank 2 is not x's, 1");
}

TEST_F(RefusedBlocks, memory_that_is_not_theirs) {
    y.data = x.data;
    expect_invalid("y: it overlaps x");
    x.data = nullptr;
    expect_invalid("x: data is NULL");
    y.data = nullptr;
    expect_invalid("y: data is NULL");
    const int64_t same[] = {0, 1}, far[] = {int64_t{1} << 62, 1};
    y.strides = same;
    expect_invalid("y: its strides make elements overlap one another");
    x.strides = far;
    expect_invalid("x: shape and strides reach past the address space");
    EXPECT_EQ(qdq_quantize_blocks(nullptr, &y, QDQ_Q8_0), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_blocks: x: NULL");
    EXPECT_EQ(qdq_quantize_blocks(&x, nullptr, QDQ_Q8_0), QDQ_INVALID_ARGUMENT);
    EXPECT_STREQ(qdq_last_error(), "qdq_quantize_blocks: y: NULL");
}

TEST_F(RefusedBlocks, on_a_device) {
    x.device.kind = QDQ_DEVICE_CUDA;
    expect_refused(QDQ_UNSUPPORTED, "x: it is on a device");
    y.device.kind = QDQ_DEVICE_OPENCL;
    expect_refused(QDQ_UNSUPPORTED, "y: it is on a device");
}

}  // namespace
}  // namespace api_test

// Results too large for the caches, in rows that are no whole vectors, pieces or cache lines: y is written past the
// caches, and x ends where a page that cannot be read begins.
#include "call.h"

#include "support/fenced_memory.h"
#include "support/targets.h"
#include "support/thinning.h"

namespace api_test {
namespace {

using test_support::fenced_memory;
using test_support::flush;

struct pair {
    direction way;
    qdq_dtype from, to;
};

std::string name_of(const pair &types) {
    return std::string(reference::name_of(types.from)) + "_to_" + reference::name_of(types.to);
}

class NonTemporalRows : public testing::TestWithParam<pair> {
protected:
    void TearDown() override { test_support::restore_defaults(); }

    // 20 MiB of x and y.
    static int64_t rows_of(int64_t columns) {
        const int64_t bits = reference::bits_of(GetParam().from) + reference::bits_of(GetParam().to);
        return (int64_t{160} << 20) / (bits * columns);
    }

    static void expect_result(int64_t columns, bool scale_per_row) {
        const auto [way, from, to] = GetParam();
        const dimensions shape{rows_of(columns), columns};
        const tensor_memory x = way == direction::quantize ? floats(from, shape) : stored(from, shape);
        const tensor_memory scale = scales(scale_per_row ? dimensions{shape[0], 1} : dimensions{});
        const tensor_memory expected(to, shape);
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view();
        qdq_options options{};
        options.stores = QDQ_STORES_NONTEMPORAL;
        call_reference({way, &c_x, &c_scale, nullptr, &c_expected, &options});
        const int64_t x_bytes = bytes_of(c_x), y_bytes = bytes_of(c_expected);
        fenced_memory x_memory(x_bytes), y_memory(y_bytes + 64);
        qdq_tensor fenced_x = c_x, y = c_expected;
        fenced_x.data = x_memory.place(x_bytes, flush::trailing);
        std::memcpy(fenced_x.data, c_x.data, static_cast<size_t>(x_bytes));
        test_support::for_each_target([&](const std::string &) {
            y.data =
                y_memory.place(y_bytes, flush::trailing, columns % 2);  // at the guard page, or off a line by a byte
            ASSERT_EQ(call({way, &fenced_x, &c_scale, nullptr, &y, &options}), QDQ_OK) << qdq_last_error();
            EXPECT_EQ(std::memcmp(y.data, c_expected.data, static_cast<size_t>(y_bytes)), 0) << columns << " columns";
            EXPECT_TRUE(y_memory.surroundings_intact()) << columns << " columns";
        });
    }

    static int64_t bytes_of(const qdq_tensor &t) {
        return (reference::element_count(t) * reference::bits_of(t.dtype) + 7) / 8;
    }
};

INSTANTIATE_TEST_SUITE_P(
    , NonTemporalRows,
    testing::Values(pair{direction::quantize, QDQ_F32, QDQ_I8}, pair{direction::quantize, QDQ_F16, QDQ_F8E4M3},
                    pair{direction::quantize, QDQ_BF16, QDQ_I32}, pair{direction::quantize, QDQ_F32, QDQ_I4},
                    pair{direction::quantize, QDQ_F32, QDQ_U2}, pair{direction::dequantize, QDQ_I8, QDQ_F32},
                    pair{direction::dequantize, QDQ_F8E5M2, QDQ_BF16}, pair{direction::dequantize, QDQ_I4, QDQ_F16},
                    pair{direction::dequantize, QDQ_I2, QDQ_F32}),
    [](const auto &info) { return name_of(info.param); });

// Where nothing need be moved.
TEST_P(NonTemporalRows, rows_of_whole_cache_lines) { expect_result(512, true); }

// Shorter than a piece and than two, and longer; a column fewer and more than whole groups.
TEST_P(NonTemporalRows, rows_of_a_few_columns_more_or_fewer_than_whole_groups) {
    const bool packed = reference::is_packed(GetParam().from) || reference::is_packed(GetParam().to);
    expect_result(packed ? 510 : 511, true);
    expect_result(packed ? 510 : 511, false);
    if (test_support::thinning() == 1) {
        expect_result(packed ? 514 : 513, true);
        expect_result(packed ? 1086 : 1087, false);
        expect_result(packed ? 1042 : 1043, true);
    }
}

// Rows of x that are apart, few and many to a piece: y is dense, and x ends where the last row does.
TEST_P(NonTemporalRows, rows_that_are_apart) {
    const auto [way, from, to] = GetParam();
    for (const int64_t columns : {64, 192, 512, 1088, 2112}) {
        for (const dimensions &scale_shape : {dimensions{}, dimensions{11, 1}, dimensions{1, columns}}) {
            const dimensions shape{11, columns}, strides{columns + 64, 1};
            const dimensions whole{11, strides[0]};
            const tensor_memory x = way == direction::quantize ? floats(from, whole) : stored(from, whole);
            const tensor_memory scale = scales(scale_shape), expected(to, shape);
            qdq_tensor c_x = x.view();
            c_x.shape = shape.data();
            c_x.strides = strides.data();
            const qdq_tensor c_scale = scale.view(), c_expected = expected.view();
            qdq_options options{};
            options.stores = QDQ_STORES_NONTEMPORAL;
            call_reference({way, &c_x, &c_scale, nullptr, &c_expected, &options});
            const int64_t x_bytes = (10 * strides[0] + columns) * reference::bits_of(from) / 8;
            const int64_t y_bytes = bytes_of(c_expected);
            fenced_memory x_memory(x_bytes), y_memory(y_bytes);
            const void *const data = c_x.data;
            c_x.data = x_memory.place(x_bytes, flush::trailing);
            std::memcpy(c_x.data, data, static_cast<size_t>(x_bytes));
            qdq_tensor y = c_expected;
            test_support::for_each_target([&](const std::string &) {
                y.data = y_memory.place(y_bytes, flush::leading);
                ASSERT_EQ(call({way, &c_x, &c_scale, nullptr, &y, &options}), QDQ_OK) << qdq_last_error();
                EXPECT_EQ(std::memcmp(y.data, c_expected.data, static_cast<size_t>(y_bytes)), 0)
                    << columns << " columns";
                EXPECT_TRUE(y_memory.surroundings_intact()) << columns << " columns";
            });
        }
    }
}

// Long rows, all of which begin as far from a cache line, or each another way: where kernels store past the caches,
// what lies before the line and after the last group goes another way.
TEST_P(NonTemporalRows, rows_that_begin_within_a_cache_line) {
    const auto [way, from, to] = GetParam();
    constexpr int64_t rows = 3, columns = 8232, block = 32;
    struct scales_of {
        dimensions shape;
        int64_t block_size = 0;
    };
    for (const int64_t pitch : {columns, columns / 128 * 128 + 128}) {
        for (const auto &[scale_shape, block_size] :
             {scales_of{{}}, {{rows, 1}}, {{1, columns}}, {{rows, (columns + block - 1) / block}, block}}) {
            const dimensions shape{rows, columns}, strides{pitch, 1};
            const tensor_memory x = way == direction::quantize ? floats(from, shape) : stored(from, shape);
            const tensor_memory scale = scales(scale_shape), expected(to, shape, strides);
            const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view();
            const qdq_options options{.axis = -1, .block_size = block_size, .stores = QDQ_STORES_NONTEMPORAL};
            call_reference({way, &c_x, &c_scale, nullptr, &c_expected, &options});
            const int64_t bits = reference::bits_of(to), y_bytes = ((rows - 1) * pitch + columns) * bits / 8;
            fenced_memory y_memory(y_bytes + 64);
            qdq_tensor y = c_expected;
            test_support::for_each_target([&](const std::string &target) {
                for (const int64_t past_line : {0, 1, 16, 60}) {
                    y.data = y_memory.place(y_bytes, flush::leading, past_line);
                    ASSERT_EQ(call({way, &c_x, &c_scale, nullptr, &y, &options}), QDQ_OK) << qdq_last_error();
                    for (int64_t row = 0; row < rows; row++) {
                        const auto row_of = [&](const qdq_tensor &t) {
                            return static_cast<const char *>(t.data) + row * pitch * bits / 8;
                        };
                        EXPECT_EQ(std::memcmp(row_of(y), row_of(c_expected), static_cast<size_t>(columns * bits / 8)),
                                  0)
                            << target << ", rows of " << pitch << ", past a line by " << past_line;
                    }
                    EXPECT_TRUE(y_memory.surroundings_intact());
                }
            });
        }
    }
}

// Few enough codes to be asked for in every order, with y at a cache line, where kernels store past the caches
// themselves.
TEST(NonTemporalCodes, are_read_in_their_order_and_to_the_end_of_a_row) {
    for (const qdq_packing packing : {QDQ_LOW_FIRST, QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
        for (const qdq_dtype to : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
            for (const int64_t columns : {64, 96, 1000, 1024}) {
                if (packing == QDQ_SPLIT_HALVES && columns % 32 != 0) {
                    continue;  // there are no such rows
                }
                const int64_t rows = columns % 64 == 0 ? 2 : 1;
                const dimensions shape{rows, columns};
                const tensor_memory x = stored(QDQ_I4, shape), scale = scales({rows, 1}), expected(to, shape);
                const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view();
                qdq_options options{};
                options.packing = packing;
                options.stores = QDQ_STORES_NONTEMPORAL;
                call_reference({direction::dequantize, &c_x, &c_scale, nullptr, &c_expected, &options});
                const int64_t y_bytes = rows * columns * reference::bits_of(to) / 8;
                fenced_memory y_memory(y_bytes);
                qdq_tensor y = c_expected;
                test_support::for_each_target([&](const std::string &) {
                    y.data = y_memory.place(y_bytes, flush::leading);
                    ASSERT_EQ(call({direction::dequantize, &c_x, &c_scale, nullptr, &y, &options}), QDQ_OK);
                    EXPECT_EQ(std::memcmp(y.data, c_expected.data, static_cast<size_t>(y_bytes)), 0)
                        << columns << " columns, packing " << packing << ", to " << reference::name_of(to);
                    EXPECT_TRUE(y_memory.surroundings_intact());
                });
            }
        }
    }
}

}  // namespace
}  // namespace api_test

// Calls of more than 16 MiB, whose results leave the caches past them, split over threads: every operand lies against a
// page that may not be touched, first on one side, then on the other.
#include "call.h"
#include "support/fenced_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace api_test {
namespace {

using test_support::fenced_memory;
using test_support::flush;

constexpr int64_t longest_gap = 64;

// A dense tensor against a fence, or that many bytes away from it.
class fenced_tensor {
public:
    explicit fenced_tensor(const tensor_memory &contents)
        : contents(contents), bytes(dense_bytes(contents.view())), memory(bytes + longest_gap) {}

    qdq_tensor view(flush side, int64_t gap = 0) {
        qdq_tensor t = contents.view();
        const void *from = t.data;
        t.data = memory.place(bytes, side, gap);
        std::memcpy(t.data, from, static_cast<size_t>(bytes));
        return t;
    }
    bool holds(const tensor_memory &expected, const qdq_tensor &t) const {
        return memory.surroundings_intact() &&
               std::memcmp(t.data, expected.view().data, static_cast<size_t>(bytes)) == 0;
    }

private:
    static int64_t dense_bytes(const qdq_tensor &t) {
        return (reference::element_count(t) * reference::bits_of(t.dtype) + 7) / 8;
    }

    const tensor_memory &contents;
    int64_t bytes;
    fenced_memory memory;
};

// Rows of a dense matrix, each in pages of its own, whose begin or end it lies against. The pages between may not be
// touched.
class fenced_rows {
public:
    fenced_rows(const tensor_memory &contents, flush side)
        : of_(contents.view()), row_bytes_(of_.shape[1] * reference::bits_of(of_.dtype) / 8), rows_(of_.shape[0]) {
        const int64_t own = (row_bytes_ + page_ - 1) / page_ * page_, pitch = own + page_;
        bytes_ = static_cast<size_t>(rows_ * pitch);
        void *const memory = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        mapping_ = static_cast<uint8_t *>(memory);
        first_ = mapping_ + (side == flush::leading ? 0 : own - row_bytes_);
        strides_ = {pitch * 8 / reference::bits_of(of_.dtype), 1};
        for (int64_t i = 0; i < rows_; i++) {
            EXPECT_EQ(mprotect(mapping_ + i * pitch, static_cast<size_t>(own), PROT_READ | PROT_WRITE), 0);
            std::memcpy(first_ + i * pitch, row(of_, i), static_cast<size_t>(row_bytes_));
        }
    }
    ~fenced_rows() { munmap(mapping_, bytes_); }
    fenced_rows(const fenced_rows &) = delete;

    qdq_tensor view() const { return {first_, of_.dtype, 2, of_.shape, strides_.data(), {}}; }

private:
    const int64_t page_ = sysconf(_SC_PAGESIZE);
    qdq_tensor of_;
    int64_t row_bytes_, rows_;
    size_t bytes_;
    uint8_t *mapping_, *first_;
    dimensions strides_;

    const uint8_t *row(const qdq_tensor &t, int64_t i) const {
        return static_cast<const uint8_t *>(t.data) + i * row_bytes_;
    }
};

class Fenced : public Api {
protected:
    // `x` may be transposed, if it fills its memory.
    static void expect_reference_result(direction way, const tensor_memory &x, const tensor_memory &scale,
                                        const tensor_memory &zero_point, const tensor_memory &y, int64_t y_gap) {
        SCOPED_TRACE(name_of(way) + " " + reference::name_of(x.view().dtype) + " to " +
                     reference::name_of(y.view().dtype) + ", scale " +
                     testing::PrintToString(dimensions(scale.view().shape, scale.view().shape + scale.view().rank)));
        const bool shifts = reference::is_integer(way == direction::quantize ? y.view().dtype : x.view().dtype);
        tensor_memory expected = y;
        const qdq_tensor x_view = x.view(), scale_view = scale.view(), z_view = zero_point.view(),
                         y_view = expected.view();
        call_reference({way, &x_view, &scale_view, shifts ? &z_view : nullptr, &y_view, nullptr});

        fenced_tensor fenced_x(x), fenced_scale(scale), fenced_z(zero_point), fenced_y(y);
        for (const flush side : {flush::leading, flush::trailing}) {
            const qdq_tensor c_x = fenced_x.view(side), c_scale = fenced_scale.view(side), c_z = fenced_z.view(side);
            for (const int32_t threads : {1, 2, 3, 8}) {
                qdq_set_num_threads(threads);
                const qdq_tensor c_y = fenced_y.view(side, y_gap);
                ASSERT_EQ(call({way, &c_x, &c_scale, shifts ? &c_z : nullptr, &c_y, nullptr}), QDQ_OK)
                    << qdq_last_error();
                EXPECT_TRUE(fenced_y.holds(expected, c_y))
                    << threads << " threads" << (side == flush::leading ? ", leading" : ", trailing");
            }
            EXPECT_TRUE(fenced_x.holds(x, c_x) && fenced_scale.holds(scale, c_scale) &&
                        fenced_z.holds(zero_point, c_z));
        }
    }

    static void expect_both_ways(qdq_dtype floating, qdq_dtype codes, const dimensions &shape, const dimensions &scale,
                                 const dimensions &x_strides = {}, int64_t y_gap = 0) {
        const tensor_memory zero = zero_points(QDQ_I32, scale);
        expect_reference_result(direction::quantize, floats(floating, shape, x_strides), scales(scale), zero,
                                tensor_memory(codes, shape), y_gap);
        expect_reference_result(direction::dequantize,
                                stored(codes, shape, reference::is_packed(codes) ? dimensions{} : x_strides),
                                scales(scale), zero, tensor_memory(floating, shape), y_gap);
    }
};

// No vector, line, page, tile or part of a thread divides these.
const dimensions flat{3700013}, wide{1031, 3701}, tall{480001, 9};

TEST_F(Fenced, dense) { expect_both_ways(QDQ_F32, QDQ_I8, flat, {}); }

TEST_F(Fenced, rows_and_columns) {
    expect_both_ways(QDQ_F32, QDQ_I8, wide, {1031, 1});
    expect_both_ways(QDQ_F32, QDQ_U8, wide, {1, 3701});
    expect_both_ways(QDQ_F32, QDQ_I8, tall, {480001, 1});
}

// As in most allocated memory. Rows of whole groups, so that kernels could take the scales where they lie.
TEST_F(Fenced, y_that_begins_within_a_cache_line) {
    for (qdq_dtype codes : {QDQ_I8, QDQ_I32, QDQ_I4}) {
        expect_both_ways(QDQ_F32, codes, {1031, 3712}, {1, 3712}, {}, 16);
    }
}

TEST_F(Fenced, blocks) {
    expect_both_ways(QDQ_F32, QDQ_F8E4M3, wide, {1031, 116});
    expect_both_ways(QDQ_BF16, QDQ_I32, wide, {9, 40});
}

// Of float codes, which have no zero point, as one kernel call; and a table of results for some of the 18 blocks, or
// their products, by the targets that have those.
TEST_F(Fenced, a_few_scales_where_they_lie_on_every_target) {
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) == 0 || qdq_target_device(i) != QDQ_DEVICE_HOST) {
            continue;
        }
        ASSERT_EQ(qdq_force_target(qdq_target_name(i)), QDQ_OK);
        for (qdq_dtype codes : {QDQ_F4E2M1, QDQ_F8E4M3}) {
            expect_both_ways(QDQ_BF16, codes, {9, 64}, {9, 2});
            expect_both_ways(QDQ_BF16, codes, {9, 64}, {9, 1});
            expect_both_ways(QDQ_BF16, codes, {9, 48}, {9, 3});
            expect_both_ways(QDQ_BF16, codes, {9, 64}, {9, 8});
            expect_both_ways(QDQ_BF16, codes, {9, 64}, {9, 32});
            expect_both_ways(QDQ_F32, codes, {9, 192}, {1, 192});
            expect_both_ways(QDQ_F32, codes, {3, 704}, {3, 22});
        }
    }
    qdq_force_target(nullptr);
}

TEST_F(Fenced, packed_rows_of_odd_length) {
    expect_both_ways(QDQ_F32, QDQ_I4, wide, {1031, 1});
    expect_both_ways(QDQ_F32, QDQ_I2, wide, {1031, 1});
    expect_both_ways(QDQ_F32, QDQ_F4E2M1, tall, {});
    expect_both_ways(QDQ_F32, QDQ_I4, {2, 255}, {2, 1});  // the last row begins within a byte, and ends with one
    expect_both_ways(QDQ_F32, QDQ_I2, {4, 255}, {4, 1});
}

// Whose operands are shared by rows, or by blocks of them, which tiles pad to whole groups.
TEST_F(Fenced, rows_of_x_that_have_no_memory_between_them) {
    for (const auto &[way, from, to] :
         {std::tuple(direction::quantize, QDQ_F32, QDQ_I8), std::tuple(direction::quantize, QDQ_BF16, QDQ_I4),
          std::tuple(direction::dequantize, QDQ_I8, QDQ_F32)}) {
        const dimensions shape{9, 1000};
        const tensor_memory x = way == direction::quantize ? floats(from, shape) : stored(from, shape);
        for (const dimensions &blocks : {dimensions{9, 32}, dimensions{9, 1}, dimensions{1, 1000}}) {
            SCOPED_TRACE(name_of(way) + " to " + reference::name_of(to) + ", scale " + testing::PrintToString(blocks));
            const tensor_memory scale = scales(blocks), expected(to, shape), actual(to, shape);
            const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view(),
                             c_actual = actual.view();
            qdq_options options{};
            options.axis = 1;
            options.block_size = blocks == dimensions{9, 32} ? 32 : 0;
            call_reference({way, &c_x, &c_scale, nullptr, &c_expected, &options});
            for (const flush side : {flush::leading, flush::trailing}) {
                const fenced_rows rows(x, side);
                const qdq_tensor c_rows = rows.view();
                ASSERT_EQ(call({way, &c_rows, &c_scale, nullptr, &c_actual, &options}), QDQ_OK) << qdq_last_error();
                EXPECT_TRUE(same_bytes(expected, actual));
            }
        }
    }
}

TEST_F(Fenced, transposed) { expect_both_ways(QDQ_F32, QDQ_I8, {1931, 1933}, {1931, 1}, {1, 1931}); }

}  // namespace
}  // namespace api_test

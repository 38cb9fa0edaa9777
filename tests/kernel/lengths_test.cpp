// Every length to four 64-element groups and one more, at every misalignment, against guard pages.
#include "operand.h"

#include "conformance/storage.h"
#include "conformance/supported.h"
#include "reference/dequantize.h"
#include "reference/quantize.h"
#include "support/compare.h"
#include "support/fenced_memory.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "support/thinning.h"
#include "support/view.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace kernel_test {
namespace {

using test_support::fenced_memory;
using test_support::flush;
using test_support::KernelTest;
using test_support::view;

constexpr int64_t longest = 4 * 64 + 1;
constexpr int64_t misalignments = 64;  // in bytes
constexpr int64_t rows = 3;

// How the scale meets a [rows, length] x.
struct form {
    const char *name;
    bool has_zero_point;
    int64_t block;  // along the last axis: 0 is one scale per tensor, -1 one for each row, otherwise a block's length
};

constexpr form forms[] = {
    {"per_tensor", false, 0}, {"per_tensor_with_zero_point", true, 0},
    {"row", false, -1},       {"row_with_zero_point", true, -1},
    {"column", false, 1},     {"column_with_zero_point", true, 1},
    {"block_16", false, 16},  {"block_16_with_zero_point", true, 16},
    {"block_32", false, 32},  {"block_32_with_zero_point", true, 32},
    {"block_48", false, 48},  {"block_48_with_zero_point", true, 48},
    {"block_5", false, 5},    {"block_5_with_zero_point", true, 5},
};

// A call whose operands all lie in fenced memory.
class fenced_call {
public:
    fenced_call(const form &f, int64_t length, qdq_dtype x_type, qdq_dtype y_type, qdq_dtype zero_point_type)
        : form_(f), shape_{rows, length}, x_type_(x_type), y_type_(y_type), zero_point_type_(zero_point_type) {
        if (f.block == -1) {
            scale_shape_ = {rows, 1};
        }
        if (f.block == 1) {
            scale_shape_ = {1, length};  // a channel for each column
        }
        if (f.block > 1) {
            scale_shape_ = {rows, (length + f.block - 1) / f.block};
            options_.block_size = f.block;
        }
        options_.axis = 1;
        fill_inputs();
        expected_.assign(static_cast<size_t>(bytes_for(y_type, product(shape_))), 0);
    }

    template<typename Oracle> void compute_expected(Oracle &&oracle) {
        const view x(x_bytes_.data(), x_type_, shape_);
        const view y(expected_.data(), y_type_, shape_);
        const view scale(scale_bytes_.data(), QDQ_F32, scale_shape_);
        const view zero_point(zero_point_bytes_.data(), zero_point_type_, scale_shape_);
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        oracle(x.tensor(), scale.tensor(), form_.has_zero_point ? &zero_point_tensor : nullptr, y.tensor(), &options_);
    }

    template<typename Function>
    testing::AssertionResult run(Function &&function, flush side, int64_t x_gap, int64_t y_gap) {
        const void *x_data = placed(x_memory_, x_bytes_, side, x_gap);
        const void *scale_data = placed(scale_memory_, scale_bytes_, side, 0);
        const void *zero_point_data = placed(zero_point_memory_, zero_point_bytes_, side, 0);
        void *y_data = y_memory_.place(static_cast<int64_t>(expected_.size()), side, y_gap);
        const view x(x_data, x_type_, shape_);
        const view y(y_data, y_type_, shape_);
        const view scale(scale_data, QDQ_F32, scale_shape_);
        const view zero_point(zero_point_data, zero_point_type_, scale_shape_);
        const qdq_tensor x_tensor = x.tensor();
        const qdq_tensor y_tensor = y.tensor();
        const qdq_tensor scale_tensor = scale.tensor();
        const qdq_tensor zero_point_tensor = zero_point.tensor();
        const qdq_tensor *zero_point_or_null = form_.has_zero_point ? &zero_point_tensor : nullptr;
        if (function(&x_tensor, &scale_tensor, zero_point_or_null, &y_tensor, &options_) != QDQ_OK) {
            return testing::AssertionFailure() << qdq_last_error();
        }
        if (!y_memory_.surroundings_intact()) {
            return testing::AssertionFailure() << "wrote outside y";
        }
        return test_support::same_codes(y_type_, expected_.data(), y_data, product(shape_), [&](int64_t i) {
            return "x " + std::to_string(i / shape_[1]) + "," + std::to_string(i % shape_[1]);
        });
    }

private:
    void fill_inputs() {
        test_support::random_bits random(17);
        static const std::vector<float> floats = test_support::tricky_floats(0.1f, QDQ_DIVIDE, 0, 1);
        const bool is_float = x_type_ == QDQ_F32 || x_type_ == QDQ_F16 || x_type_ == QDQ_BF16;
        storage x(x_type_, shape_);
        for (int64_t i = 0; i < product(shape_); ++i) {
            const double value = static_cast<double>(floats[static_cast<size_t>(random.below(std::ssize(floats)))]);
            x.set_code(i, is_float ? operand::encode(x_type_, value) : random.next32());
        }
        storage scale(QDQ_F32, scale_shape_);
        storage zero_point(zero_point_type_, scale_shape_);
        for (int64_t i = 0; i < product(scale_shape_); ++i) {
            scale.set_code(i, std::bit_cast<uint32_t>(0.1f + 0.003f * static_cast<float>(i)));
            zero_point.set_code(i, static_cast<uint32_t>(i * 7 % 23 + 3));  // not 0, which lies past x
        }
        x_bytes_.assign(x.bytes(), x.bytes() + bytes_for(x_type_, product(shape_)));
        scale_bytes_.assign(scale.bytes(), scale.bytes() + bytes_for(QDQ_F32, product(scale_shape_)));
        zero_point_bytes_.assign(zero_point.bytes(),
                                 zero_point.bytes() + bytes_for(zero_point_type_, product(scale_shape_)));
    }

    static const void *placed(fenced_memory &memory, const std::vector<uint8_t> &bytes, flush side, int64_t gap) {
        void *data = memory.place(static_cast<int64_t>(bytes.size()), side, gap);
        if (!bytes.empty()) {
            std::memcpy(data, bytes.data(), bytes.size());
        }
        return data;
    }

    static constexpr int64_t capacity = rows * longest * 4 + misalignments;

    form form_;
    dimensions shape_;
    dimensions scale_shape_;
    qdq_dtype x_type_;
    qdq_dtype y_type_;
    qdq_dtype zero_point_type_;
    qdq_options options_{};
    std::vector<uint8_t> x_bytes_;
    std::vector<uint8_t> scale_bytes_;
    std::vector<uint8_t> zero_point_bytes_;
    std::vector<uint8_t> expected_;
    fenced_memory x_memory_{capacity};
    fenced_memory scale_memory_{capacity};
    fenced_memory zero_point_memory_{capacity};
    fenced_memory y_memory_{capacity};
};

// A multiple of the element's size below `misalignments`.
int64_t gap_for(qdq_dtype type, int64_t step) {
    const int64_t size = reference::is_packed(type) ? 1 : reference::bits_of(type) / 8;
    return step * size % misalignments;
}

class LengthsTest : public KernelTest {
protected:
    template<typename Function>
    void compare_placements(fenced_call &call, Function &&function, qdq_dtype x_type, qdq_dtype y_type, int64_t length,
                            const char *form_name) {
        for (flush side : {flush::trailing, flush::leading}) {
            for (int64_t step = 0; step < misalignments; ++step) {
                if (!test_support::is_taken(step + length, 4)) {
                    continue;
                }
                // The factor and the length make x meet every misalignment of y.
                const int64_t x_gap = step == 0 ? 0 : gap_for(x_type, 5 * step + length);
                const int64_t y_gap = gap_for(y_type, step);
                ASSERT_TRUE(call.run(function, side, x_gap, y_gap))
                    << form_name << ", length " << length << ", x " << x_gap << " and y " << y_gap << " bytes from the "
                    << (side == flush::leading ? "leading" : "trailing") << " guard";
            }
        }
    }

    qdq_dtype zero_point_type() const {
        return reference::is_integer(stored()) && !reference::is_packed(stored()) ? stored() : QDQ_I32;
    }
    bool applies(const form &f) const { return !f.has_zero_point || reference::is_integer(stored()); }
};

TEST_P(LengthsTest, quantize_stays_inside_its_operands_at_every_length_and_misalignment) {
    for (const form &f : forms) {
        if (!applies(f)) {
            continue;
        }
        for (int64_t length = 0; length <= longest; ++length) {
            fenced_call call(f, length, QDQ_F32, stored(), zero_point_type());
            call.compute_expected(reference::quantize);
            ASSERT_NO_FATAL_FAILURE(compare_placements(call, qdq_quantize, QDQ_F32, stored(), length, f.name));
        }
    }
}

TEST_P(LengthsTest, dequantize_stays_inside_its_operands_at_every_length_and_misalignment) {
    for (const form &f : forms) {
        if (!applies(f)) {
            continue;
        }
        for (int64_t length = 0; length <= longest; ++length) {
            fenced_call call(f, length, stored(), QDQ_F32, zero_point_type());
            call.compute_expected(reference::dequantize);
            ASSERT_NO_FATAL_FAILURE(compare_placements(call, qdq_dequantize, stored(), QDQ_F32, length, f.name));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, LengthsTest, testing::ValuesIn(test_support::every_kernel(supported::stored_types)),
                         test_support::name_of_case);

}  // namespace
}  // namespace kernel_test

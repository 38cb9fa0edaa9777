// Kernels that are written by hand, and those whose stores bypass the caches, give the results of the generated ones
// whose place they take, and the table holds them.
#include "handwritten_kernels.h"  // generated from the manifest

#include "HalideRuntime.h"
#include "element_types.h"
#include "forms.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "variants.h"

#include <qdq/link/kernels.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#define DECLARED(target, row, form, op, float_type, stored_type, blocks, file) \
    extern "C" qdq_##op##_kernel qdq_##target##_##row##_##form, qdq_##target##_##row##_##form##_by_hand;
QDQ_HANDWRITTEN_KERNELS(DECLARED)
#define DECLARED_NONTEMPORAL(target, row, form, op, float_type, stored_type, blocks, file) \
    extern "C" qdq_##op##_kernel qdq_##target##_##row##_##form, qdq_##target##_##row##_##form##_nontemporal;
QDQ_NONTEMPORAL_KERNELS(DECLARED_NONTEMPORAL)

namespace {

using qdq::kernels::dequantize_variant;
using qdq::kernels::element_type;
using qdq::kernels::form;
using qdq::kernels::group_size;
using qdq::kernels::quantize_variant;
using qdq::kernels::type_of;

// Kernels of either operation.
struct kernel {
    qdq_quantize_kernel *quantize = nullptr;
    qdq_dequantize_kernel *dequantize = nullptr;

    explicit kernel(qdq_quantize_kernel *function) : quantize(function) {}
    explicit kernel(qdq_dequantize_kernel *function) : dequantize(function) {}
    bool operator==(const kernel &) const = default;
};

struct handwritten {
    const char *target, *row;
    form its_form;
    qdq_dtype float_type, stored_type;
    int64_t blocks;
    bool nontemporal;
    kernel by_hand, generated;

    bool quantizes() const { return by_hand.quantize != nullptr; }
    const element_type &x() const { return type_of(quantizes() ? float_type : stored_type); }
    const element_type &y() const { return type_of(quantizes() ? stored_type : float_type); }
};

std::ostream &operator<<(std::ostream &out, const handwritten &k) { return out << k.target << " " << k.row; }

const std::vector<handwritten> &all_kernels() {
#define ENTRY(target, row, form_, float_type, stored_type, blocks, nontemporal, suffix) \
    {#target,                                                                           \
     #row,                                                                              \
     form::form_,                                                                       \
     float_type,                                                                        \
     stored_type,                                                                       \
     blocks,                                                                            \
     nontemporal,                                                                       \
     kernel(qdq_##target##_##row##_##form_##suffix),                                    \
     kernel(qdq_##target##_##row##_##form_)},
#define ROW(target, row, form, op, float_type, stored_type, blocks, file) \
    ENTRY(target, row, form, float_type, stored_type, blocks, false, _by_hand)
#define NONTEMPORAL_ROW(target, row, form, op, float_type, stored_type, blocks, file) \
    ENTRY(target, row, form, float_type, stored_type, blocks, true, _nontemporal)
    static const std::vector<handwritten> all{QDQ_HANDWRITTEN_KERNELS(ROW) QDQ_NONTEMPORAL_KERNELS(NONTEMPORAL_ROW)};
    return all;
}

std::string name_of(const testing::TestParamInfo<handwritten> &info) {
    const handwritten &k = info.param;
    const char *form_names[] = {"row", "column", "block"};
    return std::string(k.target) + "_" + k.row + "_" + form_names[int(k.its_form)] +
           (k.nontemporal ? "_nontemporal" : "");
}

int64_t bytes_of(const element_type &type, int64_t count) { return count * type.bits / 8; }

halide_type_t halide_type(const element_type &type) {
    const auto bits = static_cast<uint8_t>(std::max(type.bits, 8));
    return type.dtype == QDQ_BF16               ? halide_type_t{halide_type_bfloat, bits, 1}
           : type.is_float() && type.bits >= 16 ? halide_type_t{halide_type_float, bits, 1}
           : type.is_signed() && type.bits >= 8 ? halide_type_t{halide_type_int, bits, 1}
                                                : halide_type_t{halide_type_uint, bits, 1};
}

// What kernels take: see kernels/forms.h.
struct layout {
    int64_t columns, rows;
    int64_t operand_step;  // from one row's to the next one's
    int64_t block;         // of the block form
    int64_t gap = 64;      // elements between rows; below 0 they overlap
};

struct operands {
    std::vector<float> scale, inverse;
    std::vector<int32_t> zero_point;
};

// What variants take: kernels/variants.h.
struct variant_case {
    const char *name;
    int32_t variant;
    std::vector<float> scales, offsets;
    int32_t narrowed_by = 0;  // how far the range's ends are from the type's, at most
    qdq_rounding rounding = QDQ_NEAREST_EVEN;
    bool adds_before_rounding = false, no_saturate = false;
};

// A call with memory around y.
class kernel_call {
public:
    static constexpr int64_t around = 64;  // bytes

    kernel_call(const handwritten &k, const layout &how, uint64_t seed) : k(k), how(how) {
        test_support::random_bits random(seed);
        x.resize(static_cast<size_t>(bytes_of_rows(k.x())));
        for (uint8_t &byte : x) {
            byte = static_cast<uint8_t>(random.next32());
        }
    }

    // y is as far from a cache line's begin.
    std::vector<uint8_t> run(const kernel &function, const operands &with, int64_t block, const variant_case &v,
                             int64_t past_line) {
        const int64_t bytes = bytes_of_rows(k.y());
        std::vector<uint8_t> memory(static_cast<size_t>(bytes + 3 * around), 0xa5);
        const int64_t to_line = -reinterpret_cast<intptr_t>(memory.data()) & 63;
        uint8_t *const y = memory.data() + to_line + past_line;
        const auto operand_count = static_cast<int32_t>(k.its_form == form::row ? how.rows : how.columns / block);
        const auto step = static_cast<int32_t>(k.its_form == form::row ? how.operand_step : 1);
        halide_dimension_t x_shape[2], y_shape[2], operand_shape[1] = {{0, operand_count, step, 0}};
        halide_buffer_t x_buffer = rows_at(x.data(), k.x(), x_shape), y_buffer = rows_at(y, k.y(), y_shape);
        halide_buffer_t scale = operand_at(with.scale.data(), {halide_type_float, 32, 1}, operand_shape);
        halide_buffer_t inverse = operand_at(with.inverse.data(), {halide_type_float, 32, 1}, operand_shape);
        halide_buffer_t zero_point = operand_at(with.zero_point.data(), {halide_type_int, 32, 1}, operand_shape);
        if (k.quantizes()) {
            const auto lowest = int32_t(k.y().lowest()), highest = int32_t(k.y().highest());
            const int32_t narrowed_by = std::min(v.narrowed_by, (highest - lowest) / 2);
            EXPECT_EQ(
                function.quantize(&x_buffer, &scale, &inverse, &zero_point, v.variant, v.adds_before_rounding,
                                  v.rounding, lowest + narrowed_by, highest - narrowed_by, v.no_saturate, &y_buffer),
                0);
        } else {
            EXPECT_EQ(function.dequantize(&x_buffer, &scale, &zero_point, v.variant, 1, &y_buffer), 0);
        }
        return {memory.begin() + to_line, memory.begin() + to_line + 2 * around + bytes};
    }

private:
    const handwritten &k;
    const layout how;
    std::vector<uint8_t> x;

    int64_t pitch_of(const element_type &type) const { return bytes_of(type, how.columns + how.gap); }
    int64_t bytes_of_rows(const element_type &type) const {
        return (how.rows - 1) * pitch_of(type) + bytes_of(type, how.columns);
    }

    halide_buffer_t rows_at(uint8_t *data, const element_type &type, halide_dimension_t *shape) const {
        const int64_t bytes = std::max(type.bits, 8) / 8;
        const uint32_t fetched_ahead = how.rows > 1 ? 1 << 17 : 0;  // bytes; no code differs for it
        shape[0] = {0, static_cast<int32_t>(bytes_of(type, how.columns) / bytes), 1, fetched_ahead};
        shape[1] = {0, static_cast<int32_t>(how.rows), static_cast<int32_t>(pitch_of(type) / bytes), 0};
        return {0, nullptr, data, 0, halide_type(type), 2, shape, nullptr};
    }

    template<typename T>
    static halide_buffer_t operand_at(const T *data, halide_type_t type, halide_dimension_t *shape) {
        return {0, nullptr, reinterpret_cast<uint8_t *>(const_cast<T *>(data)), 0, type, 1, shape, nullptr};
    }
};

// Scales that the fast variants divide by, and multiply by.
const std::vector<float> divisors{1, 0.1f, 0x1p-60f, 0x1p60f, 3e-5f}, factors{1, 10, 0x1p-60f, 0x1p60f, 3e4f};
const std::vector<float> zero_points{0, 1, -7, 128, 0x1p14f, -0x1p14f};

std::vector<variant_case> rounded_variants() {
    const auto divide = int32_t(quantize_variant::rounded_divide),
               multiply = int32_t(quantize_variant::rounded_multiply);
    std::vector<variant_case> all;
    for (const qdq_rounding rounding : {QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP}) {
        all.insert(all.end(), {{"divide and round", divide, divisors, {0}, 0, rounding},
                               {"divide, round and clamp", divide, divisors, {0}, 3, rounding},
                               {"divide, round and add", divide, divisors, zero_points, 0, rounding},
                               {"divide, add and round", divide, divisors, {0, 0.5f, -7}, 0, rounding, true},
                               {"multiply and round", multiply, factors, {0}, 0, rounding},
                               {"multiply by any and round", multiply, {1, 1e-40f, 3e38f}, {0}, 0, rounding},
                               {"multiply, round, add and clamp", multiply, factors, zero_points, 100, rounding}});
    }
    return all;
}

std::vector<variant_case> variants_of(const handwritten &k) {
    if (k.quantizes()) {
        const auto divide_after = int32_t(quantize_variant::divide_after);
        const auto multiply_after = int32_t(quantize_variant::multiply_after);
        const auto divide_before = int32_t(quantize_variant::divide_before);
        const auto multiply_before = int32_t(quantize_variant::multiply_before);
        const std::vector<float> offsets{0, 0.5f, -7, 0x1p20f, -0x1p20f};
        std::vector<variant_case> all{
            {"divide", int32_t(quantize_variant::divide), divisors, {0}},
            {"multiply", int32_t(quantize_variant::multiply), factors, {0}},
            {"multiply by any", int32_t(quantize_variant::multiply), {1, 1e-40f, 0x1p-61f, 0x1p61f, 3e38f, 10}, {0}}};
        if (k.y().is_integer()) {
            all.insert(all.end(), {{"divide and add", divide_after, divisors, zero_points},
                                   {"divide, add and clamp", divide_after, divisors, zero_points, 3},
                                   {"multiply and add", multiply_after, factors, zero_points},
                                   {"multiply, add and clamp", multiply_after, factors, zero_points, 100},
                                   {"add and divide", divide_before, divisors, offsets},
                                   {"add, multiply and clamp", multiply_before, factors, offsets, 100}});
        }
        if (k.its_form == form::column) {
            const auto divide = int32_t(quantize_variant::general_divide);
            all.push_back({"general", divide, divisors, {0}, 0, QDQ_NEAREST_EVEN, false, true});
        }
        if (k.y().is_integer() && k.its_form == form::row) {
            const std::vector<variant_case> rounded = rounded_variants();
            all.insert(all.end(), rounded.begin(), rounded.end());
        }
        return all;
    }
    const auto plain = int32_t(dequantize_variant::plain), offset = int32_t(dequantize_variant::offset);
    const std::vector<float> any{1, -0.1f, NAN, INFINITY, 1e-40f, 0, 3e38f};
    if (k.x().is_float()) {
        std::vector<variant_case> all{{"plain", plain, {1, 0.1f, 0x1p-60f, 0x1p100f, 3}, {0}}};
        if (k.its_form == form::column) {
            all.push_back({"general", int32_t(dequantize_variant::general), any, {0}});
        }
        return all;
    }
    const std::vector<float> scales{1, 0.1f, 0x1p-60f, 3e38f, 0, -0.0f, -3};
    const std::vector<float> offsets{0, 1, -7, 0x1p-24f, 0x1p20f, 0.9999999f, -1000.5f};
    std::vector<variant_case> all{{"plain", plain, scales, {0}}, {"offset", offset, scales, offsets}};
    if (k.its_form == form::column || k.x().bits == 32) {  // an int32 zero point of any bits
        all.push_back({"exact", int32_t(dequantize_variant::exact), any, offsets});
    }
    if (k.its_form == form::column) {
        all.push_back({"general", int32_t(dequantize_variant::general), any, {0, 1, NAN, -INFINITY, 1e-40f}});
    }
    return all;
}

operands operands_of(const variant_case &v, int64_t count) {
    operands all;
    for (int64_t i = 0; i < count; i++) {
        all.scale.push_back(v.scales[static_cast<size_t>(i) % v.scales.size()]);
        all.inverse.push_back(1 / all.scale.back());
        all.zero_point.push_back(std::bit_cast<int32_t>(v.offsets[static_cast<size_t>(i + i / 7) % v.offsets.size()]));
    }
    return all;
}

template<typename T> std::vector<T> repeated(const std::vector<T> &values, int64_t times) {
    std::vector<T> all;
    for (const T &value : values) {
        all.insert(all.end(), static_cast<size_t>(times), value);
    }
    return all;
}

std::vector<layout> layouts_of(const handwritten &k) {
    std::vector<layout> all;
    if (k.its_form == form::row) {
        all.push_back({65600, 1, 1, 0});
    }
    for (const int64_t columns : {64, 128, 192, 256, 320, 1088, 4160}) {
        if (k.its_form == form::row) {
            all.insert(all.end(), {{columns, 1, 1, 0}, {columns, 3, 0, 0}, {columns, 4, 1, 0}});
        }
        if (k.its_form == form::column) {
            all.insert(all.end(), {{columns, 1, 1, 1}, {columns, 4, 1, 1}, {columns, 35, 1, 1}});
            if (!k.nontemporal) {
                all.push_back({columns, 5, 1, 1, -20});
            }
        }
        for (const int64_t block : {2, 4, 8, 16, 32}) {
            if (k.its_form == form::block && (k.blocks & block) != 0) {
                all.insert(all.end(), {{columns, 1, 1, block}, {columns, 2, 1, block}});
            }
        }
    }
    return all;
}

// Kernels read operands by whole registers.
template<typename T> std::vector<T> padded(std::vector<T> values) {
    values.resize(values.size() + group_size, T(1));
    return values;
}

operands padded(const operands &of) { return {padded(of.scale), padded(of.inverse), padded(of.zero_point)}; }

class Handwritten : public testing::TestWithParam<handwritten> {};

TEST_P(Handwritten, gives_the_results_of_the_generated_kernel) {
    const handwritten &k = GetParam();
    if (!test_support::usable(k.target)) {
        GTEST_SKIP() << k.target << ": compiled, not executed";
    }
    uint64_t seed = 1;
    for (const layout &how : layouts_of(k)) {
        kernel_call call(k, how, seed++);
        for (const variant_case &v : variants_of(k)) {
            const int64_t own = k.its_form == form::column ? 1 : type_of(k.stored_type).block;
            const bool is_block = k.its_form == form::block;
            ASSERT_TRUE(!is_block || how.block % own == 0 || own % how.block == 0);
            const operands given = operands_of(v, k.its_form == form::row ? how.rows : how.columns / how.block);
            // The generated kernel's blocks may be shorter; where they are longer, two of equal operands are one.
            operands by_hand = given, generated = given;
            if (is_block && how.block > own) {
                generated = {repeated(given.scale, how.block / own), repeated(given.inverse, how.block / own),
                             repeated(given.zero_point, how.block / own)};
            } else if (is_block && how.block < own) {
                generated = operands_of(v, how.columns / own);
                by_hand = {repeated(generated.scale, own / how.block), repeated(generated.inverse, own / how.block),
                           repeated(generated.zero_point, own / how.block)};
            }
            const int64_t past_line = k.nontemporal ? 0 : 6;
            const std::vector<uint8_t> expected = call.run(k.generated, padded(generated), own, v, past_line);
            const std::vector<uint8_t> actual = call.run(k.by_hand, padded(by_hand), how.block, v, past_line);
            const auto differs = std::mismatch(expected.begin(), expected.end(), actual.begin()).first;
            ASSERT_TRUE(differs == expected.end())
                << v.name << ", rounding " << v.rounding << ", " << how.rows << " rows of " << how.columns
                << " columns, blocks of " << how.block << ": byte " << differs - expected.begin();
        }
    }
}

operands every_nth(const operands &all, size_t first, size_t n) {
    operands some;
    for (size_t i = first; i < all.scale.size(); i += n) {
        some.scale.push_back(all.scale[i]);
        some.inverse.push_back(all.inverse[i]);
        some.zero_point.push_back(all.zero_point[i]);
    }
    return some;
}

// Where blocks are shorter than the generated kernel's, its results of each part are those of equal operands.
void takes_its_own_operands(const handwritten &k, int64_t own, int64_t shorter) {
    const layout how{320, 2, 1, shorter};
    const auto parts = static_cast<size_t>(own / shorter);
    for (const variant_case &v : variants_of(k)) {
        kernel_call call(k, how, 5);
        const operands given = operands_of(v, how.columns / shorter);
        const std::vector<uint8_t> actual = call.run(k.by_hand, padded(given), shorter, v, 0);
        for (size_t part = 0; part < parts; part++) {
            const std::vector<uint8_t> expected =
                call.run(k.generated, padded(every_nth(given, part, parts)), own, v, 0);
            for (int64_t first = static_cast<int64_t>(part) * shorter; first < how.columns; first += own) {
                const auto at = static_cast<size_t>(bytes_of(k.y(), first));
                ASSERT_EQ(std::memcmp(&expected[at], &actual[at], static_cast<size_t>(bytes_of(k.y(), shorter))), 0)
                    << v.name << ", blocks of " << shorter << ", element " << first;
            }
        }
    }
}

TEST_P(Handwritten, takes_short_blocks_by_their_own_operands) {
    const handwritten &k = GetParam();
    if (k.its_form == form::block && !test_support::usable(k.target)) {
        GTEST_SKIP() << k.target << ": compiled, not executed";
    }
    const int64_t own = type_of(k.stored_type).block;
    for (int64_t shorter = 2; k.its_form == form::block && shorter < own; shorter *= 2) {
        if ((k.blocks & shorter) != 0) {
            takes_its_own_operands(k, own, shorter);
        }
    }
}

template<typename Row> const Row *row_in(const Row *rows, int count, const handwritten &k) {
    const Row *found = std::find_if(rows, rows + count, [&](const Row &row) {
        return row.float_type == k.float_type && row.stored_type == k.stored_type;
    });
    return found == rows + count ? nullptr : found;
}

template<typename Row> void expect_in_table(const Row *row, const handwritten &k) {
    ASSERT_NE(row, nullptr);
    EXPECT_TRUE(kernel((k.nontemporal ? row->nontemporal : row->forms)[int(k.its_form)]) == k.by_hand);
    EXPECT_EQ(row->blocks, k.its_form == form::block ? k.blocks : row->blocks);
}

TEST_P(Handwritten, is_what_the_table_holds) {
    const handwritten &k = GetParam();
    for (int i = 0; i < qdq_linked_target_count; i++) {
        const qdq_target &target = qdq_linked_targets[i];
        if (std::strcmp(target.name, k.target) == 0) {
            k.quantizes() ? expect_in_table(row_in(target.quantize, target.quantize_count, k), k)
                          : expect_in_table(row_in(target.dequantize, target.dequantize_count, k), k);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Handwritten, testing::ValuesIn(all_kernels()), name_of);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Handwritten);  // where no row or target of the build has one

}  // namespace

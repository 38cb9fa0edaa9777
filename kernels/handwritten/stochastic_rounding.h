// QDQ_STOCHASTIC, from x to codes in one pass. The generated kernels take four, each over some elements in the L1
// cache: quotients, random bits, rounded numbers, codes.
//
// A file for an instruction set calls quantize_stochastic_row<Registers>. Its struct Registers has
// - random_generator(seed).draw(block, halves): the 16-bit halves of words of consecutive blocks, drawn_at_once / 2
// - groups<x's type, codes, multiplies, differ>, a groups_function. `differ`: two halves of 16 of the elements that
//   share random bits have operands of their own
// - takes_halves: whether there are such groups that differ
#pragma once

#include "stochastic_row.h"

#include "element_types.h"
#include "grids.h"
#include "handwritten/handwritten.h"

namespace qdq::kernels {
namespace {

constexpr int64_t operand_elements = 16;  // that have the same operands, at least
constexpr int64_t drawn_at_once = 512;    // elements

// Saturates with any zero point, and is far enough from the end of 16 bits for a rounded quotient.
constexpr float beyond_integers = 32000;
static_assert(beyond_integers - small_zero_point_of_bytes > 255);

// An integer is the high half of a quotient times 65536, rounded to the nearest, to which random bits are added: what
// they carry makes it the next. Of a float the 16 bits below its code count 65536ths of a step.
constexpr float unit_of(const element_type &codes) { return codes.is_integer() ? 65536 : 1; }

// Philox 4x32-10 of the key `seed`: those of each round.
struct philox_keys {
    static constexpr int rounds = 10;
    uint64_t of[rounds][2];

    explicit philox_keys(uint64_t seed) {
        for (int round = 0; round < rounds; round++) {
            of[round][0] = uint32_t(seed) + uint32_t(round) * 0x9e3779b9u;
            of[round][1] = uint32_t(seed >> 32) + uint32_t(round) * 0xbb67ae85u;
        }
    }
};
constexpr uint32_t philox_first_factor = 0xd2511f53, philox_second_factor = 0xcd9e8d57;

// What 16 elements each are computed with, of as many as are drawn at once.
struct alignas(64) operand_arrays {
    static constexpr int64_t count = drawn_at_once / operand_elements;
    float scale[count], inverse[count], largest[count];
    int32_t zero_point[count];  // a word, twice

    // Of elements from the first one on. `unit` is what quotients are multiplied by.
    void take(const stochastic_row &row, int64_t first, float unit) {
        const int64_t of_each = row.elements_of_operand, last = (row.elements - 1) / of_each;
        int64_t operand = first / of_each, left = (operand + 1) * of_each - first;
        for (int64_t k = 0; k < count; k++, left -= operand_elements) {
            if (left <= 0 && operand < last) {
                operand++;
                left += of_each;
            }
            scale[k] = row.multiplies ? row.scale[operand] * unit : row.scale[operand] / unit;
            inverse[k] = row.multiplies ? 0 : row.inverse[operand] * unit;
            largest[k] = beyond_integers * unit * (row.multiplies ? 1 : scale[k]);
            const auto word = static_cast<int16_t>(__builtin_bit_cast(float, row.zero_point[operand]));
            zero_point[k] = static_cast<int32_t>(static_cast<uint16_t>(word) * 0x10001u);
        }
    }
};

// So many whole groups, of those that are drawn at once.
using groups_function = void(const stochastic_row &row, const operand_arrays &operands, int64_t count, const void *x,
                             const uint16_t *halves, char *y);

// What takes elements of one type to codes of another.
struct row_function {
    groups_function *groups;
    float unit;
    int64_t x_bytes, y_bits;
};

// Of fewer than 64 elements all are moved.
void run_rest(const stochastic_row &whole, const row_function &by, const operand_arrays &operands, int64_t count,
              const char *x, const uint16_t *halves, char *y) {
    alignas(64) char own_x[group_size * sizeof(float)] = {}, own_y[group_size];
    __builtin_memcpy(own_x, x, size_t(count * by.x_bytes));
    stochastic_row row = whole;
    row.nontemporal = false;
    by.groups(row, operands, 1, own_x, halves, own_y);
    const int64_t bytes = count * by.y_bits / 8;
    __builtin_memcpy(y, own_y, size_t(bytes));
    if (count * by.y_bits % 8 != 0) {
        y[bytes] = char(own_y[bytes] & 0x0f);
    }
}

template<typename Generator> void run(const stochastic_row &row, const row_function &by) {
    const Generator generator(row.seed);
    alignas(64) uint16_t halves[drawn_at_once / 2];
    operand_arrays operands;
    for (int64_t first = 0; first < row.elements; first += drawn_at_once) {
        if (first == 0 || row.elements_of_operand < row.elements) {
            operands.take(row, first, by.unit);
        }
        generator.draw(row.block + uint64_t(first / random_block_elements), halves);
        const char *const x = static_cast<const char *>(row.x) + first * by.x_bytes;
        char *const y = static_cast<char *>(row.y) + first * by.y_bits / 8;
        const int64_t left = row.elements - first, count = left < drawn_at_once ? left : drawn_at_once;
        const int64_t groups = count / group_size, done = groups * group_size;
        by.groups(row, operands, groups, x, halves, y);
        if (done < count) {
            operands.take(row, first + done, by.unit);
            run_rest(row, by, operands, count - done, x + done * by.x_bytes, halves + done / 2,
                     y + done * by.y_bits / 8);
        }
    }
}

// Integers have no groups that differ.
template<typename Registers, qdq_dtype floats, qdq_dtype codes, bool multiplies>
row_function function_by(const stochastic_row &row) {
    constexpr const element_type &x = type_of(floats), &y = type_of(codes);
    groups_function *groups = Registers::template groups<floats, codes, multiplies, false>;
    if (row.elements_of_operand % sharing_elements != 0 && row.elements_of_operand < row.elements) {
        if constexpr (y.is_integer() || !Registers::takes_halves) {
            return {};
        } else {
            groups = Registers::template groups<floats, codes, multiplies, true>;
        }
    }
    return {groups, unit_of(y), x.bits / 8, y.bits};
}

template<typename Registers, qdq_dtype floats, qdq_dtype codes> row_function function_to(const stochastic_row &row) {
    return row.multiplies ? function_by<Registers, floats, codes, true>(row)
                          : function_by<Registers, floats, codes, false>(row);
}

template<typename Registers, qdq_dtype floats> row_function function_from(const stochastic_row &row) {
    switch (row.y_type) {
    case QDQ_I8: return function_to<Registers, floats, QDQ_I8>(row);
    case QDQ_U8: return function_to<Registers, floats, QDQ_U8>(row);
    case QDQ_I4: return function_to<Registers, floats, QDQ_I4>(row);
    case QDQ_U4: return function_to<Registers, floats, QDQ_U4>(row);
    case QDQ_F8E4M3: return function_to<Registers, floats, QDQ_F8E4M3>(row);
    case QDQ_F8E5M2: return function_to<Registers, floats, QDQ_F8E5M2>(row);
    case QDQ_F4E2M1: return function_to<Registers, floats, QDQ_F4E2M1>(row);
    default: return {};
    }
}

template<typename Registers> row_function function_of_types(const stochastic_row &row) {
    switch (row.x_type) {
    case QDQ_F32: return function_from<Registers, QDQ_F32>(row);
    case QDQ_F16: return function_from<Registers, QDQ_F16>(row);
    case QDQ_BF16: return function_from<Registers, QDQ_BF16>(row);
    default: return {};
    }
}

// A stochastic_row_kernel.
template<typename Registers> bool quantize_stochastic_row(const stochastic_row &row) {
    const row_function by = function_of_types<Registers>(row);
    if (by.groups) {
        run<typename Registers::random_generator>(row, by);
    }
    return by.groups != nullptr;
}

}  // namespace
}  // namespace qdq::kernels

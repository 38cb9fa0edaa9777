#include "cpu/nan_codes.h"

#include "cpu/avx2.h"
#include "cpu/movement.h"
#include "support/types.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

int16_t infinity_of(const call &op) { return op.x_type == QDQ_F16 ? 0x7c00 : 0x7f80; }

[[gnu::always_inline]] inline bool has_nan16(const char *x, int64_t count, int16_t infinity) {
    int16_t largest = 0;
    for (int64_t i = 0; i < count; i++) {
        largest = std::max(largest, static_cast<int16_t>(element<int16_t>(x, i) & 0x7fff));
    }
    return largest > infinity;
}

// Of whole groups: one comparison of two numbers is true where either is NaN.
[[gnu::always_inline]] inline bool has_nan32(const char *x, int64_t count) {
    const int64_t quarter = count / 4;
    auto number = [=](int64_t i) { return element<float>(x, i); };
    int32_t found = 0;
    for (int64_t i = 0; i < quarter; i++) {
        found |= __builtin_isunordered(number(i), number(i + quarter)) |
                 __builtin_isunordered(number(i + 2 * quarter), number(i + 3 * quarter));
    }
    return found != 0;
}

bool has_nan16_portably(const char *x, int64_t count, int16_t infinity) { return has_nan16(x, count, infinity); }

QDQ_AVX2 bool has_nan16_avx2(const char *x, int64_t count, int16_t infinity) { return has_nan16(x, count, infinity); }

bool has_nan32_portably(const char *x, int64_t count) { return has_nan32(x, count); }

QDQ_AVX2 bool has_nan32_avx2(const char *x, int64_t count) { return has_nan32(x, count); }

bool has_nan(const call &op, const char *x, int64_t count) {
    const bool avx2 = runs_avx2(*op.target);
    return op.x_type == QDQ_F32 ? (avx2 ? has_nan32_avx2 : has_nan32_portably)(x, count)
                                : (avx2 ? has_nan16_avx2 : has_nan16_portably)(x, count, infinity_of(op));
}

// Where there is a NaN. Compiled for size, as put_others.
template<typename Bits>
[[gnu::cold]] void tell_numbers(const char *x, int64_t count, Bits infinity, uint8_t *is_number) {
    constexpr Bits magnitude = Bits(~Bits{0}) >> 1;
    for (int64_t i = 0; i < count; i++) {
        is_number[i] = Bits(element<Bits>(x, i) & magnitude) > infinity ? 0 : 0xff;
    }
}

void put_bytes(const uint8_t *is_number, int64_t count, int32_t code, char *y) {
    for (int64_t i = 0; i < count; i++) {
        y[i] = static_cast<char>((y[i] & is_number[i]) | (code & ~is_number[i]));
    }
}

// Codes of 2, 4, 16 or 32 bits. Compiled for size: as loops over vectors they added 10 KB to every program.
[[gnu::cold]] void put_others(const uint8_t *is_number, int64_t count, int32_t code, int bits, char *y) {
    for (int64_t i = 0; i < count; i++) {
        if (is_number[i]) {
            continue;
        }
        if (bits >= 8) {
            std::memcpy(y + i * (bits / 8), &code, static_cast<size_t>(bits) / 8);  // low byte first
        } else {
            const int shift = static_cast<int>(i * bits % 8), mask = ((1 << bits) - 1) << shift;
            char &byte = y[i * bits / 8];
            byte = static_cast<char>((byte & ~mask) | ((code << shift) & mask));
        }
    }
}

bool has_lowest_code(const call &op, const char *y, int64_t count) {
    if (op.y_bits == 8) {
        return std::memchr(y, op.lowest & 0xff, static_cast<size_t>(count)) != nullptr;
    }
    int16_t same = 0;
    for (int64_t i = 0; i < count; i++) {
        same = static_cast<int16_t>(same | -int{element<int16_t>(y, i) == static_cast<int16_t>(op.lowest)});
    }
    return same != 0;
}

}  // namespace

void code_nan(const call &op, rows_of_x from, rows_of_y to, int64_t columns, int64_t rows) {
    for (int64_t row = 0; row < rows; row++) {
        const char *x = address(static_cast<const char *>(from.data), row * from.pitch, op.x_bits);
        char *y = address(static_cast<char *>(to.data), row * to.pitch, op.y_bits);
        for (int64_t done = 0, count; done < columns; done += count) {
            count = std::min(nan_places::most, columns - done);
            char *const codes = address(y, done, op.y_bits);
            if (has_lowest_code(op, codes, count)) {
                nan_places nan(op);
                nan.find(address(x, done, op.x_bits), count, 0);
                nan.put_codes(0, count, codes);
            }
        }
    }
}

void nan_places::find(const void *x, int64_t count, int64_t place) {
    const char *const from = static_cast<const char *>(x);
    const bool found = has_nan(op, from, count);
    if (found && !any) {
        std::memset(is_number, 0xff, static_cast<size_t>(place));
        any = true;
    }
    if (found && op.x_type == QDQ_F32) {
        tell_numbers<uint32_t>(from, count, 0x7f800000, is_number + place);
    } else if (found) {
        tell_numbers<uint16_t>(from, count, static_cast<uint16_t>(infinity_of(op)), is_number + place);
    } else if (any) {
        std::memset(is_number + place, 0xff, static_cast<size_t>(count));
    }
}

void nan_places::put_codes(int64_t place, int64_t count, void *y) const {
    if (!any) {
        return;
    }
    const int32_t code = std::min(0, op.highest);
    char *const codes = static_cast<char *>(y);
    if (op.y_bits == 8) {
        put_bytes(is_number + place, count, code, codes);
    } else {
        put_others(is_number + place, count, code, op.y_bits, codes);
    }
}

}  // namespace qdq::runtime

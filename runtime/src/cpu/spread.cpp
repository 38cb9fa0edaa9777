#include "cpu/spread.h"

#include "cpu/avx2.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

using value = int32_t;

// By stores of so many, which the next value's follow.
template<int64_t lanes>
[[gnu::always_inline]] inline void spread_by(const value *from, int64_t count, int64_t times, value *to) {
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < times; k += lanes) {
            std::fill_n(to + i * times + k, lanes, from[i]);
        }
    }
}

// By so many stores for each.
template<int64_t lanes, int64_t stores>
[[gnu::always_inline]] inline void spread_by(const value *from, int64_t count, int64_t times, value *to) {
    for (int64_t i = 0; i < count; i++, to += times) {
#pragma GCC unroll 8
        for (int64_t k = 0; k < stores; k++) {
            std::fill_n(to + k * lanes, lanes, from[i]);
        }
    }
}

constexpr int64_t most_shuffled = 16;

// Registers of values, of which there is one at least, become `times` registers each, by the quotients of places by
// `times`. AVX-512's take 0.03 ns a place, where stores that the next value's follow take 0.04 to 0.28.
template<int64_t lanes>
[[gnu::always_inline]] inline void spread_by_shuffles(const value *from, int64_t count, int64_t times, value *to) {
    using vector [[gnu::vector_size(lanes * sizeof(value))]] = value;
    union {
        value of[lanes * most_shuffled];
        vector registers[most_shuffled];
    } quotients;
    const auto factor = static_cast<value>((1 << 16) / times + 1);
    int64_t place = 0;
    do {
        quotients.of[place] = static_cast<value>(place) * factor >> 16;
    } while (++place < lanes * times);
    for (int64_t left = count; left > 0; left -= lanes, from += lanes, to += lanes * times) {
        if (left < lanes) {  // the last register overlaps the one before
            from -= lanes - left;
            to -= (lanes - left) * times;
        }
        vector values;
        std::memcpy(&values, from, sizeof(values));
        for (int64_t k = 0; k < times; k++) {
#if defined(__clang__)  // whose builtin takes constants alone
            vector shuffled;
            for (int64_t i = 0; i < lanes; i++) {
                shuffled[i] = values[quotients.registers[k][i]];
            }
#else
            const vector shuffled = __builtin_shuffle(values, quotients.registers[k]);
#endif
            std::memcpy(to + k * lanes, &shuffled, sizeof(shuffled));
        }
    }
}

void copy(const value *from, int64_t count, int64_t, value *to) { std::copy_n(from, count, to); }

void spread_portably(const value *from, int64_t count, int64_t times, value *to) {
    spread_by<4>(from, count, times, to);
}

QDQ_AVX2 void store_avx2(const value *from, int64_t count, int64_t times, value *to) {
    switch ((times + 7) / 8) {
    case 3: spread_by<8, 3>(from, count, times, to); break;
    case 4: spread_by<8, 4>(from, count, times, to); break;
    case 5: spread_by<8, 5>(from, count, times, to); break;
    default: spread_by<8>(from, count, times, to);
    }
}

QDQ_AVX2 void shuffle_avx2(const value *from, int64_t count, int64_t times, value *to) {
    spread_by_shuffles<8>(from, count, times, to);
}

QDQ_AVX512 void shuffle_avx512(const value *from, int64_t count, int64_t times, value *to) {
    spread_by_shuffles<16>(from, count, times, to);
}

// A row of few places, by as many stores for each value as the longest run of one takes: the next value's follow.
template<int64_t lanes>
[[gnu::always_inline]] inline void spread_short(const value *from, const spread_dimension &row, int64_t longest,
                                                value *to) {
    for (int64_t i = 0, place = 0; i < row.blocks; i++, from += row.from) {
        for (int64_t k = 0; k < longest; k += lanes) {
            std::fill_n(to + place + k, lanes, *from);
        }
        place = row.end_of(i) * row.step;
    }
}

QDQ_PORTABLE void spread_short_portably(const value *from, const spread_dimension &row, int64_t longest, value *to) {
    spread_short<4>(from, row, longest, to);
}

QDQ_AVX2 void spread_short_avx2(const value *from, const spread_dimension &row, int64_t longest, value *to) {
    spread_short<8>(from, row, longest, to);
}

// Values that lie apart.
void spread_apart(const target &on, const value *from, int64_t step, int64_t count, int64_t times, value *to) {
    constexpr int64_t few = 64;
    value some[few];
    for (int64_t i = 0; i < count; i += few) {
        const int64_t gathered = std::min(few, count - i);
        for (int64_t k = 0; k < gathered; k++) {
            some[k] = from[(i + k) * step];
        }
        spread(on, some, gathered, times, to + i * times);
    }
}

void spread_row(const target &on, const value *from, const spread_dimension &row, value *to) {
    constexpr int64_t short_row = 256;
    const int64_t last = row.blocks - 1, first = row.phase > 0 && last > 0 ? 1 : 0, times = row.block * row.step;
    const int64_t begin = first * row.end_of(0) * row.step, end = begin + (last - first) * times,
                  places = row.extent * row.step, longest = std::max(times, places - end);
    if (places <= short_row && longest <= spare_operands) {
        (runs_avx2(on) ? spread_short_avx2 : spread_short_portably)(from, row, longest, to);
        return;
    }
    spread(on, from, 1, begin, to);
    if (row.from == 1) {
        spread(on, from + first, last - first, times, to + begin);
    } else {
        spread_apart(on, from + first * row.from, row.from, last - first, times, to + begin);
    }
    spread(on, from + last * row.from, 1, places - end, to + end);
}

// What lies in so many places, over and over, up to so many of them. Few of them at a time would wait for the stores
// before.
void repeat(value *values, int64_t count, int64_t places) {
    constexpr int64_t few = 16;
    if (count <= few) {
        value once[few];
        std::copy_n(values, few, once);
        for (int64_t done = count; done < places; done += count) {
            std::copy_n(once, few, values + done);
        }
        return;
    }
    for (int64_t done = count, more; done < places; done += more) {
        more = std::min(done, places - done);
        std::copy_n(values, more, values + done);
    }
}

}  // namespace

void spread(const target &on, const void *from, const spread_dimension *dimensions, int count, void *to) {
    const auto *const values = static_cast<const value *>(from);
    auto *const places = static_cast<value *>(to);
    const spread_dimension &outer = dimensions[count - 1];
    if (count == 1) {
        spread_row(on, values, outer, places);
        return;
    }
    for (int64_t i = 0, place = 0; i < outer.blocks; i++) {
        value *const first = places + place * outer.step;
        spread(on, values + i * outer.from, dimensions, count - 1, first);
        repeat(first, outer.step, (outer.end_of(i) - place) * outer.step);
        place = outer.end_of(i);
    }
}

void spread(const target &on, const void *from, int64_t count, int64_t times, void *to) {
    constexpr int64_t few = 16;  // for which the quotients take longer than they save
    auto *by = spread_portably;
    if (times == 1) {
        by = copy;
    } else if (runs_avx2(on) && times > most_shuffled) {
        by = store_avx2;
    } else if (runs_avx2(on) && count > few) {
        by = runs_avx512(on) ? shuffle_avx512 : shuffle_avx2;
    }
    by(static_cast<const value *>(from), count, times, static_cast<value *>(to));
}

}  // namespace qdq::runtime

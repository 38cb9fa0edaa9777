#include "cpu/spread.h"

#include "cpu/avx2.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

template<int64_t lanes> using vector_of [[gnu::vector_size(lanes * sizeof(value))]] = value;
template<int64_t lanes> using unsigned_vector_of [[gnu::vector_size(lanes * sizeof(value))]] = uint32_t;

#if defined(__clang__)  // makes one instruction of constant indices alone, and loads of others
constexpr bool shuffles_by_variables = false;
#else
constexpr bool shuffles_by_variables = true;
#endif

template<int64_t lanes>
[[gnu::always_inline]] inline void shuffle(vector_of<lanes> &values, const vector_of<lanes> &indices) {
#if defined(__clang__)  // whose builtin takes no vectors of indices
    const vector_of<lanes> own = values;
    for (int64_t i = 0; i < lanes; i++) {
        values[i] = own[indices[i] & (lanes - 1)];
    }
#else
    values = __builtin_shuffle(values, indices);
#endif
}

constexpr int64_t least_shuffled = 2, most_shuffled = 16;

// Registers of values, of which there is one at least, become `times` registers each. The indices are constants: by
// AVX2 a place takes 0.06 ns, and 0.2 to 0.5 where each call computes them (Zen 3). Stores that the next value's follow
// take 0.04 to 0.28 (AVX-512, Zen 5).
template<int64_t lanes, int64_t times>
[[gnu::always_inline]] inline void spread_by_shuffles(const value *from, int64_t count, value *to) {
    using vector = vector_of<lanes>;
    for (int64_t left = count; left > 0; left -= lanes, from += lanes, to += lanes * times) {
        if (left < lanes) {  // the last register overlaps the one before
            from -= lanes - left;
            to -= (lanes - left) * times;
        }
        vector values;
        std::memcpy(&values, from, sizeof(values));
#pragma GCC unroll 16
        for (int64_t k = 0; k < times; k++) {
            union {
                value of[lanes];
                vector all;
            } indices;
#pragma GCC unroll 16
            for (int64_t i = 0; i < lanes; i++) {
                indices.of[i] = static_cast<value>((k * lanes + i) / times);
            }
            vector shuffled = values;
            shuffle<lanes>(shuffled, indices.all);
            std::memcpy(to + k * lanes, &shuffled, sizeof(shuffled));
        }
    }
}

void copy(const value *from, int64_t count, int64_t, value *to) { std::copy_n(from, count, to); }

void spread_portably(const value *from, int64_t count, int64_t times, value *to) {
    spread_by<4>(from, count, times, to);
}

template<int64_t lanes>
[[gnu::always_inline]] inline void spread_by_stores(const value *from, int64_t count, int64_t times, value *to) {
    switch ((times + lanes - 1) / lanes) {
    case 2: spread_by<lanes, 2>(from, count, times, to); break;
    case 3: spread_by<lanes, 3>(from, count, times, to); break;
    case 4: spread_by<lanes, 4>(from, count, times, to); break;
    case 5: spread_by<lanes, 5>(from, count, times, to); break;
    default: spread_by<lanes>(from, count, times, to);
    }
}

QDQ_AVX2 void store_avx2(const value *from, int64_t count, int64_t times, value *to) {
    spread_by_stores<8>(from, count, times, to);
}

QDQ_AVX512 void store_avx512(const value *from, int64_t count, int64_t times, value *to) {
    spread_by_stores<16>(from, count, times, to);
}

template<int64_t times> QDQ_AVX2 void shuffle_avx2(const value *from, int64_t count, int64_t, value *to) {
    spread_by_shuffles<8, times>(from, count, to);
}

template<int64_t times> QDQ_AVX512 void shuffle_avx512(const value *from, int64_t count, int64_t, value *to) {
    spread_by_shuffles<16, times>(from, count, to);
}

using spreader = void (*)(const value *from, int64_t count, int64_t times, value *to);

// By AVX-512 up to eight times: those of more are 8 KiB for one store where AVX2 takes two.
template<int64_t times> constexpr spreader widest_shuffle() {
    if constexpr (times <= 8) {
        return shuffle_avx512<times>;
    } else {
        return shuffle_avx2<times>;
    }
}

// The shuffles of so many times, from least_shuffled on.
template<int64_t... beyond> spreader shuffles(bool avx512, int64_t times, std::integer_sequence<int64_t, beyond...>) {
    static constexpr spreader narrow[] = {shuffle_avx2<least_shuffled + beyond>...},
                              wide[] = {widest_shuffle<least_shuffled + beyond>()...};
    return (avx512 ? wide : narrow)[times - least_shuffled];
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

// A row of few places, by as many stores for each value as a block takes, or the last: the next value's follow.
template<int64_t lanes>
[[gnu::always_inline]] inline void spread_short(const value *from, const spread_dimension &row, value *to) {
    const int64_t times = row.block * row.step, last = row.blocks - 1;
    int64_t place = 0;
    for (int64_t i = 0; i < last; i++, from += row.from) {
        const value shared = *from;
        for (int64_t k = 0; k < times; k += lanes) {
            std::fill_n(to + place + k, lanes, shared);
        }
        place = row.end_of(i) * row.step;
    }
    const value shared = *from;
    for (; place < row.extent * row.step; place += lanes) {
        std::fill_n(to + place, lanes, shared);
    }
}

// A row for each value of an outer dimension, and copies of it in the other places that share the value.
template<typename Row>
[[gnu::always_inline]] inline void for_each_row(const spread_dimension &outer, value *to, Row &&put_row) {
    for (int64_t i = 0, place = 0, rows; i < outer.blocks; i++, place += rows) {
        value *const first = to + place * outer.step;
        put_row(i * outer.from, first);
        rows = outer.end_of(i) - place;
        if (rows > 1) {
            repeat(first, outer.step, rows * outer.step);
        }
    }
}

template<int64_t lanes>
[[gnu::always_inline]] inline void spread_short_rows(const value *from, const spread_dimension &row,
                                                     const spread_dimension &outer, value *to) {
    for_each_row(outer, to, [&](int64_t distance, value *first) __attribute__((always_inline)) {
        spread_short<lanes>(from + distance, row, first);
    });
}

QDQ_PORTABLE void spread_short_portably(const value *from, const spread_dimension &row, const spread_dimension &outer,
                                        value *to) {
    spread_short_rows<4>(from, row, outer, to);
}

QDQ_AVX2 void spread_short_avx2(const value *from, const spread_dimension &row, const spread_dimension &outer,
                                value *to) {
    spread_short_rows<8>(from, row, outer, to);
}

QDQ_AVX512 void spread_short_avx512(const value *from, const spread_dimension &row, const spread_dimension &outer,
                                    value *to) {
    spread_short_rows<16>(from, row, outer, to);
}

// Many values that few places share are shuffled: f16 to u16, [127, 5120] by blocks of 24, 0.28 ns an element, and 0.41
// by a store for each (Zen 5).
bool is_short(const spread_dimension &row) {
    constexpr int64_t short_row = 256, few_places = 8, many_values = 32;
    const int64_t times = row.block * row.step;
    const bool is_shuffled = times <= few_places && row.blocks >= many_values && row.from == 1;
    return row.extent * row.step <= short_row && times <= spare_operands && !is_shuffled;
}

void spread_short_rows(const target &on, const value *from, const spread_dimension &row, const spread_dimension &outer,
                       value *to) {
    (runs_avx512(on) ? spread_short_avx512
     : runs_avx2(on) ? spread_short_avx2
                     : spread_short_portably)(from, row, outer, to);
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
    const int64_t last = row.blocks - 1, first = row.phase > 0 && last > 0 ? 1 : 0, times = row.block * row.step;
    const int64_t begin = first * row.end_of(0) * row.step, end = begin + (last - first) * times;
    spread(on, from, 1, begin, to);
    if (row.from == 1) {
        spread(on, from + first, last - first, times, to + begin);
    } else {
        spread_apart(on, from + first * row.from, row.from, last - first, times, to + begin);
    }
    spread(on, from + last * row.from, 1, row.extent * row.step - end, to + end);
}

// Row by row, by runs of stores.
void spread_rows(const target &on, const value *from, std::span<const spread_dimension> box, value *to) {
    constexpr spread_dimension once{.extent = 1, .step = 1, .block = 1, .phase = 0, .blocks = 1, .from = 0};
    const spread_dimension &row = box.front(), &outer = box.back();
    if (box.size() <= 2 && is_short(row)) {
        spread_short_rows(on, from, row, box.size() == 2 ? outer : once, to);
    } else if (box.size() == 1) {
        spread_row(on, from, row, to);
    } else {
        for_each_row(outer, to, [&](int64_t distance, value *first) {
            spread_rows(on, from + distance, box.first(box.size() - 1), first);
        });
    }
}

// indices[to + k] = indices[from + k] + distance for k below `count`, then twice as many by twice the distance, up to
// `end`.
struct continued_indices {
    int64_t from, count, to, end;
    value distance;
};

// By registers: up to one of them past the end is written over, by sums of whatever lay there, which may wrap. The
// steps are data: loops for each are 300 bytes more.
template<int64_t lanes>
[[gnu::always_inline]] inline void continue_indices(std::span<const continued_indices> steps, value *indices) {
    for (auto [from, count, to, end, distance] : steps) {
        for (; to < end; to += count, count *= 2, distance *= 2) {
            for (int64_t k = 0, some = std::min(count, end - to); k < some; k += lanes) {
                unsigned_vector_of<lanes> few;
                std::memcpy(&few, indices + from + k, sizeof(few));
                few += static_cast<uint32_t>(distance);
                std::memcpy(indices + to + k, &few, sizeof(few));
            }
        }
    }
}

// Which value each place has: of a dimension, what its first place has, and a value's distance from there. Blocks
// follow the first one, which may be cut; padding has the last one's value.
template<int64_t lanes>
[[gnu::always_inline]] inline void find_indices(std::span<const spread_dimension> box, value *indices) {
    std::fill_n(indices, box.front().step, 0);
    for (const spread_dimension &d : box) {
        const auto distance = static_cast<value>(d.from);
        const int64_t step = d.step, places = d.extent * step, block = d.block * step, second = d.end_of(0) * step;
        const int64_t end = std::min(places, d.blocks * block - d.phase * step), last = end - step;
        const continued_indices steps[] = {{0, step, step, second, 0},
                                           {0, step, second, second + step, distance},
                                           {second, step, second + step, std::min(second + block, places), 0},
                                           {second, block, second + block, end, distance},
                                           {last, step, end, places, 0}};
        continue_indices<lanes>(std::span(steps, d.blocks > 1 ? std::size(steps) : 1), indices);
    }
}

value *indices_of(std::span<const spread_values> arrays) { return static_cast<value *>(arrays.back().to); }

// Indices lie where the last array's values go, which are put last.
void gather_by_indices(std::span<const spread_values> arrays, std::span<const spread_dimension> box) {
    const int64_t places = box.back().extent * box.back().step;
    const value *const indices = indices_of(arrays);
    find_indices<4>(box, indices_of(arrays));
    for (const auto &[from, to] : arrays) {
#pragma GCC unroll 8
        for (int64_t i = 0; i < places; i++) {
            static_cast<value *>(to)[i] = static_cast<const value *>(from)[indices[i]];
        }
    }
}

// The same where a place has its neighbour's value or the next: a register of places has those of one of values.
QDQ_AVX2 void shuffle_by_indices(std::span<const spread_values> arrays, std::span<const spread_dimension> box) {
    constexpr int64_t lanes = 8;
    const int64_t count = box.back().extent * box.back().step;
    const value *const indices = indices_of(arrays);
    find_indices<lanes>(box, indices_of(arrays));
    for (const auto &[from, to] : arrays) {
        for (int64_t i = 0; i < count; i += lanes) {
            const int64_t first = indices[i];
            vector_of<lanes> values, places;
            unsigned_vector_of<lanes> from_first;  // past the last place whatever lay there, which may wrap
            std::memcpy(&from_first, indices + i, sizeof(from_first));
            from_first -= static_cast<uint32_t>(first);
            std::memcpy(&places, &from_first, sizeof(places));
            std::memcpy(&values, static_cast<const value *>(from) + first, sizeof(values));
            shuffle<lanes>(values, places);
            std::memcpy(static_cast<value *>(to) + i, &values, sizeof(values));
        }
    }
}

// Whether a place has its neighbour's value or the next one.
bool is_in_order(std::span<const spread_dimension> box) {
    int64_t values = 1;
    for (const spread_dimension &d : box) {
        const bool goes_on = values > 1 ? d.blocks == d.extent && d.from == values : d.blocks == 1 || d.from == 1;
        if (!goes_on) {
            return false;
        }
        values *= d.blocks;
    }
    return true;
}

// Whether rows are so short that they take longer than their places' indices do: in i2 to bf16 [49, 7, 7] by blocks of
// 2 a place takes 1.5 ns by rows and 0.25 by indices (AVX2, Zen 3).
bool has_short_rows(std::span<const spread_dimension> box, bool in_order) {
    // What they take, in places by indices. Copies of a row that has just been stored wait for it.
    const int64_t of_row = in_order ? 20 : 8, of_value = in_order ? 8 : 3, of_copies = 32;
    int64_t rows = 1;
    bool are_copied = false;
    for (const spread_dimension &d : box.subspan(1)) {
        rows *= d.blocks;
        are_copied = are_copied || d.blocks < d.extent;
    }
    const int64_t of_all = of_row + of_value * box.front().blocks + (are_copied ? of_copies : 0);
    return rows > 1 && rows * of_all > box.back().extent * box.back().step;
}

}  // namespace

void spread(const target &on, std::span<const spread_values> arrays, std::span<const spread_dimension> box) {
    const bool in_order = shuffles_by_variables && runs_avx2(on) && is_in_order(box);
    if (has_short_rows(box, in_order)) {
        (in_order ? shuffle_by_indices : gather_by_indices)(arrays, box);
        return;
    }
    for (const auto &[from, to] : arrays) {
        spread_rows(on, static_cast<const value *>(from), box, static_cast<value *>(to));
    }
}

void spread(const target &on, const void *from, int64_t count, int64_t times, void *to) {
    constexpr int64_t widest_register = 16;  // values: shuffles take a register at least
    spreader by = spread_portably;
    if (times == 1) {
        by = copy;
    } else if (runs_avx2(on) && times > most_shuffled) {
        by = runs_avx512(on) ? store_avx512 : store_avx2;
    } else if (runs_avx2(on) && count >= widest_register) {
        constexpr std::make_integer_sequence<int64_t, most_shuffled - least_shuffled + 1> all;
        by = shuffles(runs_avx512(on), times, all);
    }
    by(static_cast<const value *>(from), count, times, static_cast<value *>(to));
}

}  // namespace qdq::runtime

#include "cpu/movement.h"

#include "cpu/avx2.h"
#include "cpu/kernel_call.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace qdq::runtime {

namespace {

// Elements of a type at any address. Loops are passed by value: for all that a compiler knows, stores change what lies
// in memory.
template<typename Element> [[gnu::always_inline]] inline Element load(const char *from, int64_t place) {
    Element value;
    std::memcpy(&value, from + place * int64_t{sizeof(Element)}, sizeof(Element));
    return value;
}
template<typename Element> [[gnu::always_inline]] inline void store(char *to, int64_t place, const Element &value) {
    std::memcpy(to + place * int64_t{sizeof(Element)}, &value, sizeof(Element));
}

// Rows of `part` to twice as many bytes, by their first and last ones.
template<int64_t part>
[[gnu::always_inline]] inline void copy_short_rows(const char *from, char *to, int64_t bytes, move_loop row) {
    struct run {
        char bytes[part];
    };
    for (int64_t r = 0; r < row.extent; r++, from += row.from, to += row.to) {
        const run first = load<run>(from, 0), last = load<run>(from + bytes - part, 0);
        store(to, 0, first);
        store(to + bytes - part, 0, last);
    }
}

// Contiguous rows; strides count bytes.
[[gnu::always_inline]] inline void copy_rows(const char *from, char *to, int64_t bytes, move_loop row) {
    if (bytes >= 64) {
        for (int64_t r = 0; r < row.extent; r++) {
            std::memcpy(to + r * row.to, from + r * row.from, static_cast<size_t>(bytes));
        }
    } else if (bytes >= 32) {
        copy_short_rows<32>(from, to, bytes, row);
    } else if (bytes >= 16) {
        copy_short_rows<16>(from, to, bytes, row);
    } else if (bytes >= 8) {
        copy_short_rows<8>(from, to, bytes, row);
    } else if (bytes >= 4) {
        copy_short_rows<4>(from, to, bytes, row);
    } else if (bytes >= 2) {
        copy_short_rows<2>(from, to, bytes, row);
    } else {
        copy_short_rows<1>(from, to, bytes, row);
    }
}

template<typename Element, int64_t from_step, int64_t to_step>
[[gnu::always_inline]] inline void copy_by(const char *__restrict from, char *__restrict to, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        store(to, i * to_step, load<Element>(from, i * from_step));
    }
}

// As many elements as 16 bytes hold of twice as many: those at even places, or at odd ones.
template<typename Element, int first, int... lane>
[[gnu::always_inline]] inline void copy_half(const char *from, char *to, std::integer_sequence<int, lane...>) {
    using vector [[gnu::vector_size(16)]] = Element;
    const vector a = load<vector>(from, 0), b = load<vector>(from, 1);
    store(to, 0, vector(__builtin_shufflevector(a, b, (2 * lane + first)...)));
}

// Every other element. The last vector ends with the last of them, so that nothing past it is read: the compiler's own
// loop leaves up to two vectors for single elements, most of a row of 32 bytes. f8e5m2 to bf16, rows of 32 elements two
// apart, takes 0.10 ns an element so, and 0.19 otherwise (Zen 5).
template<typename Element>
[[gnu::always_inline]] inline void copy_every_other(const char *from, char *to, int64_t count) {
    constexpr int64_t lanes = 16 / sizeof(Element), bytes = sizeof(Element);
    constexpr auto all = std::make_integer_sequence<int, int{lanes}>();
    if (count <= lanes) {
        for (int64_t i = 0; i < count; i++) {
            store(to, i, load<Element>(from, 2 * i));
        }
        return;
    }
    int64_t i = 0;
    if (count > 4 * lanes) {  // by the compiler's wider vectors
        i = count - 1 - (count - 1) % lanes;
        copy_by<Element, 2, 1>(from, to, i);
    }
    for (; i + lanes < count; i += lanes) {
        copy_half<Element, 0>(from + 2 * i * bytes, to + i * bytes, all);
    }
    const int64_t last = count - lanes;
    copy_half<Element, 1>(from + (2 * last - 1) * bytes, to + last * bytes, all);
}

// With a pattern, over and over. Out of line for its size: the compiler's own loops of all elements are 1 KiB.
[[gnu::noinline]] void fill(uint32_t pattern, char *to, int64_t bytes) {
    uint32_t several[8];
    std::fill(std::begin(several), std::end(several), pattern);
    for (; bytes >= int64_t{sizeof(several)}; bytes -= sizeof(several), to += sizeof(several)) {
        std::memcpy(to, several, sizeof(several));
    }
    if (bytes > 0) {
        std::memcpy(to, several, static_cast<size_t>(bytes));
    }
}

// One row, by vectors where a stride is 1 and the other -1, 0 or 2.
template<typename Element>
[[gnu::always_inline]] inline void copy_strided(const char *__restrict from, char *__restrict to, move_loop column) {
    if (column.to == 1 && column.from == 0) {
        constexpr uint32_t repeated = UINT32_MAX / std::numeric_limits<Element>::max();  // 0x00010001 of 16 bits
        fill(load<Element>(from, 0) * repeated, to, column.extent * int64_t{sizeof(Element)});
    } else if (column.to == 1 && column.from == 2) {
        copy_every_other<Element>(from, to, column.extent);
    } else if (column.to == 1 && column.from == -1) {
        copy_by<Element, -1, 1>(from, to, column.extent);
    } else if (column.to == -1 && column.from == 1) {
        copy_by<Element, 1, -1>(from, to, column.extent);
    } else {
        constexpr int64_t few = 8;
        int64_t i = 0;
        for (; i + few <= column.extent; i += few) {  // a load and a store in a cycle
            Element values[few];
#pragma GCC unroll 8
            for (int64_t k = 0; k < few; k++) {
                values[k] = load<Element>(from, (i + k) * column.from);
            }
#pragma GCC unroll 8
            for (int64_t k = 0; k < few; k++) {
                store(to, (i + k) * column.to, values[k]);
            }
        }
        for (; i < column.extent; i++) {
            store(to, i * column.to, load<Element>(from, i * column.from));
        }
    }
}

// A square of elements, as many to a side as 16 bytes hold.
template<typename Element> struct square {
    static constexpr int64_t side = 16 / sizeof(Element);
    using vector [[gnu::vector_size(16)]] = Element;

    template<int... lane>
    [[gnu::always_inline]] static vector interleave(vector a, vector b, int first,
                                                    std::integer_sequence<int, lane...>) {
        return first == 0 ? __builtin_shufflevector(a, b, (lane / 2 + lane % 2 * int{side})...)
                          : __builtin_shufflevector(a, b, (lane / 2 + int{side} / 2 + lane % 2 * int{side})...);
    }

    // Rows of `from_pitch` elements to columns: by log2(side) times interleaving the first half of rows with the other.
    [[gnu::always_inline]] static void transpose(const char *from, int64_t from_pitch, char *to, int64_t to_pitch) {
        constexpr auto lanes = std::make_integer_sequence<int, int{side}>();
        constexpr int64_t bytes = sizeof(Element);
        vector rows[side], next[side];
#pragma GCC unroll 16
        for (int64_t r = 0; r < side; r++) {
            rows[r] = load<vector>(from + r * from_pitch * bytes, 0);
        }
#pragma GCC unroll 4
        for (int64_t done = 1; done < side; done *= 2) {
#pragma GCC unroll 8
            for (int64_t r = 0; r < side / 2; r++) {
                next[2 * r] = interleave(rows[r], rows[r + side / 2], 0, lanes);
                next[2 * r + 1] = interleave(rows[r], rows[r + side / 2], 1, lanes);
            }
            std::copy_n(next, side, rows);
        }
#pragma GCC unroll 16
        for (int64_t r = 0; r < side; r++) {
            store(to + r * to_pitch * bytes, 0, rows[r]);
        }
    }
};

// column.to and row.from are 1. The last squares overlap those before them.
template<typename Element>
[[gnu::always_inline]] inline void transpose(const char *from, char *to, move_loop column, move_loop row) {
    constexpr int64_t side = square<Element>::side, bytes = sizeof(Element);
    for (int64_t r = 0; r < row.extent; r += side) {
        const int64_t first_row = std::min(r, row.extent - side);
        for (int64_t c = 0; c < column.extent; c += side) {
            const int64_t first_column = std::min(c, column.extent - side);
            square<Element>::transpose(from + (first_column * column.from + first_row) * bytes, column.from,
                                       to + (first_column + first_row * row.to) * bytes, row.to);
        }
    }
}

enum class plane_kind { rows, transposed, generated, strided };

// `vectors`: squares are transposed in registers.
template<typename Element, bool vectors>
[[gnu::always_inline]] inline void move_plane(const target &on, plane_kind kind, const char *from, char *to,
                                              move_loop column, move_loop row) {
    constexpr int64_t bytes = sizeof(Element);
    switch (kind) {
    case plane_kind::rows:
        if constexpr (bytes == 1) {
            copy_rows(from, to, column.extent, row);
        }
        break;
    case plane_kind::generated: call_transpose(on, bytes, {from, column.from}, {to, row.to}); break;
    case plane_kind::transposed:
        if constexpr (vectors) {
            transpose<Element>(from, to, column, row);
            break;
        }
        [[fallthrough]];
    case plane_kind::strided:
        for (int64_t r = 0; r < row.extent; r++) {
            copy_strided<Element>(from + r * row.from * bytes, to + r * row.to * bytes, column);
        }
    }
}

// loops[0] and loops[1] make planes of the kind.
template<typename Element, bool vectors>
[[gnu::always_inline]] inline void move_planes(const target &on, plane_kind kind, const char *from, char *to,
                                               const move_loop *loops, int count) {
    constexpr int64_t bytes = sizeof(Element);
    loop_counter planes(2, count);
    do {
        move_plane<Element, vectors>(on, kind, from, to, loops[0], loops[1]);
    } while (planes.next([=](int i) { return loops[i].extent; },
                         [&](int i, int64_t steps) {
                             from += steps * loops[i].from * bytes;
                             to += steps * loops[i].to * bytes;
                         }));
}

template<bool vectors>
[[gnu::always_inline]] inline void move_elements(const target &on, int64_t bits, plane_kind kind, const char *from,
                                                 char *to, const move_loop *loops, int count) {
    switch (bits) {
    case 8: move_planes<uint8_t, vectors>(on, kind, from, to, loops, count); break;
    case 16: move_planes<uint16_t, vectors>(on, kind, from, to, loops, count); break;
    default: move_planes<uint32_t, vectors>(on, kind, from, to, loops, count);
    }
}

void move_portably(const target &on, int64_t bits, plane_kind kind, const char *from, char *to, const move_loop *loops,
                   int count) {
    move_elements<portable_vectors>(on, bits, kind, from, to, loops, count);
}

QDQ_AVX2 void move_avx2(const target &on, int64_t bits, plane_kind kind, const char *from, char *to,
                        const move_loop *loops, int count) {
    move_elements<true>(on, bits, kind, from, to, loops, count);
}

// Elements of contiguous rows as their bytes.
void count_bytes_of_rows(int64_t bytes, move_loop *loops, int count) {
    loops[0].extent *= bytes;
    for (int i = 1; i < count; i++) {
        loops[i].from *= bytes;
        loops[i].to *= bytes;
    }
}

// Packed codes as the bytes that hold them.
void count_bytes(int64_t codes, move_loop *loops, int count) {
    for (int i = 0; i < count; i++) {
        move_loop &l = loops[i];
        l = l.from == 1 && l.to == 1 ? move_loop{(l.extent + codes - 1) / codes, 1, 1}
                                     : move_loop{l.extent, l.from / codes, l.to / codes};
    }
}

// Puts the best loop from `start` on there.
template<typename Preference> void put_best(move_loop *loops, int start, int count, Preference preference) {
    if (start < count) {
        std::swap(loops[start], *std::max_element(loops + start, loops + count, [&](const auto &a, const auto &b) {
                      return preference(a) < preference(b);
                  }));
    }
}

plane_kind choose_plane(int64_t bits, move_loop *loops, int count) {
    const auto by_extent = [](const move_loop &l) { return l.extent; };
    put_best(loops, 0, count, [](const move_loop &l) { return 2 * (l.to == 1) + (l.from == 1); });
    const move_loop column = loops[0];
    if (column.to == 1 && column.from == 1) {
        put_best(loops, 1, count, by_extent);
        return plane_kind::rows;
    }
    put_best(loops, 1, count, [](const move_loop &l) { return l.from == 1 ? INT64_MAX : l.extent; });
    const move_loop row = loops[1];
    const int64_t side = 128 / bits;
    if (count > 1 && column.to == 1 && row.from == 1 && row.extent >= side && column.extent >= side) {
        const bool generated = column.extent == group && row.extent == group && rows_in_reach(column.from) >= group &&
                               rows_in_reach(row.to) >= group;
        return generated ? plane_kind::generated : plane_kind::transposed;
    }
    if (column.extent < side) {
        put_best(loops, 0, count, by_extent);
        put_best(loops, 1, count, by_extent);
    }
    return plane_kind::strided;
}

}  // namespace

int merge(move_loop *loops, int count) {
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const move_loop next = loops[i];
        if (next.extent == 1) {
            continue;
        }
        move_loop *const last = kept > 0 ? &loops[kept - 1] : nullptr;
        if (last && next.from == last->from * last->extent && next.to == last->to * last->extent) {
            last->extent *= next.extent;
        } else {
            loops[kept++] = next;
        }
    }
    return kept;
}

void move(const target &on, int64_t bits, const void *from, void *to, move_loop *loops, int count) {
    count = merge(loops, count);
    if (bits < 8) {
        count_bytes(8 / bits, loops, count);
        bits = 8;
    }
    move_loop all[most_loops + 2];  // not zeroed, which would take a tenth of a tile's time
    all[0] = {1, 1, 1};
    all[1] = {1, 0, 0};
    std::copy_n(loops, count, all);
    const plane_kind kind = count == 0 ? plane_kind::rows : choose_plane(bits, all, count);
    if (count == 1) {
        all[1] = {1, 0, 0};
    }
    if (kind == plane_kind::rows) {
        count_bytes_of_rows(bits / 8, all, count);
        bits = 8;
    }
    auto *const by = runs_avx2(on) ? move_avx2 : move_portably;
    by(on, bits, kind, static_cast<const char *>(from), static_cast<char *>(to), all, count);
}

}  // namespace qdq::runtime

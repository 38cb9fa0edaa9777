#include "cpu/packing.h"

#include "cpu/avx2.h"
#include "cpu/kernel_call.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

// The kernels move 64 bytes at a time: what is left goes through memory that has room for so many.
[[gnu::noinline]] void repack(bytes_kernel *kernel, const void *from, void *to, int64_t bytes) {
    constexpr int64_t step = 64;
    const int64_t whole = bytes / step * step;
    auto rest = static_cast<size_t>(bytes - whole);
    if (whole > 0) {
        call_bytes(kernel, from, to, whole);
    }
    if (rest > 0) {
        alignas(step) char before[step] = {}, after[step];
        std::memcpy(before, static_cast<const char *>(from) + whole, rest);
        call_bytes(kernel, before, after, step);
        std::memcpy(static_cast<char *>(to) + whole, after, rest);
    }
}

// Low-first codes from one to another place. Places are arguments of their own: as fields of a structure they went
// through memory, by stores that later loads had to wait for. They become bits, as dividing by the codes of a byte,
// which no compiler knows, takes longer than copying 49 of them.

// Fewer bits than a byte has, into one byte. Others of it stay.
[[gnu::noinline]] void copy_few(const uint8_t *from, int64_t read, uint8_t *to, int64_t written, int64_t bits) {
    if (bits == 0) {
        return;
    }
    int codes = from[read / 8] >> read % 8;
    if (read % 8 + bits > 8) {
        codes |= from[read / 8 + 1] << (8 - read % 8);
    }
    const int mask = ((1 << bits) - 1) << written % 8;
    uint8_t &byte = to[written / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | (codes << written % 8 & mask));
}

// Bytes whose codes begin `shift` bits into the first of those read, of which there is one more. The last eight may
// overlap those before.
template<bool vectors>
[[gnu::always_inline]] inline void shift_bytes(const uint8_t *__restrict from, int shift, uint8_t *__restrict to,
                                               int64_t bytes) {
    const auto shift_eight = [=](int64_t i) __attribute__((always_inline)) {
        uint64_t first, second;
        std::memcpy(&first, from + i, 8);
        std::memcpy(&second, from + i + 1, 8);
        first = first >> shift | second << (8 - shift);
        std::memcpy(to + i, &first, 8);
    };
    for (int64_t i = 0; i < bytes - 8; i += 8) {
        shift_eight(i);
        if constexpr (!vectors) {
            asm volatile("");
        }
    }
    if (bytes >= 8) {
        shift_eight(bytes - 8);
        return;
    }
    for (int64_t i = 0; i < bytes; i++) {
        to[i] = static_cast<uint8_t>(from[i] >> shift | from[i + 1] << (8 - shift));
        asm volatile("");  // vectors of so few are more code
    }
}

QDQ_PORTABLE void shift_portably(const uint8_t *from, int shift, uint8_t *to, int64_t bytes) {
    shift_bytes<portable_vectors>(from, shift, to, bytes);
}
QDQ_AVX2 void shift_avx2(const uint8_t *from, int shift, uint8_t *to, int64_t bytes) {
    shift_bytes<true>(from, shift, to, bytes);
}

void copy_codes(const call &op, const uint8_t *from, int64_t first, uint8_t *to, int64_t place, int64_t count) {
    int64_t read = first * op.codes().bits, written = place * op.codes().bits, bits = count * op.codes().bits;
    const int64_t before = std::min(bits, -written & 7);
    copy_few(from, read, to, written, before);
    read += before;
    written += before;
    bits -= before;
    const auto shift = static_cast<int>(read % 8);
    if (shift == 0) {
        std::memcpy(to + written / 8, from + read / 8, static_cast<size_t>(bits / 8));
    } else {
        (runs_avx2(*op.target) ? shift_avx2 : shift_portably)(from + read / 8, shift, to + written / 8, bits / 8);
    }
    copy_few(from, read + bits / 8 * 8, to, written + bits / 8 * 8, bits % 8);
}

// Codes of an array in another order, low first: from one of them on as many as there is room for, with all that share
// their bytes or split halves with them.
class reordered_part {
    static constexpr int64_t most_bytes = 512;

public:
    const int64_t lead, count;  // places before the first code, and codes from it on

    [[gnu::noinline]] reordered_part(const call &op, int64_t first, int64_t most)
        : lead(first % op.packed_unit()),
          count(std::min(most, most_bytes * op.codes_per_byte() - lead)),
          op(op),
          start((first - lead) / op.codes_per_byte()),
          bytes((lead + count + op.packed_unit() - 1) / op.packed_unit() * op.packed_unit() / op.codes_per_byte()) {}

    uint8_t *codes() { return memory; }

    void read(const char *array) { from_packing(*op.target, op.packing, array + start, memory, bytes); }
    void write(char *array) { to_packing(*op.target, op.packing, memory, array + start, bytes); }

private:
    const call &op;
    const int64_t start, bytes;
    alignas(64) uint8_t memory[most_bytes];
};

}  // namespace

void to_packing(const target &on, qdq_packing packing, const void *from, void *to, int64_t bytes) {
    repack(packing == QDQ_HIGH_FIRST ? on.swap_nibbles : on.split_halves, from, to, bytes);
}

void from_packing(const target &on, qdq_packing packing, const void *from, void *to, int64_t bytes) {
    repack(packing == QDQ_HIGH_FIRST ? on.swap_nibbles : on.join_halves, from, to, bytes);
}

void gather_codes(const call &op, const char *from, int64_t first, int64_t count, char *to) {
    auto *const codes = reinterpret_cast<uint8_t *>(to);
    codes[(count * op.codes().bits - 1) / 8] = 0;
    if (op.packing == QDQ_LOW_FIRST) {
        copy_codes(op, reinterpret_cast<const uint8_t *>(from), first, codes, 0, count);
        return;
    }
    for (int64_t done = 0; done < count;) {
        reordered_part part(op, first + done, count - done);
        part.read(from);
        copy_codes(op, part.codes(), part.lead, codes, done, part.count);
        done += part.count;
    }
}

void scatter_codes(const call &op, const char *from, char *to, int64_t first, int64_t count, bool are_last) {
    const auto *const codes = reinterpret_cast<const uint8_t *>(from);
    if (op.packing == QDQ_LOW_FIRST) {
        copy_codes(op, codes, 0, reinterpret_cast<uint8_t *>(to), first, count);
        if (are_last) {
            clear_padding(to, op.y_bits, first + count);
        }
        return;
    }
    for (int64_t done = 0; done < count;) {
        reordered_part part(op, first + done, count - done);
        part.read(to);
        copy_codes(op, codes, done, part.codes(), part.lead, part.count);
        done += part.count;
        if (are_last && done == count) {
            clear_padding(reinterpret_cast<char *>(part.codes()), op.y_bits, part.lead + part.count);
        }
        part.write(to);
    }
}

}  // namespace qdq::runtime

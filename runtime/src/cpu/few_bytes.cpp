#include "cpu/few_bytes.h"

#include "cpu/avx2.h"
#include "cpu/cache_lines.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

// GCC makes a masked load, or a masked store, of a loop over the bytes of a line.
QDQ_AVX512_BYTES void copy_padded_by_masks(const char *__restrict from, int64_t bytes, char *__restrict to,
                                           int64_t whole) {
    for (int64_t at = 0; at < whole; at += line) {
        const auto there = static_cast<uint8_t>(std::clamp<int64_t>(bytes - at, 0, line));
        for (uint8_t i = 0; i < line; i++) {
            to[at + i] = i < there ? from[at + i] : char{0};
        }
    }
}

QDQ_AVX512_BYTES void copy_results_by_masks(const char *__restrict from, int64_t bytes, char *__restrict to) {
    for (int64_t at = 0; at < bytes; at += line) {
        const auto there = static_cast<uint8_t>(std::min(bytes - at, line));
        for (uint8_t i = 0; i < line; i++) {
            if (i < there) {
                to[at + i] = from[at + i];
            }
        }
    }
}

// By aligned pieces, each of which one store of the kernel's has written: a load of two waits for both.
void copy_results_by_pieces(const char *from, int64_t bytes, char *to) {
    int64_t done = 0;
    for (; done + 32 <= bytes; done += 32) {
        std::memcpy(to + done, from + done, 32);
    }
    const auto copy_piece = [&](int64_t piece) __attribute__((always_inline)) {
        if (bytes & piece) {
            std::memcpy(to + done, from + done, static_cast<size_t>(piece));
            done += piece;
        }
    };
    copy_piece(16);
    copy_piece(8);
    copy_piece(4);
    copy_piece(2);
    copy_piece(1);
}

}  // namespace

void copy_padded(const target &on, const char *from, int64_t bytes, char *to, int64_t whole) {
    if (runs_avx512(on)) {
        copy_padded_by_masks(from, bytes, to, whole);
        return;
    }
    std::memset(to + bytes, 0, whole - bytes);
    std::memcpy(to, from, bytes);
}

void copy_results(const target &on, const char *from, int64_t bytes, char *to) {
    if (runs_avx512(on)) {
        copy_results_by_masks(from, bytes, to);
        return;
    }
    copy_results_by_pieces(from, bytes, to);
}

}  // namespace qdq::runtime

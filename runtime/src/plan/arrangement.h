// Where scales of matrices lie in the layouts of qdq_scale_layout.
#pragma once

#include "qdq/qdq.h"
#include "support/types.h"

#include <cstdint>

namespace qdq::runtime {

inline bool is_layout(qdq_scale_layout layout) {
    return stored_value(layout) >= QDQ_SCALES_TILED_128X4 && stored_value(layout) <= QDQ_SCALES_COLUMN_WORDS;
}

// The largest number where it would overflow.
int64_t product(int64_t a, int64_t b);

// Where one matrix of scales lies.
class arrangement {
public:
    static constexpr int64_t word = 4;  // scales of a row that stay together

    arrangement(qdq_scale_layout layout, int64_t rows, int64_t columns)
        : layout(layout), rows(rows), words(pieces(columns, word)) {}

    int64_t bytes() const;  // the largest number where it would overflow

    // Where a row's word of scales begins.
    int64_t place(int64_t row, int64_t column_word) const {
        if (layout == QDQ_SCALES_COLUMN_WORDS) {
            return (column_word * pieces(rows, word) * word + row) * word;
        }
        const auto inside = uint64_t(row) % tile_rows;  // by masks and shifts
        const int64_t tile = int64_t(uint64_t(row) / tile_rows) * words + column_word;
        return tile * tile_bytes + int64_t(inside % band_rows * (tile_rows / band_rows) + inside / band_rows) * word;
    }

private:
    static constexpr int64_t tile_rows = 128, band_rows = 32, tile_bytes = tile_rows * word;

    static constexpr int64_t pieces(int64_t extent, int64_t piece) { return extent / piece + (extent % piece != 0); }

    const qdq_scale_layout layout;
    const int64_t rows, words;
};

}  // namespace qdq::runtime

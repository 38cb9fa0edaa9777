#include "cpu/movement.h"

#include "cpu/kernel_call.h"

#include <cstring>

namespace qdq::runtime {

namespace {

// Elements at any address.
template<typename Element>
void copy_strided(const char *from, int64_t from_column, int64_t from_row, char *to, int64_t to_column, int64_t to_row,
                  rectangle area) {
    constexpr int64_t bytes = sizeof(Element);
    for (int64_t r = 0; r < area.rows; r++) {
        for (int64_t c = 0; c < area.columns; c++) {
            std::memcpy(to + (r * to_row + c * to_column) * bytes, from + (r * from_row + c * from_column) * bytes,
                        bytes);
        }
    }
}

void copy_rows(int64_t bits, const char *from, int64_t from_row, char *to, int64_t to_row, rectangle area) {
    const int64_t bytes = (area.columns * bits + 7) / 8;
    for (int64_t r = 0; r < area.rows; r++) {
        std::memcpy(address(to, r * to_row, bits), address(from, r * from_row, bits), bytes);
    }
}

bool in_reach(int64_t pitch) { return rows_in_reach(pitch) >= group; }

// to(c, r) = from(c, r) for any strides. Rows out of a kernel's reach are copied one element at a time.
void copy(const target &on, int64_t bits, const char *from, int64_t from_column, int64_t from_row, char *to,
          int64_t to_column, int64_t to_row, rectangle area) {
    const bool whole_tile = area.columns == group && area.rows == group;
    if (from_column == 1 && to_column == 1) {
        copy_rows(bits, from, from_row, to, to_row, area);
    } else if (whole_tile && from_column == 1 && to_row == 1 && in_reach(from_row) && in_reach(to_column)) {
        call_transpose(on, bits / 8, {from, from_row}, {to, to_column});
    } else if (whole_tile && from_row == 1 && to_column == 1 && in_reach(from_column) && in_reach(to_row)) {
        call_transpose(on, bits / 8, {from, from_column}, {to, to_row});
    } else if (bits == 8) {
        copy_strided<uint8_t>(from, from_column, from_row, to, to_column, to_row, area);
    } else if (bits == 16) {
        copy_strided<uint16_t>(from, from_column, from_row, to, to_column, to_row, area);
    } else {
        copy_strided<uint32_t>(from, from_column, from_row, to, to_column, to_row, area);
    }
}

}  // namespace

void gather(const target &on, int64_t bits, const char *from, int64_t column_stride, int64_t row_stride, rectangle area,
            char *rows, int64_t pitch) {
    copy(on, bits, from, column_stride, row_stride, rows, 1, pitch, area);
}

void scatter(const target &on, int64_t bits, const char *rows, int64_t pitch, rectangle area, char *to,
             int64_t column_stride, int64_t row_stride) {
    copy(on, bits, rows, 1, pitch, to, column_stride, row_stride, area);
}

}  // namespace qdq::runtime

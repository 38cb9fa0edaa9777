#include "dtype_table.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

namespace qdq_cli {

namespace {

constexpr dtype file_dtypes[] = {
    {"F32", "<f4", 32, QDQ_F32, 0, 0, 0},
    {"F16", "<f2", 16, QDQ_F16, 0, 0, 0},
    {"BF16", "", 16, QDQ_BF16, 0, 0, 0},
    {"I8", "|i1", 8, QDQ_I8, -128, 127, 1},
    {"U8", "|u1", 8, QDQ_U8, 0, 255, 1},
    {"I16", "<i2", 16, QDQ_I16, -32768, 32767, 1},
    {"U16", "<u2", 16, QDQ_U16, 0, 65535, 1},
    {"I32", "<i4", 32, QDQ_I32, -2147483648.0, 2147483647, 1},
    {"F8_E4M3", "", 8, QDQ_F8E4M3, -448, 448, 32},
    {"F8_E5M2", "", 8, QDQ_F8E5M2, -57344, 57344, 8192},
    {"F8_E4M3FNUZ", "", 8, QDQ_F8E4M3FNUZ, -240, 240, 16},
    {"F8_E5M2FNUZ", "", 8, QDQ_F8E5M2FNUZ, -57344, 57344, 8192},
    {"F4", "", 4, QDQ_F4E2M1, -6, 6, 2},
    {"F8_E8M0", "", 8, QDQ_E8M0, 0, 0, 0},
    {"BOOL", "|b1", 8, std::nullopt, 0, 0, 0},
    {"U32", "<u4", 32, std::nullopt, 0, 0, 0},
    {"I64", "<i8", 64, std::nullopt, 0, 0, 0},
    {"U64", "<u8", 64, std::nullopt, 0, 0, 0},
    {"F64", "<f8", 64, std::nullopt, 0, 0, 0},
    {"C64", "<c8", 64, std::nullopt, 0, 0, 0},
    {"F6_E2M3", "", 6, std::nullopt, 0, 0, 0},
    {"F6_E3M2", "", 6, std::nullopt, 0, 0, 0},
};

constexpr dtype other_dtypes[] = {
    {"I4", "", 4, QDQ_I4, -8, 7, 1},
    {"U4", "", 4, QDQ_U4, 0, 15, 1},
};

template<typename Field, typename Value>
const dtype *find(std::span<const dtype> rows, Field dtype::*field, Value value) {
    auto row = std::ranges::find(rows, value, field);
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace

const dtype *find_dtype(std::string_view name) { return find(file_dtypes, &dtype::name, name); }

const dtype *find_npy_dtype(std::string_view descr) {
    return descr.empty() ? nullptr : find(file_dtypes, &dtype::npy, descr);
}

const dtype &dtype_of(qdq_dtype core) {
    for (std::span<const dtype> rows : {std::span<const dtype>(file_dtypes), std::span<const dtype>(other_dtypes)}) {
        if (const dtype *row = find(rows, &dtype::core, std::optional(core))) {
            return *row;
        }
    }
    throw std::invalid_argument("not a type of this library's: " + std::to_string(core));
}

const dtype &zero_point_dtype(const dtype &code) {
    return code.bits >= 8 ? code : dtype_of(code.lowest < 0 ? QDQ_I8 : QDQ_U8);
}

}  // namespace qdq_cli

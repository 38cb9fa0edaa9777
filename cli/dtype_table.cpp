#include "dtype_table.h"

#include <algorithm>
#include <iterator>

namespace qdq_cli {

namespace {

constexpr dtype dtypes[] = {
    {"F32", "<f4", 32, QDQ_F32, "", 0, 0},
    {"F16", "<f2", 16, QDQ_F16, "", 0, 0},
    {"BF16", "", 16, QDQ_BF16, "", 0, 0},
    {"I8", "|i1", 8, QDQ_I8, "i8", -128, 127},
    {"U8", "|u1", 8, QDQ_U8, "u8", 0, 255},
    {"I16", "<i2", 16, QDQ_I16, "", 0, 0},
    {"U16", "<u2", 16, QDQ_U16, "", 0, 0},
    {"I32", "<i4", 32, QDQ_I32, "", 0, 0},
    {"F8_E4M3", "", 8, QDQ_F8E4M3, "", 0, 0},
    {"F8_E5M2", "", 8, QDQ_F8E5M2, "", 0, 0},
    {"F8_E8M0", "", 8, QDQ_E8M0, "", 0, 0},
    {"F4", "", 4, QDQ_F4E2M1, "", 0, 0},
    {"BOOL", "|b1", 8, std::nullopt, "", 0, 0},
    {"U32", "<u4", 32, std::nullopt, "", 0, 0},
    {"I64", "<i8", 64, std::nullopt, "", 0, 0},
    {"U64", "<u8", 64, std::nullopt, "", 0, 0},
    {"F64", "<f8", 64, std::nullopt, "", 0, 0},
    {"C64", "<c8", 64, std::nullopt, "", 0, 0},
    {"F6_E2M3", "", 6, std::nullopt, "", 0, 0},
    {"F6_E3M2", "", 6, std::nullopt, "", 0, 0},
    {"F8_E4M3FNUZ", "", 8, std::nullopt, "", 0, 0},
    {"F8_E5M2FNUZ", "", 8, std::nullopt, "", 0, 0},
};

const dtype *find(std::string_view dtype::*field, std::string_view value) {
    auto same = [&](const dtype &row) { return row.*field == value; };
    const dtype *row = std::find_if(std::begin(dtypes), std::end(dtypes), same);
    return value.empty() || row == std::end(dtypes) ? nullptr : row;
}

}  // namespace

const dtype *find_dtype(std::string_view name) { return find(&dtype::name, name); }
const dtype *find_npy_dtype(std::string_view descr) { return find(&dtype::npy, descr); }
const dtype *find_code_dtype(std::string_view option) { return find(&dtype::option, option); }

const dtype &f32_dtype() { return dtypes[0]; }

std::vector<std::string> code_options() {
    std::vector<std::string> options;
    for (const dtype &row : dtypes) {
        if (row.is_code()) {
            options.emplace_back(row.option);
        }
    }
    return options;
}

}  // namespace qdq_cli

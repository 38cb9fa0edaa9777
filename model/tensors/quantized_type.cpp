#include "tensors/quantized_type.h"

#include <algorithm>
#include <iterator>

namespace qdq::model {

namespace {

constexpr quantized_type types[] = {
    {"i8", {"int8"}, QDQ_I8},
    {"u8", {"uint8"}, QDQ_U8},
    {"i16", {"int16"}, QDQ_I16},
    {"u16", {"uint16"}, QDQ_U16},
    {"i32", {"int32"}, QDQ_I32},
    {"i4", {"int4"}, QDQ_I4},
    {"u4", {"uint4"}, QDQ_U4},
    {"f8e4m3", {"fp8", "fp8_e4m3", "f8e4m3fn", "e4m3", "e4m3fn", "float8_e4m3fn"}, QDQ_F8E4M3},
    {"f8e5m2", {"fp8_e5m2", "e5m2", "float8_e5m2"}, QDQ_F8E5M2},
    {"f8e4m3fnuz", {"e4m3fnuz", "float8_e4m3fnuz"}, QDQ_F8E4M3FNUZ},
    {"f8e5m2fnuz", {"e5m2fnuz", "float8_e5m2fnuz"}, QDQ_F8E5M2FNUZ},
    {"f4e2m1", {"fp4", "e2m1", "e2m1fn", "f4e2m1fn", "float4_e2m1fn"}, QDQ_F4E2M1},
    {"mxfp8", {}, QDQ_F8E4M3, scale_form::power_of_two, 32},
    {"mxfp6e2m3", {"mxfp6_e2m3"}, QDQ_F6E2M3, scale_form::power_of_two, 32},
    {"mxfp6e3m2", {"mxfp6_e3m2"}, QDQ_F6E3M2, scale_form::power_of_two, 32},
    {"mxfp4", {}, QDQ_F4E2M1, scale_form::power_of_two, 32},
    {"nvfp4", {}, QDQ_F4E2M1, scale_form::two_level, 16},
    {"q8_0", {}, QDQ_I8, scale_form::in_blocks, 32},
    {"q4_0", {}, QDQ_I4, scale_form::in_blocks, 32},
    {"q4_1", {}, QDQ_U4, scale_form::in_blocks, 32},
    {"q5_0", {}, QDQ_I8, scale_form::in_blocks, 32},
    {"q5_1", {}, QDQ_U8, scale_form::in_blocks, 32},
    {"iq4_nl", {}, QDQ_I8, scale_form::in_blocks, 32},
};

constexpr quantized_type mxfp4_in_blocks = {"mxfp4", {}, QDQ_F4E2M1, scale_form::in_blocks, 32};

}  // namespace

const quantized_type *in_blocks(const quantized_type *type) {
    return type->option == mxfp4_in_blocks.option ? &mxfp4_in_blocks : type;
}

const quantized_type *find_quantized_type(std::string_view name) {
    auto named = [&](const quantized_type &row) {
        return row.option == name || std::ranges::count(row.aliases, name) != 0;
    };
    const quantized_type *row = std::ranges::find_if(types, named);
    return name.empty() || row == std::end(types) ? nullptr : row;  // unused aliases are empty
}

std::vector<std::string> quantized_type_names() {
    std::vector<std::string> names;
    for (const quantized_type &row : types) {
        names.emplace_back(row.option);
    }
    return names;
}

}  // namespace qdq::model

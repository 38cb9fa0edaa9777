// The element types by where they may stand in a call, from the table that the kernels are made from: a type added to
// kernels/manifest.cmake is in every test of this folder. Of a build that picks rows, those that a row has.
#pragma once

#include "element_types.h"
#include "picked_rows.h"

#include <qdq/qdq.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace supported {

inline std::vector<qdq_dtype> in_role(bool qdq::kernels::roles::*role) {
    std::vector<qdq_dtype> types;
    for (const qdq::kernels::element_type &type : qdq::kernels::element_types) {
        if (type.roles.*role) {
            types.push_back(type.dtype);
        }
    }
    return types;
}

inline std::vector<qdq_dtype> every_type_there_is() {
    std::vector<qdq_dtype> types;
    for (const qdq::kernels::element_type &type : qdq::kernels::element_types) {
        types.push_back(type.dtype);
    }
    return types;
}

// "quantize_f32_i8"
inline std::string row_name(bool quantizes, qdq_dtype x, qdq_dtype y) {
    return std::string(quantizes ? "quantize_" : "dequantize_") + qdq::kernels::type_of(x).name + "_" +
           qdq::kernels::type_of(y).name;
}

inline bool has_row(bool quantizes, qdq_dtype x, qdq_dtype y) {
    const auto &rows = qdq::kernels::picked_rows;
    return std::find(std::begin(rows), std::end(rows), row_name(quantizes, x, y)) != std::end(rows);
}

// Those of the types that have a role for which there is a row with any type of another role.
inline std::vector<qdq_dtype> in_rows(bool qdq::kernels::roles::*role, bool qdq::kernels::roles::*other) {
    std::vector<qdq_dtype> types;
    for (qdq_dtype type : in_role(role)) {
        for (qdq_dtype opposite : in_role(other)) {
            if (has_row(true, type, opposite) || has_row(false, type, opposite) || has_row(true, opposite, type) ||
                has_row(false, opposite, type)) {
                types.push_back(type);
                break;
            }
        }
    }
    return types;
}

inline const std::vector<qdq_dtype> every_type = every_type_there_is();
inline const std::vector<qdq_dtype> stored_types = in_rows(&qdq::kernels::roles::stored, &qdq::kernels::roles::floats);
inline const std::vector<qdq_dtype> float_types = in_rows(&qdq::kernels::roles::floats, &qdq::kernels::roles::stored);
inline const std::vector<qdq_dtype> scale_types = in_role(&qdq::kernels::roles::scale);
inline const std::vector<qdq_dtype> zero_point_types = in_role(&qdq::kernels::roles::zero_point);

// Whether devices have kernels of a stored type.
inline bool on_devices(qdq_dtype type) { return !qdq::kernels::type_of(type).roles.host; }

// The orders in which a type's codes may lie in bytes, low first included.
inline std::vector<qdq_packing> packings_of(qdq_dtype type) {
    if (qdq::kernels::type_of(type).codes_per_byte() != 2) {
        return {QDQ_LOW_FIRST};
    }
    return {QDQ_LOW_FIRST, QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES};
}

inline bool takes(qdq_dtype type, qdq_packing packing) {
    const std::vector<qdq_packing> all = packings_of(type);
    return std::find(all.begin(), all.end(), packing) != all.end();
}

}  // namespace supported

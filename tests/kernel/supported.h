// The element types by where they may stand in a call, from the table that the kernels are made from: a type added to
// kernels/manifest.cmake is in every test of this folder.
#pragma once

#include "element_types.h"

#include <qdq/qdq.h>

#include <algorithm>
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

inline const std::vector<qdq_dtype> every_type = every_type_there_is();
inline const std::vector<qdq_dtype> stored_types = in_role(&qdq::kernels::roles::stored);
inline const std::vector<qdq_dtype> float_types = in_role(&qdq::kernels::roles::floats);
inline const std::vector<qdq_dtype> scale_types = in_role(&qdq::kernels::roles::scale);
inline const std::vector<qdq_dtype> zero_point_types = in_role(&qdq::kernels::roles::zero_point);

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

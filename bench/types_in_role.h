// The types that benchmarks go through, by the names of their rows.
#pragma once

#include "element_types.h"

#include <vector>

namespace bench {

using qdq::kernels::element_type;

inline std::vector<element_type> types_in_role(bool qdq::kernels::roles::*role) {
    std::vector<element_type> types;
    for (const element_type &type : qdq::kernels::element_types) {
        if (type.roles.*role) {
            types.push_back(type);
        }
    }
    return types;
}

inline const std::vector<element_type> float_types = types_in_role(&qdq::kernels::roles::floats);
inline const std::vector<element_type> stored_types = types_in_role(&qdq::kernels::roles::stored);

}  // namespace bench

// The orders in which a byte, or 16 of them, hold 4-bit codes (qdq_packing).
#pragma once

#include <map>
#include <string>

namespace qdq {

enum class packing { low_first, high_first, split_halves };

inline const std::map<std::string, packing> &packing_names() {
    static const std::map<std::string, packing> names = {{"low_first", packing::low_first},
                                                         {"high_first", packing::high_first},
                                                         {"split_halves", packing::split_halves}};
    return names;
}

}  // namespace qdq

// Changes of the order in which bytes hold 4-bit codes (qdq_packing). Kernels compute with the low nibble first.
#pragma once

#include <map>
#include <string>

namespace qdq::kernels {

enum class repacking {
    swap_nibbles,  // low first to high first, and back
    split_halves,  // low first to split halves: byte j of 16 holds elements j and j + 16
    join_halves,   // split halves to low first
};

inline const std::map<std::string, repacking> &repacking_names() {
    static const std::map<std::string, repacking> names = {{"swap_nibbles", repacking::swap_nibbles},
                                                           {"split_halves", repacking::split_halves},
                                                           {"join_halves", repacking::join_halves}};
    return names;
}

}  // namespace qdq::kernels

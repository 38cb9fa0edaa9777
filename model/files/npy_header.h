#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace qdq::model {

// The header of an .npy file, versions 1 to 3.
struct npy_header {
    std::string descr;
    bool fortran_order;
    std::vector<int64_t> shape;
};
npy_header parse_npy_header(const std::string &text);

}  // namespace qdq::model

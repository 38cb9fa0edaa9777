// What ptxas makes of a kernel for architectures that are known when qdq is built.
#pragma once

#include <string>

namespace qdq {

// PTX with its NUL, and its cubins behind it, as kernels/compressed_text.h says. The text alone where there are no
// architectures.
std::string with_cubins(const std::string &ptx, const std::string &ptxas, const std::string &architectures);

}  // namespace qdq

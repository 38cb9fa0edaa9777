// What the kernels of ggml's block formats share.
#pragma once

#include "arithmetic.h"
#include "block_formats.h"
#include "formats.h"

#include <stdexcept>
#include <string>

namespace qdq {

// The format of a name. Throws std::invalid_argument where there is none.
inline const block_format &block_format_named(const std::string &name) {
    for (const block_format &each : block_formats) {
        if (each.name == name) {
            return each;
        }
    }
    throw std::invalid_argument("there is no block format named \"" + name + "\"");
}

// 2^(e - 128), of a uint32: half the scale, as codes of f4e2m1 count halves here.
inline Expr half_power(const Expr &e) {
    return reinterpret<float>(select(e < 2, bit_pattern(0x00200000) << e, (e - 1) << 23));
}

}  // namespace qdq

// What a kernel by hand of stochastic rounding is called with: x's elements lie one after another, and so do the codes.
#pragma once

#include "element_type.h"

#include <cstdint>

namespace qdq::kernels {

struct stochastic_row {
    qdq_dtype x_type, y_type;
    const void *x;
    void *y;
    int64_t elements;
    uint64_t seed, block;  // of the random generator: the block whose first bits are the first element's
    // Operands as quantize takes them, by its variant `multiply` or `divide`, or by those with a zero point:
    // variants.h. All scales are divisors. Each is of so many elements, whole 16, and the last of those that are left.
    const float *scale, *inverse;  // the latter where x is divided
    const int32_t *zero_point;     // bits of f32, integers
    int64_t elements_of_operand;
    int32_t lowest, highest;  // of integers, of which NaN has the lowest
    bool multiplies, nontemporal;
};

// Whether these are its to compute; then it has. qdq_rounding in qdq.h says which bits an element has.
using stochastic_row_kernel = bool(const stochastic_row &row);

}  // namespace qdq::kernels

// The kernels of stochastic rounding. Their table is not part of a target, as that of reduction_table.h.
#pragma once

#include "grids.h"
#include "stochastic_row.h"
#include "targets/entry_of_target.h"

#include <algorithm>

namespace qdq::runtime {

// Words of consecutive blocks of the generator, two for each: generators/random_generator.cpp.
using random_kernel = int(uint64_t seed, uint64_t first, halide_buffer_t *words);

// f32 to numbers of a grid, by random bytes: generators/stochastic_generator.cpp. y may be x.
using stochastic_kernel = int(halide_buffer_t *x, halide_buffer_t *random, uint32_t least_normal, uint32_t alignment,
                              halide_buffer_t *y);

// Of every stored type kernels::grid has the numbers.
static_assert(std::ranges::all_of(element_types, [](const element_type &type) {
    return !type.roles.stored || type.is_integer() || type.layout.mantissa_bits <= kernels::most_mantissa_bits;
}));

struct stochastic_kernels {
    const char *target;
    random_kernel *random;
    stochastic_kernel *round[3];          // by kernels::grid
    quantize_row quotients[3];            // of f32, f16 and bf16; empty: no row of the build quantizes such
    kernels::stochastic_row_kernel *row;  // by hand; NULL for none
};

extern const stochastic_kernels linked_stochastic_kernels[];

// Those of a target of the processor.
inline const stochastic_kernels &find_stochastic(const target &t) { return entry_of(t, linked_stochastic_kernels); }

}  // namespace qdq::runtime

#pragma once

#include "conversion/transformation.h"
#include "recipe/recipe.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace qdq::model {

// A tensor in one of the types that it could have: the bits that a file keeps for it, its scales among them, and the
// sums of squares of its values and of their errors.
struct type_choice {
    scheme how;
    uint64_t bits = 0;
    double signal = 0, noise = 0;

    double sqnr_db() const;  // infinite without noise
};

struct allocated_tensor {
    tensor_info tensor;
    type_choice chosen;
};

struct bit_allocation {
    recipe rules;  // what `qdq quantize --recipe` takes
    std::vector<allocated_tensor> tensors;

    double mean_bits() const;  // for each weight
};

// Types for the weights that would be quantized, so that together they take at most so many bits for each weight. Each
// is quantized to mxfp4, nvfp4, i4 in blocks of 128 and 32, f8e4m3 and i8, and its error measured. All start with the
// type of the fewest bits; then, again and again, the one becomes larger that gains most for each bit. What is gained
// is the error relative to the tensor's own values, times its number of elements. Throws failure where the fewest bits
// are too many.
bit_allocation allocate_bits(const std::filesystem::path &input, double bits, size_t threads,
                             const progress_function &advance);

// The bytes that allocate_bits() reads, as `advance` counts them.
uint64_t bytes_to_measure(const std::filesystem::path &input);

}  // namespace qdq::model

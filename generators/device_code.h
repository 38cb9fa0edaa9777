// What Halide's code for a device's kernel becomes before it is an object.
#pragma once

#include "Halide.h"

namespace qdq {

struct device_code_parameters {
    // Whether the function on the host checks types, dimensions and bounds of its buffers: the dispatcher, which makes
    // them, makes no others, and the checks are 4.7 KB of each kernel. What the device's functions return is always
    // checked.
    Halide::GeneratorParam<bool> asserts{"asserts", false};
    // Whether the text for the device's driver is compressed, as kernels/compressed_text.h says: of f32 to i8 with an
    // operand for each element, 166 KB of OpenCL C to 17, and 66 of PTX to 8.
    Halide::GeneratorParam<bool> compressed{"compressed", true};

    void apply_to(Halide::Pipeline pipeline, const Halide::Target &target) const;
};

}  // namespace qdq

// What Halide's code for a device's kernel becomes before it is an object.
#pragma once

#include "Halide.h"

#include <string>

namespace qdq {

struct device_code_parameters {
    // Whether the function on the host checks types, dimensions and bounds of its buffers: the dispatcher, which makes
    // them, makes no others, and the checks are 4.7 KB of each kernel. What the device's functions return is always
    // checked.
    Halide::GeneratorParam<bool> asserts{"asserts", false};
    // Whether the text for the device's driver is compressed, as kernels/compressed_text.h says: of f32 to i8 with an
    // operand for each element, 166 KB of OpenCL C to 17, and 66 of PTX to 8.
    Halide::GeneratorParam<bool> compressed{"compressed", true};

    // The assembler, and architectures ("80,90") for which it makes cubins of PTX, to be held behind it.
    Halide::GeneratorParam<std::string> ptxas{"ptxas", ""};
    Halide::GeneratorParam<std::string> architectures{"architectures", ""};

    void apply_to(Halide::Pipeline pipeline, const Halide::Target &target) const;
};

}  // namespace qdq

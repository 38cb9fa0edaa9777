// The examples of nvtripy's documentation: one scale, one for each row, and blocks of int4.
#include <qdq/compat/tripy.hpp>

#include "print.hpp"

namespace tp = qdq::tripy;

int main() {
    const std::int8_t small[] = {1, 2, 3}, codes[] = {1, 2, 3, 4, 5, 6};
    int failures = print<float>("per tensor", tp::dequantize(small, 0.99872, tp::float32));
    failures += print<float>("per channel", tp::dequantize({codes, {2, 3}}, {0.99872, 0.96125}, tp::float32, 0));

    const float input[] = {0, 1, 2, 3};
    const auto quant = tp::quantize({input, {2, 2}}, {{1.0, 1.0}}, tp::int4);
    if (!quant) {
        std::fprintf(stderr, "%s\n", quant.message());
        return 1;
    }
    return failures + print<float>("in blocks", tp::dequantize(*quant, {{1.0, 1.0}}, tp::float32));
}

// The sample of pypto's document, line by line.
#include <qdq/compat/pypto.hpp>

#include "print.hpp"

namespace pypto = qdq::pypto;

int main() {
    pypto::set_vec_tile_shapes(4, 16);

    auto x = pypto::tensor({3, 4}, pypto::DT_INT8);
    auto scale = pypto::tensor({3, 1}, pypto::DT_FP32);
    auto zero_points = pypto::tensor({3, 1}, pypto::DT_FP32);
    x.assign({1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4});  // added: the elements, which the document has below
    scale.assign({1.0, 1.0, 1.0});                   // added: the same
    zero_points.assign({-2.0, -2.0, -2.0});          // added: the same

    const auto y1 = pypto::dequantize(x, scale, pypto::DT_FP32, -1, pypto::None).value();
    const auto y2 = pypto::dequantize(x, scale, pypto::DT_FP32, -1, zero_points).value();

    print("y1", y1);
    print("y2", y2);
}

// The example of pypto's documentation: scale and zero points have a dimension of size 1 where they lack one.
#include <qdq/compat/pypto.hpp>

#include "print.hpp"

namespace pypto = qdq::pypto;

int main() {
    const std::int8_t x_data[] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
    const float scale_data[] = {1, 1, 1}, zero_points_data[] = {-2, -2, -2};
    const pypto::Tensor x(x_data, {3, 4}), scale(scale_data, {3, 1}), zero_points(zero_points_data, {3, 1});

    pypto::set_vec_tile_shapes(4, 16);
    const auto y1 = pypto::dequantize(x, scale, pypto::DT_FP32, -1, qdq::none);
    const auto y2 = pypto::dequantize(x, scale, pypto::DT_FP32, -1, zero_points);
    return print<float>("y1", y1) + print<float>("y2", y2);
}

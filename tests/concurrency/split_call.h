// A call that is large enough to be split over threads, with the result it must have.
#pragma once

#include "api/call.h"

namespace concurrency_test {

class split_call {
public:
    explicit split_call(int64_t elements = (int64_t{1} << 20) + 13)
        : x(api_test::floats(QDQ_F32, {elements})),
          scale(api_test::scales({})),
          expected(QDQ_I8, {elements}),
          y(expected) {
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view();
        api_test::call_reference({api_test::direction::quantize, &c_x, &c_scale, nullptr, &c_expected, nullptr});
    }

    // One thread at a time.
    bool is_right(decltype(qdq_quantize) *quantize = qdq_quantize) {
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
        std::memset(c_y.data, 0x55, static_cast<size_t>(c_y.shape[0]));
        return quantize(&c_x, &c_scale, nullptr, &c_y, nullptr) == QDQ_OK && y == expected;
    }

private:
    api_test::tensor_memory x, scale, expected, y;
};

}  // namespace concurrency_test

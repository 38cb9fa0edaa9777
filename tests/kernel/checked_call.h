// One call through the public interface, compared with the oracle bit for bit, bytes between the elements included.
#pragma once

#include "operand.h"

#include "reference/dequantize.h"
#include "reference/quantize.h"
#include "reference/tensor.h"
#include "support/compare.h"
#include "support/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace kernel_test {

using status_function = qdq_status(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                                   const qdq_options *);
using plan_function = qdq_status(qdq_plan *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                                 const qdq_tensor *, const qdq_options *);
using oracle_function = void(const qdq_tensor &, const qdq_tensor &, const qdq_tensor *, const qdq_tensor &,
                             const qdq_options *);

// The operands of the element stored at `position` of y's memory.
inline std::string describe_inputs_at(int64_t position, const storage &y, const qdq_tensor &x, const qdq_tensor &scale,
                                      const qdq_tensor *zero_point, const qdq_options &options) {
    const reference::parameters per_element(x, scale, zero_point, options);
    const qdq_tensor y_tensor = y.tensor();
    std::string text = "between the elements";
    reference::for_each_index(x, [&](const int64_t *index) {
        int64_t offset = 0;
        for (int32_t d = 0; d < x.rank; ++d) {
            offset = y_tensor.strides == nullptr || reference::is_packed(y_tensor.dtype)
                         ? offset * x.shape[d] + index[d]
                         : offset + index[d] * y_tensor.strides[d];
        }
        const int64_t bytes_before = static_cast<const uint8_t *>(y_tensor.data) - y.bytes();
        if (offset + bytes_before * 8 / reference::bits_of(y_tensor.dtype) != position) {
            return;
        }
        text = "[";
        for (int32_t d = 0; d < x.rank; ++d) {
            text += (d > 0 ? "," : "") + std::to_string(index[d]);
        }
        text += "] x " + test_support::describe_code(x.dtype, reference::load_code(x, index, options.packing));
        text += " scale " + test_support::describe(per_element.scale_at(index));
        const reference::zero_point z = per_element.zero_point_at(index);
        if (zero_point == nullptr) {
            return;
        }
        text += " zero point " + (z.integral ? std::to_string(z.integer) : test_support::describe(z.real));
    });
    return text;
}

// The three faces of one operation.
struct operation {
    oracle_function *oracle;
    status_function *call;
    plan_function *plan;
};

inline constexpr operation quantization{reference::quantize, test_support::quantize, qdq_plan_quantize};
inline constexpr operation dequantization{reference::dequantize, test_support::dequantize, qdq_plan_dequantize};

// Both ways of running an operation: at once, and by a plan in memory that held something else; on a device, there from
// where 16 bytes do not begin, at another distance on each side.
inline qdq_status call_at_once(const operation &op, const qdq_tensor &x, const qdq_tensor &scale,
                               const qdq_tensor *zero_point, const qdq_tensor &y, const qdq_options &options) {
    return op.call(&x, &scale, zero_point, &y, &options);
}

inline qdq_status call_by_plan(const operation &op, const qdq_tensor &x, const qdq_tensor &scale,
                               const qdq_tensor *zero_point, const qdq_tensor &y, const qdq_options &options) {
    if (const qdq_device_kind kind = test_support::current_device(); kind != QDQ_DEVICE_HOST) {
        auto bytes = [](const qdq_tensor &t) { return std::max(int64_t{reference::bits_of(t.dtype) / 8}, int64_t{1}); };
        return test_support::call_on_device(test_support::shared_device(kind), op.plan == qdq_plan_quantize, &x, &scale,
                                            zero_point, &y, &options, {true, bytes(x), 3 * bytes(y)});
    }
    qdq_plan plan;
    std::memset(&plan, 0x7f, sizeof plan);
    const qdq_status status = op.plan(&plan, &x, &scale, zero_point, &y, &options);
    return status == QDQ_OK ? qdq_run(&plan, x.data, y.data, nullptr) : status;
}

inline testing::AssertionResult agrees_with_oracle(const operation &op, const qdq_tensor &x, const qdq_tensor &scale,
                                                   const qdq_tensor *zero_point, qdq_dtype y_type,
                                                   const dimensions &y_strides, const qdq_options &options) {
    const dimensions shape(x.shape, x.shape + x.rank);
    const storage expected(y_type, shape, y_strides, 0xa5);
    op.oracle(x, scale, zero_point, expected.tensor(), &options);
    for (auto *run : {call_at_once, call_by_plan}) {
        const storage actual(y_type, shape, y_strides, 0xa5);
        if (run(op, x, scale, zero_point, actual.tensor(), options) != QDQ_OK) {
            return testing::AssertionFailure() << qdq_last_error();
        }
        const testing::AssertionResult same = test_support::same_codes(
            y_type, expected.bytes(), actual.bytes(), expected.elements(),
            [&](int64_t i) { return describe_inputs_at(i, actual, x, scale, zero_point, options); });
        if (same) {
            continue;
        }
        return testing::AssertionFailure() << (run == call_by_plan ? "by a plan: " : "") << same.message() << "\n  "
                                           << test_support::describe(options);
    }
    return testing::AssertionSuccess();
}

inline testing::AssertionResult quantizes_as_oracle(const qdq_tensor &x, const qdq_tensor &scale,
                                                    const qdq_tensor *zero_point, qdq_dtype y_type,
                                                    const dimensions &y_strides, const qdq_options &options) {
    return agrees_with_oracle(quantization, x, scale, zero_point, y_type, y_strides, options);
}

inline testing::AssertionResult dequantizes_as_oracle(const qdq_tensor &x, const qdq_tensor &scale,
                                                      const qdq_tensor *zero_point, qdq_dtype y_type,
                                                      const dimensions &y_strides, const qdq_options &options) {
    return agrees_with_oracle(dequantization, x, scale, zero_point, y_type, y_strides, options);
}

}  // namespace kernel_test

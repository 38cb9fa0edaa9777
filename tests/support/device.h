// One test on every target: its calls, on a device's tensors where the target is one's.
#pragma once

#include "conformance/device.h"

namespace test_support {

using conformance::call_on_device;
using conformance::device;
using conformance::device_call_options;
using conformance::dynamic_call_on_device;
using conformance::open_device;

// Where calls on the target in use take their tensors; QDQ_DEVICE_HOST for the processor's.
qdq_device_kind current_device();

// qdq_quantize and qdq_dequantize on the target in use. On a device they copy the tensors there, with bytes around
// them, and back. Where the bytes around an output have changed, that is QDQ_DEVICE_ERROR.
qdq_status quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                    const qdq_options *options);
qdq_status dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                      const qdq_options *options);
// The one device of a kind that tests share; a test fails where it is not there.
device &shared_device(qdq_device_kind kind);

}  // namespace test_support

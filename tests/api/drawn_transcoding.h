// Codes of one drawn call that become those of another, of the same shape.
#pragma once

#include "drawn_call.h"

namespace api_test {

// y as the oracle has it: dequantized to f32, and quantized.
tensor_memory expected_codes(const drawn_call &from, const drawn_call &to);

qdq_status transcode(const drawn_call &from, const drawn_call &to, const tensor_memory &y);

}  // namespace api_test

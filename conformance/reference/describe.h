// Values in words, for what a check reports.
#pragma once

#include <qdq/qdq.h>

#include <cstdint>
#include <string>

namespace reference {

// "0x3dcccccd (0.1)"
std::string describe(float value);

// An element of any type: its code, and its value.
std::string describe_code(qdq_dtype type, uint32_t code);

}  // namespace reference

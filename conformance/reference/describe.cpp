#include "describe.h"

#include "formats.h"

#include <bit>
#include <cinttypes>
#include <cstdio>

namespace reference {

namespace {

template<typename... Arguments> std::string formatted(const char *format, Arguments... arguments) {
    char text[64];
    std::snprintf(text, sizeof text, format, arguments...);
    return text;
}

}  // namespace

std::string describe(float value) {
    return formatted("0x%08" PRIx32 " (%.9g)", std::bit_cast<uint32_t>(value), static_cast<double>(value));
}

std::string describe_code(qdq_dtype type, uint32_t code) {
    if (type == QDQ_F32) {
        return describe(std::bit_cast<float>(code));
    }
    if (is_integer(type)) {
        return formatted("%" PRId64, decode_integer(type, code));
    }
    return formatted("0x%02" PRIx32 " (%.9g)", code, static_cast<double>(decode_float(type, code)));
}

}  // namespace reference

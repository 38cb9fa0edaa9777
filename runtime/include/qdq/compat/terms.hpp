// qdq's messages in a system's terms.
#pragma once

#include <qdq/qdq.h>

#include <cstdio>
#include <cstring>

/// What the front ends share.
namespace qdq::compat {

/// What a system calls the arguments of qdq's functions.
struct argument_names {
    const char *function;    ///< the function
    const char *x;           ///< what is quantized, or dequantized
    const char *scale;       ///< the scale
    const char *zero_point;  ///< the zero point; NULL where there is none
    const char *y;           ///< the result
};

/// Why the thread's latest call of qdq failed, into `text`. qdq's message is "<function>: <argument>: <rule>"; after
/// the checks of a front end, the rules left are those about where memory lies.
template<std::size_t size> void last_error_in_terms_of(const argument_names &names, char (&text)[size]) {
    const auto in_system = [&](const char *argument) {
        const auto is = [&](const char *name) { return std::strcmp(argument, name) == 0; };
        return is("x") ? names.x : is("scale") ? names.scale : is("zero_point") ? names.zero_point : names.y;
    };
    const char *message = qdq_last_error();
    char argument[16], other[16];
    int rule = 0;
    if (std::sscanf(message, "%*[^:]: %15[a-z_]: %n", argument, &rule) != 1 || rule == 0) {
        std::snprintf(text, size, "%s: %s", names.function, message);
    } else if (std::sscanf(message + rule, "it overlaps %15[a-z_]", other) != 1) {
        std::snprintf(text, size, "%s: %s: %s", names.function, in_system(argument), message + rule);
    } else {
        std::snprintf(text, size, "%s: %s: it overlaps %s%s", names.function, in_system(argument), in_system(other),
                      std::strcmp(other, "x") == 0 ? ", and has not its address, strides and element size" : "");
    }
}

}  // namespace qdq::compat

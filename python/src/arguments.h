// What arguments of Python's say, or an error that names the function and the argument.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qdq::python {

namespace nb = nanobind;

[[noreturn]] void refuse_value(const char *function, const char *name, const std::string &rule);
[[noreturn]] void refuse_type(const char *function, const char *name, const std::string &rule);

// C's text as Python's. Bytes that are no UTF-8, as a message ends in that is cut off inside a character, are escaped.
nb::object text_of(std::string_view bytes);
// Raises an exception of this type with such a text.
[[noreturn]] void raise(PyObject *type, std::string_view message);

// repr(given) in ASCII.
std::string shown(nb::handle given);

// A string without NUL, where C's functions would take it to end. Valid, and ended by a NUL, as long as `given`.
std::string_view text(const char *function, const char *name, nb::handle given);

// The bytes of a path: a string, bytes, or an object with __fspath__.
std::string path(const char *function, const char *name, nb::handle given);

bool boolean(const char *function, const char *name, nb::handle given);

// What has __index__ and is no bool. That may raise errors of its own.
std::int64_t integer(const char *function, const char *name, nb::handle given);
std::uint64_t unsigned_integer(const char *function, const char *name, nb::handle given);
// What has __float__ or __index__. That may raise errors of its own.
double floating(const char *function, const char *name, nb::handle given);
std::int32_t integer_of_32_bits(const char *function, const char *name, nb::handle given);

// What can be iterated, and gives at most so many integers.
std::vector<std::int64_t> integers(const char *function, const char *name, nb::handle given, std::size_t most);
// Of the groups of a call, and their end.
inline std::vector<std::int64_t> group_offsets(const char *function, nb::handle given) {
    return integers(function, "offsets", given, std::size_t{1} << 20);
}

}  // namespace qdq::python

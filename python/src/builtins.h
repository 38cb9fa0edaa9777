// Functions of the module that Python takes for builtins of its own: inspect and help read their signatures, and a
// call that does not fit one is told so in Python's words, where nanobind would list the overloads.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

namespace nb = nanobind;

// `signature` as inspect reads it, "(x, *, dtype=None)"; `function` nanobind's with those arguments.
void define_builtin(nb::module_ &m, const char *name, const char *signature, const char *doc, nb::object function);

}  // namespace qdq::python

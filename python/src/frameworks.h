// qdq/_frameworks.py: what differs between the libraries whose arrays qdq takes, but for NumPy's in the common case.
#pragma once

#include "kept.h"

#include <nanobind/nanobind.h>

#include <atomic>

namespace qdq::python {

inline nanobind::handle frameworks() {
    static std::atomic<PyObject *> module;
    return kept(module, [] { return nanobind::module_::import_("qdq._frameworks"); });
}

}  // namespace qdq::python

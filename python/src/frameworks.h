// qdq/_frameworks.py: what differs between the libraries whose arrays qdq takes, but for NumPy's in the common case.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

inline nanobind::handle frameworks() {
    static PyObject *const module = nanobind::module_::import_("qdq._frameworks").release().ptr();
    return module;
}

}  // namespace qdq::python

#define QDQ_DEFINES_NUMPY_API
#include "numpy_api.h"

namespace qdq::python {

bool load_numpy() {
    PyObject *const modules = PyImport_GetModuleDict();  // borrowed
    if (PyDict_GetItemString(modules, "numpy") == nullptr) {
        return false;
    }
    if (_import_array() < 0) {
        throw nanobind::python_error();
    }
    return true;
}

}  // namespace qdq::python

#define QDQ_DEFINES_NUMPY_API
#include "numpy_api.h"

namespace qdq::python {

std::atomic<bool> numpy_is_complete;

bool load_numpy() {
    PyObject *const modules = PyImport_GetModuleDict();  // borrowed
    if (PyDict_GetItemString(modules, "numpy") == nullptr) {
        return false;
    }
    static nanobind::ft_mutex loading;
    const nanobind::ft_lock_guard alone(loading);
    if (!numpy_is_complete.load(std::memory_order_relaxed)) {
        if (_import_array() < 0) {
            throw nanobind::python_error();
        }
        numpy_is_complete.store(true, std::memory_order_release);
    }
    return true;
}

}  // namespace qdq::python

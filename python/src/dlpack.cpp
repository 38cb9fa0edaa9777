#include "dlpack.h"

#include <string>
#include <vector>

namespace qdq::python::dlpack {

const exchange *find_exchange(nb::handle object) {
    struct known_type {
        PyTypeObject *type;  // owned, so that no other gets its address
        const exchange *table;
    };
    static std::vector<known_type> &known = *new std::vector<known_type>;
    PyTypeObject *const type = Py_TYPE(object.ptr());
    for (const known_type &each : known) {
        if (each.type == type) {
            return each.table;
        }
    }
    const nb::object capsule =
        nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)), "__dlpack_c_exchange_api__", nb::none());
    const exchange *table = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
        table = static_cast<const exchange *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
        table = table->header.major == 1 ? table : nullptr;
    }
    if (known.size() < 64) {
        Py_INCREF(reinterpret_cast<PyObject *>(type));
        known.push_back({type, table});
    }
    return table;
}

nb::object allocate(const exchange &table, const dltensor &like) {
    std::string problem;
    void *made = nullptr, *object = nullptr;
    const auto set_error = [](void *context, const char *, const char *message) {
        *static_cast<std::string *>(context) = message;
    };
    if (table.allocate(&like, &made, &problem, set_error) != 0) {
        throw nb::type_error(problem.c_str());
    }
    if (table.to_object(made, &object) != 0) {
        throw nb::python_error();
    }
    return nb::steal(static_cast<PyObject *>(object));
}

}  // namespace qdq::python::dlpack

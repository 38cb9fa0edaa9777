#include "builtins.h"

#include "frameworks.h"

#include <array>
#include <string>
#include <utility>

namespace qdq::python {

namespace {

// Python refers to its definition as long as it runs.
struct builtin {
    std::string doc;
    PyMethodDef definition;
    PyObject *builtin, *function;
};

constexpr std::size_t most = 24;
std::array<builtin, most> builtins;
std::size_t count;

// Where the arguments do not fit the signature, an error that says so in place of the one that is set.
void explain(const builtin &called, PyObject *const *arguments, Py_ssize_t positional, PyObject *names) {
    nb::python_error error;
    nb::list given;
    for (Py_ssize_t i = 0; i < positional; ++i) {
        given.append(nb::handle(arguments[i]));
    }
    nb::dict named;
    for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i) {
        named[nb::handle(PyTuple_GetItem(names, i))] = nb::handle(arguments[positional + i]);
    }
    try {
        frameworks().attr("check_arguments")(nb::handle(called.builtin), given, named);
    } catch (nb::python_error &explained) {
        explained.restore();
        return;
    }
    error.restore();
}

template<std::size_t i>
PyObject *forward(PyObject *, PyObject *const *arguments, Py_ssize_t positional, PyObject *names) {
    PyObject *const made =
        PyObject_Vectorcall(builtins[i].function, arguments, static_cast<std::size_t>(positional), names);
    if (made == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
        explain(builtins[i], arguments, positional, names);
    }
    return made;
}

using forwarding = PyObject *(*)(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
template<std::size_t... i> constexpr std::array<forwarding, most> make_forwards(std::index_sequence<i...>) {
    return {forward<i>...};
}
constexpr std::array<forwarding, most> forwards = make_forwards(std::make_index_sequence<most>());

}  // namespace

void define_builtin(nb::module_ &m, const char *name, const char *signature, const char *doc, nb::object function) {
    const std::size_t i = count++;
    builtin &made = builtins.at(i);
    made.doc = std::string(name) + signature + "\n--\n\n" + doc;
    made.definition = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(forwards[i])),
                       METH_FASTCALL | METH_KEYWORDS, made.doc.c_str()};
    made.function = function.release().ptr();
    const nb::object module_name = m.attr("__name__");
    made.builtin = PyCFunction_NewEx(&made.definition, m.ptr(), module_name.ptr());
    m.attr(name) = nb::handle(made.builtin);
}

}  // namespace qdq::python

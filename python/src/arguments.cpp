#include "arguments.h"

namespace qdq::python {

namespace {

std::string message_of(const char *function, const char *name, const std::string &rule) {
    return std::string(function) + ": " + name + ": " + rule;
}

// Whether the error that is set is of this type, and if so it is set no longer.
bool caught(PyObject *type) {
    if (PyErr_ExceptionMatches(type) == 0) {
        return false;
    }
    PyErr_Clear();
    return true;
}

// What a function of Python's has made; the error that is set where it has made nothing.
nb::object made(PyObject *object) {
    if (object == nullptr) {
        throw nb::python_error();
    }
    return nb::steal(object);
}

std::string_view utf8(nb::handle string) {
    Py_ssize_t size = 0;
    const char *const bytes = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace

void refuse_value(const char *function, const char *name, const std::string &rule) {
    throw nb::value_error(message_of(function, name, rule).c_str());
}

void refuse_type(const char *function, const char *name, const std::string &rule) {
    throw nb::type_error(message_of(function, name, rule).c_str());
}

nb::object text_of(std::string_view bytes) {
    return made(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

void raise(PyObject *type, std::string_view message) {
    PyErr_SetObject(type, text_of(message).ptr());
    throw nb::python_error();
}

std::string shown(nb::handle given) {
    PyObject *const ascii = PyObject_ASCII(given.ptr());
    if (ascii == nullptr && caught(PyExc_ValueError)) {
        return "a value that cannot be shown";  // 10 ** 5000: Python converts no more than 4300 digits
    }
    return std::string(utf8(made(ascii)));
}

std::string_view text(const char *function, const char *name, nb::handle given) {
    if (!PyUnicode_Check(given.ptr())) {
        refuse_type(function, name, "it is no string");
    }
    const std::string_view bytes = utf8(given);
    if (bytes.data() == nullptr) {
        if (caught(PyExc_UnicodeError)) {  // "\ud800"
            refuse_value(function, name, "it is no valid Unicode: " + shown(given));
        }
        throw nb::python_error();
    }
    if (bytes.find('\0') != std::string_view::npos) {
        refuse_value(function, name, "it has a NUL character: " + shown(given));
    }
    return bytes;
}

std::string path(const char *function, const char *name, nb::handle given) {
    PyObject *converted = nullptr;
    if (PyUnicode_FSConverter(given.ptr(), &converted) == 0) {
        if (caught(PyExc_TypeError)) {
            refuse_type(function, name, "it is no path: " + shown(given));
        }
        if (caught(PyExc_ValueError)) {
            refuse_value(function, name, "it has a NUL character, or one that no path has: " + shown(given));
        }
        throw nb::python_error();
    }
    const nb::bytes bytes = nb::steal<nb::bytes>(converted);
    return {bytes.c_str(), bytes.size()};
}

bool boolean(const char *function, const char *name, nb::handle given) {
    if (!PyBool_Check(given.ptr())) {
        refuse_type(function, name, "it is no bool");
    }
    return given.ptr() == Py_True;
}

namespace {

nb::object as_integer(const char *function, const char *name, nb::handle given) {
    if (PyBool_Check(given.ptr())) {  // which has __index__: True would be axis 1
        refuse_type(function, name, "it is a bool, and no integer");
    }
    PyObject *const index = PyNumber_Index(given.ptr());
    if (index == nullptr && caught(PyExc_TypeError)) {
        refuse_type(function, name, "it is no integer");
    }
    return made(index);
}

}  // namespace

std::int64_t integer(const char *function, const char *name, nb::handle given) {
    const nb::object number = as_integer(function, name, given);
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
    if (overflow != 0) {
        refuse_value(function, name, shown(number) + " is not in the range of int64");
    }
    return value;
}

std::uint64_t unsigned_integer(const char *function, const char *name, nb::handle given) {
    const nb::object number = as_integer(function, name, given);
    const unsigned long long value = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() != nullptr && caught(PyExc_OverflowError)) {
        refuse_value(function, name, shown(number) + " is not in the range of uint64");
    }
    return value;
}

double floating(const char *function, const char *name, nb::handle given) {
    const double value = PyFloat_AsDouble(given.ptr());
    if (PyErr_Occurred() == nullptr) {
        return value;
    }
    if (caught(PyExc_OverflowError)) {
        refuse_value(function, name, shown(given) + " is past the largest float");  // 10 ** 400
    }
    if (caught(PyExc_TypeError)) {
        refuse_type(function, name, "it is no number");
    }
    throw nb::python_error();
}

std::int32_t integer_of_32_bits(const char *function, const char *name, nb::handle given) {
    const std::int64_t value = integer(function, name, given);
    if (value < INT32_MIN || value > INT32_MAX) {
        refuse_value(function, name, std::to_string(value) + " is not in the range of int32");
    }
    return static_cast<std::int32_t>(value);
}

std::vector<std::int64_t> integers(const char *function, const char *name, nb::handle given, std::size_t most) {
    PyObject *const iterator = PyObject_GetIter(given.ptr());
    if (iterator == nullptr && caught(PyExc_TypeError)) {
        refuse_type(function, name, "it is no sequence of integers");
    }
    const nb::object items = made(iterator);
    std::vector<nb::object> copies;  // before an item's __index__ runs, which may change the sequence
    while (PyObject *const item = PyIter_Next(items.ptr())) {
        copies.push_back(nb::steal(item));
        if (copies.size() > most) {
            refuse_value(function, name, "it has more than " + std::to_string(most) + " sizes");
        }
    }
    if (PyErr_Occurred() != nullptr) {
        throw nb::python_error();
    }
    std::vector<std::int64_t> values;
    for (const nb::object &each : copies) {
        values.push_back(integer(function, name, each));
    }
    return values;
}

}  // namespace qdq::python

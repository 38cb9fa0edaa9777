#include "dtypes.h"

#include "arguments.h"
#include "element_types.h"
#include "frameworks.h"
#include "kept.h"

#include <algorithm>
#include <atomic>

namespace qdq::python {

namespace {

// In the order of qdq_dtype. DLPack's codes: 0 int, 1 uint, 2 float, 4 bfloat, 10 and more those of 8 bits and fewer.
// Where it has none, arrays come by NumPy alone.
constexpr uint8_t no_dlpack_code = 255;
constexpr element_type types[] = {
    {"float32", QDQ_F32, 2, 32},
    {"float16", QDQ_F16, 2, 16},
    {"bfloat16", QDQ_BF16, 4, 16},
    {"int8", QDQ_I8, 0, 8},
    {"uint8", QDQ_U8, 1, 8},
    {"int16", QDQ_I16, 0, 16},
    {"uint16", QDQ_U16, 1, 16},
    {"int32", QDQ_I32, 0, 32},
    {"int4", QDQ_I4, 0, 4},
    {"uint4", QDQ_U4, 1, 4},
    {"float8_e4m3fn", QDQ_F8E4M3, 10, 8},
    {"float8_e5m2", QDQ_F8E5M2, 12, 8},
    {"float4_e2m1fn", QDQ_F4E2M1, 17, 4},
    {"float8_e8m0fnu", QDQ_E8M0, 14, 8},
    {"float8_e4m3fnuz", QDQ_F8E4M3FNUZ, 11, 8},
    {"float8_e5m2fnuz", QDQ_F8E5M2FNUZ, 13, 8},
    {"float6_e2m3fn", QDQ_F6E2M3, 15, 6},
    {"float6_e3m2fn", QDQ_F6E3M2, 16, 6},
    {"int2", QDQ_I2, 0, 2},
    {"uint2", QDQ_U2, 1, 2},
    {"float4_e1m2", QDQ_F4E1M2, no_dlpack_code, 0},
    {"hifloat8", QDQ_HIF8, no_dlpack_code, 0},
};
static_assert(std::size(types) == std::size(kernels::element_types));

template<typename Predicate> const element_type *find(Predicate &&is_wanted) {
    const element_type *const found = std::ranges::find_if(types, is_wanted);
    return found != std::end(types) ? found : nullptr;
}

// What an unknown name may have meant. The command line's are not taken: "i4" is NumPy's name of int32, too.
std::string meant(nb::handle name) {
    const element_type *const of_command_line = find([&](const element_type &type) {
        return PyUnicode_CompareWithASCIIString(name.ptr(), qdq_dtype_name(type.dtype)) == 0;
    });
    if (of_command_line != nullptr) {
        return std::string(": in Python, where names are NumPy's, ml_dtypes' and en_dtypes', it is ") +
               of_command_line->name;
    }
    if (PyUnicode_CompareWithASCIIString(name.ptr(), "float64") == 0) {
        return "";  // which no_type() explains
    }
    std::string names;
    for (const element_type &type : types) {
        names += (names.empty() ? ": those are " : ", ") + std::string(type.name);
    }
    return names;
}

}  // namespace

std::string no_type(std::string_view name) {
    return std::string(name) + " is no type of qdq's" + (name.find("float64") != name.npos ? ": use float32" : "");
}

std::string dlpack_type_name(int code, int bits) {
    constexpr const char *names[] = {"int", "uint", "float", "", "bfloat", "complex", "bool"};
    if (code < 0 || static_cast<std::size_t>(code) >= std::size(names) || *names[code] == '\0') {
        return "DLPack's " + std::to_string(code) + " of " + std::to_string(bits) + " bits";
    }
    constexpr int bool_code = 6;
    return names[code] + (code == bool_code ? std::string() : std::to_string(bits));
}

const element_type &type_of(qdq_dtype dtype) { return types[dtype]; }

const element_type *find_type(nb::handle name) {
    return find([&](const element_type &type) { return PyUnicode_CompareWithASCIIString(name.ptr(), type.name) == 0; });
}

const element_type *find_dlpack_type(int code, int bits) {
    return find([&](const element_type &type) { return type.dlpack_code == code && type.dlpack_bits == bits; });
}

const element_type &named_type(const char *function, const char *argument, nb::handle given) {
    // By the object that names a type: the strings and type objects of a program are few, and are the same at each
    // call. An object of a class of Python's is asked each time: it may change its name, or claim to equal another's.
    static std::atomic<PyObject *> rows;
    PyObject *const known = kept(rows, [] { return nb::dict(); }).ptr();
    const bool is_lasting = (PyType_GetFlags(Py_TYPE(given.ptr())) & Py_TPFLAGS_HEAPTYPE) == 0;
    PyObject *const row = is_lasting ? PyDict_GetItemWithError(known, given.ptr()) : nullptr;
    if (row != nullptr) {
        return types[PyLong_AsLong(row)];
    }
    PyErr_Clear();  // not hashable: nothing that names a type
    const nb::object name = frameworks().attr("dtype_name")(given);
    const element_type *const type = PyUnicode_Check(name.ptr()) ? find_type(name) : nullptr;
    if (type == nullptr) {
        refuse_type(function, argument, no_type(shown(given)) + (PyUnicode_Check(name.ptr()) ? meant(name) : ""));
    }
    if (is_lasting && PyDict_Size(known) < 256) {
        PyDict_SetItem(known, given.ptr(), nb::int_(static_cast<int>(type->dtype)).ptr());
    }
    return *type;
}

}  // namespace qdq::python

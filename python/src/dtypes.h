// Element types by the names that NumPy, ml_dtypes and en_dtypes have for them.
#pragma once

#include <nanobind/nanobind.h>
#include <qdq/qdq.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace qdq::python {

namespace nb = nanobind;

struct element_type {
    const char *name;  // NumPy's, ml_dtypes' or en_dtypes'
    qdq_dtype dtype;
    uint8_t dlpack_code, dlpack_bits;
};

// The row of a type. Every qdq_dtype has one.
const element_type &type_of(qdq_dtype dtype);

// The row of a name, a string, or of DLPack's numbers for a type; nullptr where there is none.
const element_type *find_type(nb::handle name);
const element_type *find_dlpack_type(int code, int bits);

// "float64 is no type of qdq's", and what to do then.
std::string no_type(std::string_view name);
// The name of a type by DLPack's numbers.
std::string dlpack_type_name(int code, int bits);

// What `given` names: a string, or a type object or dtype of NumPy, ml_dtypes, PyTorch or JAX. Raises TypeError.
const element_type &named_type(const char *function, const char *name, nb::handle given);

}  // namespace qdq::python

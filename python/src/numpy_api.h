// NumPy's C interface, loaded when a program that has imported NumPy first passes an array: `import qdq` does not
// import it.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL qdq_numpy_api
#ifndef QDQ_DEFINES_NUMPY_API
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

namespace qdq::python {

// Whether the interface is loaded as a whole: NumPy's own variables of it are set one after the other.
extern std::atomic<bool> numpy_is_complete;

// Loads it where NumPy has been imported; false where it has not.
bool load_numpy();

inline bool numpy_is_loaded() { return numpy_is_complete.load(std::memory_order_acquire) || load_numpy(); }

}  // namespace qdq::python

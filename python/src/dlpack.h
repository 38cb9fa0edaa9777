// DLPack: views of other libraries' arrays, by a type's C functions where it has them, or by a capsule.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace qdq::python::dlpack {

namespace nb = nanobind;
using nb::dlpack::dltensor;

// DLPack's array with an owner, of the capsules named "dltensor".
struct unversioned {
    dltensor tensor;
    void *context;
    void (*deleter)(unversioned *self);
};

// The same of version 1.
struct managed {
    struct {
        std::uint32_t major, minor;
    } version;
    void *context;
    void (*deleter)(managed *self);
    std::uint64_t flags;
    dltensor tensor;
};

// DLPack's exchange table, version 1: what a type's `__dlpack_c_exchange_api__` points to. Functions return 0, or -1
// with an error of Python's set.
struct exchange {
    struct {
        std::uint32_t major, minor;
        void *previous;
    } header;
    using set_error = void (*)(void *context, const char *kind, const char *message);
    int (*allocate)(const dltensor *like, managed **made, void *context, set_error);
    int (*managed_of)(void *object, managed **made);
    int (*to_object)(managed *made, void **object);  // which owns it
    int (*view_of)(void *object, dltensor *view);    // valid as long as the object
    int (*current_stream)(int device_type, std::int32_t device_id, void **stream);
};

// A capsule of a tensor taken over, as DLPack asks of a consumer: it is marked as used, and what `view` is set to is
// valid as long as the object that is returned. An object that is not valid where it is no such capsule.
nb::object take(nb::handle capsule, const dltensor *&view);

// The table of an object's type, or nullptr.
const exchange *find_exchange(nb::handle object);

// A new array with the type, shape and device of `like`, of the library of the table. Raises TypeError where that has
// no such arrays, MemoryError.
nb::object allocate(const exchange &table, const dltensor &like);

}  // namespace qdq::python::dlpack

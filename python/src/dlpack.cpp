#include "dlpack.h"

#include <qdq/compat/common.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace qdq::python::dlpack {

const exchange *find_exchange(nb::handle object) {
    struct known_type {
        PyTypeObject *type;  // owned, so that no other gets its address
        const exchange *table;
    };
    constexpr std::size_t most = 64;
    static known_type known[most];
    static std::atomic<std::size_t> count;  // of those that are written, which do not change any more
    static nb::ft_mutex writing;
    PyTypeObject *const type = Py_TYPE(object.ptr());
    const known_type *const begin = known, *const end = begin + count.load(std::memory_order_acquire);
    const known_type *const found = std::find_if(begin, end, [&](const known_type &each) { return each.type == type; });
    if (found != end) {
        return found->table;
    }
    const nb::object capsule =
        nb::getattr(nb::handle(reinterpret_cast<PyObject *>(type)), "__dlpack_c_exchange_api__", nb::none());
    const exchange *table = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api")) {
        table = static_cast<const exchange *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
        table = table->header.major == 1 ? table : nullptr;
    }
    const nb::ft_lock_guard alone(writing);
    if (const std::size_t place = count.load(std::memory_order_relaxed); place < most) {
        Py_INCREF(reinterpret_cast<PyObject *>(type));
        capsule.inc_ref();  // it may own the table, and the type may lose it
        known[place] = {type, table};
        count.store(place + 1, std::memory_order_release);
    }
    return table;
}

nb::object take(nb::handle capsule, const dltensor *&view) {
    if (PyCapsule_IsValid(capsule.ptr(), "dltensor") == 0) {
        return {};
    }
    auto *const owner = static_cast<unversioned *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    const nb::capsule taken(owner, [](void *self) noexcept {
        auto *const of_producer = static_cast<unversioned *>(self);
        if (of_producer->deleter != nullptr) {
            of_producer->deleter(of_producer);
        }
    });
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    view = &owner->tensor;
    return taken;
}

namespace {

[[noreturn]] void refuse_memory() {
    PyErr_NoMemory();
    throw nb::python_error();
}

// One piece of memory holds the owner, shape, strides and elements: PyTorch's own allocation is twice as long.
managed *allocate_on_host(const dltensor &like) {
    constexpr std::size_t alignment = 64;
    struct block {
        managed owner;
        std::int64_t sizes[8], strides[8];  // tensors have no more dimensions
    };
    std::size_t bytes = 0;
    if (__builtin_mul_overflow(compat::element_count({like.shape, static_cast<std::size_t>(like.ndim)}),
                               like.dtype.bits / 8, &bytes)) {
        refuse_memory();
    }
    std::size_t space = bytes + alignment;
    auto *const made =
        space > bytes && space < PTRDIFF_MAX ? static_cast<block *>(std::malloc(sizeof(block) + space)) : nullptr;
    if (made == nullptr) {
        refuse_memory();
    }
    void *elements = made + 1;
    std::align(alignment, bytes, elements, space);
    std::uint64_t dense = 1;  // wraps where there are no elements: (0, 2^62, 4)
    for (int d = like.ndim - 1; d >= 0; dense *= static_cast<std::uint64_t>(like.shape[d--])) {
        made->sizes[d] = like.shape[d];
        made->strides[d] = static_cast<std::int64_t>(dense);
    }
    made->owner = {{1, 0}, nullptr, [](managed *self) { std::free(self); }, 0, like};
    made->owner.tensor.data = elements;
    made->owner.tensor.shape = made->sizes;
    made->owner.tensor.strides = made->strides;
    return &made->owner;
}

managed *allocate_on_device(const exchange &table, const dltensor &like) {
    std::string problem;
    managed *made = nullptr;
    const auto set_error = [](void *context, const char *, const char *message) {
        *static_cast<std::string *>(context) = message;
    };
    if (table.allocate(&like, &made, &problem, set_error) != 0) {
        throw nb::type_error(problem.c_str());
    }
    return made;
}

}  // namespace

nb::object allocate(const exchange &table, const dltensor &like) {
    const bool on_host = like.device.device_type == nb::device::cpu::value;
    void *object = nullptr;
    if (table.to_object(on_host ? allocate_on_host(like) : allocate_on_device(table, like), &object) != 0) {
        throw nb::type_error(nb::python_error().what());
    }
    return nb::steal(static_cast<PyObject *>(object));
}

}  // namespace qdq::python::dlpack

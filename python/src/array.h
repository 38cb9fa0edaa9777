// Arrays of Python as tensors of qdq, without copies.
#pragma once

#include "arguments.h"
#include "dlpack.h"
#include "dtypes.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

namespace qdq::python {

// How Python's array holds codes of less than a byte, which qdq packs.
enum class layout { as_qdq, one_a_byte };

// A type of at most 8 bits whose elements are bytes together, packed as qdq does: so many elements in so many bytes.
struct packed_type {
    qdq_dtype dtype;
    std::int64_t elements, bytes;

    // Raises TypeError where the type has more bits, or is none of those that are dense.
    packed_type(const char *function, const char *name, qdq_dtype dtype, bool is_dense);
    std::int64_t bytes_of(std::int64_t count) const;
};

// Whether elements are dense, of keywords where they are packed.
bool is_dense_packing(const char *function, nb::handle given, bool is_packed);

// An argument: a view of an array's memory, valid as long as this object.
class array {
public:
    array() = default;
    array(const array &) = delete;

    // Raise TypeError where `given` is no array or its type none of qdq's, ValueError where its layout is none of
    // qdq's.
    void read(const char *function, const char *name, nb::handle given);
    // Raises ValueError or TypeError where `given` cannot be written to.
    static void check_writable(const char *function, nb::handle given);
    // A number or a sequence of numbers too, which become f32, or i32 where they are integers and may be; where `like`
    // is on a device, there.
    void read_operand(const char *function, const char *name, nb::handle given, bool may_be_integer, const array &like);

    // `given`, of uint8, holds the elements of a tensor of this type as qdq does: of this shape or, where there is
    // none, of given's with as many elements in the last dimension as its bytes hold.
    void read_bytes(const char *function, const char *name, nb::handle given, const packed_type &type,
                    std::optional<std::span<const std::int64_t>> shape);

    // `given` is dense, and holds so many bytes of a tensor of a type of a byte, which it has, or uint8: that has this
    // shape, and the bytes are in another order.
    void read_arranged(const char *function, const char *name, nb::handle given, std::optional<qdq_dtype> dtype);
    void set_arranged_shape(const char *function, const char *name, std::span<const std::int64_t> shape,
                            std::int64_t bytes);

    // Raises ValueError where the memory is no longer what was read: Python's code that has run since may have given it
    // back, as numpy.ndarray.resize(refcheck=False) does. That of a capsule is the call's own.
    void check_in_place(const char *function, const char *name) const;
    // Whether it has run such code to be read: no array of NumPy's and none with an exchange table has.
    bool has_run_code() const { return has_run_code_; }
    // Raises ValueError where elements overlap of those that are packed for qdq, which does not see their strides.
    void check_elements_are_apart(const char *function, const char *name) const;
    // Raises ValueError where its memory overlaps another's and one of them is packed for qdq, which sees that alone.
    void check_apart_from(const char *function, const char *name, const array &other, const char *other_name) const;

    // A new array, of the framework that `like` is from.
    void make(const char *function, const array &like, qdq_dtype dtype, std::span<const std::int64_t> shape);
    // The same for the bytes of its elements, as an array of uint8.
    void make_bytes(const char *function, const array &like, const packed_type &type,
                    std::span<const std::int64_t> shape);

    bool is_given() const { return view_.shape != nullptr; }
    bool is_numpy() const { return is_numpy_; }
    std::span<const std::int64_t> shape() const { return {view_.shape, static_cast<std::size_t>(view_.rank)}; }
    bool is_dense() const;
    bool same_layout(const array &other) const;
    const qdq_tensor &view() const { return view_; }
    const qdq_tensor *view_or_null() const { return is_given() ? &view_ : nullptr; }
    void *data() const { return view_.data; }
    std::span<const std::byte> bytes() const;  // of dense elements, as qdq has them
    nb::object object() const { return object_; }
    nb::object result(const array &like) const;
    std::int64_t element_count() const;
    void *stream() const;  // that its library uses now, on its device; nullptr on the host

    // What Python holds one a byte goes into packed memory before a call, or room is made for it, and comes from there
    // afterwards. False where memory is short. Without the GIL.
    bool pack();
    bool make_room();
    void unpack() const;

    // What is left is the layout, for same_layout().
    void forget_object() { object_.reset(), memory_.reset(); }

private:
    bool read_numpy(const char *function, const char *name, nb::handle given);
    void read_dlpack(const char *function, const char *name, const nb::dlpack::dltensor &from);
    void set_element_shape(const char *function, const char *name, std::span<const std::int64_t> shape);
    void multiply_last_dimension(const char *function, const char *name, std::int64_t by);
    void set_elements_of_bytes(const char *function, const char *name, const packed_type &type);
    std::size_t dense_bytes() const;

    // Addresses from the lowest byte to past the highest one; of no elements they are equal.
    struct memory_range {
        std::uintptr_t first, end;
    };
    memory_range memory() const;

    bool is_in_place() const;
    template<typename Size>
    bool was_read_at(const void *data, int rank, const Size *shape, const Size *strides, std::int64_t unit) const;

    qdq_tensor view_{};
    // As the array's library has them.
    PyObject *numpy_ = nullptr;  // NumPy's array that it is, or gives
    const void *data_ = nullptr;
    int rank_ = 0;
    std::int64_t shape_[8], strides_[8];
    std::int64_t element_shape_[8];  // the view's, where an array's element holds several
    layout layout_ = layout::as_qdq;
    bool is_numpy_ = true, has_run_code_ = false;
    const dlpack::exchange *exchange_ = nullptr;  // of its type, if any
    union {
        float f32;
        std::int32_t i32;
    } number_;
    nb::object object_, memory_;  // the argument, and what owns its memory where that is another
    void *codes_ = nullptr;       // of one_a_byte
    std::unique_ptr<std::byte[]> packed_;
};

}  // namespace qdq::python

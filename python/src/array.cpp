#include "array.h"

#include "element_types.h"
#include "frameworks.h"
#include "kept.h"
#include "numpy_api.h"

#include <qdq/compat/common.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <new>
#include <string>
#include <vector>

namespace qdq::python {

namespace {

constexpr int most_dimensions = 8;

// By NumPy's number of a type; those of ml_dtypes have numbers that it gives them when they are imported. The number of
// records says nothing of their size, and their name is their class's: "float32" of a class `float` of 4 bytes.
const element_type *find_numpy_type(PyArray_Descr *descr) {
    constexpr int known_types = 512;
    // 0: not looked up yet, -1: none, else the row's number and 1. Threads that look one up at once find the same.
    static std::array<std::atomic<signed char>, known_types> rows{};
    const int number = descr->type_num;
    if (number < 0 || number >= known_types || PyTypeNum_ISFLEXIBLE(number)) {
        return nullptr;
    }
    signed char row = rows[number].load(std::memory_order_relaxed);
    if (row == 0) {
        const nb::object name = nb::borrow(reinterpret_cast<PyObject *>(descr)).attr("name");
        const element_type *const type = find_type(name);
        row = static_cast<signed char>(type != nullptr ? type->dtype + 1 : -1);
        rows[number].store(row, std::memory_order_relaxed);
    }
    return row > 0 ? &type_of(static_cast<qdq_dtype>(row - 1)) : nullptr;
}

PyArray_Descr *numpy_descr(const element_type &type) {
    static std::array<std::atomic<PyObject *>, std::size(kernels::element_types)> descriptions{};
    const nb::handle description =
        kept(descriptions[type.dtype], [&] { return frameworks().attr("numpy_dtype")(type.name); });
    return reinterpret_cast<PyArray_Descr *>(nb::borrow(description).release().ptr());
}

// Calls `visit` with the offset of each element, in elements, in row-major order.
template<typename Visit> void each_offset(const qdq_tensor &t, const std::int64_t *strides, Visit &&visit) {
    std::int64_t place[most_dimensions] = {};
    std::uint64_t offset = 0;  // wraps past strides that no element takes
    if (std::any_of(t.shape, t.shape + t.rank, [](std::int64_t size) { return size == 0; })) {
        return;
    }
    while (true) {
        visit(static_cast<std::int64_t>(offset));
        int d = t.rank - 1;
        for (; d >= 0; --d) {
            const auto stride = static_cast<std::uint64_t>(strides[d]), size = static_cast<std::uint64_t>(t.shape[d]);
            offset += stride;
            if (++place[d] < t.shape[d]) {
                break;
            }
            offset -= stride * size;
            place[d] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

void check_rank(const char *function, const char *name, std::int64_t rank) {
    if (rank < 0 || rank > most_dimensions) {
        refuse_value(function, name, std::to_string(rank) + " dimensions are more than 8");
    }
}

std::int64_t divided_up(std::int64_t count, std::int64_t by) { return count / by + (count % by != 0 ? 1 : 0); }

nb::tuple shape_tuple(std::span<const std::int64_t> shape) {
    nb::list sizes;
    for (std::int64_t size : shape) {
        sizes.append(size);
    }
    return nb::tuple(sizes);
}

}  // namespace

std::int64_t array::element_count() const { return compat::element_count(shape()); }

void array::set_element_shape(const char *function, const char *name, std::span<const std::int64_t> shape) {
    check_rank(function, name, static_cast<std::int64_t>(shape.size()));
    std::ranges::copy(shape, element_shape_);
    view_.rank = static_cast<std::int32_t>(shape.size());
    view_.shape = element_shape_;
}

bool array::read_numpy(const char *function, const char *name, nb::handle given) {
    if (!numpy_is_loaded() || !PyArray_Check(given.ptr())) {
        return false;
    }
    auto *const from = reinterpret_cast<PyArrayObject *>(given.ptr());
    PyArray_Descr *const descr = PyArray_DESCR(from);
    const element_type *const type = find_numpy_type(descr);
    if (type == nullptr || PyArray_ISBYTESWAPPED(from)) {
        refuse_type(function, name, "dtype " + no_type(nb::str(reinterpret_cast<PyObject *>(descr)).c_str()));
    }
    const int rank = PyArray_NDIM(from);
    const npy_intp *const shape = PyArray_DIMS(from), *const strides = PyArray_STRIDES(from);
    check_rank(function, name, rank);
    const npy_intp size = PyDataType_ELSIZE(descr);
    for (int d = 0; d < rank; ++d) {
        shape_[d] = shape[d];
        strides_[d] = strides[d] / size;
        if (strides[d] % size != 0 && shape[d] > 1) {
            refuse_value(function, name,
                         "a stride of " + std::to_string(strides[d]) + " bytes is no multiple of " +
                             std::to_string(size) + ", an element's");
        }
    }
    view_ = {PyArray_DATA(from), type->dtype, rank, shape_, strides_, {}};
    if (qdq_dtype_bits(type->dtype) < 8) {
        layout_ = layout::one_a_byte;
        codes_ = view_.data;
    }
    object_ = nb::borrow(given);
    numpy_ = given.ptr();
    data_ = view_.data;
    rank_ = rank;
    return true;
}

void array::read_dlpack(const char *function, const char *name, const nb::dlpack::dltensor &from) {
    const element_type *const type = find_dlpack_type(from.dtype.code, from.dtype.bits);
    const int lanes = from.dtype.lanes, bits = type != nullptr ? qdq_dtype_bits(type->dtype) : 0;
    if (type == nullptr || (bits < 8 ? lanes * bits != 8 : lanes != 1)) {
        refuse_type(function, name, "dtype " + no_type(dlpack_type_name(from.dtype.code, from.dtype.bits)));
    }
    check_rank(function, name, from.ndim);
    data_ = from.data;
    rank_ = from.ndim;
    std::copy_n(from.shape, rank_, shape_);
    std::uint64_t dense = 1;  // wraps where there are no elements
    for (int d = rank_ - 1; d >= 0; dense *= static_cast<std::uint64_t>(shape_[d--])) {
        strides_[d] = from.strides != nullptr ? from.strides[d] : static_cast<std::int64_t>(dense);
    }
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(from.data) + from.byte_offset;
    view_ = {reinterpret_cast<void *>(first), type->dtype, rank_, shape_, strides_, {}};
    if (lanes > 1) {
        if (!is_dense()) {
            refuse_value(function, name, "packed elements are dense");
        }
        multiply_last_dimension(function, name, lanes);
    }
    const auto device = static_cast<int>(from.device.device_type);
    if (device == nb::device::cuda::value) {
        view_.device = {QDQ_DEVICE_CUDA, from.device.device_id, 0};
    } else if (device != nb::device::cpu::value && device != nb::device::cuda_host::value) {
        refuse_type(function, name, "DLPack's device " + std::to_string(device) + " is none of qdq's");
    }
}

void array::read(const char *function, const char *name, nb::handle given) {
    if (read_numpy(function, name, given)) {
        return;
    }
    is_numpy_ = false;
    object_ = nb::borrow(given);
    exchange_ = dlpack::find_exchange(given);
    if (exchange_ != nullptr) {
        nb::dlpack::dltensor view;
        if (exchange_->view_of(given.ptr(), &view) != 0) {
            throw nb::python_error();
        }
        read_dlpack(function, name, view);
        return;
    }
    has_run_code_ = true;
    memory_ = frameworks().attr("readable")(given, function, name);
    if (!read_numpy(function, name, memory_)) {
        const nb::dlpack::dltensor *view = nullptr;
        memory_ = dlpack::take(memory_, view);
        if (!memory_.is_valid()) {
            refuse_type(function, name, "what __dlpack__ gives is no capsule of a tensor");
        }
        read_dlpack(function, name, *view);
    }
    object_ = nb::borrow(given);
}

// `unit` is what of `strides`, which may be none, an element takes.
template<typename Size>
bool array::was_read_at(const void *data, int rank, const Size *shape, const Size *strides, std::int64_t unit) const {
    bool same = data == data_ && rank == rank_;
    for (int d = 0; same && d < rank; ++d) {
        const auto stride = static_cast<std::uint64_t>(strides_[d]) * static_cast<std::uint64_t>(unit);
        same = shape[d] == shape_[d] &&
               (shape[d] <= 1 || strides == nullptr || static_cast<std::uint64_t>(strides[d]) == stride);
    }
    return same;
}

// The memory of a capsule, and a number, stay where they are.
bool array::is_in_place() const {
    if (exchange_ != nullptr) {
        nb::dlpack::dltensor now;
        if (exchange_->view_of(object_.ptr(), &now) != 0) {
            throw nb::python_error();
        }
        return was_read_at(now.data, now.ndim, now.shape, now.strides, 1);
    }
    auto *const now = reinterpret_cast<PyArrayObject *>(numpy_);
    return now == nullptr || was_read_at(PyArray_DATA(now), PyArray_NDIM(now), PyArray_DIMS(now), PyArray_STRIDES(now),
                                         PyArray_ITEMSIZE(now));
}

void array::check_in_place(const char *function, const char *name) const {
    if (!is_in_place()) {
        refuse_value(function, name, "its memory was taken away or changed its shape since it was read");
    }
}

// By the rule of qdq.h: each stride, from the smallest on, steps over all that the smaller ones reach.
void array::check_elements_are_apart(const char *function, const char *name) const {
    if (layout_ == layout::as_qdq) {
        return;
    }
    struct step {
        std::uint64_t stride, last;
    };
    std::vector<step> steps;
    for (int d = 0; d < view_.rank && element_count() > 0; ++d) {
        const auto stride = static_cast<std::uint64_t>(strides_[d]);
        if (shape_[d] > 1) {
            steps.push_back({strides_[d] < 0 ? 0 - stride : stride, static_cast<std::uint64_t>(shape_[d] - 1)});
        }
    }
    std::ranges::sort(steps, {}, &step::stride);
    std::uint64_t reach = 0;
    for (const step &each : steps) {
        if (each.stride <= reach) {
            refuse_value(function, name, "its strides make elements overlap one another");
        }
        reach += each.stride * each.last;
    }
}

array::memory_range array::memory() const {
    const auto at = reinterpret_cast<std::uintptr_t>(view_.data);
    if (!is_given() || element_count() == 0) {
        return {at, at};
    }
    const auto unit = static_cast<std::uint64_t>(std::max(qdq_dtype_bits(view_.dtype) / 8, 1));
    memory_range all{at, at + unit};
    for (int d = 0; d < rank_; ++d) {
        const std::uint64_t reach = static_cast<std::uint64_t>(strides_[d]) * static_cast<std::uint64_t>(shape_[d] - 1);
        (strides_[d] < 0 ? all.first : all.end) += reach * unit;
    }
    return all;
}

void array::check_apart_from(const char *function, const char *name, const array &other, const char *other_name) const {
    if (layout_ == layout::as_qdq && other.layout_ == layout::as_qdq) {
        return;
    }
    const memory_range own = memory(), others = other.memory();
    if (own.first < others.end && others.first < own.end) {
        refuse_value(function, name, std::string("it overlaps ") + other_name);
    }
}

void array::check_writable(const char *function, nb::handle given) {
    if (!numpy_is_loaded() || !PyArray_Check(given.ptr())) {
        if (dlpack::find_exchange(given) == nullptr) {
            frameworks().attr("check_writable")(given, function);
        }
    } else if (!PyArray_ISWRITEABLE(reinterpret_cast<PyArrayObject *>(given.ptr()))) {
        refuse_value(function, "out", "it is read-only");
    }
}

void array::read_operand(const char *function, const char *name, nb::handle given, bool may_be_integer,
                         const array &like) {
    if (read_numpy(function, name, given)) {
        return;
    }
    const bool is_integer = PyLong_Check(given.ptr()) && may_be_integer;
    const bool is_number = (PyFloat_Check(given.ptr()) || PyLong_Check(given.ptr())) && !PyBool_Check(given.ptr());
    if (!is_number || like.view_.device.kind != QDQ_DEVICE_HOST) {
        const bool is_array = dlpack::find_exchange(given) != nullptr;
        has_run_code_ = !is_array;
        read(function, name,
             is_array ? nb::borrow(given)
                      : frameworks().attr("operand")(given, may_be_integer, like.object_, function, name));
        return;
    }
    has_run_code_ = !PyFloat_CheckExact(given.ptr()) && !PyLong_CheckExact(given.ptr());  // a class's __float__
    if (is_integer) {
        number_.i32 = integer_of_32_bits(function, name, given);
    } else {
        number_.f32 = static_cast<float>(floating(function, name, given));
    }
    view_ = {&number_, is_integer ? QDQ_I32 : QDQ_F32, 0, shape_, nullptr, {}};
    object_ = nb::borrow(given);
}

bool array::is_dense() const {
    std::uint64_t dense = 1;  // wraps where there are no elements
    for (int d = view_.rank - 1; d >= 0; dense *= static_cast<std::uint64_t>(shape_[d--])) {
        if (shape_[d] > 1 && static_cast<std::uint64_t>(strides_[d]) != dense) {
            return element_count() == 0;
        }
    }
    return true;
}

void array::multiply_last_dimension(const char *function, const char *name, std::int64_t by) {
    set_element_shape(function, name, shape());
    std::int64_t *const last = view_.rank > 0 ? &element_shape_[view_.rank - 1] : nullptr;
    if (last != nullptr && __builtin_mul_overflow(*last, by, last)) {  // (0, 2^62) bytes of int2
        refuse_value(function, name, "its last dimension has more than 2^63 - 1 elements");
    }
}

packed_type::packed_type(const char *function, const char *name, qdq_dtype dtype, bool is_dense)
    : dtype(dtype), elements(is_dense ? 4 : 1), bytes(is_dense ? 3 : 1) {
    const int bits = qdq_dtype_bits(dtype);
    if (bits > 8) {
        refuse_type(function, name, std::string("bytes hold types of at most 8 bits, not ") + type_of(dtype).name);
    }
    if (!is_dense) {
        elements = 8 / bits;
    } else if (dtype != QDQ_F6E2M3 && dtype != QDQ_F6E3M2) {
        refuse_type(function, name, std::string("types of 6 bits are dense, not ") + type_of(dtype).name);
    }
}

std::int64_t packed_type::bytes_of(std::int64_t count) const {
    return bytes == 1 ? divided_up(count, elements) : count - count / elements;
}

bool is_dense_packing(const char *function, nb::handle given, bool is_packed) {
    if (!given.is_valid() || given.is_none()) {
        return false;
    }
    if (text(function, "packing", given) != "dense") {
        refuse_value(function, "packing", "it is neither None nor dense");
    }
    if (!is_packed) {
        refuse_value(function, "packing", "dense elements are bytes: quantize has packed=True, dequantize has stored");
    }
    return true;
}

void array::set_elements_of_bytes(const char *function, const char *name, const packed_type &type) {
    if (view_.rank > 0 && shape_[view_.rank - 1] % type.bytes != 0) {
        refuse_value(function, name, "its last dimension is no multiple of " + std::to_string(type.bytes) + " bytes");
    }
    multiply_last_dimension(function, name, type.elements);
    if (view_.rank > 0) {
        element_shape_[view_.rank - 1] /= type.bytes;
    }
}

void array::read_bytes(const char *function, const char *name, nb::handle given, const packed_type &type,
                       std::optional<std::span<const std::int64_t>> shape) {
    read(function, name, given);
    if (view_.dtype != QDQ_U8) {
        refuse_type(function, name, std::string("bytes are uint8: it is ") + type_of(view_.dtype).name);
    }
    if (!is_dense()) {
        refuse_value(function, name, "bytes are dense");
    }
    const std::int64_t bytes = element_count();
    view_.dtype = type.dtype;
    view_.strides = nullptr;
    if (!shape) {
        set_elements_of_bytes(function, name, type);
        return;
    }
    set_element_shape(function, "shape", *shape);
    if (std::ranges::any_of(*shape, [](std::int64_t size) { return size < 0; }) ||
        type.bytes_of(element_count()) != bytes) {
        refuse_value(
            function, name,
            std::to_string(bytes) + " bytes are not those of a shape of " + nb::str(shape_tuple(*shape)).c_str());
    }
}

void array::read_arranged(const char *function, const char *name, nb::handle given, std::optional<qdq_dtype> dtype) {
    read(function, name, given);
    if (dtype && view_.dtype != QDQ_U8) {
        refuse_type(function, name, std::string("its bytes are uint8, not ") + type_of(view_.dtype).name);
    }
    if (!is_dense()) {
        refuse_value(function, name, "arranged scales are dense");
    }
    view_.dtype = dtype.value_or(view_.dtype);
    view_.strides = nullptr;
}

void array::set_arranged_shape(const char *function, const char *name, std::span<const std::int64_t> shape,
                               std::int64_t bytes) {
    if (element_count() != bytes) {
        refuse_value(function, name,
                     std::to_string(element_count()) + " bytes, and scales of the shape " +
                         nb::str(shape_tuple(shape)).c_str() + " take " + std::to_string(bytes));
    }
    set_element_shape(function, name, shape);
}

void array::make(const char *function, const array &like, qdq_dtype dtype, std::span<const std::int64_t> shape) {
    const element_type &type = type_of(dtype);
    if (like.exchange_ != nullptr && type.dlpack_bits >= 8) {
        std::array<std::int64_t, most_dimensions> sizes;
        std::ranges::copy(shape, sizes.begin());
        const bool on_cuda = like.view_.device.kind == QDQ_DEVICE_CUDA;
        const nb::dlpack::device device{on_cuda ? nb::device::cuda::value : nb::device::cpu::value,
                                        like.view_.device.id};
        read(function, "out",
             dlpack::allocate(*like.exchange_, {nullptr,
                                                device,
                                                static_cast<std::int32_t>(shape.size()),
                                                {type.dlpack_code, type.dlpack_bits, 1},
                                                sizes.data()}));
        return;
    }
    if (!like.is_numpy_) {
        read(function, "out", frameworks().attr("empty")(like.object_, shape_tuple(shape), type.name, function));
        return;
    }
    npy_intp sizes[most_dimensions];
    std::ranges::copy(shape, sizes);
    const nb::object made = nb::steal(PyArray_Empty(static_cast<int>(shape.size()), sizes, numpy_descr(type), 0));
    if (!made.is_valid()) {
        throw nb::python_error();
    }
    read_numpy(function, "out", made);
}

void array::make_bytes(const char *function, const array &like, const packed_type &type,
                       std::span<const std::int64_t> shape) {
    std::array<std::int64_t, most_dimensions> sizes{};
    std::ranges::copy(shape, sizes.begin());
    std::size_t rank = shape.size();
    if (rank > 0 && shape[rank - 1] % type.elements == 0) {
        sizes[rank - 1] = sizes[rank - 1] / type.elements * type.bytes;
    } else if (type.elements > 1) {
        sizes[0] = type.bytes_of(compat::element_count(shape));
        rank = 1;
    }
    make(function, like, QDQ_U8, {sizes.data(), rank});
    view_.dtype = type.dtype;
    view_.strides = nullptr;
    set_element_shape(function, "out", shape);
}

void *array::stream() const {
    void *current = nullptr;
    if (view_.device.kind == QDQ_DEVICE_HOST) {
        return nullptr;
    }
    if (exchange_ == nullptr) {
        return reinterpret_cast<void *>(nb::cast<std::uintptr_t>(frameworks().attr("stream")(object_)));
    }
    if (exchange_->current_stream(nb::device::cuda::value, view_.device.id, &current) != 0) {
        throw nb::python_error();
    }
    return current;
}

nb::object array::result(const array &like) const {
    return like.is_numpy_ || like.exchange_ != nullptr ? object_
                                                       : nb::object(frameworks().attr("result")(like.object_, object_));
}

bool array::same_layout(const array &other) const {
    return view_.dtype == other.view_.dtype && view_.rank == other.view_.rank && layout_ == other.layout_ &&
           view_.device.kind == other.view_.device.kind && view_.device.id == other.view_.device.id &&
           std::ranges::equal(shape(), other.shape()) &&
           (view_.strides == nullptr || other.view_.strides == nullptr
                ? view_.strides == other.view_.strides
                : std::equal(strides_, strides_ + view_.rank, other.strides_));
}

std::size_t array::dense_bytes() const {
    const std::int64_t count = element_count(), bits = qdq_dtype_bits(view_.dtype);
    // A broadcast array may have more codes than an int64 counts bits: 2^62 of int4.
    return static_cast<std::size_t>(bits < 8 ? divided_up(count, 8 / bits) : count * (bits / 8));
}

std::span<const std::byte> array::bytes() const { return {static_cast<const std::byte *>(view_.data), dense_bytes()}; }

bool array::make_room() {
    if (layout_ == layout::one_a_byte) {
        packed_.reset(new (std::nothrow) std::byte[dense_bytes()]);
        view_.data = packed_.get();
    }
    return layout_ == layout::as_qdq || packed_ != nullptr;
}

bool array::pack() {
    if (layout_ == layout::as_qdq || !make_room()) {
        return layout_ == layout::as_qdq;
    }
    std::fill_n(packed_.get(), dense_bytes(), std::byte{});
    const int bits = qdq_dtype_bits(view_.dtype), per_byte = 8 / bits;
    const auto *const codes = static_cast<const std::byte *>(codes_);
    const auto mask = static_cast<std::byte>((1 << bits) - 1);
    std::int64_t i = 0;
    each_offset(view_, strides_, [&](std::int64_t offset) {
        packed_[static_cast<std::size_t>(i / per_byte)] |= (codes[offset] & mask) << (i % per_byte * bits);
        ++i;
    });
    return true;
}

void array::unpack() const {
    if (layout_ == layout::as_qdq) {
        return;
    }
    const int bits = qdq_dtype_bits(view_.dtype), per_byte = 8 / bits;
    auto *const codes = static_cast<std::byte *>(codes_);
    const auto mask = static_cast<std::byte>((1 << bits) - 1);
    std::int64_t i = 0;
    each_offset(view_, strides_, [&](std::int64_t offset) {
        codes[offset] = (packed_[static_cast<std::size_t>(i / per_byte)] >> (i % per_byte * bits)) & mask;
        ++i;
    });
}

}  // namespace qdq::python

// pypto, torch_npu and nvtripy. Each call is checked by its front end, and its result made where its input is.
#include "array.h"
#include "front_ends.h"

#include <nanobind/stl/optional.h>
#include <qdq/compat/pypto.hpp>
#include <qdq/compat/torch_npu.hpp>
#include <qdq/compat/tripy.hpp>

#include <optional>
#include <vector>

namespace qdq::python {

using namespace nb::literals;

namespace {

// RuntimeError, or MemoryError, with the front end's message.
void check(const result &done) {
    if (done.status() == status::out_of_memory) {
        PyErr_NoMemory();
        throw nb::python_error();
    }
    if (!done) {
        PyErr_SetString(PyExc_RuntimeError, done.message());
        throw nb::python_error();
    }
}

// An argument of Python's as the front ends take it; none where it is None.
class argument {
public:
    argument(const char *function, const char *name, nb::handle given) {
        if (given.is_none()) {
            return;
        }
        try {
            array_.read(function, name, given);
        } catch (const nb::builtin_exception &refused) {  // a dtype or layout that is none of qdq's
            check(result(QDQ_INVALID_ARGUMENT, refused.what()));
        }
        if (!array_.pack()) {
            check(result(QDQ_OUT_OF_MEMORY, compat::out_of_memory));
        }
    }
    tensor view() const {
        if (!array_.is_given()) {
            return none;
        }
        const qdq_tensor &t = array_.view();
        const dimensions strides(std::span(t.strides, t.strides != nullptr ? array_.shape().size() : 0));
        return tensor(t.data, static_cast<dtype>(t.dtype), dimensions(array_.shape()), strides);
    }
    const array &as_array() const { return array_; }

private:
    array array_;
};

// What `compute` writes to a new array of the library that `like` is from.
template<typename Compute>
nb::object made_by(const char *function, const argument &like, dtype type, std::span<const std::int64_t> shape,
                   Compute &&compute) {
    array y;
    y.make(function, like.as_array(), static_cast<qdq_dtype>(type), shape);
    result done(QDQ_OUT_OF_MEMORY, compat::out_of_memory);
    {
        const nb::gil_scoped_release others_run;
        if (y.make_room()) {
            done = compute(y.view());
        }
        if (done) {
            y.unpack();
        }
    }
    check(done);
    return y.result(like.as_array());
}

nb::object pypto_dequantize(nb::handle input, nb::handle scale, int otype, int axis, nb::handle zero_points) {
    const char *const function = pypto::detail::function;
    const argument x(function, "input", input), s(function, "scale", scale), z(function, "zero_points", zero_points);
    const tensor x_view = x.view(), s_view = s.view(), z_view = z.view();
    check(pypto::detail::check(x_view, s_view, static_cast<dtype>(otype), axis, z_view));
    return made_by(function, x, dtype::f32, x.as_array().shape(),
                   [&](const qdq_tensor &y) { return pypto::detail::compute(y, x_view, s_view, axis, z_view); });
}

void set_vec_tile_shapes(const nb::args &sizes) {
    pypto::detail::tile_shape tile;
    for (nb::handle size : sizes) {
        const auto value = nb::cast<std::int64_t>(size);
        if (tile.rank < tile.size.size()) {
            tile.size[tile.rank] = value;
        }
        ++tile.rank;
    }
    pypto::detail::current_tile_shape() = tile;
}

nb::object npu_quantize(nb::handle self, nb::handle scales, nb::handle zero_points, int type, std::int64_t axis,
                        bool div_mode) {
    const char *const function = torch_npu::detail::function;
    const argument x(function, "self", self), s(function, "scales", scales), z(function, "zero_points", zero_points);
    const tensor x_view = x.view(), s_view = s.view(), z_view = z.view();
    torch_npu::detail::call accepted;
    check(torch_npu::detail::check(x_view, s_view, z_view, static_cast<torch_npu::ScalarType>(type), axis, div_mode,
                                   accepted));
    const std::vector<std::int64_t> shape(accepted.result_shape.begin(), accepted.result_shape.end());
    return made_by(function, x, accepted.to->returned, shape, [&](const qdq_tensor &y) {
        return torch_npu::detail::compute(y, x_view, s_view, z_view, div_mode, accepted);
    });
}

nb::object tripy(bool quantizes, nb::handle input, nb::handle scale, int type, std::optional<int> dim) {
    const auto &op = quantizes ? tripy::detail::quantization : tripy::detail::dequantization;
    const argument x(op.names.function, "input", input), s(op.names.function, "scale", scale);
    const tensor x_view = x.view();
    const tripy::scale_argument s_view(s.view());
    tripy::detail::call accepted;
    check(tripy::detail::check(op, x_view, s_view, static_cast<dtype>(type), dim, accepted));
    return made_by(op.names.function, x, static_cast<dtype>(type), x.as_array().shape(),
                   [&](const qdq_tensor &y) { return tripy::detail::compute(op, accepted, y); });
}

}  // namespace

void define_functions(nb::module_ &m) {
    m.def("pypto_dequantize", pypto_dequantize, "input"_a.none(), "scale"_a.none(), "otype"_a, "axis"_a,
          "zero_points"_a.none());
    m.def("set_vec_tile_shapes", set_vec_tile_shapes);
    m.def("npu_quantize", npu_quantize, "self"_a.none(), "scales"_a.none(), "zero_points"_a.none(), "dtype"_a, "axis"_a,
          "div_mode"_a);
    m.def("tripy", tripy, "quantizes"_a, "input"_a, "scale"_a, "dtype"_a, "dim"_a.none());
    m.def("dtype_number", [](nb::handle given) { return static_cast<int>(named_type("qdq", given).dtype); }, "dtype"_a);
}

}  // namespace qdq::python

// pypto, torch_npu and nvtripy. Each call is checked by its front end, and its result made where its input is.
#include "array.h"
#include "front_ends.h"

#include <qdq/compat/pypto.hpp>
#include <qdq/compat/torch_npu.hpp>
#include <qdq/compat/tripy.hpp>

#include <algorithm>
#include <initializer_list>
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
        raise(PyExc_RuntimeError, done.message());
    }
}

// What `read` gives. A TypeError or ValueError of ours is a broken rule, what an argument's own code raises is raised.
template<typename Read> auto as_broken_rule(Read &&read) {
    try {
        return read();
    } catch (const nb::builtin_exception &refused) {
        raise(PyExc_RuntimeError, refused.what());
    }
}

// An argument of Python's as the front ends take it; none where it is None.
class argument {
public:
    argument(const char *function, const char *name, nb::handle given) : function_(function), name_(name) {
        if (!given.is_none()) {
            as_broken_rule([&] { array_.read(function_, name_, given); });
        }
    }
    // After all arguments are read, which may run Python's code.
    void check_in_place() const {
        as_broken_rule([&] { array_.check_in_place(function_, name_); });
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
    bool pack() { return array_.pack(); }

private:
    const char *function_, *name_;
    array array_;
};

void check_in_place(std::initializer_list<const argument *> arguments) {
    for (const argument *each : arguments) {
        each->check_in_place();
    }
}

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

nb::object pypto(bool quantizes, nb::handle input, nb::handle scale, int otype, nb::handle given_axis,
                 nb::handle zero_points) {
    const auto &op = quantizes ? pypto::detail::quantization : pypto::detail::dequantization;
    const char *const function = op.names.function;
    const std::int32_t axis = as_broken_rule([&] { return integer_of_32_bits(function, "axis", given_axis); });
    const argument x(function, "input", input), s(function, "scale", scale), z(function, "zero_points", zero_points);
    check_in_place({&x, &s, &z});
    const tensor x_view = x.view(), s_view = s.view(), z_view = z.view();
    const auto type = static_cast<dtype>(otype);
    check(pypto::detail::check(op, x_view, s_view, type, axis, z_view));
    return made_by(function, x, type, x.as_array().shape(),
                   [&](const qdq_tensor &y) { return pypto::detail::compute(op, y, x_view, s_view, axis, z_view); });
}

void set_vec_tile_shapes(const nb::args &sizes) {
    pypto::detail::tile_shape tile;
    for (nb::handle size : sizes) {
        const std::int64_t value = as_broken_rule([&] { return integer("pypto.set_vec_tile_shapes", "sizes", size); });
        if (tile.rank < tile.size.size()) {
            tile.size[tile.rank] = value;
        }
        ++tile.rank;
    }
    pypto::detail::current_tile_shape() = tile;
}

nb::object npu_quantize(nb::handle self, nb::handle scales, nb::handle zero_points, int type, nb::handle given_axis,
                        bool div_mode) {
    const char *const function = torch_npu::detail::function;
    const std::int64_t axis = integer(function, "axis", given_axis);
    const argument x(function, "self", self), s(function, "scales", scales), z(function, "zero_points", zero_points);
    check_in_place({&x, &s, &z});
    const tensor x_view = x.view(), s_view = s.view(), z_view = z.view();
    torch_npu::detail::call accepted;
    check(torch_npu::detail::check(x_view, s_view, z_view, type, axis, div_mode, accepted));
    const std::vector<std::int64_t> shape(accepted.result_shape.begin(), accepted.result_shape.end());
    return made_by(function, x, accepted.to->returned, shape, [&](const qdq_tensor &y) {
        return torch_npu::detail::compute(y, x_view, s_view, z_view, div_mode, accepted);
    });
}

std::optional<torch_npu::type_number> type_or_none(const char *function, const char *name, nb::handle given) {
    return given.is_none()
               ? std::nullopt
               : std::optional<torch_npu::type_number>(as_broken_rule([&] { return integer(function, name, given); }));
}

nb::object npu_anti_quant(nb::handle x, nb::handle scale, nb::handle offset, nb::handle dst_dtype,
                          nb::handle src_dtype) {
    const char *const function = torch_npu::detail::anti_names.function;
    const auto to = type_or_none(function, "dst_dtype", dst_dtype),
               from = type_or_none(function, "src_dtype", src_dtype);
    const argument codes(function, "x", x), s(function, "scale", scale), o(function, "offset", offset);
    check_in_place({&codes, &s, &o});
    const tensor x_view = codes.view(), s_view = s.view();
    const torch_npu::anti_quant_keywords how{o.view(), to, from};
    torch_npu::detail::anti_quant_call accepted;
    check(torch_npu::detail::check(x_view, s_view, how, accepted));
    return made_by(function, codes, accepted.returned, accepted.shape.span(),
                   [&](const qdq_tensor &y) { return torch_npu::detail::compute(y, x_view, s_view, how, accepted); });
}

// A result's type and shape.
struct made_like {
    dtype type;
    const torch_npu::detail::sizes &shape;
};

// What `compute` writes to new arrays.
template<std::size_t count, typename Compute>
nb::object all_made_by(const char *function, const argument &like, const made_like (&results)[count],
                       Compute &&compute) {
    array made[count];
    for (std::size_t i = 0; i < count; ++i) {
        made[i].make(function, like.as_array(), static_cast<qdq_dtype>(results[i].type), results[i].shape.span());
    }
    result done(QDQ_OUT_OF_MEMORY, compat::out_of_memory);
    {
        const nb::gil_scoped_release others_run;
        if (std::ranges::all_of(made, &array::make_room)) {
            done = compute(made);
        }
    }
    check(done);
    nb::list all;
    for (const array &each : made) {
        all.append(each.result(like.as_array()));
    }
    return nb::tuple(all);
}

nb::object npu_dynamic_quant(bool is_asymmetric, nb::handle x, nb::handle smooth_scales, nb::handle group_index,
                             nb::handle dst_type, nb::handle quant_mode, nb::handle dst_type_max) {
    torch_npu::detail::dynamic_quant_call accepted{.is_asymmetric = is_asymmetric};
    const char *const function = accepted.names().function;
    const auto to = type_or_none(function, "dst_type", dst_type);
    const std::string_view mode = as_broken_rule([&] { return text(function, "quant_mode", quant_mode); });
    const double largest = as_broken_rule([&] { return floating(function, "dst_type_max", dst_type_max); });
    const argument floats(function, "x", x), f(function, "smooth_scales", smooth_scales),
        g(function, "group_index", group_index);
    check_in_place({&floats, &f, &g});
    const tensor view = floats.view();
    const torch_npu::dynamic_quant_keywords how{f.view(), g.view(), to, mode, largest};
    check(torch_npu::detail::check(view, how, accepted));
    const made_like codes{accepted.returned, accepted.y}, scale{dtype::f32, accepted.scale};
    const auto compute = [&](const array *made, const qdq_tensor *offset) {
        return torch_npu::detail::compute(made[0].view(), made[1].view(), offset, view, how, accepted);
    };
    if (!is_asymmetric) {
        return all_made_by(function, floats, {codes, scale}, [&](const array *made) { return compute(made, nullptr); });
    }
    return all_made_by(function, floats, {codes, scale, scale},
                       [&](const array *made) { return compute(made, &made[2].view()); });
}

nb::object npu_dynamic_mx_quant(nb::handle input, nb::handle axis, nb::handle round_mode, nb::handle dst_type,
                                nb::handle block_size, nb::handle scale_alg, nb::handle dst_type_max,
                                nb::handle max_low_bound) {
    const char *const function = torch_npu::detail::mx_names.function;
    torch_npu::dynamic_mx_quant_keywords how;
    as_broken_rule([&] {
        how.axis = integer(function, "axis", axis);
        how.round_mode = text(function, "round_mode", round_mode);
        how.dst_type = integer(function, "dst_type", dst_type);
        how.block_size = integer(function, "block_size", block_size);
        how.scale_alg = scale_alg.is_none() ? 0 : integer(function, "scale_alg", scale_alg);
        how.dst_type_max = floating(function, "dst_type_max", dst_type_max);
        how.max_low_bound = floating(function, "max_low_bound", max_low_bound);
        return 0;
    });
    const argument floats(function, "input", input);
    check_in_place({&floats});
    const tensor view = floats.view();
    torch_npu::detail::dynamic_mx_call accepted;
    check(torch_npu::detail::check(view, how, accepted));
    return all_made_by(
        function, floats, {{accepted.returned, accepted.y}, {dtype::u8, accepted.scale}},
        [&](const array *made) { return torch_npu::detail::compute(made[0].view(), made[1].view(), view, accepted); });
}

nb::object tripy(bool quantizes, nb::handle input, nb::handle scale, int type, nb::handle given_dim) {
    const auto &op = quantizes ? tripy::detail::quantization : tripy::detail::dequantization;
    std::optional<int> dim;
    if (!given_dim.is_none()) {
        dim = integer_of_32_bits(op.names.function, "dim", given_dim);
    }
    argument x(op.names.function, "input", input);
    const argument s(op.names.function, "scale", scale);
    check_in_place({&x, &s});
    const tensor x_view = x.view();
    const tripy::scale_argument s_view(s.view());
    tripy::detail::call accepted;
    check(tripy::detail::check(op, x_view, s_view, static_cast<dtype>(type), dim, accepted));
    return made_by(op.names.function, x, static_cast<dtype>(type), x.as_array().shape(),
                   [&](const qdq_tensor &y) -> result {
                       if (!x.pack()) {
                           return {QDQ_OUT_OF_MEMORY, compat::out_of_memory};
                       }
                       accepted.x.data = x.as_array().data();
                       return tripy::detail::compute(op, accepted, y);
                   });
}

}  // namespace

void define_functions(nb::module_ &m) {
    m.def("pypto", pypto, "quantizes"_a, "input"_a.none(), "scale"_a.none(), "otype"_a, "axis"_a.none(),
          "zero_points"_a.none());
    m.def("set_vec_tile_shapes", set_vec_tile_shapes);
    m.def("npu_quantize", npu_quantize, "self"_a.none(), "scales"_a.none(), "zero_points"_a.none(), "dtype"_a,
          "axis"_a.none(), "div_mode"_a);
    m.def("npu_anti_quant", npu_anti_quant, "x"_a.none(), "scale"_a.none(), "offset"_a.none(), "dst_dtype"_a.none(),
          "src_dtype"_a.none());
    m.def("npu_dynamic_quant", npu_dynamic_quant, "is_asymmetric"_a, "x"_a.none(), "smooth_scales"_a.none(),
          "group_index"_a.none(), "dst_type"_a.none(), "quant_mode"_a.none(), "dst_type_max"_a.none());
    m.def("npu_dynamic_mx_quant", npu_dynamic_mx_quant, "input"_a.none(), "axis"_a.none(), "round_mode"_a.none(),
          "dst_type"_a.none(), "block_size"_a.none(), "scale_alg"_a.none(), "dst_type_max"_a.none(),
          "max_low_bound"_a.none());
    m.def("tripy", tripy, "quantizes"_a, "input"_a, "scale"_a, "dtype"_a, "dim"_a.none());
    m.def(
        "dtype_number", [](nb::handle given) { return static_cast<int>(named_type("qdq", "dtype", given).dtype); },
        "dtype"_a);
}

}  // namespace qdq::python

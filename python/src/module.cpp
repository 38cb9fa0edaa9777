// qdq._core: what `import qdq` gives.
#include "blocks.h"
#include "builtins.h"
#include "call.h"
#include "checkpoint.h"
#include "dynamic.h"
#include "front_ends.h"
#include "grouped.h"
#include "scale_layouts.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace qdq::python {

namespace {

nb::object run(const direction &way, nb::handle x, nb::handle scale, nb::handle zero_point, const keywords &given) {
    return call(way, x, scale, zero_point, given).run();
}

std::unique_ptr<plan> make_plan(const direction &way, nb::handle x, nb::handle scale, nb::handle zero_point,
                                const keywords &given) {
    return std::make_unique<plan>(way, x, scale, zero_point, given);
}

constexpr char quantize_doc[] = R"(y = saturate(round(x / scale) + zero_point), as an array of `dtype`.

Args:
    x: array of float32, float16 or bfloat16, 0 to 8 dimensions, any strides. NumPy's, or any with DLPack.
    scale: array of float32, float16, bfloat16, float8_e8m0fnu or float8_e4m3fn, or a number, or a sequence of numbers.
        One element; or one dimension, an element for each along `axis`; or x's rank, an element for each block.
    zero_point: None, or an array of one element or scale's shape, of int8, uint8, int16, uint16, int32, float32,
        float16 or bfloat16; or a number or a sequence of numbers. A float is rounded to the nearest integer, but with
        "before_rounding" taken as it is.
    dtype: what y holds: int8, uint8, int16, uint16, int32, int4, uint4, int2, uint2, float8_e4m3fn, float8_e5m2,
        float8_e4m3fnuz, float8_e5m2fnuz, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, float4_e1m2,
        hifloat8. A string, or a type of NumPy, ml_dtypes, en_dtypes, PyTorch or JAX.
    axis: x's dimension that a scale of one dimension varies along, or that `block_size` cuts. None is 0. Where the
        scale has the length of several dimensions, it must be given: ONNX would take 1 then, and torch asks for it.
    block_size: elements in a block along `axis`, or a tuple of x's rank; None: from the shapes of x and scale, where
        the scale's divides x's.
    scale_mode: "divide", "multiply" (x * scale) or "reciprocal" (x * (1 / scale), rounded twice).
    zero_point_mode: "after_rounding", or "before_rounding": saturate(round(x / scale + zero_point)).
    rounding: "nearest_even", "nearest_away", "toward_zero", "down", "up" or "stochastic"; of float types the first and
        the last.
    seed, offset: of "stochastic", which rounds up or down by chance: from 0 to 2^64 - 1. Element i of x in row-major order
        has the random bits of number offset + i of those of the seed.
    saturate: False gives infinity or NaN, instead of the largest value, where float8 or hifloat8 overflows.
    nan: what NaN becomes where dtype is an integer type: "lowest", its least code, or "zero".
    profile: "onnx", "torch", "torchao", "acl", "tensorrt", "tripy" or "pypto": the options under which that system
        computes. A keyword that is not at its default replaces the profile's.
    out: an array of x's shape and `dtype` (with `packed`, of its bytes), any strides that keep its elements apart.
    scale_layout: "tiled_128x4" or "column_words": scale is the dense bytes that arrange_scales gives, on the host. Its
        shape follows from x's and `block_size`. None: scale has its own.
    scale_dtype: with `scale_layout`, of bytes of uint8: float8_e8m0fnu or float8_e4m3fn.
    global_sense, global_scale: a number, any float32, for the tensor above those of scale. "scale": they are multiplied by
        it (torchao's per_tensor_scale); "inverse": divided (compressed-tensors' and vLLM's global_scale). On the host.
    packed: y as bytes, of uint8: two elements of 4 bits in each, the first in the low half, or four of 2. Its shape is
        x's, with as many bytes in the last dimension as hold the elements. Where that does not fill its bytes, y has
        one dimension of all bytes.
    packing: "dense", of float6 types with `packed`: four elements in three bytes, the first in the lowest bits, as ONNX and
        safetensors have them. None: each has a byte.

Returns:
    `out`, or an array of x's shape from the library that x is from. Without `packed`, types below 8 bits are
    ml_dtypes', one element in a byte, and float4_e1m2 and hifloat8 en_dtypes'.

Raises:
    TypeError: an argument is no array, or of a dtype that is none of qdq's.
    ValueError: an argument breaks a rule; the message names it, the rule and the values.
    MemoryError: for y.
    RuntimeError: a device's driver refuses.

While it computes, other threads of Python run.)";

constexpr char dequantize_doc[] = R"(y = (q - zero_point) * scale, as an array of `dtype`.

Args:
    q: array of a type that quantize gives, 0 to 8 dimensions, any strides; or with `stored` its bytes.
    scale, zero_point, axis, block_size, scale_layout, scale_dtype, global_sense, global_scale: as of quantize.
    dtype: what y holds: float32, float16 or bfloat16.
    zero_point_mode: "subtract", or "add": (q + zero_point) * scale.
    profile: as of quantize.
    out: an array of q's shape and `dtype`.
    stored: the type of the elements whose bytes q, of uint8, holds, as quantize gives them with packed=True.
    shape: with `stored`, the shape of the elements; None: q's, with as many in the last dimension as its bytes hold.
    packing: as of quantize, with `stored`.

Returns:
    `out`, or an array from the library that q is from.

Raises:
    As quantize.)";

constexpr char transcode_doc[] =
    R"(Codes as codes of another type, with other scales: quantize(dequantize(q), new_scale), with float32 between them, in one
pass over q.

Args:
    q, scale, zero_point, axis, block_size, zero_point_mode, profile, stored, shape: as of dequantize. On the host.
    dtype, scale_mode, rounding, seed, offset, saturate, nan, out, packed: as of quantize. `out` overlaps no argument.
    new_scale, new_zero_point, new_axis, new_block_size, new_zero_point_mode, new_profile: as quantize's without `new_`.

Returns:
    `out`, or an array of q's shape from the library that q is from, as of quantize.

Raises:
    As quantize.)";

constexpr char quantize_signature[] =
    "(x, scale, zero_point=None, *, dtype, axis=None, block_size=None, scale_mode='divide', "
    "zero_point_mode='after_rounding', rounding='nearest_even', saturate=True, nan='lowest', profile=None, out=None, "
    "packed=False, seed=0, offset=0, scale_layout=None, scale_dtype=None, global_sense=None, global_scale=None, "
    "packing=None)";
constexpr char dequantize_signature[] =
    "(q, scale, zero_point=None, *, dtype='float32', axis=None, block_size=None, zero_point_mode='subtract', "
    "profile=None, out=None, stored=None, shape=None, scale_layout=None, scale_dtype=None, global_sense=None, "
    "global_scale=None, packing=None)";

// Functions with quantize's and dequantize's arguments, which they hand to `use`.
template<auto use> void define_quantize(nb::module_ &m, const char *name, const char *doc) {
    define_builtin(
        m, name, quantize_signature, doc,
        nb::cpp_function(
            [](nb::handle x, nb::handle scale, nb::handle zero_point, nb::handle dtype, nb::handle axis,
               nb::handle block_size, nb::handle scale_mode, nb::handle zero_point_mode, nb::handle rounding,
               nb::handle saturate, nb::handle nan, nb::handle profile, nb::handle out, nb::handle packed,
               nb::handle seed, nb::handle offset, nb::handle scale_layout, nb::handle scale_dtype,
               nb::handle global_sense, nb::handle global_scale, nb::handle packing) {
                return use(quantization, x, scale, zero_point,
                           {dtype,
                            axis,
                            block_size,
                            scale_mode,
                            zero_point_mode,
                            rounding,
                            saturate,
                            nan,
                            profile,
                            out,
                            packed,
                            nb::handle(Py_None),
                            nb::handle(Py_None),
                            seed,
                            offset,
                            scale_layout,
                            scale_dtype,
                            global_sense,
                            global_scale,
                            packing});
            },
            nb::name(name), "x"_a.none(), "scale"_a.none(), "zero_point"_a = nb::none(), nb::kw_only(),
            "dtype"_a.none(), "axis"_a = nb::none(), "block_size"_a = nb::none(), "scale_mode"_a = "divide",
            "zero_point_mode"_a = "after_rounding", "rounding"_a = "nearest_even", "saturate"_a.none() = true,
            "nan"_a = "lowest", "profile"_a = nb::none(), "out"_a = nb::none(), "packed"_a.none() = false,
            "seed"_a.none() = 0, "offset"_a.none() = 0, "scale_layout"_a = nb::none(), "scale_dtype"_a = nb::none(),
            "global_sense"_a = nb::none(), "global_scale"_a = nb::none(), "packing"_a = nb::none()));
}

template<auto use> void define_dequantize(nb::module_ &m, const char *name, const char *doc) {
    define_builtin(
        m, name, dequantize_signature, doc,
        nb::cpp_function(
            [](nb::handle q, nb::handle scale, nb::handle zero_point, nb::handle dtype, nb::handle axis,
               nb::handle block_size, nb::handle zero_point_mode, nb::handle profile, nb::handle out, nb::handle stored,
               nb::handle shape, nb::handle scale_layout, nb::handle scale_dtype, nb::handle global_sense,
               nb::handle global_scale, nb::handle packing) {
                return use(dequantization, q, scale, zero_point,
                           {dtype,
                            axis,
                            block_size,
                            {},
                            zero_point_mode,
                            {},
                            nb::handle(Py_True),
                            {},
                            profile,
                            out,
                            nb::handle(Py_False),
                            stored,
                            shape,
                            {},
                            {},
                            scale_layout,
                            scale_dtype,
                            global_sense,
                            global_scale,
                            packing});
            },
            nb::name(name), "q"_a.none(), "scale"_a.none(), "zero_point"_a = nb::none(), nb::kw_only(),
            "dtype"_a = "float32", "axis"_a = nb::none(), "block_size"_a = nb::none(), "zero_point_mode"_a = "subtract",
            "profile"_a = nb::none(), "out"_a = nb::none(), "stored"_a = nb::none(), "shape"_a = nb::none(),
            "scale_layout"_a = nb::none(), "scale_dtype"_a = nb::none(), "global_sense"_a = nb::none(),
            "global_scale"_a = nb::none(), "packing"_a = nb::none()));
}

void define_transcode(nb::module_ &m) {
    define_builtin(
        m, "transcode",
        "(q, scale, zero_point=None, *, dtype, new_scale, new_zero_point=None, axis=None, block_size=None, "
        "zero_point_mode='subtract', profile=None, new_axis=None, new_block_size=None, "
        "new_zero_point_mode='after_rounding', new_profile=None, scale_mode='divide', rounding='nearest_even', "
        "saturate=True, nan='lowest', out=None, packed=False, stored=None, shape=None, seed=0, offset=0)",
        transcode_doc,
        nb::cpp_function(
            [](nb::handle q, nb::handle scale, nb::handle zero_point, nb::handle dtype, nb::handle new_scale,
               nb::handle new_zero_point, nb::handle axis, nb::handle block_size, nb::handle zero_point_mode,
               nb::handle profile, nb::handle new_axis, nb::handle new_block_size, nb::handle new_zero_point_mode,
               nb::handle new_profile, nb::handle scale_mode, nb::handle rounding, nb::handle saturate, nb::handle nan,
               nb::handle out, nb::handle packed, nb::handle stored, nb::handle shape, nb::handle seed,
               nb::handle offset) {
                const keywords given{.dtype = dtype,
                                     .axis = axis,
                                     .block_size = block_size,
                                     .zero_point_mode = zero_point_mode,
                                     .profile = profile,
                                     .out = out,
                                     .packed = packed,
                                     .stored = stored,
                                     .shape = shape},
                    made{.axis = new_axis,
                         .block_size = new_block_size,
                         .scale_mode = scale_mode,
                         .zero_point_mode = new_zero_point_mode,
                         .rounding = rounding,
                         .saturate = saturate,
                         .nan = nan,
                         .profile = new_profile,
                         .seed = seed,
                         .offset = offset};
                return transcoding(q, scale, zero_point, given, new_scale, new_zero_point, made).run();
            },
            nb::name("transcode"), "q"_a.none(), "scale"_a.none(), "zero_point"_a = nb::none(), nb::kw_only(),
            "dtype"_a.none(), "new_scale"_a.none(), "new_zero_point"_a = nb::none(), "axis"_a = nb::none(),
            "block_size"_a = nb::none(), "zero_point_mode"_a = "subtract", "profile"_a = nb::none(),
            "new_axis"_a = nb::none(), "new_block_size"_a = nb::none(), "new_zero_point_mode"_a = "after_rounding",
            "new_profile"_a = nb::none(), "scale_mode"_a = "divide", "rounding"_a = "nearest_even",
            "saturate"_a.none() = true, "nan"_a = "lowest", "out"_a = nb::none(), "packed"_a.none() = false,
            "stored"_a = nb::none(), "shape"_a = nb::none(), "seed"_a.none() = 0, "offset"_a.none() = 0));
}

nb::list targets() {
    nb::list all;
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        const char *const problem = qdq_target_problem(i);
        all.append(nb::make_tuple(qdq_target_name(i), problem));
    }
    return all;
}

// What is defined here is defined once in a process, and Python keeps it.
PyObject *imported = nullptr;  // the module, once it is whole
PyInterpreterState *importer = nullptr;

// Where the module's name is gone from sys.modules, as after a test that takes care of its own imports, importing it
// again gives the first one.
bool is_imported_again() {
    if (imported == nullptr) {
        return false;
    }
    if (PyInterpreterState_Get() != importer) {
        throw std::runtime_error("qdq: another interpreter of this process has imported it");  // an ImportError
    }
    const nb::handle first(imported);
    nb::object modules = nb::module_::import_("sys").attr("modules");
    for (const nb::object &each :
         {nb::borrow(first), nb::object(first.attr("compat")), nb::object(first.attr("checkpoint"))}) {
        modules[each.attr("__name__")] = each;
    }
    return true;
}

}  // namespace

NB_MODULE(_core, m) {
    if (is_imported_again()) {
        return;
    }
    define_quantize<run>(m, "quantize", quantize_doc);
    define_dequantize<run>(m, "dequantize", dequantize_doc);
    define_transcode(m);
    define_dynamic(m);
    define_dynamic_grouped(m);
    define_grouped(m);
    define_scale_layouts(m);
    define_blocks(m);

    nb::class_<plan>(m, "Plan", "What qdq.plan returns.")
        .def("__call__", &plan::run, "x"_a.none(), "out"_a = nb::none(),
             "The result for `x`, an array with the dtype, shape and strides of the one that was planned with. It is\n"
             "`out`, which has those of the y that was planned, or a new array. ValueError where they differ.");
    define_quantize<make_plan>(m, "plan_quantize", "qdq.plan(qdq.quantize, ...).");
    define_dequantize<make_plan>(m, "plan_dequantize", "qdq.plan(qdq.dequantize, ...).");

    define_builtin(m, "targets", "()",
                   "The targets that qdq has kernels for, the best first: the name of each, and why this machine\n"
                   "cannot run it, or None where it can.",
                   nb::cpp_function(targets));
    define_builtin(m, "current_target", "()",
                   "The name of the target that calls use now, or None where this machine can run none.",
                   nb::cpp_function(qdq_current_target));
    define_builtin(
        m, "force_target", "(name)",
        "Uses only the named target from now on, in every thread; None returns to the best. ValueError for a name "
        "that\n"
        "is unknown or that this machine cannot run.",
        nb::cpp_function(
            [](nb::handle name) {
                check(qdq_force_target(name.is_none() ? nullptr : text("qdq.force_target", "name", name).data()));
            },
            "name"_a.none()));
    define_builtin(
        m, "set_num_threads", "(count)",
        "How many threads large work is split over: 1 for the caller's alone, 0 (as it is at first) for as many as\n"
        "there are processors. Results have the same bits for every number.",
        nb::cpp_function(
            [](nb::handle given) {
                const std::int32_t count = integer_of_32_bits("qdq.set_num_threads", "count", given);
                if (count < 0) {
                    refuse_value("qdq.set_num_threads", "count", std::to_string(count) + " is below 0");
                }
                qdq_set_num_threads(count);
            },
            "count"_a.none()));

    nb::module_ compat = m.def_submodule("compat", "The front ends, for the modules of qdq.compat.");
    define_functions(compat);
    define_tensorrt(compat);
    define_aclnn(compat);
    nb::module_ checkpoint = m.def_submodule("checkpoint", "The engine of qdq.checkpoint.");
    define_checkpoint(checkpoint);
    imported = nb::object(m).release().ptr();
    importer = PyInterpreterState_Get();
}

}  // namespace qdq::python

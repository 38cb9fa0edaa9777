#include "grouped.h"

#include "builtins.h"
#include "call.h"

namespace qdq::python {

using namespace nb::literals;

namespace {

constexpr char quantize_doc[] =
    R"(x quantized by rows in groups that have scales of their own, as the experts of a mixture.

Args:
    x: array of float32, float16 or bfloat16. Rows are the indices of its first dimension. On the host.
    offsets: where each group begins, and where the last one ends: group g is x[offsets[g]:offsets[g + 1]]. From 0 to the
        number of rows, none below the one before it.
    scale: one for each group; or with `axis` of shape (groups, length of that dimension); or (groups, 1, blocks) of a
        matrix. scale[g] is group g's, as quantize takes it.
    zero_point: of scale's shape. None: 0.
    dtype, axis, block_size, scale_mode, zero_point_mode, rounding, saturate, nan, profile, out, packed, seed, offset: as
        of quantize.

Returns:
    `out`, or an array of x's shape from the library that x is from.

Raises:
    As quantize.)";

constexpr char dequantize_doc[] = R"(The way back from quantize_grouped.

Args:
    q: array of codes, as of dequantize. Rows are the indices of its first dimension. On the host.
    offsets, scale, zero_point: as of quantize_grouped.
    dtype, axis, block_size, zero_point_mode, profile, out, stored, shape: as of dequantize.

Returns:
    `out`, or an array of q's shape from the library that q is from.

Raises:
    As quantize.)";

}  // namespace

void define_grouped(nb::module_ &m) {
    define_builtin(
        m, "quantize_grouped",
        "(x, offsets, scale, zero_point=None, *, dtype, axis=None, block_size=None, scale_mode='divide', "
        "zero_point_mode='after_rounding', rounding='nearest_even', saturate=True, nan='lowest', profile=None, "
        "out=None, packed=False, seed=0, offset=0)",
        quantize_doc,
        nb::cpp_function(
            [](nb::handle x, nb::handle offsets, nb::handle scale, nb::handle zero_point, nb::handle dtype,
               nb::handle axis, nb::handle block_size, nb::handle scale_mode, nb::handle zero_point_mode,
               nb::handle rounding, nb::handle saturate, nb::handle nan, nb::handle profile, nb::handle out,
               nb::handle packed, nb::handle seed, nb::handle offset) {
                const keywords given{.dtype = dtype,
                                     .axis = axis,
                                     .block_size = block_size,
                                     .scale_mode = scale_mode,
                                     .zero_point_mode = zero_point_mode,
                                     .rounding = rounding,
                                     .saturate = saturate,
                                     .nan = nan,
                                     .profile = profile,
                                     .out = out,
                                     .packed = packed,
                                     .stored = nb::handle(Py_None),
                                     .shape = nb::handle(Py_None),
                                     .seed = seed,
                                     .offset = offset};
                return grouped_call(grouped_quantization, x, offsets, scale, zero_point, given).run();
            },
            nb::name("quantize_grouped"), "x"_a.none(), "offsets"_a.none(), "scale"_a.none(),
            "zero_point"_a = nb::none(), nb::kw_only(), "dtype"_a.none(), "axis"_a = nb::none(),
            "block_size"_a = nb::none(), "scale_mode"_a = "divide", "zero_point_mode"_a = "after_rounding",
            "rounding"_a = "nearest_even", "saturate"_a.none() = true, "nan"_a = "lowest", "profile"_a = nb::none(),
            "out"_a = nb::none(), "packed"_a.none() = false, "seed"_a.none() = 0, "offset"_a.none() = 0));
    define_builtin(m, "dequantize_grouped",
                   "(q, offsets, scale, zero_point=None, *, dtype='float32', axis=None, block_size=None, "
                   "zero_point_mode='subtract', profile=None, out=None, stored=None, shape=None)",
                   dequantize_doc,
                   nb::cpp_function(
                       [](nb::handle q, nb::handle offsets, nb::handle scale, nb::handle zero_point, nb::handle dtype,
                          nb::handle axis, nb::handle block_size, nb::handle zero_point_mode, nb::handle profile,
                          nb::handle out, nb::handle stored, nb::handle shape) {
                           const keywords given{.dtype = dtype,
                                                .axis = axis,
                                                .block_size = block_size,
                                                .zero_point_mode = zero_point_mode,
                                                .saturate = nb::handle(Py_True),
                                                .profile = profile,
                                                .out = out,
                                                .packed = nb::handle(Py_False),
                                                .stored = stored,
                                                .shape = shape};
                           return grouped_call(grouped_dequantization, q, offsets, scale, zero_point, given).run();
                       },
                       nb::name("dequantize_grouped"), "q"_a.none(), "offsets"_a.none(), "scale"_a.none(),
                       "zero_point"_a = nb::none(), nb::kw_only(), "dtype"_a = "float32", "axis"_a = nb::none(),
                       "block_size"_a = nb::none(), "zero_point_mode"_a = "subtract", "profile"_a = nb::none(),
                       "out"_a = nb::none(), "stored"_a = nb::none(), "shape"_a = nb::none()));
}

}  // namespace qdq::python

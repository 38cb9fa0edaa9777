#include "scale_layouts.h"

#include "array.h"
#include "builtins.h"
#include "call.h"

#include <string>
#include <utility>
#include <vector>

namespace qdq::python {

using namespace nb::literals;

namespace {

constexpr std::pair<const char *, qdq_scale_layout> layouts[] = {{"tiled_128x4", QDQ_SCALES_TILED_128X4},
                                                                 {"column_words", QDQ_SCALES_COLUMN_WORDS}};

}  // namespace

qdq_scale_layout layout_of(const char *function, const char *name, nb::handle given) {
    const std::string_view layout_name = text(function, name, given);
    for (const auto &[known, layout] : layouts) {
        if (layout_name == known) {
            return layout;
        }
    }
    refuse_value(function, name, '"' + std::string(layout_name) + "\" is none of tiled_128x4, column_words");
}

std::int64_t arranged_bytes(const char *function, qdq_scale_layout layout, std::span<const std::int64_t> shape) {
    if (shape.size() < 2) {
        refuse_value(function, "scale", "it has " + std::to_string(shape.size()) + " dimensions, and no matrix");
    }
    const auto last = shape.last(2);
    std::int64_t bytes = qdq_arranged_bytes(layout, last[0], last[1]);
    for (const std::int64_t extent : shape.first(shape.size() - 2)) {
        bytes = __builtin_mul_overflow(bytes, extent, &bytes) ? INT64_MAX : bytes;
    }
    return bytes;
}

namespace {

nb::object arrange(nb::handle given, nb::handle layout_name) {
    const char *const function = "qdq.arrange_scales";
    const qdq_scale_layout layout = layout_of(function, "layout", layout_name);
    array scale, arranged;
    scale.read(function, "scale", given);
    const std::int64_t bytes = arranged_bytes(function, layout, scale.shape());
    arranged.make(function, scale, QDQ_U8, std::span(&bytes, 1));
    scale.check_in_place(function, "scale");
    qdq_status status;
    {
        const nb::gil_scoped_release others_run;
        status = qdq_arrange_scales(&scale.view(), layout, arranged.data(), bytes);
    }
    check(status);
    return arranged.result(scale);
}

nb::object restore(nb::handle given, nb::handle shape_given, nb::handle layout_name, nb::handle dtype) {
    const char *const function = "qdq.restore_scales";
    const qdq_scale_layout layout = layout_of(function, "layout", layout_name);
    const std::vector<std::int64_t> shape = integers(function, "shape", shape_given, 8);
    array arranged, scale;
    arranged.read(function, "arranged", given);
    if (arranged.view().dtype != QDQ_U8 || !arranged.is_dense()) {
        refuse_value(function, "arranged", "it is no dense array of uint8, as arrange_scales gives");
    }
    scale.make(function, arranged, named_type(function, "dtype", dtype).dtype, shape);
    arranged.check_in_place(function, "arranged");
    qdq_status status;
    {
        const nb::gil_scoped_release others_run;
        status = qdq_restore_scales(arranged.data(), arranged.element_count(), layout, &scale.view());
    }
    check(status);
    return scale.result(arranged);
}

constexpr char arrange_doc[] = R"(Scales in the order in which tensor cores read them, as an array of uint8.

Args:
    scale: array of float8_e8m0fnu or float8_e4m3fn, on the host, any strides. Its last two dimensions are matrices: rows,
        and the blocks of each row. Each matrix is padded on its own.
    layout: "tiled_128x4" has tiles of 128 rows and 4 columns, as cuBLAS takes them. "column_words" has four scales of a row in
        32 bits, and these column by column, as DeepGEMM does.

Returns:
    One dimension, of the bytes with their padding, which is 0. From the library that scale is from.

Raises:
    As quantize.)";

constexpr char restore_doc[] = R"(The scales that arrange_scales has arranged.

Args:
    arranged: array of uint8, as arrange_scales gives.
    shape: the scales' own.
    layout: as of arrange_scales.
    dtype: float8_e8m0fnu or float8_e4m3fn.

Returns:
    An array of that shape and type, from the library that arranged is from.

Raises:
    As quantize.)";

}  // namespace

void define_scale_layouts(nb::module_ &m) {
    define_builtin(
        m, "arrange_scales", "(scale, *, layout)", arrange_doc,
        nb::cpp_function(arrange, nb::name("arrange_scales"), "scale"_a.none(), nb::kw_only(), "layout"_a.none()));
    define_builtin(m, "restore_scales", "(arranged, shape, *, layout, dtype)", restore_doc,
                   nb::cpp_function(restore, nb::name("restore_scales"), "arranged"_a.none(), "shape"_a.none(),
                                    nb::kw_only(), "layout"_a.none(), "dtype"_a.none()));
}

}  // namespace qdq::python

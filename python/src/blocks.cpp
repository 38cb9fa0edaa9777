#include "blocks.h"

#include "array.h"
#include "builtins.h"
#include "call.h"

#include <qdq/blocks.h>

#include <string>
#include <utility>
#include <vector>

namespace qdq::python {

using namespace nb::literals;

namespace {

constexpr std::pair<const char *, qdq_block_format> formats[] = {
    {"q8_0", QDQ_Q8_0}, {"q4_0", QDQ_Q4_0},   {"q4_1", QDQ_Q4_1},    {"q5_0", QDQ_Q5_0},
    {"q5_1", QDQ_Q5_1}, {"mxfp4", QDQ_MXFP4}, {"iq4_nl", QDQ_IQ4_NL}};
constexpr std::int64_t block_elements = 32;

qdq_block_format format_of(const char *function, nb::handle given) {
    const std::string_view name = text(function, "format", given);
    for (const auto &[known, format] : formats) {
        if (name == known) {
            return format;
        }
    }
    refuse_value(function, "format",
                 '"' + std::string(name) + "\" is none of q8_0, q4_0, q4_1, q5_0, q5_1, mxfp4, iq4_nl");
}

// A shape whose last dimension counts other units: `from` of a kind for each `to` of another.
std::vector<std::int64_t> counted_otherwise(const char *function, const array &x, std::int64_t from, std::int64_t to) {
    std::vector<std::int64_t> shape(x.shape().begin(), x.shape().end());
    if (shape.empty() || shape.back() % from != 0) {
        refuse_value(function, "x", "its last dimension is no multiple of " + std::to_string(from));
    }
    shape.back() = shape.back() / from * to;
    return shape;
}

using block_call = qdq_status(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format);

nb::object run(const char *function, block_call *call, array &x, array &y, qdq_block_format format) {
    x.check_in_place(function, "x");
    qdq_status status;
    {
        const nb::gil_scoped_release others_run;
        status = call(&x.view(), &y.view(), format);
    }
    check(status);
    return y.result(x);
}

nb::object quantize(nb::handle given, nb::handle format_name) {
    const char *const function = "qdq.quantize_blocks";
    const qdq_block_format format = format_of(function, format_name);
    array x, y;
    x.read(function, "x", given);
    y.make(function, x, QDQ_U8, counted_otherwise(function, x, block_elements, qdq_block_bytes(format)));
    return run(function, qdq_quantize_blocks, x, y, format);
}

nb::object dequantize(nb::handle given, nb::handle format_name, nb::handle dtype) {
    const char *const function = "qdq.dequantize_blocks";
    const qdq_block_format format = format_of(function, format_name);
    const qdq_dtype type = named_type(function, "dtype", dtype).dtype;
    array x, y;
    x.read(function, "x", given);
    y.make(function, x, type, counted_otherwise(function, x, qdq_block_bytes(format), block_elements));
    return run(function, qdq_dequantize_blocks, x, y, format);
}

constexpr char quantize_doc[] =
    R"(Elements in the blocks of one of ggml's formats, as GGUF files hold them: the bytes of ggml's reference.

Args:
    x: array of float32, float16 or bfloat16, on the host, any strides. Blocks are 32 elements of its last dimension.
    format: "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4" or "iq4_nl".

Returns:
    uint8 of x's shape, but for the last dimension: the bytes of the blocks. In the order of the formats a block has 34, 18,
    20, 22, 24, 17 and 18. From the library that x is from.

Raises:
    As quantize.)";

constexpr char dequantize_doc[] = R"(The values of blocks of one of ggml's formats.

Args:
    x: array of uint8, as quantize_blocks gives, on the host, any strides.
    format: as of quantize_blocks.
    dtype: float32, float16 or bfloat16. The latter two are rounded from float32.

Returns:
    An array of the elements, from the library that x is from.

Raises:
    As quantize.)";

}  // namespace

void define_blocks(nb::module_ &m) {
    define_builtin(m, "quantize_blocks", "(x, format)", quantize_doc,
                   nb::cpp_function(quantize, nb::name("quantize_blocks"), "x"_a.none(), "format"_a.none()));
    define_builtin(m, "dequantize_blocks", "(x, format, *, dtype='float32')", dequantize_doc,
                   nb::cpp_function(dequantize, nb::name("dequantize_blocks"), "x"_a.none(), "format"_a.none(),
                                    nb::kw_only(), "dtype"_a.none() = "float32"));
}

}  // namespace qdq::python

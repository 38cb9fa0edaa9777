// The entry points of ggml's blocks. What they call is in objects of its own: programs without such calls link none of
// it.
#include "qdq/blocks.h"

#include "cpu/blocks.h"
#include "support/types.h"

namespace runtime = qdq::runtime;

namespace {

qdq_status run(const runtime::block_arguments &given) {
    runtime::block_plan p;
    const qdq_status s = runtime::make_block_plan(given, p);
    if (!s && p.count > 0) {
        runtime::run_blocks(p, given.x->data, given.y->data);
    }
    return s;
}

}  // namespace

int64_t qdq_block_bytes(qdq_block_format format) {
    const auto number = unsigned(runtime::stored_value(format));
    return number < std::size(qdq::kernels::block_formats) ? qdq::kernels::block_formats[number].bytes() : 0;
}

qdq_status qdq_quantize_blocks(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format) {
    return run({"qdq_quantize_blocks", true, x, y, format});
}

qdq_status qdq_dequantize_blocks(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format) {
    return run({"qdq_dequantize_blocks", false, x, y, format});
}

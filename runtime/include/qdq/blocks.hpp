/// qdq in C++: ggml's block formats, over qdq/blocks.h.
#ifndef QDQ_BLOCKS_HPP
#define QDQ_BLOCKS_HPP

#include "qdq/blocks.h"
#include "qdq/qdq.hpp"

namespace qdq {

/// How a block holds 32 consecutive elements: qdq_block_format.
enum class block_format {
    q8_0 = QDQ_Q8_0,
    q4_0 = QDQ_Q4_0,
    q4_1 = QDQ_Q4_1,
    q5_0 = QDQ_Q5_0,
    q5_1 = QDQ_Q5_1,
    mxfp4 = QDQ_MXFP4,
    iq4_nl = QDQ_IQ4_NL
};

/// How many bytes a block has.
inline std::int64_t block_bytes(block_format format) { return qdq_block_bytes(static_cast<qdq_block_format>(format)); }

namespace detail {

template<typename Call> result on_blocks(const tensor &x, const output &y, block_format format, Call call) {
    for (const tensor *view : {&x, static_cast<const tensor *>(&y)}) {
        if (view->problem() != nullptr) {
            return result(view->problem());
        }
    }
    const qdq_tensor c_x = x.c(), c_y = y.c();
    return call(&c_x, &c_y, static_cast<qdq_block_format>(format));
}

}  // namespace detail

/// y = the blocks of x, f32, f16 or bf16, along its last dimension, as qdq_quantize_blocks says. y: u8 of x's shape,
/// but for the bytes of its last dimension.
inline result quantize_blocks(const tensor &x, const output &y, block_format format) {
    return detail::on_blocks(x, y, format, qdq_quantize_blocks);
}
/// The way back.
inline result dequantize_blocks(const tensor &x, const output &y, block_format format) {
    return detail::on_blocks(x, y, format, qdq_dequantize_blocks);
}

}  // namespace qdq

#endif

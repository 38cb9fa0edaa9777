/// qdq in C++: ggml's block formats, over qdq/blocks.h.
#ifndef QDQ_BLOCKS_HPP
#define QDQ_BLOCKS_HPP

#include "qdq/blocks.h"
#include "qdq/qdq.hpp"

namespace qdq {

/// How a block holds 32 consecutive elements: qdq_block_format.
enum class block_format {
    q8_0 = QDQ_Q8_0,     ///< 34 bytes: scale, codes of 8 bits
    q4_0 = QDQ_Q4_0,     ///< 18 bytes: scale, codes of 4 bits
    q4_1 = QDQ_Q4_1,     ///< 20 bytes: scale and minimum, codes of 4 bits
    q5_0 = QDQ_Q5_0,     ///< 22 bytes: scale, codes of 5 bits
    q5_1 = QDQ_Q5_1,     ///< 24 bytes: scale and minimum, codes of 5 bits
    mxfp4 = QDQ_MXFP4,   ///< 17 bytes: a power of two, codes of e2m1
    iq4_nl = QDQ_IQ4_NL  ///< 18 bytes: scale, places of 4 bits in a table
};

/// How many bytes a block of 32 elements has.
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

/// y = the blocks of x along its last dimension, as qdq_quantize_blocks says. x: f32, f16 or bf16, with a last
/// dimension that is a multiple of 32. y: u8 of x's shape, but for the last dimension, which is the bytes of the
/// blocks. Both are on the host and share no memory. invalid_argument: a rule is broken; unsupported: no usable target.
/// y is untouched on failure.
inline result quantize_blocks(const tensor &x, const output &y, block_format format) {
    return detail::on_blocks(x, y, format, qdq_quantize_blocks);
}
/// The way back: x and y as y and x of quantize_blocks().
inline result dequantize_blocks(const tensor &x, const output &y, block_format format) {
    return detail::on_blocks(x, y, format, qdq_dequantize_blocks);
}

}  // namespace qdq

#endif

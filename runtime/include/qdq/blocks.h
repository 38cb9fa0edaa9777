/* qdq: ggml's block formats, in which files of GGUF hold weights. C and C++. */
#ifndef QDQ_BLOCKS_H
#define QDQ_BLOCKS_H

#include "qdq/qdq.h"

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/** How a block holds 32 consecutive elements. It begins with its scale, and ends with its codes: 4 bits of elements
 * i and i + 16 share a byte, of which the first has the low ones. An f16 is little-endian. */
typedef enum {
    QDQ_Q8_0,  /**< 34 bytes: scale f16; codes int8. code * scale */
    QDQ_Q4_0,  /**< 18 bytes: scale f16; codes 0 to 15. (code - 8) * scale */
    QDQ_Q4_1,  /**< 20 bytes: scale f16, minimum f16; codes 0 to 15. code * scale + minimum */
    QDQ_Q5_0,  /**< 22 bytes: scale f16; 32 fifth bits of codes, the first element's lowest; codes 0 to 31.
                    (code - 16) * scale */
    QDQ_Q5_1,  /**< 24 bytes: scale f16, minimum f16; fifth bits as of Q5_0; codes 0 to 31. code * scale + minimum */
    QDQ_MXFP4, /**< 17 bytes: scale e, a byte; codes of f4e2m1. value * 2^(e - 127); no e is NaN, and code 8 is +0 */
    QDQ_IQ4_NL /**< 18 bytes: scale f16; codes 0 to 15, the places of -127, -104, -83, -65, -49, -35, -22, -10, 1, 13,
                    25, 38, 53, 69, 89, 113. value * scale */
} qdq_block_format;

/** How many bytes a block of a format has; 0 of what is no format. */
int64_t qdq_block_bytes(qdq_block_format format);

/** Quantizes x to blocks along its last dimension.
 *
 * @param x       F32, F16 or BF16, of any strides, on the host; its last dimension is a multiple of 32
 * @param y       written: U8, of x's shape but for the last dimension, which is the bytes of the blocks: x's over 32,
 *                times qdq_block_bytes(). Of any strides, on the host; it shares no memory with x
 * @param format  the blocks' format
 * @return QDQ_OK, or why y is untouched: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED
 *
 * Bytes are those of ggml's quantize_row_*_ref, where that defines them, each operation of f32 rounded once. amax is
 * the largest magnitude in the block:
 *
 * - Q8_0: scale amax / 127; code x * inverse, rounded to nearest, halves away from zero.
 * - Q4_0, Q5_0: scale the first x that is amax or -amax, / -8 or / -16; code x * inverse + 8.5 or + 16.5, rounded
 *   down, at most 15 or 31.
 * - Q4_1, Q5_1: scale (largest x - least x) / 15 or / 31; code (x - least x) * inverse + 0.5, rounded down.
 * - MXFP4: e = floor(log2(amax)) + 125, at least 0, of a logarithm rounded to f32; code the nearest value, of two the
 *   one nearer to 0.
 *
 * - IQ4_NL: code the value nearest to x * (1 / (f / -127)), of two the greater, with f the first x that is amax or
 *   -amax. Then scale p / q, of the codes' values v: p is the sum of x * x * v * x, q that of x * x * v * v. Products
 * go from left to right, sums from the first element on.
 *
 * The inverse is 1 / scale, of the scale before it is rounded to f16, or 0 where that is infinite or the scale is 0.
 * The minimum is the least x, of several zeros the first. In a block without an x but 0, Q4_0's and Q5_0's scale is -0.
 *
 * ggml leaves open what follows. A scale or a minimum beyond f16 is infinite. In a block with an infinity, or
 * whose largest minus least x overflows, the scale is infinite. In one with NaN, the scale and the minimum are NaN.
 * Codes are those of 0 in both, and with a scale of 0 in a block of IQ4_NL whose amax is below 1e-15. Where its sums
 * overflow the scale is infinite, or NaN. MXFP4 takes NaN for infinity, and infinity has the code of the largest
 * magnitude, with e = 253: that is infinity again.
 *
 * Large work is split over threads, as qdq_quantize's. */
qdq_status qdq_quantize_blocks(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format);

/** The values of blocks. Those of F32 are ggml's dequantize_row_*, bit for bit; F16 and BF16 are rounded from them
 * once. NaN is positive and quiet, without payload.
 *
 * @param x       blocks, as y of qdq_quantize_blocks()
 * @param y       written: as x of qdq_quantize_blocks()
 * @param format  the blocks' format
 * @return QDQ_OK, or why y is untouched: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED */
qdq_status qdq_dequantize_blocks(const qdq_tensor *x, const qdq_tensor *y, qdq_block_format format);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif

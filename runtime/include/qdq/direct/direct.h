/** @file
 * What the headers of the folder qdq/direct share. Each has one kernel row: qdq/direct/quantize_f32_i8.h is
 *
 * @code
 * qdq_status qdq_direct_quantize_f32_i8(const float *x, int8_t *y, int64_t count, float scale);
 * @endcode
 *
 * It gives the results of qdq_quantize() for `count` elements with one f32 scale, no zero point and no options, on the
 * calling thread. A program that calls it links that row's kernels and this function's, but no dispatcher. The folder
 * lists the rows. The functions are in the static library only.
 *
 * - Elements are contiguous: f16, bf16 and 8-bit floats as their bits, packed codes as qdq_dtype says.
 * - x and y do not overlap.
 * - Where the call fails, qdq_last_error() says why: QDQ_INVALID_ARGUMENT for a count below 0 or a NULL,
 * QDQ_UNSUPPORTED where this processor can run none of the targets.
 * - The targets are all of the library's, best first. With QDQ_LINKS_TARGETS defined, only those are used for which
 *   QDQ_LINKS_[target] is defined, as qdq_link_kernels defines them.
 */
#ifndef QDQ_DIRECT_DIRECT_H
#define QDQ_DIRECT_DIRECT_H

#include "qdq/link/kernels.h"

#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/** Whether this processor has every qdq_cpu_feature of these. */
int qdq_direct_can_run(uint32_t features);

/** What the functions to quantize call. `row` is of this processor. */
qdq_status qdq_direct_quantize(const struct qdq_quantize_row *row, const void *x, void *y, int64_t count, float scale);
/** What the functions to dequantize call. `row` is of this processor. */
qdq_status qdq_direct_dequantize(const struct qdq_dequantize_row *row, const void *x, void *y, int64_t count,
                                 float scale);

/** QDQ_UNSUPPORTED, with a message. */
qdq_status qdq_direct_no_target(void);

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif

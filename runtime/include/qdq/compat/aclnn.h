/** @file
 * CANN's functions that quantize and dequantize, on host memory: their names, types, values and status codes over
 * qdq.h.
 *
 * A program written for CANN compiles unchanged: qdq::compat_aclnn brings headers under CANN's paths. acl/acl.h has the
 * calls about devices, streams and memory; aclnn/acl_meta.h and those of aclnnop/ are this one. Tensors lie in host
 * memory, at any alignment. Do not include CANN's own headers beside it.
 *
 * @code{.unparsed}
 * aclnnQuantize         out = saturate(round(x / scales + zeroPoints))
 * aclnnAscendQuant, V3  y = saturate(round(x * scale + offset)), or by scale * scale in sqrtMode
 * aclnnAscendAntiQuant  y = (x + offset) * scale, or by scale * scale in sqrtMode
 * aclnnDynamicQuant     scaleOut = max(|x * smoothScales|) / L, yOut = round(x * smoothScales / scaleOut)
 * aclnnDynamicMxQuant   mxscaleOut is a power of two for each block, yOut = round(x / mxscaleOut)
 * @endcode
 *
 * Each operation is of f32. Integers round to nearest even, unless roundMode says otherwise, and NaN gives 0, whatever
 * zeroPoints are (qdq.h: "acl"). So CANN's references have it (ops-nn, quant/quantize/tests/assets/golden.py and those
 * beside it). Float8 codes saturate; zero points and offsets for them are zeros.
 *
 * INT32 codes, but for aclnnQuantize's, are eight of 4 bits in each element, the first in the lowest bits. L is 127 of
 * INT8, 7 of 4 bits, 448 of FLOAT8_E4M3FN, 57344 of FLOAT8_E5M2, 32768 of
 * HIFLOAT8, which rounds ties away from 0, as CANN's mode "round".
 *
 * Where CANN's documents and sources differ, the sources (ops-nn/quant, opbase) are followed:
 *
 * - scales may be f32 or f16 beside any x of aclnnQuantize; only bf16 asks for equal types (the document wants x's
 * own);
 * - an x of f32 takes any scale of aclnnAscendQuant;
 * - quantMode "pertensor" takes groupIndexOptional, which may be INT64;
 * - a format is refused when it is a private one (FRACTAL_NZ, NC1HWC0, ...), not whenever it is not ND.
 *
 * The documents are followed in two things. scaleOut is one division by L; CANN's kernels multiply by 1 / L, rounded.
 * dstType is the type of the result; CANN's aclnnDynamicQuantV2 does not look at it.
 *
 * Where qdq differs from both:
 *
 * - asymmetric dynamic scales of float8, and roundMode "hybrid" of HIFLOAT8, are not offered;
 * - elements that are all 0, or with offsetOut all equal, have a scaleOut of 1, which is 0 in CANN; without offsetOut
 * the codes are 0 in both;
 * - a block with an infinity has the mxscaleOut of 2^128 (scaleAlg 1: 2^127) and codes that saturate, in CANN NaN;
 * - a second phase refuses every workspace size but the one that its first phase gave, and another's executor;
 * - it has computed when it returns: whatever stream it is given, work is done in the order of the calls;
 * - a call that fails leaves the executor as it is, to be run again or destroyed. CANN frees it;
 * - an executor that has run, unless it is repeatable, or that is none of the first phase's, is
 *   ACLNN_ERR_PARAM_INVALID to every function. To CANN it is a stray pointer.
 *
 * Every function may be called from any thread; one tensor or executor is used by one thread at a time. On an error
 * nothing has been written.
 */
#ifndef QDQ_COMPAT_ACLNN_H
#define QDQ_COMPAT_ACLNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Element types, with CANN's values. */
typedef enum {
    ACL_DT_UNDEFINED = -1,  /**< not taken */
    ACL_FLOAT = 0,          /**< f32 */
    ACL_FLOAT16 = 1,        /**< f16 */
    ACL_INT8 = 2,           /**< i8 */
    ACL_INT32 = 3,          /**< i32; of codes eight of 4 bits */
    ACL_UINT8 = 4,          /**< u8 */
    ACL_INT16 = 6,          /**< not taken */
    ACL_UINT16 = 7,         /**< not taken */
    ACL_UINT32 = 8,         /**< not taken */
    ACL_INT64 = 9,          /**< ends of groups */
    ACL_UINT64 = 10,        /**< not taken */
    ACL_DOUBLE = 11,        /**< not taken */
    ACL_BOOL = 12,          /**< not taken */
    ACL_STRING = 13,        /**< not taken */
    ACL_COMPLEX64 = 16,     /**< not taken */
    ACL_COMPLEX128 = 17,    /**< not taken */
    ACL_BF16 = 27,          /**< bf16 */
    ACL_INT4 = 29,          /**< i4, two in a byte, the first in the low half */
    ACL_UINT1 = 30,         /**< not taken */
    ACL_COMPLEX32 = 33,     /**< not taken */
    ACL_HIFLOAT8 = 34,      /**< HiFloat8 */
    ACL_FLOAT8_E5M2 = 35,   /**< e5m2 */
    ACL_FLOAT8_E4M3FN = 36, /**< e4m3fn */
    ACL_FLOAT8_E8M0 = 37,   /**< e8m0: scales of aclnnDynamicMxQuant */
    ACL_FLOAT6_E3M2 = 38,   /**< not taken */
    ACL_FLOAT6_E2M3 = 39,   /**< not taken */
    ACL_FLOAT4_E2M1 = 40,   /**< e2m1, two in a byte, the first in the low half */
    ACL_FLOAT4_E1M2 = 41    /**< e1m2, the same: of aclnnDynamicMxQuant */
} aclDataType;

/** Formats, with CANN's values. Private ones are refused; the others are not looked at. */
typedef enum {
    ACL_FORMAT_UNDEFINED = -1,        /**< not looked at */
    ACL_FORMAT_NCHW = 0,              /**< not looked at */
    ACL_FORMAT_NHWC = 1,              /**< not looked at */
    ACL_FORMAT_ND = 2,                /**< not looked at */
    ACL_FORMAT_NC1HWC0 = 3,           /**< private: refused */
    ACL_FORMAT_FRACTAL_Z = 4,         /**< private: refused */
    ACL_FORMAT_NC1HWC0_C04 = 12,      /**< private: refused */
    ACL_FORMAT_HWCN = 16,             /**< not looked at */
    ACL_FORMAT_NDHWC = 27,            /**< not looked at */
    ACL_FORMAT_FRACTAL_NZ = 29,       /**< private: refused */
    ACL_FORMAT_NCDHW = 30,            /**< not looked at */
    ACL_FORMAT_NDC1HWC0 = 32,         /**< private: refused */
    ACL_FRACTAL_Z_3D = 33,            /**< private: refused */
    ACL_FORMAT_NC = 35,               /**< not looked at */
    ACL_FORMAT_NCL = 47,              /**< not looked at */
    ACL_FORMAT_FRACTAL_NZ_C0_16 = 50, /**< private: refused */
    ACL_FORMAT_FRACTAL_NZ_C0_32 = 51, /**< private: refused */
    ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,  /**< private: refused */
    ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,  /**< private: refused */
    ACL_FORMAT_FRACTAL_NZ_C0_8 = 54   /**< private: refused */
} aclFormat;

/** What a call of aclnn came to. */
typedef int32_t aclnnStatus;
/** What a call of acl came to. */
typedef int aclError;
/** A stream, which nothing looks at. */
typedef void *aclrtStream;
/** A view of the caller's memory. */
typedef struct aclTensor aclTensor;
/** A call that was checked. Never defined: a pointer to one is a number, which only grows. */
typedef struct aclOpExecutor aclOpExecutor;

/** Statuses, with CANN's values. */
enum {
    ACL_SUCCESS = 0,                            /**< success */
    ACLNN_SUCCESS = 0,                          /**< success */
    ACLNN_ERR_PARAM_NULLPTR = 161001,           /**< a required pointer is NULL */
    ACLNN_ERR_PARAM_INVALID = 161002,           /**< a type, shape, format, axis or size breaks a rule */
    ACLNN_ERR_RUNTIME_ERROR = 361001,           /**< never returned: there is no device */
    ACLNN_ERR_INNER = 561000,                   /**< out of memory for a plan */
    ACLNN_ERR_INNER_FIND_KERNEL_ERROR = 561003, /**< this machine can run none of the targets qdq was built for */
    ACLNN_ERR_INNER_CREATE_EXECUTOR = 561101,   /**< out of memory */
    ACLNN_ERR_INNER_NULLPTR = 561103            /**< NULL given to one of the functions about executors */
};

/** Describes memory the caller owns. There are `viewDimsNum` dimensions, with strides in elements. NULL strides are
 * dense row-major; strides of 0 and negative ones are for inputs. The first element lies `offset` elements from
 * tensorData. tensorData may be NULL until the tensor is used: aclSetInputTensorAddr(). The storage shape is not looked
 * at. NULL when viewDims or storageDims is NULL and its number is not 0, or when memory is short. */
aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData);

/** Frees a tensor, or does nothing for NULL. An executor refers to its tensors: they are kept until it has gone. */
aclnnStatus aclDestroyTensor(const aclTensor *tensor);

/** The first phase: checks every argument and makes an executor. Nothing is computed.
 *
 * @param x              f32, f16 or bf16; 1 to 8 dimensions, any strides; may be empty
 * @param scales         f32, f16 or bf16; one dimension, of 1 element or x's length along `axis`
 * @param zeroPoints     NULL for none; i32, i8, u8, f32 or bf16, as many as scales. Where scales or zeroPoints is bf16,
 * x, scales and zeroPoints all are
 * @param dtype          ACL_INT8, ACL_UINT8, ACL_INT32, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN or ACL_FLOAT8_E5M2, out's type
 * @param axis           a dimension of x, negative counted from the last; not looked at for one scale
 * @param out            x's shape, any strides that keep elements apart
 * @param workspaceSize  becomes 0: qdq needs none
 * @param executor       becomes the executor
 * @return ACLNN_SUCCESS, ACLNN_ERR_PARAM_NULLPTR, ACLNN_ERR_PARAM_INVALID or ACLNN_ERR_INNER_CREATE_EXECUTOR */
aclnnStatus aclnnQuantizeGetWorkspaceSize(const aclTensor *x, const aclTensor *scales, const aclTensor *zeroPoints,
                                          aclDataType dtype, int32_t axis, aclTensor *out, uint64_t *workspaceSize,
                                          aclOpExecutor **executor);

/** The second phase, of every function here: computes, and frees the executor unless it is repeatable.
 * ACLNN_ERR_PARAM_NULLPTR: executor is NULL; workspace is NULL and the first phase's size is not 0; a tensor has no
 * address, where the first input has elements. ACLNN_ERR_PARAM_INVALID: workspaceSize is not the first phase's; the
 * executor has run already, or is another function's. Also where an output overlaps another tensor or the workspace, or
 * its strides make its elements overlap. ACLNN_ERR_INNER_FIND_KERNEL_ERROR. Where the first input is empty, nothing is
 * written. */
aclnnStatus aclnnQuantize(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase: multiplies by a scale for the last dimension. As aclnnAscendQuantV3GetWorkspaceSize() with an axis
 * of -1. */
aclnnStatus aclnnAscendQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                             bool sqrtMode, const char *roundMode, int32_t dstType, const aclTensor *y,
                                             uint64_t *workspaceSize, aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnAscendQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase: multiplies by a scale.
 *
 * @param x              f32, f16 or bf16; 1 to 8 dimensions, any strides; may be empty
 * @param scale          x's type; of an x of f32 also f16 or bf16. One element, or x's length along `axis`: in one
 * dimension, or in x's rank with 1 everywhere else
 * @param offset         NULL for none; scale's type and shape; of float8 zeros
 * @param sqrtMode       whether the square of scale, rounded to f32, takes its place
 * @param roundMode      "round" (to nearest even; of HIFLOAT8 ties away from 0), "floor", "ceil" or "trunc"; of float8
 * "round"
 * @param dstType        ACL_INT8, ACL_INT32, ACL_INT4, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN or ACL_FLOAT8_E5M2, y's type
 * @param axis           one of the last two dimensions of x, negative counted from the last
 * @param y              x's shape; of INT32 with an eighth of the last dimension. Codes of 4 bits are dense, others of
 * any strides that keep elements apart; of INT4 the last dimension is even
 * @param workspaceSize  becomes 4 bytes for each element of scale in sqrtMode, else 0
 * @param executor       becomes the executor
 * @return as aclnnQuantizeGetWorkspaceSize() */
aclnnStatus aclnnAscendQuantV3GetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                               bool sqrtMode, const char *roundMode, int32_t dstType, int32_t axis,
                                               const aclTensor *y, uint64_t *workspaceSize, aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnAscendQuantV3(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase: dequantizes.
 *
 * @param x              i8, INT4, INT32, HIFLOAT8, e4m3fn or e5m2; 0 to 8 dimensions, of INT4 1 to 8; may be empty.
 * Codes of 4 bits are dense
 * @param scale          f32 or bf16, of float8 f32; one element, or y's length along its last or last but one
 * dimension: in one dimension, or in y's rank with 1 everywhere else
 * @param offset         NULL for none; scale's type and shape; of float8 zeros
 * @param dstType        ACL_FLOAT16 or ACL_BF16, y's type
 * @param sqrtMode       whether the square of scale, rounded to f32, takes its place; not of float8
 * @param y              x's shape; of INT32 with eight times the last dimension, of a scalar (8,). Any strides that
 * keep elements apart
 * @param workspaceSize  becomes 4 bytes for each element of scale in sqrtMode, else 0
 * @param executor       becomes the executor
 * @return as aclnnQuantizeGetWorkspaceSize() */
aclnnStatus aclnnAscendAntiQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *scale, const aclTensor *offset,
                                                 int64_t dstType, bool sqrtMode, const aclTensor *y,
                                                 uint64_t *workspaceSize, aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnAscendAntiQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase: scales of x's rows, its last dimension, and codes by them. As aclnnDynamicQuantV3GetWorkspaceSize()
 * "pertoken", without groups. */
aclnnStatus aclnnDynamicQuantGetWorkspaceSize(const aclTensor *x, const aclTensor *smoothScalesOptional,
                                              const aclTensor *yOut, const aclTensor *scaleOut, uint64_t *workspaceSize,
                                              aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnDynamicQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase, as aclnnDynamicQuantV3GetWorkspaceSize() "pertoken": symmetric where offsetOut is NULL. */
aclnnStatus aclnnDynamicQuantV2GetWorkspaceSize(const aclTensor *x, const aclTensor *smoothScalesOptional,
                                                const aclTensor *groupIndexOptional, int64_t dstType,
                                                const aclTensor *yOut, const aclTensor *scaleOut,
                                                const aclTensor *offsetOut, uint64_t *workspaceSize,
                                                aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnDynamicQuantV2(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase: computes scales of x, and codes by them, each operation of f32.
 *
 * Symmetric: scale = max|x| / L, y = round(x / scale). Otherwise, of codes from L to H: scale = (max - min) / (H - L),
 * 1 where that is 0; offset = H - max / scale; y = round(x / scale + offset). CANN's kernels multiply by 1 / (H - L).
 *
 * @param x                     f16 or bf16; 2 to 8 dimensions, any strides; may be empty
 * @param smoothScalesOptional  NULL, or factors of x's type that x is multiplied by first, of f32: one dimension, of
 * x's last one ("perchannel": of its last but one). With groupIndexOptional [groups, x's last dimension]
 * @param groupIndexOptional    NULL, or i32 or INT64 [groups], at most 1024: the row of x where each group ends. They
 * do not fall, and the last is the number of x's rows
 * @param dstType               ACL_INT8, ACL_INT32, ACL_INT4, ACL_HIFLOAT8, ACL_FLOAT8_E4M3FN or ACL_FLOAT8_E5M2,
 * yOut's type
 * @param isSymmetrical         false: with offsetOut, not of float8
 * @param quantMode             "pertoken": a scale for each row, x's last dimension; "pertensor": one; "perchannel":
 * one for each column of x's last two dimensions, without groups
 * @param yOut                  as y of aclnnAscendQuantV3GetWorkspaceSize()
 * @param scaleOut              f32; x's shape without its last dimension; (1,); without its last but one. Any strides
 * that keep elements apart
 * @param offsetOut             NULL, or where isSymmetrical is false f32 of scaleOut's shape
 * @param workspaceSize         becomes 4 bytes for each element of x where there are smoothScales or offsetOut, else 0
 * @param executor              becomes the executor
 * @return as aclnnQuantizeGetWorkspaceSize() */
aclnnStatus aclnnDynamicQuantV3GetWorkspaceSize(const aclTensor *x, const aclTensor *smoothScalesOptional,
                                                const aclTensor *groupIndexOptional, int64_t dstType,
                                                bool isSymmetrical, const char *quantMode, const aclTensor *yOut,
                                                const aclTensor *scaleOut, const aclTensor *offsetOut,
                                                uint64_t *workspaceSize, aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnDynamicQuantV3(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** The first phase: quantizes to microscaling formats.
 *
 * @param x                  f16, bf16 or f32; 1 to 7 dimensions, any strides; may be empty
 * @param axis               the dimension that blocks lie along, negative counted from the last
 * @param roundModeOptional  NULL or "rint": to nearest even; of FLOAT4 also "floor", and "round", whose ties go away
 * from 0
 * @param dstType            ACL_FLOAT8_E5M2, ACL_FLOAT8_E4M3FN, ACL_FLOAT4_E2M1 or ACL_FLOAT4_E1M2, yOut's type
 * @param blocksize          elements in a block, a multiple of 32 up to 1024; the last block may be shorter. An x of
 * f32 has 32, and as many along axis at least
 * @param scaleAlg           0: 2^(floor(log2 max|x|) - e), where 2^e is in the largest code, as OCP's MX formats; 1, of
 * float8: the least power of two from max|x| / L on, as cuBLAS has it
 * @param yOut               x's shape, dense; of 4 bits the last dimension is even
 * @param mxscaleOut         FLOAT8_E8M0, dense; x's shape with half as many, rounded up, as there are blocks in
 * dimension axis, and 2 at the end: two neighbours along axis. Code 0 fills up an odd number
 * @param workspaceSize      becomes a byte for each block; by "floor" and "round" 4 bytes for each element of x, too
 * @param executor           becomes the executor
 * @return as aclnnQuantizeGetWorkspaceSize() */
aclnnStatus aclnnDynamicMxQuantGetWorkspaceSize(const aclTensor *x, int64_t axis, char *roundModeOptional,
                                                int64_t dstType, int64_t blocksize, int64_t scaleAlg,
                                                const aclTensor *yOut, const aclTensor *mxscaleOut,
                                                uint64_t *workspaceSize, aclOpExecutor **executor);
/** The second phase, as aclnnQuantize(). */
aclnnStatus aclnnDynamicMxQuant(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** Keeps the executor after its second phase, for further runs, until aclDestroyAclOpExecutor frees it.
 * ACLNN_ERR_INNER_NULLPTR: executor is NULL. ACLNN_ERR_PARAM_INVALID: it has gone. ACLNN_ERR_INNER: out of memory. */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
/** Frees an executor. ACLNN_ERR_INNER_NULLPTR: it is NULL. ACLNN_ERR_PARAM_INVALID: it has gone. */
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

/** Gives one of an executor's tensors another address. Inputs and outputs count as in the first phase, from 0: of
 * aclnnQuantize input 0 is x, 1 scales, 2 zeroPoints, and output 0 out.
 * ACLNN_ERR_PARAM_INVALID: the executor has another tensor there, or none, or has gone. */
aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);
/** As aclSetInputTensorAddr(), of the outputs. */
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Why this thread's latest failing call of this header failed: which argument, which rule, the values. NULL when none
 * has failed. Kept until the next failure on this thread. */
const char *aclGetRecentErrMsg(void);

#if defined(__cplusplus)
}
#endif

#endif /* QDQ_COMPAT_ACLNN_H */

/** @file
 * CANN's aclnnQuantize on host memory: its names, types, values and status codes over qdq.h.
 *
 * A program written for CANN compiles unchanged: qdq::compat_aclnn brings headers under CANN's paths. acl/acl.h has the
 * calls about devices, streams and memory; aclnn/acl_meta.h and aclnnop/aclnn_quantize.h are this one. Tensors lie in
 * host memory, at any alignment. Do not include CANN's own headers beside it.
 *
 * @code{.unparsed}
 * out = saturate(round(x / scales + zeroPoints))       an f32 sum, rounded to nearest even (qdq.h: "acl")
 * @endcode
 *
 * NaN gives 0, whatever zeroPoints are, as in CANN's reference (ops-nn, quant/quantize/tests/assets/golden.py).
 *
 * Where CANN's documents and sources differ, the sources (ops-nn/quant/quantize, opbase) are followed:
 *
 * - scales may be f32 or f16 beside any x; only bf16 asks for equal types (the document wants x's own type);
 * - a format is refused when it is a private one (FRACTAL_NZ, NC1HWC0, ...), not whenever it is not ND.
 *
 * Where qdq differs from both:
 *
 * - aclnnQuantize refuses every workspace size but the one the first phase gave (0);
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
    ACL_INT32 = 3,          /**< i32 */
    ACL_UINT8 = 4,          /**< u8 */
    ACL_INT16 = 6,          /**< not taken */
    ACL_UINT16 = 7,         /**< not taken */
    ACL_UINT32 = 8,         /**< not taken */
    ACL_INT64 = 9,          /**< not taken */
    ACL_UINT64 = 10,        /**< not taken */
    ACL_DOUBLE = 11,        /**< not taken */
    ACL_BOOL = 12,          /**< not taken */
    ACL_STRING = 13,        /**< not taken */
    ACL_COMPLEX64 = 16,     /**< not taken */
    ACL_COMPLEX128 = 17,    /**< not taken */
    ACL_BF16 = 27,          /**< bf16 */
    ACL_INT4 = 29,          /**< not taken */
    ACL_UINT1 = 30,         /**< not taken */
    ACL_COMPLEX32 = 33,     /**< not taken */
    ACL_HIFLOAT8 = 34,      /**< not taken */
    ACL_FLOAT8_E5M2 = 35,   /**< not taken */
    ACL_FLOAT8_E4M3FN = 36, /**< not taken */
    ACL_FLOAT8_E8M0 = 37,   /**< not taken */
    ACL_FLOAT6_E3M2 = 38,   /**< not taken */
    ACL_FLOAT6_E2M3 = 39,   /**< not taken */
    ACL_FLOAT4_E2M1 = 40,   /**< not taken */
    ACL_FLOAT4_E1M2 = 41    /**< not taken */
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
 * @param zeroPoints     NULL for none; i32, i8, u8 or bf16, as many as scales. Where scales or zeroPoints is bf16, x,
 * scales and zeroPoints all are
 * @param dtype          ACL_INT8, ACL_UINT8 or ACL_INT32, out's type
 * @param axis           a dimension of x, negative counted from the last; not looked at for one scale
 * @param out            x's shape, any strides that keep elements apart
 * @param workspaceSize  becomes 0: qdq needs none
 * @param executor       becomes the executor
 * @return ACLNN_SUCCESS, ACLNN_ERR_PARAM_NULLPTR, ACLNN_ERR_PARAM_INVALID or ACLNN_ERR_INNER_CREATE_EXECUTOR */
aclnnStatus aclnnQuantizeGetWorkspaceSize(const aclTensor *x, const aclTensor *scales, const aclTensor *zeroPoints,
                                          aclDataType dtype, int32_t axis, aclTensor *out, uint64_t *workspaceSize,
                                          aclOpExecutor **executor);

/** The second phase: computes, and frees the executor unless it is repeatable.
 * ACLNN_ERR_PARAM_NULLPTR: executor is NULL; workspace is NULL and workspaceSize is not 0; a tensor that is not empty
 * has no address. ACLNN_ERR_PARAM_INVALID: workspaceSize is not 0; the executor has run already; out overlaps an input,
 * or its strides make its elements overlap. ACLNN_ERR_INNER_FIND_KERNEL_ERROR. */
aclnnStatus aclnnQuantize(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);

/** Keeps the executor after aclnnQuantize, for further runs, until aclDestroyAclOpExecutor frees it.
 * ACLNN_ERR_INNER_NULLPTR: executor is NULL. ACLNN_ERR_PARAM_INVALID: it has gone. ACLNN_ERR_INNER: out of memory. */
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
/** Frees an executor. ACLNN_ERR_INNER_NULLPTR: it is NULL. ACLNN_ERR_PARAM_INVALID: it has gone. */
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);

/** Gives one of an executor's tensors another address: input 0 is x, 1 scales, 2 zeroPoints; output 0 is out.
 * ACLNN_ERR_PARAM_INVALID: the executor has another tensor there, or none, or has gone. */
aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);
/** As aclSetInputTensorAddr(), of output 0, out. */
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr);

/** Why this thread's latest failing call of this header failed: which argument, which rule, the values. NULL when none
 * has failed. Kept until the next failure on this thread. */
const char *aclGetRecentErrMsg(void);

#if defined(__cplusplus)
}
#endif

#endif /* QDQ_COMPAT_ACLNN_H */

/** @file
 * Quantize and dequantize tensors, with one defined result on every target.
 *
 * With `blocks.h`, for ggml's blocks, this header is the whole binary interface. `qdq.hpp` wraps it for C++20.
 *
 * **Arithmetic.** Everything is IEEE-754 binary32. Each operation rounds once to nearest even, and subnormals are kept.
 * The caller's floating-point environment changes nothing and comes back as it was, but for the sticky exception flags:
 * a call may raise any and clears none. No call traps, whichever exceptions are unmasked. x and scales of other types
 * convert to f32 exactly first.
 *
 * @code{.unparsed}
 * quantize     t = x / scale                  QDQ_DIVIDE: correctly rounded, never x * (1 / scale)
 *              t = x * scale                  QDQ_MULTIPLY
 *              t = x * (1 / scale)            QDQ_RECIPROCAL: two roundings; PyTorch's integer types
 *              r = round(t) + zero_point      QDQ_ZP_AFTER_ROUNDING: an exact integer sum; ONNX, PyTorch
 *              r = round(t + zero_point)      QDQ_ZP_BEFORE_ROUNDING: an f32 sum; CANN, oneDNN
 *              y = saturate(r)
 * dequantize   y = (q - zero_point) * scale   QDQ_ZP_SUBTRACT
 *              y = (q + zero_point) * scale   QDQ_ZP_ADD; pypto
 * @endcode
 *
 * - *Integer y*: infinities saturate. NaN gives the lowest code (QDQ_NAN_LOWEST, as ONNX Runtime), or 0 (QDQ_NAN_ZERO,
 *   as CANN). Either lies within the range that y saturates to, whatever the zero point is.
 * - *Float y* (f8, f6, f4): t rounds once, to nearest even but for QDQ_STOCHASTIC and QDQ_HIF8, subnormals included.
 *   Overflow saturates to the largest finite value. NaN stays NaN, with the sign of x where the type has two of them.
 *   f6 and f4 types have no NaN and give their largest value, e2m1 +6.
 * - *Dequantize*: an integer zero point is applied exactly, and the result converts to f32 once. The f32 product then
 *   rounds once to y's type. A NaN result is always the positive quiet NaN with no payload.
 * - *Zero points of float types*: an exact sum takes the nearest integer, ties to even, within 32 bits; 0 for NaN. An
 *   f32 sum takes the number itself. Dequantize converts the code to f32, and adds or subtracts in f32.
 * - *Zero points of QDQ_I32* in an f32 sum are converted to f32 first, which rounds those beyond 2^24.
 *
 * **Granularity.** The scale broadcasts against x by blocks. A scale of x's rank cuts dimension d of x into
 * scale.shape[d] blocks. Each has ceil(x.shape[d] / scale.shape[d]) elements; the last one may have fewer: it is
 * ragged.
 *
 * - A scale with one element is per tensor, whatever its rank and `axis`. A `block_size` or `block_shape` that cuts x
 *   into more than one block is an error then.
 * - A scale with one dimension is per channel along `axis`.
 * - `block_size` sets the block along `axis` (ONNX's blocked form), `block_shape` along every dimension: 576 rows have
 *   5 blocks of 128 and, from the shapes alone, 5 of 116.
 * - The zero point has one element or the scale's shape.
 * - All this holds for an x without elements too: along a dimension of 0 the scale has 0 or 1.
 *
 * **Devices.** On device tensors a call puts its work into the caller's stream or queue and returns. It neither waits
 * nor copies, so the memory must stay until that work is done. The first call of a kernel in a context compiles it for
 * the device. Scales and zero points are read when the work runs. A float format takes no zero point there, not even
 * zeros, as a call does not see them.
 *
 * **Threads.** Every function may be called from any thread at any time. Errors are returned, never thrown or printed.
 * On an error nothing has been written. A call is no cancellation point of pthread_cancel.
 *
 * **Stack.** A thread that works on a call on host tensors needs at most #QDQ_STACK_BYTES of stack. That counts the 5
 * KiB in which glibc keeps the thread itself. So a thread that was asked to have 64 KiB can make any call, and has 4
 * KiB for the program. glibc takes the guard page from those 64 KiB, too. musl takes neither that nor the 5 KiB. The
 * library's thread-local data, 2.4 KiB, lie in those 5 KiB where it is linked statically.
 *
 * **Large work** is split over the calling thread and threads of the library, at most 256 in all; or over the caller's
 * pool (qdq_set_parallel_for()). The first call that is split creates the threads, a later one more if it may have
 * more. All calls share them. Each has a stack of 1 MiB. For it and the thread's own data the system allocates memory;
 * nothing else allocates in a call on host tensors. Threads that cannot be had are done without: a call needs none.
 * Threads sleep between calls. They take no signals but those of their own faults (SIGSEGV, SIGBUS and their kind).
 * Unloading the library, and exit, end them. Later calls, from destructors, start them anew.
 *
 * **Fork.** A child of fork starts as if it had made no threaded call, and creates threads of its own. A fork may
 * happen at any time. But the child of a signal handler that interrupted a call must not return into that call. What
 * was set stays set: a target, the number of threads, a parallel_for, whose pool may need its own care.
 */
#ifndef QDQ_QDQ_H
#define QDQ_QDQ_H

#include <stdint.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif
#if defined(__cplusplus)
extern "C" {
#endif

/** Element types. Packed types hold several elements in a byte, the whole tensor packed flat. Where the last byte is
 * not full, the rest of its bits are 0. */
typedef enum {
    QDQ_F32,    /**< float: IEEE binary32 */
    QDQ_F16,    /**< float: IEEE binary16 */
    QDQ_BF16,   /**< float: bfloat16, the upper half of an f32 */
    QDQ_I8,     /**< stored: -128 to 127 */
    QDQ_U8,     /**< stored: 0 to 255 */
    QDQ_I16,    /**< stored: -32768 to 32767 */
    QDQ_U16,    /**< stored: 0 to 65535 */
    QDQ_I32,    /**< stored: -2^31 to 2^31 - 1 */
    QDQ_I4,     /**< stored: -8 to 7, two in a byte, the first in the low nibble unless qdq_packing says otherwise */
    QDQ_U4,     /**< stored: 0 to 15, packed as QDQ_I4 */
    QDQ_F8E4M3, /**< stored, and a scale type: e4m3fn, largest 448, no infinity */
    QDQ_F8E5M2, /**< stored: e5m2, largest finite value 57344 */
    QDQ_F4E2M1, /**< stored: e2m1, largest 6, no infinity, no NaN; packed as QDQ_I4 */
    QDQ_E8M0,   /**< a scale type only: a power of two */
    QDQ_F8E4M3FNUZ, /**< stored: AMD's e4m3, largest 240: no infinity, no -0, and the code 0x80 for NaN */
    QDQ_F8E5M2FNUZ, /**< stored: AMD's e5m2, largest 57344, else as QDQ_F8E4M3FNUZ */
    QDQ_F6E2M3,     /**< stored: e2m3, largest 7.5, one to a byte; its two high bits are written 0 and not read. Or
                         dense: QDQ_DENSE */
    QDQ_F6E3M2,     /**< stored: e3m2, largest 28, else as QDQ_F6E2M3: no infinity, no NaN */
    QDQ_I2,         /**< stored: -2 to 1, four in a byte, the first in the lowest bits */
    QDQ_U2,         /**< stored: 0 to 3, packed as QDQ_I2 */
    QDQ_F4E1M2,     /**< stored: e1m2, 0 to 1.75 in quarters, with a sign, else as QDQ_F4E2M1; on the host */
    QDQ_HIF8 /**< stored: Ascend's HiFloat8 (arXiv 2409.16626), largest 32768, with infinities, no -0, and the code
                  0x80 for NaN. Its mantissas have 3 bits near 1, and fewer further off. It rounds to nearest, ties
                  away from 0, as CANN's mode "round"; on the host */
} qdq_dtype;

/** What a call came to. */
typedef enum {
    QDQ_OK,               /**< success; 0 */
    QDQ_INVALID_ARGUMENT, /**< an argument breaks a rule of this header; qdq_last_error() names it */
    QDQ_UNSUPPORTED,      /**< the call is meaningful, but this build has no kernel or no usable target for it */
    QDQ_DEVICE_ERROR,     /**< a device's driver refused or failed */
    QDQ_OUT_OF_MEMORY     /**< no memory, of the host or of a device */
} qdq_status;

/** How quantize applies the scale. Dequantize always multiplies. */
typedef enum {
    QDQ_DIVIDE,    /**< x / scale, correctly rounded */
    QDQ_MULTIPLY,  /**< x * scale */
    QDQ_RECIPROCAL /**< x * (1 / scale): two roundings */
} qdq_scale_mode;

/** Where quantize adds the zero point. */
typedef enum {
    QDQ_ZP_AFTER_ROUNDING, /**< round(t) + zero_point, an exact sum */
    QDQ_ZP_BEFORE_ROUNDING /**< round(t + zero_point), an f32 sum */
} qdq_quantize_zp;

/** What dequantize does with the zero point. */
typedef enum {
    QDQ_ZP_SUBTRACT, /**< (q - zero_point) * scale */
    QDQ_ZP_ADD       /**< (q + zero_point) * scale */
} qdq_dequantize_zp;

/** How quantize rounds to an integer y. A float y rounds to nearest, ties to even (QDQ_HIF8:
 * away from 0), or stochastically.
 *
 * **QDQ_STOCHASTIC** rounds up or down by chance, so that the mean of many draws is t. Let l and u be the neighbours of
 * |t| among the numbers of y's type, as if these had no end: the next ones toward and away from 0. Integers are 1
 * apart. Floats are 2^(max(e, E) - m) apart: e is floor(log2 |t|), E the exponent of the least normal, and m the number
 * of mantissa bits. Of QDQ_HIF8 m is what numbers of that exponent have, and E is -22.
 *
 * @code{.unparsed}
 * k = (|t| - l) / (u - l) * 65536     rounded to the nearest integer, ties to even
 * round(t) = u if k + r >= 65536, else l, with the sign of t
 * @endcode
 *
 * So u has the probability k / 65536, which is exact to 2^-17. Numbers of the type stay what they are, and what is no
 * number does, too. Saturation follows. A zero point that is added before rounding is part of t.
 *
 * r has 16 random bits, those of the element's number n = offset + index. The index counts x's elements in row-major
 * order, whatever the strides are; the offset is `random_offset` of qdq_options. So every target, layout and number of
 * threads gives the same, and parts of a tensor can be quantized by calls of their own. Calls that are to be
 * independent need other seeds, or numbers of their own.
 *
 * @code{.unparsed}
 * w[0], w[1], ... = Philox 4x32-10 (Salmon et al., SC 2011) of the key {low, high half of random_seed} and the counters
 *                   {low, high half of i, 0, 0} from i = 0 on: of each the low and the high half of each of four words
 * r = w[16 * (n / 32) + n % 16]     for n % 32 < 16
 * r = the same, its bytes swapped   for the others
 * @endcode
 *
 * So two elements, 16 numbers apart, have the same 16 bits in another order of bytes. Each looks at its low byte only
 * where its high byte does not decide, once in 256 times. All other bits are independent.
 *
 * Every function that takes qdq_options and quantizes has it, on the host and on devices. On the host the target must
 * have quantize_f32_<y>. Without that it is QDQ_UNSUPPORTED, and so it is with diagnostics and with QDQ_DENSE. On the
 * host a call that computes scales reads x a second time then, once it has them all. Outputs of a pair count the
 * elements of one x: theirs are independent by other seeds. */
typedef enum {
    QDQ_NEAREST_EVEN, /**< to nearest, ties to even */
    QDQ_NEAREST_AWAY, /**< to nearest, ties away from 0 */
    QDQ_TOWARD_ZERO,  /**< toward 0 */
    QDQ_DOWN,         /**< toward minus infinity */
    QDQ_UP,           /**< toward plus infinity */
    QDQ_STOCHASTIC    /**< by chance, of a float y, too: above */
} qdq_rounding;

/** How a packed 4-bit tensor, or one of f6, holds its elements, counted flat from 0. */
typedef enum {
    QDQ_LOW_FIRST,    /**< byte i holds element 2i in its low nibble and 2i + 1 in its high one. Eight elements in a
                           little-endian int32, the first in the lowest bits, are the same bytes. */
    QDQ_HIGH_FIRST,   /**< byte i holds element 2i in its high nibble and 2i + 1 in its low one */
    QDQ_SPLIT_HALVES, /**< the 16 bytes of each 32 elements hold element j, low, and element j + 16, high (ggml) */
    QDQ_DENSE /**< of QDQ_F6E2M3 and QDQ_F6E3M2, which else are one to a byte: four codes in three bytes, as ONNX and
                 safetensors have them. Bit k of element i is bit 6 * i + k of the tensor, counted from the lowest of
                 its first byte. It is dense, whatever its strides, and its n elements have (6 * n + 7) / 8 bytes, the
                 last one's other bits 0. On the host; not transcoded, nor rounded stochastically, nor with diagnostics
               */
} qdq_packing;

/** How y is written on the host: a hint, which changes no result. A target without non-temporal stores has cached ones.
 */
typedef enum {
    QDQ_STORES_BY_SIZE,    /**< cached where x and y together are small enough for the caches, else non-temporal, which
                              saves reading y's lines first. The limit is 16 MiB on x86, or what a microarchitecture's
                              tuned build measured */
    QDQ_STORES_CACHED,     /**< for a caller who reads y at once */
    QDQ_STORES_NONTEMPORAL /**< past the caches, for a caller who does not read y soon */
} qdq_stores;

/** What quantize makes of NaN where y is integer. 0 is CANN's: its reference for aclnnQuantize makes 0 of NaN after it
 * has added the zero point (cann/ops-nn, quant/quantize/tests/assets/golden.py), as PTX's cvt.rni.s32.f32 does. */
typedef enum {
    QDQ_NAN_LOWEST, /**< the lowest code that y saturates to */
    QDQ_NAN_ZERO    /**< 0, or the code nearest to it that y saturates to */
} qdq_nan;

/** The kind of place where a tensor lives. */
typedef enum {
    QDQ_DEVICE_HOST,  /**< the processor's memory */
    QDQ_DEVICE_CUDA,  /**< `data` is a device pointer, of cudaMalloc, cuMemAlloc or another allocator */
    QDQ_DEVICE_OPENCL /**< `data` is a cl_mem */
} qdq_device_kind;

/** Where a tensor lives. All zero bytes are the host. All tensors of a call must live on one device: nothing is moved.
 */
typedef struct {
    qdq_device_kind kind; /**< what `data` is */
    int32_t id;           /**< CUDA: the device's number. OpenCL: 0, as a queue names its device */
    int64_t offset;       /**< OpenCL only: the first element is so many bytes from the beginning of the cl_mem */
} qdq_device;

/** A view of the caller's memory.
 *
 * An output's elements must not overlap one another: each stride, from the smallest on, must step over all that the
 * smaller ones reach. Two tensors overlap where their ranges do, from the lowest byte to the highest. Both rules refuse
 * some views without a byte in common: a y of 3 x 2 with strides {2, 3}, every other row of a matrix and those between.
 */
typedef struct {
    void *data;           /**< on the host any address; on a device x's and y's lie at multiples of an element's size */
    qdq_dtype dtype;      /**< the type of the elements */
    int32_t rank;         /**< 0 to 8; 0 is a scalar */
    const int64_t *shape; /**< `rank` sizes, in elements; read during the call only */
    const int64_t *strides; /**< `rank` strides, in elements, which may be 0 or negative for inputs; read during the
                               call only. NULL means dense row-major. Ignored for packed types */
    qdq_device device;      /**< where `data` is */
} qdq_tensor;

/** In which sense a tensor has a scale of its own, above those of its blocks: both are in use, and each is the other's
 * reciprocal. */
typedef enum {
    QDQ_GLOBAL_NONE, /**< it has none */
    /** x is about code * (scale * global): torchao's per_tensor_scale, ModelOpt's weight_scale_2 */
    QDQ_GLOBAL_SCALE,
    /** x is about code * (scale / global), block scales having been multiplied by it: compressed-tensors' and vLLM's
     * global_scale, TransformerEngine's encode scale */
    QDQ_GLOBAL_INVERSE
} qdq_global_sense;

/** Where the scales of matrices lie for tensor cores. A scale tensor's last two dimensions are the rows and columns of
 * a matrix; consecutive columns are consecutive blocks of what is multiplied and summed. Other orders are strides:
 * those of a column-major scale are {1, rows}, and every call takes them. */
typedef enum {
    /** Tiles of 128 rows and 4 columns, of 512 bytes, row by row of tiles. In a tile row r and column c are at
     * r % 32 * 16 + r / 32 * 4 + c. Padded with zero bytes to whole tiles. cuBLAS's scales of 16 or 32 elements;
     * torchao's to_blocked, TransformerEngine's and FlashInfer's swizzled scales */
    QDQ_SCALES_TILED_128X4,
    /** Four consecutive scales of a row in a little-endian word of 32 bits, and the words column by column. Padded with
     * zero bytes to multiples of 4 rows and 4 columns. DeepGEMM's packed UE8M0 */
    QDQ_SCALES_COLUMN_WORDS
} qdq_scale_layout;

/** How a call computes. All zero bytes are the defaults. */
typedef struct {
    qdq_scale_mode scale_mode;       /**< quantize: division or a product */
    qdq_quantize_zp quantize_zp;     /**< quantize: the zero point after rounding, or before */
    qdq_dequantize_zp dequantize_zp; /**< dequantize: the zero point is subtracted, or added */
    qdq_rounding rounding;           /**< quantize to an integer y, or stochastically */
    int32_t no_saturate; /**< quantize to an f8 type or QDQ_HIF8: overflow gives infinity (e5m2, HIF8) or NaN (e4m3fn,
                            FNUZ types) instead of the largest value; else without effect */
    int32_t axis;        /**< of a 1-D or blocked scale; negative counts from the last dimension */
    int64_t block_size;  /**< elements per block along `axis`; 0: derived from the shapes */
    int32_t quant_min;   /**< integer y: the lowest code to saturate to, inside y's own range; both 0: y's own range */
    int32_t quant_max;   /**< the highest one. Dequantize does not use the two, but refuses a range not inside x's */
    qdq_packing packing; /**< of a packed 4-bit x or y; 2-bit types are low first alone; f6 may be dense */
    /** Elements per block along each dimension of x, instead of axis and block_size, for a scale of x's rank: {128,
     * 128} for f8 weights; 0: derived from the shapes. NULL: none. */
    const int64_t *block_shape;
    /** Of device tensors: a CUstream, NULL for the default one; a cl_command_queue, never NULL. A plan does not keep
     * it: qdq_run() takes one of its own. On the host NULL. */
    void *stream;
    qdq_stores stores;      /**< how y is written on the host */
    qdq_nan nan;            /**< quantize to an integer y; else without effect */
    uint64_t random_seed;   /**< QDQ_STOCHASTIC; else without effect, and not read */
    uint64_t random_offset; /**< the same: the number of the first element; those of all are below 2^64 - 1 */
    /** 1: the scale's data are the bytes that qdq_arrange_scales() writes of a scale of its shape, which has x's rank,
     * of 2 or more, and no strides. 0: they lie by strides. This and what follows are for tensors on the host, and for
     * qdq_quantize(), qdq_dequantize() and their plans: other functions do not look at them. */
    int32_t scale_is_arranged;
    qdq_scale_layout scale_layout; /**< of a scale that is arranged; else without effect */
    qdq_global_sense global_sense; /**< the sense of global_scale. For `scale` the call takes scale * global, or scale /
                                      global, rounded to f32 */
    const float *global_scale; /**< one number, any f32; NULL without a sense. A plan remembers its address, as it does
                                  those of scale and zero point */
} qdq_options;

#define qdq_profile_options qdq_profile_options_3

/** Fills `options` with those under which qdq computes as another system does, for a stored type.
 *
 * - "onnx": ONNX's QuantizeLinear and DequantizeLinear, as ONNX Runtime computes them
 * - "torch": PyTorch's quantize_per_tensor and quantize_per_channel, and its casts to f8
 * - "torchao": torchao's quantize_affine, dequantize_affine, their f8 forms, and its MX and NVFP4 formats
 * - "acl": CANN's aclnnQuantize, AscendQuant and torch_npu.npu_quantize in div_mode
 * - "tensorrt": TensorRT's IQuantizeLayer and IDequantizeLayer
 * - "tripy": nvtripy's quantize and dequantize
 * - "pypto": pypto's dequantize
 *
 * @param profile  one of these names
 * @param stored   the stored type: y's of quantize, x's of dequantize
 * @param options  written
 * @return QDQ_OK, or QDQ_INVALID_ARGUMENT: an unknown name, a type that is not a stored one, or a NULL */
qdq_status qdq_profile_options(const char *profile, qdq_dtype stored, qdq_options *options);

/* The functions that read qdq_options have a symbol for each header that added to it. Callers compiled with the first
 * one left `nan` unset, and the functions of these names, which they call, do not look at it. Those of the second end
 * before `scale_is_arranged`; random_seed and random_offset are read where stochastic rounding asks for them. What
 * writes qdq_options has such symbols, too. */
#define qdq_quantize qdq_quantize_3
#define qdq_dequantize qdq_dequantize_3
#define qdq_plan_quantize qdq_plan_quantize_3
#define qdq_plan_dequantize qdq_plan_dequantize_3

/** y = quantize(x).
 *
 * @param x           F32, F16 or BF16
 * @param scale       F32, F16, BF16, E8M0 or F8E4M3; its shape says what each scale is for
 * @param zero_point  I8, U8, I16, U16, I32, F32, F16 or BF16, of one element or the scale's shape; NULL for none
 * @param y           a stored type, of x's shape
 * @param options     NULL for the defaults
 * @return QDQ_OK, or why y is untouched: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED; of a device also QDQ_DEVICE_ERROR and
 *         QDQ_OUT_OF_MEMORY
 *
 * y may alias x exactly (same address, shape and strides) where the element sizes are equal; any other overlap with
 * an input is an error. */
qdq_status qdq_quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                        const qdq_options *options);

/** y = dequantize(x).
 *
 * @param x           a stored type
 * @param scale       as for qdq_quantize()
 * @param zero_point  as for qdq_quantize()
 * @param y           F32, F16 or BF16, of x's shape
 * @param options     NULL for the defaults
 * @return as qdq_quantize()
 */
qdq_status qdq_dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                          const qdq_tensor *y, const qdq_options *options);

/** y = quantize(dequantize(x)), by way of f32: codes of one type, granularity or packing as codes of another, without
 * an f32 tensor between them. Blocks of 128 become blocks of 32, E4M3FNUZ becomes E4M3, one order of int4 another.
 *
 * @param x             a stored type, on the host
 * @param x_scale       as for qdq_dequantize()
 * @param x_zero_point  the same
 * @param x_options     the same
 * @param y             a stored type, of x's shape; it may overlap no input
 * @param y_scale       as for qdq_quantize()
 * @param y_zero_point  the same
 * @param y_options     the same
 * @return QDQ_OK, or why y is untouched: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED
 *
 * y has the bits that qdq_dequantize() to F32 and qdq_quantize() give one after the other, by QDQ_STOCHASTIC, too. */
qdq_status qdq_transcode(const qdq_tensor *x, const qdq_tensor *x_scale, const qdq_tensor *x_zero_point,
                         const qdq_options *x_options, const qdq_tensor *y, const qdq_tensor *y_scale,
                         const qdq_tensor *y_zero_point, const qdq_options *y_options);

/** As qdq_quantize(), of rows in groups that have scales of their own: the tokens of each expert of a mixture.
 *
 * Rows are the indices of x's first dimension. Group g is rows offsets[g] to offsets[g + 1] - 1. It is quantized as by
 * a call of its own, with index g of the first dimension of scale and zero point. So of an x of tokens and channels a
 * scale of shape {groups} has one for each group. {groups, channels} with `axis` 1 is one for each channel of a group;
 * {groups, 1, channels / 32} are blocks of 32. QDQ_STOCHASTIC counts the elements of all rows.
 *
 * @param x           as for qdq_quantize(), on the host
 * @param offsets     `groups` + 1 numbers, in the processor's memory: from 0 to the number of rows, none below the one
 *                    before it. A group may have no rows. Of packed codes groups begin at whole bytes
 * @param groups      how many there are
 * @param scale       as for qdq_quantize(), with a first dimension of `groups`
 * @param zero_point  the same
 * @param y           as for qdq_quantize()
 * @param options     the same; axis, block_size and block_shape are of x's dimensions. QDQ_UNSUPPORTED are
 *                    scale_is_arranged and global_scale
 * @return QDQ_OK, or why y is untouched: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED */
qdq_status qdq_quantize_grouped(const qdq_tensor *x, const int64_t *offsets, int64_t groups, const qdq_tensor *scale,
                                const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options);

/** As qdq_dequantize(), of rows in groups: the way back from qdq_quantize_grouped().
 *
 * @param x           as for qdq_dequantize(), on the host
 * @param offsets     as for qdq_quantize_grouped()
 * @param groups      the same
 * @param scale       the same
 * @param zero_point  the same
 * @param y           as for qdq_dequantize()
 * @param options     as for qdq_quantize_grouped()
 * @return QDQ_OK, or why y is untouched: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED */
qdq_status qdq_dequantize_grouped(const qdq_tensor *x, const int64_t *offsets, int64_t groups, const qdq_tensor *scale,
                                  const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options);

/** A plan is a validated call with its kernel chosen. It owns nothing and may be copied, kept and shared between
 * threads. It remembers the addresses of scale and zero point (their contents are read by each run), not those of x
 * and y. */
typedef struct {
    uint64_t opaque[192]; /**< the library's */
} qdq_plan;

/** Prepares `plan` by the rules of qdq_quantize(), whose other arguments and statuses it has. Nothing is computed:
 * x->data and y->data may be NULL. On an error `plan` is as it was. */
qdq_status qdq_plan_quantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                             const qdq_tensor *y, const qdq_options *options);
/** Prepares `plan` by the rules of qdq_dequantize(), whose other arguments and statuses it has. Nothing is computed:
 * x->data and y->data may be NULL. On an error `plan` is as it was. */
qdq_status qdq_plan_dequantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale,
                               const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options);

/** Runs a plan.
 *
 * @param plan    of qdq_plan_quantize() or qdq_plan_dequantize()
 * @param x       the data of an x laid out as the plan's was: type, shape, strides, device and offset
 * @param y       written: the same of y. It may be x where the plan's y may be its x, and overlaps no other input
 * @param stream  as in qdq_options; NULL on the host
 * @return as qdq_quantize() */
qdq_status qdq_run(const qdq_plan *plan, const void *x, void *y, void *stream);

/** The name of an element type as messages have it: "f32", "i4", "f8e4m3", ...; NULL for a value that is no qdq_dtype.
 */
const char *qdq_dtype_name(qdq_dtype dtype);

/** How many bits an element takes in memory: 4 or 2 of packed types; 0 for a value that is no qdq_dtype. */
int32_t qdq_dtype_bits(qdq_dtype dtype);

/** The name of a status: "QDQ_OK", ... Never NULL. */
const char *qdq_status_string(qdq_status status);

/** Why this thread's latest failing call failed: which argument, which rule, the values. Never NULL; kept until the
 * next failure on this thread. */
const char *qdq_last_error(void);

/** How many targets are compiled into this library. They are numbered best first: "x86_avx512", "x86_avx2", ... */
int32_t qdq_target_count(void);
/** The name of target i, in [0, qdq_target_count()); NULL when i is out of range. */
const char *qdq_target_name(int32_t i);
/** 1 when this machine can run target i, else 0: also when i is out of range. */
int32_t qdq_target_usable(int32_t i);
/** Why this machine cannot run target i, or that there is no such target; NULL when it can. */
const char *qdq_target_problem(int32_t i);
/** Where the tensors of target i's calls live; QDQ_DEVICE_HOST when i is out of range. */
qdq_device_kind qdq_target_device(int32_t i);

/** Uses only the named target from now on, in every thread.
 *
 * Without it, calls on host tensors use the best usable target of the processor, and those on device tensors the
 * device's. NULL returns to the best usable one, or to the one named by the environment variable QDQ_TARGET. That is
 * read once, at the first call; an unknown or unusable name there makes every call fail with a message.
 *
 * @return QDQ_OK, or QDQ_INVALID_ARGUMENT for a name that is unknown or that this machine cannot run: then nothing has
 *         changed */
qdq_status qdq_force_target(const char *name_or_NULL);

/** The name of the target that calls on host tensors use now (or the device's, where that is forced), or NULL when none
 * is usable. */
const char *qdq_current_target(void);

/** How many threads large work is split over: 1 keeps everything on the caller's thread, 0 (the default) is the number
 * of processors that are online. Below 0 is as 0. More than 256 is as 256, but for the caller's own pool. The result
 * has the same bits for every number. */
void qdq_set_num_threads(int32_t count);

/** A piece of a call's work, which a qdq_parallel_for runs. */
typedef void (*qdq_task)(int64_t i, void *task_context);
/** A thread pool: calls task(i, task_context) once for each i in [0, count), in any order and on any threads, and
 * returns when all have returned. */
typedef void (*qdq_parallel_for)(void *context, int64_t count, qdq_task task, void *task_context);
/** Lets the caller's own thread pool run large work. NULL returns to the built-in pool. A call that is running
 * meanwhile may still use what was set before, until it returns: the former context must live as long, and no longer.
 */
void qdq_set_parallel_for(qdq_parallel_for parallel_for, void *context);

/** How many bytes of stack a thread needs at most for a call on host tensors, with what the C library keeps there. */
#define QDQ_STACK_BYTES (64 * 1024)

/** The major version of this header. */
#define QDQ_VERSION_MAJOR 0
/** The minor version of this header. */
#define QDQ_VERSION_MINOR 1
/** The patch version of this header. */
#define QDQ_VERSION_PATCH 0
/** The version of the library that runs: "0.1.0". Shared libraries of one soname, libqdq.so.0, run what was compiled
 * with their header or an earlier one. */
const char *qdq_version(void);

/** Why qdq_current_target() is the target in use: a sentence without a full stop, for a log. NULL where none is usable.
 */
const char *qdq_current_target_reason(void);

/** How a scale follows from the elements that share it: from amax, the largest |x| among them, or from their lowest
 * and highest value and 0. Both are multiplied by the clip ratio, and converted to f32, first. L is y's largest value:
 * of an integer y the highest code that it saturates to; e is floor(log2 L).
 *
 * - *NaN* among the elements makes their scale NaN: the positive quiet one, 0xff of E8M0, 0x7f of F8E4M3. So their
 *   codes are those of NaN, and nobody takes them for numbers. torch.amax, and with it torchao, has it so.
 * - *Infinities* are elements like others: amax is infinite then.
 * - *A scale of 0* is 1 instead, as ONNX Runtime has it: where all elements are 0, or so small that the scale rounds to
 *   0 in its type. Codes are then that of 0. Powers of two are never 0.
 * - *Rounding*: each operation rounds once in f32, and the result once more to the scale's type, to nearest even.
 *   Overflow gives infinity, or 448 of F8E4M3. x is divided by that scale: what the caller is given. */
typedef enum {
    /** amax / L; no zero point. vLLM's and torchao's scales of int8 (of codes from -127 on) and f8 by row */
    QDQ_SCALE_ABSMAX,
    /** (highest - lowest) / (number of codes - 1), and the zero point round(lowest code - lowest / scale), to nearest
     * even, within the codes; NaN gives the lowest code. ONNX's DynamicQuantizeLinear. Of an integer y. */
    QDQ_SCALE_MINMAX,
    /** 2^(floor(log2 amax) - e): OCP Microscaling Formats 1.0, 6.3; torchao's FLOOR */
    QDQ_SCALE_POWER_FLOOR,
    /** 2^(ceil(log2 amax) - e); torchao's CEIL */
    QDQ_SCALE_POWER_CEIL,
    /** as the first, of amax rounded to as many mantissa bits as y's values have, a tie away from 0: torchao's EVEN. An
     * integer y has as many as the highest code that it saturates to has bits after the first. */
    QDQ_SCALE_POWER_EVEN,
    /** the least power of two that is not below amax / L: torchao's RCEIL, PTX's cvt.rp.satfinite.ue8m0x2.f32, NVIDIA's
     * TransformerEngine */
    QDQ_SCALE_POWER_ROUND_UP
} qdq_scale_rule;

/** What a dynamic call met, or would have if it wrote y: the same for any number of threads. y is x quantized, and
 * dequantized to f32. A zero point that is added before rounding is rounded to an f32 there, too. */
typedef struct {
    int64_t nan;      /**< elements that are NaN */
    int64_t infinite; /**< infinite ones */
    /** finite ones half a step or more past the codes' ends: from s * (highest code + 1/2 - zero point) on, or down
     * from s * (lowest code - 1/2 - zero point). The sum and the product round to f32. Of a float type the ends are its
     * largest values, and the step is the last one. */
    int64_t clipped;
    int64_t flushed;      /**< finite ones other than 0 whose y is 0 */
    double squared_error; /**< the sum of d^2 * u^2, as of several clip ratios in qdq_scale_options, over all elements:
                             exact, but for its sum over different u, the smallest first, in binary64 */
    float amax;           /**< the largest |x|, infinite ones too; NaN if one is NaN */
} qdq_diagnostics;

/** How scales are computed. All zero bytes are the defaults. Powers of two are clamped to E8M0's, 2^-127 to 2^127: for
 * an amax of 0 the scale is 2^-127. An infinite amax is 2^128 there; by QDQ_SCALE_POWER_ROUND_UP the scale is 2^127.
 *
 * **Several clip ratios** are candidates, of which the elements that share a scale take that of the least error, and
 * the first of equals. Candidate i of n is clip_ratio + (last_clip_ratio - clip_ratio) * (i / (n - 1)), each operation
 * rounded to f32. Two candidates from 1 to 1.5 are "four over six" (arXiv 2512.02010): of e2m1 they take amax to 6 or
 * 4, to 4 where that has the lesser error. A candidate's error is the sum of squares of d,
 *
 * @code{.unparsed}
 * u = 2^(floor(log2 of the scale) - 8)    at least 2^-127; of subnormal scales as of 2^-126
 * d = truncate(min(|x - y| / u, 2^27) + 1/2)    0 where |x - y| is not finite; each operation rounds to f32
 * @endcode
 *
 * times u^2, where y is x quantized, to nearest even for QDQ_STOCHASTIC, and dequantized to f32. The sum of integers is
 * exact up to 2^64 - 1, and is that where it would be more, so any order gives it. It converts to binary64 once.
 *
 * **A scale of the tensor's own** makes it NVFP4 with two levels: QDQ_F8E4M3 scales of 16 elements each, and
 * QDQ_F4E2M1 codes, though any type of code takes it. The scale of a block is s / global, or s * global in the sense of
 * QDQ_GLOBAL_INVERSE, where s is amax / L; then least_scale and rounding follow. x is divided by scale * global, or
 * scale / global, rounded to f32. Computed, it is amax / (L * global_largest) of all elements, or its inverse L *
 * global_largest / amax. It is the largest finite number at most. An amax of 0 counts as 1, and a result of 0
 * becomes 1. */
typedef struct {
    qdq_scale_rule rule; /**< the rule */
    float clip_ratio;    /**< what amax, or lowest and highest, are multiplied by: above 0, at most 1; 0: 1 */
    float least_scale;   /**< a smaller scale becomes this one, before it is rounded to its type: 0 or more, finite; of
                            powers of two 0 alone */
    float last_clip_ratio;         /**< of several: above 0, at most 2; else 0 */
    int32_t clip_ratio_count;      /**< how many there are, at most 1024; 0: one, clip_ratio */
    qdq_global_sense global_sense; /**< the sense of global_scale; of QDQ_SCALE_ABSMAX and scales of QDQ_F8E4M3 */
    int32_t computes_global;       /**< 0: global_scale is read; else it is written */
    float global_largest; /**< computed: the scale of a block that has the largest magnitude of all: above 0, at most
                             448; 0: 448. Four over six needs room for 1.5 of it, and takes 256 */
    float *global_scale; /**< one number, given above 0 and finite; NULL without a sense. A plan remembers this address,
                            and its runs read or write it */
    qdq_diagnostics *diagnostics; /**< written: what was met; NULL: not asked for. A plan remembers this address. Codes
                                     are dequantized for it, a few at a time */
} qdq_scale_options;

/* As for qdq_options: callers compiled with the first header that had these left all after `least_scale` unset. */
#define qdq_compute_scales qdq_compute_scales_2
#define qdq_quantize_dynamic qdq_quantize_dynamic_2
#define qdq_plan_quantize_dynamic qdq_plan_quantize_dynamic_2

/** Computes scales, and zero points where the rule has such, of the elements that share each.
 *
 * @param x           F32, F16 or BF16
 * @param codes       the stored type that x is to be quantized to
 * @param scale       written: F32, F16, BF16, or F8E4M3; of powers of two E8M0, F32 or BF16. Its shape and the options
 *                    say which elements share a scale, as for qdq_quantize()
 * @param zero_point  written: an integer type that has all codes that are used, of `codes` or from quant_min to
 *                    quant_max; of the scale's shape. NULL where the rule has none
 * @param how         the rule; NULL for the defaults
 * @param options     of these those about blocks, quant_min and quant_max count; NULL for the defaults. QDQ_MULTIPLY is
 *                    an error
 * @return QDQ_OK, or why nothing has been written: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED
 *
 * The outputs may overlap neither one another nor x. An x without elements has scales of elements that are 0.
 *
 * All tensors may live on one device. The work goes into the stream of `options`, and the outputs are there when it has
 * run. There several clip ratios, a global scale, diagnostics, and scales of an x without elements are QDQ_UNSUPPORTED.
 * The status may be QDQ_DEVICE_ERROR or QDQ_OUT_OF_MEMORY, too: then scales may have been written. */
qdq_status qdq_compute_scales(const qdq_tensor *x, qdq_dtype codes, const qdq_tensor *scale,
                              const qdq_tensor *zero_point, const qdq_scale_options *how, const qdq_options *options);

/** Computes scale and zero point of x, and quantizes x by them: scale and zero_point are those of qdq_compute_scales(),
 * y is that of qdq_quantize() with them. x is read from the caches the second time, where what shares a scale fits
 * there.
 *
 * @param x           F32, F16 or BF16
 * @param scale       written: as for qdq_compute_scales()
 * @param zero_point  written: the same
 * @param y           written: a stored type, of x's shape; it may alias x as in qdq_quantize()
 * @param how         the rule; NULL for the defaults
 * @param options     as for qdq_quantize(), but QDQ_MULTIPLY is an error; NULL for the defaults
 * @return QDQ_OK, or why nothing has been written: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED; of a device also
 *         QDQ_DEVICE_ERROR and QDQ_OUT_OF_MEMORY: then scales may have been written
 *
 * Scale and zero point may overlap no tensor of the call. */
qdq_status qdq_quantize_dynamic(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                                const qdq_tensor *y, const qdq_scale_options *how, const qdq_options *options);

/** Prepares `plan` by the rules of qdq_quantize_dynamic(), whose other arguments and statuses it has. Nothing is
 * computed, and no address is remembered but those of `global_scale` and `diagnostics`: any data may be NULL.
 * qdq_run_dynamic() runs it, qdq_run() does not. */
qdq_status qdq_plan_quantize_dynamic(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale,
                                     const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_scale_options *how,
                                     const qdq_options *options);

/** Runs such a plan on the data of tensors laid out as the plan's were.
 *
 * @param plan        of qdq_plan_quantize_dynamic(), or either of qdq_plan_quantize_dynamic_pair()
 * @param x           read
 * @param scale       written
 * @param zero_point  written; NULL where the plan has none
 * @param y           written
 * @param stream      as for qdq_run()
 * @return as qdq_quantize_dynamic() */
qdq_status qdq_run_dynamic(const qdq_plan *plan, const void *x, void *scale, void *zero_point, void *y, void *stream);

/** One result of a call that has two: the arguments of qdq_quantize_dynamic() after x. */
typedef struct {
    const qdq_tensor *scale;      /**< written */
    const qdq_tensor *zero_point; /**< written; NULL where the rule has none */
    const qdq_tensor *y;          /**< written: codes */
    const qdq_scale_options *how; /**< NULL for the defaults */
    const qdq_options *options;   /**< the same */
} qdq_dynamic_output;

/** Quantizes x in two ways at once, as training does: with scales of blocks along rows, and of blocks along columns.
 * Each output is that of qdq_quantize_dynamic() of x, bit for bit; any types, rules and granularities go together.
 *
 * x comes from memory once where blocks of both fit into a box of 512 KiB of x together, as blocks of 32 along rows and
 * along columns do. Where one scale is for whole columns, x is read once for each output. So it is with diagnostics,
 * and with packed codes whose rows do not begin at whole bytes.
 *
 * No output may overlap x or what belongs to the other; but both may be given one global scale. On a device the work
 * of both goes into the stream of `first`.
 *
 * @param x       F32, F16 or BF16
 * @param first   one result: its tensors are written
 * @param second  the other
 * @return as qdq_quantize_dynamic() */
qdq_status qdq_quantize_dynamic_pair(const qdq_tensor *x, const qdq_dynamic_output *first,
                                     const qdq_dynamic_output *second);

/** Prepares a plan for each output, by the rules of qdq_quantize_dynamic_pair(). qdq_run_dynamic_pair() runs both;
 * qdq_run_dynamic() runs either alone. What they remember is as of qdq_plan_quantize_dynamic(). */
qdq_status qdq_plan_quantize_dynamic_pair(qdq_plan *first_plan, qdq_plan *second_plan, const qdq_tensor *x,
                                          const qdq_dynamic_output *first, const qdq_dynamic_output *second);

/** Runs such plans on the data of tensors laid out as the plans' were. x is read, the others are written. A zero point
 * is NULL where its plan has none. `stream` is as for qdq_run(), the status as of qdq_quantize_dynamic(). */
qdq_status qdq_run_dynamic_pair(const qdq_plan *first_plan, const qdq_plan *second_plan, const void *x,
                                void *first_scale, void *first_zero_point, void *first_y, void *second_scale,
                                void *second_zero_point, void *second_y, void *stream);

/** As qdq_quantize_dynamic(), of rows in groups, which qdq_quantize_grouped() describes: each group has a scale of its
 * own, or several. A group without rows has scales of elements that are 0.
 *
 * @param x           F32, F16 or BF16, on the host
 * @param offsets     as for qdq_quantize_grouped()
 * @param groups      the same
 * @param scale       written: as for qdq_compute_scales(), with a first dimension of `groups`
 * @param zero_point  written: the same
 * @param y           written: as for qdq_quantize_dynamic()
 * @param how         the same; diagnostics and a global scale are QDQ_UNSUPPORTED
 * @param options     as for qdq_quantize_grouped()
 * @return QDQ_OK, or why nothing has been written: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED
 *
 * The outputs may overlap no tensor of the call, but y may alias x. */
qdq_status qdq_quantize_dynamic_grouped(const qdq_tensor *x, const int64_t *offsets, int64_t groups,
                                        const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                                        const qdq_scale_options *how, const qdq_options *options);

/** The bytes that one matrix of scales takes in a layout, with its padding: of `rows` rows and `columns` columns. 0
 * where the layout is none, or a size is below 0. */
int64_t qdq_arranged_bytes(qdq_scale_layout layout, int64_t rows, int64_t columns);

/** Copies scales into a layout.
 *
 * @param scale     E8M0 or F8E4M3, on the host, of rank 2 to 8: matrices, one for each index of the dimensions before
 *                  the last two, each padded on its own
 * @param layout    the layout
 * @param arranged  written: it may not overlap scale
 * @param bytes     how many it has: as many as qdq_arranged_bytes() for each matrix
 * @return QDQ_OK, or why nothing has been written: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED */
qdq_status qdq_arrange_scales(const qdq_tensor *scale, qdq_scale_layout layout, void *arranged, int64_t bytes);

/** The way back: copies scales out of a layout, whose padding is not looked at.
 *
 * @param arranged  as qdq_arrange_scales() writes it; it may not overlap scale
 * @param bytes     how many it has, as for qdq_arrange_scales()
 * @param layout    the layout
 * @param scale     written: as for qdq_arrange_scales()
 * @return QDQ_OK, or why nothing has been written: QDQ_INVALID_ARGUMENT, QDQ_UNSUPPORTED */
qdq_status qdq_restore_scales(const void *arranged, int64_t bytes, qdq_scale_layout layout, const qdq_tensor *scale);

#define qdq_dynamic_profile qdq_dynamic_profile_3

/** Fills `how` and `options` with those under which a dynamic call computes as another system does, for a type of
 * codes. Which elements share a scale is for the caller to say.
 *
 * - "onnx": ONNX's DynamicQuantizeLinear; U8
 * - "torchao": torchao's int8 per token, and f8 by row; I8, F8E4M3, F8E5M2
 * - "mx": OCP Microscaling Formats 1.0, with E8M0 scales of 32 elements; F8E4M3, F8E5M2, F6E2M3, F6E3M2, F4E2M1
 * - "compressed-tensors": float8, and asymmetric int8, per token or group; F8E4M3, I8
 * - "vllm": per token; I8, F8E4M3. Codes of I8 are those of x / scale; vLLM multiplies by 127 / amax
 * - "vllm-group": in groups of 128; F8E4M3
 * - "acl": CANN's aclnnDynamicQuant, per token; I8, I4, F8E4M3, F8E5M2, HIF8
 *
 * @param profile  one of these names
 * @param codes    the type of y
 * @param how      written
 * @param options  written
 * @return QDQ_OK, or QDQ_INVALID_ARGUMENT: an unknown name, a type that the system has not, or a NULL */
qdq_status qdq_dynamic_profile(const char *profile, qdq_dtype codes, qdq_scale_options *how, qdq_options *options);

#if defined(__cplusplus)
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* QDQ_QDQ_H */

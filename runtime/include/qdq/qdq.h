/* qdq: quantize and dequantize tensors, with one defined result on every target.
 *
 * This header is the whole binary interface. `qdq.hpp` wraps it for C++20.
 *
 * Arithmetic. Everything is IEEE-754 binary32, each operation rounded once to nearest even, subnormals kept,
 * whatever the caller's floating-point environment. Operands of other types convert to f32 exactly first. The
 * environment comes back as it was, but for the sticky exception flags: a call may raise any and clears none. No call
 * traps, whichever exceptions are unmasked.
 *
 *   quantize     t = x / scale            (QDQ_DIVIDE: correctly rounded, never x * (1/scale))
 *                t = x * scale            (QDQ_MULTIPLY)
 *                t = x * (1 / scale)      (QDQ_RECIPROCAL: two roundings; PyTorch's integer types)
 *                r = round(t) + zero_point   (QDQ_ZP_AFTER_ROUNDING: an exact integer sum; ONNX, PyTorch)
 *                r = round(t + zero_point)   (QDQ_ZP_BEFORE_ROUNDING: an f32 sum; CANN, oneDNN)
 *                y = saturate(r)
 *                Integer y: NaN gives the lowest code (QDQ_NAN_LOWEST; as ONNX Runtime), or 0, within the range that
 *                y saturates to and whatever the zero point is (QDQ_NAN_ZERO; CANN). Infinities saturate.
 *                Float y (f8, f6, f4): t rounds once to nearest even, subnormals included; NaN stays NaN (with the
 *                sign of x; f6 and f4 types have no NaN and give their largest value, e2m1 +6); overflow saturates to
 *                the largest finite value.
 *   dequantize   y = (q - zero_point) * scale   (QDQ_ZP_SUBTRACT)
 *                y = (q + zero_point) * scale   (QDQ_ZP_ADD; pypto)
 *                An integer zero point is applied exactly and the result converted to f32 once. The f32 product is
 *                then rounded once to y's type. A NaN result is always the positive quiet NaN with no payload.
 *
 * Granularity. The scale broadcasts against x by blocks: with x's rank, dimension d of x is cut into scale.shape[d]
 * blocks of ceil(x.shape[d] / scale.shape[d]) elements, the last of which may be ragged. A scale with one element is
 * per tensor, whatever its rank and `axis`; a block_size or block_shape that cuts x into more than one block is an
 * error. A 1-D scale is per channel along `axis`. `block_size` sets the block along `axis` (ONNX's blocked form),
 * `block_shape` along every dimension: 576 rows have 5 blocks of 128 and, from the shapes alone, 5 of 116.
 * The zero point has one element or the scale's shape. All this holds for an x without elements too: along a dimension
 * of 0, the scale has 0 or 1.
 *
 * Devices. On device tensors a call puts its work into the caller's stream or queue and returns: it neither waits nor
 * copies, so the memory must stay until that work is done. The first call of a kernel in a context compiles it for the
 * device. Scales and zero points are read when the work runs. A float format takes no zero point there, not even zeros,
 * as a call does not see them.
 *
 * Threads. Every function may be called from any thread at any time. Errors are returned, never thrown or printed;
 * on an error nothing has been written. A call is no cancellation point of pthread_cancel.
 *
 * Stack. A thread that works on a call on host tensors needs at most QDQ_STACK_BYTES of stack, with the 5 KiB in which
 * glibc keeps the thread itself. So one that was asked to have 64 KiB can make any call, and has 4 KiB for the program:
 * glibc takes the guard page from those 64 KiB; musl takes neither. The library's thread-local data, 2.3 KiB, lie in
 * those 5 KiB where it is linked statically.
 *
 * Large work is split over the calling thread and threads of the library, at most 256 in all; or over the caller's
 * pool (qdq_set_parallel_for). The first call that is split creates them, a later one more if it may have more, and all
 * calls share them. Each has a stack of 1 MiB; for it and the thread's own data the system allocates memory, and
 * nothing else does in a call on host tensors. Threads that cannot be had are done without: a call needs none. They
 * sleep between calls, and take no signals but those of their own faults (SIGSEGV, SIGBUS and their kind). Unloading
 * the library, and exit, end them; later calls, from destructors, start them anew.
 *
 * A child of fork starts as if it had made no threaded call, and creates threads of its own; a fork may happen at any
 * time, but the child of a signal handler that interrupted a call must not return into that call. What was set stays
 * set: a target, the number of threads, a parallel_for, whose pool may need its own care.
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

/* Element types. The packed types hold several elements in a byte, the whole tensor packed flat: two of 4 bits (I4, U4,
 * F4E2M1), the first in the low nibble unless options say otherwise, or four of 2 bits (I2, U2), the first in the
 * lowest. Where the last byte is not full, the rest of its bits are 0. F8E4M3 is e4m3fn. E8M0 is a scale type only. */
typedef enum {
    QDQ_F32,
    QDQ_F16,
    QDQ_BF16,
    QDQ_I8,
    QDQ_U8,
    QDQ_I16,
    QDQ_U16,
    QDQ_I32,
    QDQ_I4,
    QDQ_U4,
    QDQ_F8E4M3,
    QDQ_F8E5M2,
    QDQ_F4E2M1,
    QDQ_E8M0,
    QDQ_F8E4M3FNUZ, /* AMD's f8 types: no infinity, no -0, and the code 0x80 for NaN */
    QDQ_F8E5M2FNUZ,
    QDQ_F6E2M3, /* the f6 types, one to a byte, whose two high bits are written 0 and not read: no infinity, no NaN */
    QDQ_F6E3M2,
    QDQ_I2,
    QDQ_U2
} qdq_dtype;

typedef enum {
    QDQ_OK,
    QDQ_INVALID_ARGUMENT, /* an argument breaks a rule of this header; qdq_last_error() names it */
    QDQ_UNSUPPORTED,      /* the call is meaningful, but this build has no kernel or no usable target for it */
    QDQ_DEVICE_ERROR,
    QDQ_OUT_OF_MEMORY
} qdq_status;

typedef enum { QDQ_DIVIDE, QDQ_MULTIPLY, QDQ_RECIPROCAL } qdq_scale_mode; /* dequantize always multiplies */
typedef enum { QDQ_ZP_AFTER_ROUNDING, QDQ_ZP_BEFORE_ROUNDING } qdq_quantize_zp;
typedef enum { QDQ_ZP_SUBTRACT, QDQ_ZP_ADD } qdq_dequantize_zp;
typedef enum { QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP } qdq_rounding;

/* How a packed 4-bit tensor holds its elements, counted flat from 0: byte i holds elements 2i and 2i + 1. In split
 * halves, the 16 bytes of each 32 elements hold element j and element j + 16 (ggml). Eight elements in a little-endian
 * int32, the first in the lowest bits, is the same bytes as low first. */
typedef enum { QDQ_LOW_FIRST, QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES } qdq_packing;

/* How y is written on the host: a hint, which changes no result. By size, y stays in the caches where x and y together
 * are small enough for them (16 MiB on x86; more where a microarchitecture's tuned build measured so), and goes past
 * them, by non-temporal stores, where they are larger: what streams through saves reading y's lines first. Cached is
 * for a caller who reads y at once, non-temporal for one who will not soon. A target without such stores has cached
 * ones. */
typedef enum { QDQ_STORES_BY_SIZE, QDQ_STORES_CACHED, QDQ_STORES_NONTEMPORAL } qdq_stores;

/* What quantize makes of NaN where y is integer: the lowest code, or 0. That is CANN's own: its reference for
 * aclnnQuantize makes 0 of NaN after it has added the zero point (cann/ops-nn, quant/quantize/tests/assets/golden.py),
 * as PTX's cvt.rni.s32.f32 does. */
typedef enum { QDQ_NAN_LOWEST, QDQ_NAN_ZERO } qdq_nan;

/* Where a tensor lives. All zero bytes are the host. All tensors of a call must live on one device: nothing is moved.
 * CUDA: `id` is the device's number and `data` a device pointer, of cudaMalloc, cuMemAlloc or another allocator.
 * OpenCL: `data` is a cl_mem, whose first element is `offset` bytes from its beginning; `id` is 0, as a queue names its
 * device. */
typedef enum { QDQ_DEVICE_HOST, QDQ_DEVICE_CUDA, QDQ_DEVICE_OPENCL } qdq_device_kind;
typedef struct {
    qdq_device_kind kind;
    int32_t id;
    int64_t offset; /* OpenCL only */
} qdq_device;

/* A view of the caller's memory. `shape` and `strides` have `rank` entries (rank 0..8; 0 is a scalar) and are read
 * during the call only. Strides count elements and may be 0 or negative for inputs; NULL means dense row-major; they
 * are ignored for packed types. On the host `data` may be any address; on a device the elements of x and y lie at
 * multiples of their size.
 *
 * An output's elements must not overlap one another: each stride, from the smallest on, must step over all that the
 * smaller ones reach. Two tensors overlap where their ranges do, from the lowest byte to the highest. Both rules refuse
 * some views without a byte in common: a y of 3 x 2 with strides {2, 3}, every other row of a matrix and those between.
 */
typedef struct {
    void *data;
    qdq_dtype dtype;
    int32_t rank;
    const int64_t *shape;
    const int64_t *strides;
    qdq_device device;
} qdq_tensor;

/* All zero bytes are the defaults. */
typedef struct {
    qdq_scale_mode scale_mode;
    qdq_quantize_zp quantize_zp;
    qdq_dequantize_zp dequantize_zp;
    qdq_rounding rounding;
    int32_t no_saturate; /* f8 only: overflow gives infinity (e5m2) or NaN (e4m3fn) instead of the largest value */
    int32_t axis;        /* of a 1-D or blocked scale; negative counts from the last dimension */
    int64_t block_size;  /* elements per block along `axis`; 0: derived from the shapes */
    int32_t quant_min;   /* integer y: the range to saturate to, inside y's own range; both 0: y's own range. */
    int32_t quant_max;   /* dequantize does not use it, but refuses one that is not inside x's */
    qdq_packing packing; /* of a packed 4-bit x or y; 2-bit types are low first alone */
    /* Elements per block along each dimension of x, instead of axis and block_size, for a scale of x's rank: {128, 128}
     * for f8 weights; 0: derived from the shapes. NULL: none. */
    const int64_t *block_shape;
    /* Of device tensors: a CUstream, NULL for the default one; a cl_command_queue, never NULL. A plan does not keep it:
     * qdq_run takes one of its own. On the host NULL. */
    void *stream;
    qdq_stores stores;
    qdq_nan nan; /* quantize to an integer y; else without effect */
} qdq_options;

/* Fills `options` with those under which qdq computes as another system does for a stored type:
 *   "onnx"      QuantizeLinear, DequantizeLinear of ONNX, as ONNX Runtime computes them
 *   "torch"     PyTorch's quantize_per_tensor and quantize_per_channel, and its casts to f8
 *   "torchao"   torchao's quantize_affine, dequantize_affine, their f8 forms, and its MX and NVFP4 formats
 *   "acl"       CANN's aclnnQuantize, AscendQuant and torch_npu.npu_quantize in div_mode
 *   "tensorrt"  TensorRT's IQuantizeLayer and IDequantizeLayer
 *   "tripy"     nvtripy's quantize and dequantize
 *   "pypto"     pypto's dequantize
 * An unknown name or a type that is not a stored one is QDQ_INVALID_ARGUMENT. */
qdq_status qdq_profile_options(const char *profile, qdq_dtype stored, qdq_options *options);

/* The functions that read qdq_options have a symbol for each header that added to it: callers compiled with an earlier
 * one left `nan` unset, and the functions of these names, which they call, do not look at it. */
#define qdq_quantize qdq_quantize_2
#define qdq_dequantize qdq_dequantize_2
#define qdq_plan_quantize qdq_plan_quantize_2
#define qdq_plan_dequantize qdq_plan_dequantize_2

/* y = quantize(x). x: F32, F16, BF16. scale: a float type. zero_point: NULL for none. y has x's shape.
 * y may alias x exactly (same address, shape and strides) where the element sizes are equal; any other overlap with
 * an input is an error. */
qdq_status qdq_quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                        const qdq_options *options);

/* y = dequantize(x). x: a stored type. y: F32, F16, BF16. The rest as for qdq_quantize. */
qdq_status qdq_dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                          const qdq_tensor *y, const qdq_options *options);

/* A plan is a validated call with its kernel chosen. It owns nothing and may be copied, kept and shared between
 * threads. It remembers the addresses of scale and zero point (their contents are read by each run), not those of x
 * and y. */
typedef struct {
    uint64_t opaque[192];
} qdq_plan;

/* The same rules as qdq_quantize and qdq_dequantize, but nothing is computed: x->data and y->data may be NULL. */
qdq_status qdq_plan_quantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                             const qdq_tensor *y, const qdq_options *options);
qdq_status qdq_plan_dequantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale,
                               const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options);

/* Runs a plan on the data of an x and a y laid out as the plan's were, on a device at the same offsets. `stream` is as
 * in qdq_options; NULL on the CPU. */
qdq_status qdq_run(const qdq_plan *plan, const void *x, void *y, void *stream);

/* The name of an element type as messages have it: "f32", "i4", "f8e4m3", ...; NULL for a value that is no qdq_dtype.
 */
const char *qdq_dtype_name(qdq_dtype dtype);

/* How many bits an element takes in memory: 4 or 2 of packed types; 0 for a value that is no qdq_dtype. */
int32_t qdq_dtype_bits(qdq_dtype dtype);

/* The name of a status: "QDQ_OK", ... Never NULL. */
const char *qdq_status_string(qdq_status status);

/* Why this thread's latest failing call failed: which argument, which rule, the values. Never NULL; kept until the
 * next failure on this thread. */
const char *qdq_last_error(void);

/* The targets compiled into this library, best first: "x86_avx512", "x86_avx2", "x86_portable", ... */
int32_t qdq_target_count(void);
const char *qdq_target_name(int32_t i);       /* NULL when i is out of range */
int32_t qdq_target_usable(int32_t i);         /* 1 when this machine can run it */
const char *qdq_target_problem(int32_t i);    /* why it cannot; NULL when it can */
qdq_device_kind qdq_target_device(int32_t i); /* where the tensors of its calls live */

/* Calls on host tensors use the best usable target of the processor, those on device tensors the device's. This uses
 * only the named target from now on, in every thread; NULL returns to the best usable one, or to the one named by the
 * environment variable QDQ_TARGET, which is read once, at the first call. An unknown or unusable name is an error and
 * changes nothing; in QDQ_TARGET it makes every call fail with a message. */
qdq_status qdq_force_target(const char *name_or_NULL);

/* The name of the target that calls on host tensors use now (or the device's, where that is forced), or NULL when none
 * is usable. */
const char *qdq_current_target(void);

/* How many threads large work is split over: 1 keeps everything on the caller's thread, 0 (the default) is the number
 * of processors that are online. More than 256 is as 256, but for the caller's own pool. The result has the same bits
 * for every number. */
void qdq_set_num_threads(int32_t count);

/* Lets the caller's own thread pool run large work: `parallel_for` must call task(i, task_context) once for each i in
 * [0, count), in any order and on any threads, and return when all have returned. NULL returns to the built-in pool.
 * A call that is running meanwhile may still use what was set before, until it returns: the former context must live as
 * long, and no longer. */
typedef void (*qdq_task)(int64_t i, void *task_context);
typedef void (*qdq_parallel_for)(void *context, int64_t count, qdq_task task, void *task_context);
void qdq_set_parallel_for(qdq_parallel_for parallel_for, void *context);

/* Of stack: what a thread that works on a call on host tensors needs at most, with what the C library keeps there. */
#define QDQ_STACK_BYTES (56 * 1024)

/* The version of this header; qdq_version() is that of the library that runs: "0.1.0". Shared libraries of one soname,
 * libqdq.so.0, run what was compiled with their header or an earlier one. */
#define QDQ_VERSION_MAJOR 0
#define QDQ_VERSION_MINOR 1
#define QDQ_VERSION_PATCH 0
const char *qdq_version(void);

/* Why qdq_current_target() is the target in use: a sentence without a full stop, for a log. NULL where none is usable.
 */
const char *qdq_current_target_reason(void);

#if defined(__cplusplus)
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif /* QDQ_QDQ_H */

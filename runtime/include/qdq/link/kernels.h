/* The table of kernels that a program's calls find theirs in. The library has one of all its kernels; a program that
 * names its own, by CMake's qdq_link_kernels, brings one of those, and the linker takes no others from libqdq.a. Tables
 * are generated: nothing here is to be written by hand, and layouts change with any version. C99 and C++. */
#ifndef QDQ_LINK_KERNELS_H
#define QDQ_LINK_KERNELS_H

#include "qdq/link/dispatch_parameters.h"
#include "qdq/qdq.h"

#include <stdint.h>

/* What links kernels keeps its table to itself: two plugins have two. */
#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
#ifdef __cplusplus
extern "C" {
#endif

/* What a processor and its operating system offer, and what targets need. */
enum qdq_cpu_feature {
    qdq_cpu_sse41 = 1 << 0,
    qdq_cpu_avx2_fma_f16c = 1 << 1,
    qdq_cpu_avx512 = 1 << 2,      /* F, BW, DQ, VL and CD: Skylake server and later, Zen 4 and later */
    qdq_cpu_avx512_bf16 = 1 << 3, /* besides BF16, VBMI and what else Zen 4 and Sapphire Rapids have in common */
    qdq_cpu_neon = 1 << 4,        /* Advanced SIMD: Armv8.0 */
    qdq_cpu_fp16 = 1 << 5,        /* its half-precision arithmetic: Armv8.2 */
    qdq_cpu_rvv128 =
        1 << 6 /* RISC-V's vector extension 1.0 in registers of exactly 128 bits, as kernels are compiled */
};

/* Kernels, as their generators declare them. */
struct halide_buffer_t;
typedef int qdq_quantize_kernel(struct halide_buffer_t *x, struct halide_buffer_t *scale,
                                struct halide_buffer_t *inverse, struct halide_buffer_t *zero_point, int32_t variant,
                                int32_t before, int32_t rounding, int32_t lowest, int32_t highest, int32_t no_saturate,
                                struct halide_buffer_t *y);
typedef int qdq_dequantize_kernel(struct halide_buffer_t *x, struct halide_buffer_t *scale,
                                  struct halide_buffer_t *zero_point, int32_t variant, int32_t sign,
                                  struct halide_buffer_t *y);
typedef int qdq_bytes_kernel(struct halide_buffer_t *x, struct halide_buffer_t *y);
typedef int qdq_device_kernel_function(void **arguments);

/* A kernel row: the kernels of one pair of element types and one direction, one for each form. `nontemporal` are those
 * whose stores bypass the caches, NULL for none; every row of y that they are given is whole cache lines. `blocks` is
 * the sum of the block lengths, powers of two, that the block form takes. */
struct qdq_quantize_row {
    qdq_dtype float_type, stored_type;
    qdq_quantize_kernel *forms[3], *nontemporal[3];
    int64_t blocks;
    struct qdq_dispatch_parameters tuned;
};
struct qdq_dequantize_row {
    qdq_dtype float_type, stored_type;
    qdq_dequantize_kernel *forms[3], *nontemporal[3];
    int64_t blocks;
    struct qdq_dispatch_parameters tuned;
};
struct qdq_device_kernel {
    qdq_device_kernel_function *run; /* on pointers to its arguments */
    int32_t unit_elements;
};
struct qdq_device_row {
    qdq_dtype float_type, stored_type;
    struct qdq_device_kernel forms[3];
};

/* A target with those of its rows that are linked, and what else those use. */
struct qdq_nontemporal_stores;
struct qdq_device_backend;
struct qdq_dense_codes; /* QDQ_DENSE: what runs such calls */
extern const struct qdq_dense_codes qdq_dense_codes;
struct qdq_target {
    const char *name;
    uint32_t features;                                /* every qdq_cpu_feature that it needs */
    const struct qdq_nontemporal_stores *nontemporal; /* NULL for none */
    const struct qdq_device_backend *device;          /* NULL for the processor */
    const struct qdq_quantize_row *quantize;
    const struct qdq_dequantize_row *dequantize;
    const struct qdq_device_row *device_quantize, *device_dequantize;
    int quantize_count, dequantize_count; /* of the processor's rows, or the device's */
    qdq_bytes_kernel *transpose[3];       /* of 1, 2 and 4-byte elements, NULL where no row has such */
    qdq_bytes_kernel *swap_nibbles, *split_halves, *join_halves; /* NULL where no row has 4-bit codes */
    const struct qdq_dense_codes *dense;                         /* NULL where none has 6-bit codes */
};

/* QDQ_STOCHASTIC: what runs such calls, with kernels of its own. */
struct qdq_stochastic_rounding;
extern const struct qdq_stochastic_rounding qdq_stochastic_rounding;

/* The table: targets best first, stochastic rounding or NULL, and what would add a kernel that is not in it, for
 * messages. */
extern const struct qdq_target qdq_linked_targets[];
extern const struct qdq_stochastic_rounding *const qdq_linked_stochastic_rounding;
extern const int qdq_linked_target_count;
extern const char qdq_linked_by[];

#ifdef __cplusplus
}
#endif
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif

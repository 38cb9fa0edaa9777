# The one list of targets, element types and forms. The build, the dispatch table, the tests and the benchmarks follow it.

# qdq_type(<name> <qdq_dtype> <bits in memory> <numbers> ROLES <role>... [BLOCKS <elements>...])
# In the order of qdq_dtype. <numbers>: SIGNED or UNSIGNED, or FLOAT <exponent bits> <mantissa bits> <bias> <specials>, as
# element_type.h has them; of types below 8 bits a byte holds several. Roles: floats (what quantize reads and dequantize
# writes), stored (the other side), scale, zero_point, host (no device has kernels of it: those of one more type make the
# library 0.6 MB larger). BLOCKS: of stored types, the elements that may share an operand in the block form: 32, 16, or both,
# which have loops of their own. Packed codes have one: LLVM 21 aborts where it compiles both for RVV. Longer blocks repeat
# operands; shorter ones take the column form. 32 is what formats have in common, but for nvfp4: f4e2m1 in blocks of 16, and
# f32 as what stochastic rounding is given of all. Bytes have both: f32 to i8 in blocks of 16 takes 0.06 ns an element so,
# and 0.14 by columns (EPYC with AVX512-BF16).
qdq_type(f32 QDQ_F32 32 FLOAT 8 23 127 ieee ROLES floats scale zero_point BLOCKS 16 32)
qdq_type(f16 QDQ_F16 16 FLOAT 5 10 15 ieee ROLES floats scale zero_point)
qdq_type(bf16 QDQ_BF16 16 FLOAT 8 7 127 ieee ROLES floats scale zero_point)
qdq_type(i8 QDQ_I8 8 SIGNED ROLES stored zero_point BLOCKS 16 32)
qdq_type(u8 QDQ_U8 8 UNSIGNED ROLES stored zero_point BLOCKS 16 32)
qdq_type(i16 QDQ_I16 16 SIGNED ROLES stored zero_point BLOCKS 32)
qdq_type(u16 QDQ_U16 16 UNSIGNED ROLES stored zero_point BLOCKS 32)
qdq_type(i32 QDQ_I32 32 SIGNED ROLES stored zero_point BLOCKS 32)
qdq_type(i4 QDQ_I4 4 SIGNED ROLES stored BLOCKS 32)
qdq_type(u4 QDQ_U4 4 UNSIGNED ROLES stored BLOCKS 32)
qdq_type(f8e4m3 QDQ_F8E4M3 8 FLOAT 4 3 7 nan ROLES stored scale BLOCKS 32)
qdq_type(f8e5m2 QDQ_F8E5M2 8 FLOAT 5 2 15 ieee ROLES stored BLOCKS 32)
qdq_type(f4e2m1 QDQ_F4E2M1 4 FLOAT 2 1 1 none ROLES stored BLOCKS 16)
qdq_type(e8m0 QDQ_E8M0 8 FLOAT 8 0 127 powers_of_two ROLES scale)
qdq_type(f8e4m3fnuz QDQ_F8E4M3FNUZ 8 FLOAT 4 3 8 nan_as_negative_zero ROLES stored BLOCKS 32)
qdq_type(f8e5m2fnuz QDQ_F8E5M2FNUZ 8 FLOAT 5 2 16 nan_as_negative_zero ROLES stored BLOCKS 32)
qdq_type(f6e2m3 QDQ_F6E2M3 8 FLOAT 2 3 1 none ROLES stored BLOCKS 32)
qdq_type(f6e3m2 QDQ_F6E3M2 8 FLOAT 3 2 3 none ROLES stored BLOCKS 32)
qdq_type(i2 QDQ_I2 2 SIGNED ROLES stored BLOCKS 32)
qdq_type(u2 QDQ_U2 2 UNSIGNED ROLES stored BLOCKS 32)
qdq_type(f4e1m2 QDQ_F4E1M2 4 FLOAT 1 2 1 none ROLES stored host BLOCKS 32)
qdq_type(hif8 QDQ_HIF8 8 FLOAT 4 3 23 tapered ROLES stored host BLOCKS 32)

# Every pair of a type for floats and a stored type has kernels in both directions and every form.
set(QDQ_FORMS row column block)
set(QDQ_DEVICE_FORMS group each strided)

# Element sizes, in bits, that a transposing call moves.
set(QDQ_TRANSPOSED_BITS 8 16 32)

# Changes of the order of packed codes.
set(QDQ_REPACKINGS swap_nibbles split_halves join_halves)

# What reduces elements to the extremes that a scale is computed of: kernels by the bits of an element, as
# kernels/reductions.h has them: how they go over two dimensions, and what they find.
set(QDQ_REDUCTIONS row short_rows column)
set(QDQ_REDUCED_NUMBERS extremes magnitudes)

# What measures how far codes are from elements: kernels by the type of an element. Scales are along rows or columns.
set(QDQ_MEASUREMENTS row column)

# What stochastic rounding rounds to: kernels/grids.h. It is given quotients, by kernels of quantize to f32.
set(QDQ_GRIDS integers floats tapered)

# ggml's block formats, as kernels/block_formats.h has them: kernels by the type of floats, in both directions.
set(QDQ_BLOCK_FORMATS q8_0 q4_0 q4_1 q5_0 q5_1 mxfp4 iq4_nl)

# What computes the scales themselves on devices, as kernels/scales_arguments.h has them.
set(QDQ_SCALES_FORMS wide narrow strided)

# qdq_target(<name> PROCESSOR <of CMAKE_SYSTEM_PROCESSOR> HALIDE <Halide target> INSTRUCTIONS <generators/instructions.h>...
#            NEEDS <cpu_feature>... [SCHEDULE <of another target>] [NONTEMPORAL <runtime/src/targets/nontemporal.h>])
# What NEEDS, NONTEMPORAL and DEVICE name is named qdq_<name> in C: qdq/link/kernels.h has the processors' features.
set(sse41 rounding saturating_narrow f64 shared_select)
set(avx2 fma f16 rounding saturating_narrow f64)  # not shared_select: LLVM makes a vector of the condition by moving bytes
set(avx512 lane_masks shared_select ${avx2})
set(neon fma f16 rounding saturating_conversion number_minimum absolute fast_subnormals byte_shifts shift_and_add f64 shared_select)
# LLVM's znver4 has SSE4A, which Intel's processors lack: no kernel's code has any of its instructions (extrq, insertq).
qdq_target(x86_avx512_bf16
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake-avx512_zen4
  INSTRUCTIONS bf16 ${avx512}
  NEEDS cpu_avx512_bf16
  SCHEDULE x86_avx512
  NONTEMPORAL nontemporal_avx512)
qdq_target(x86_avx512
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake
  INSTRUCTIONS ${avx512}
  NEEDS cpu_avx512
  NONTEMPORAL nontemporal_avx512)
qdq_target(x86_avx2
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2
  INSTRUCTIONS ${avx2}
  NEEDS cpu_avx2_fma_f16c
  NONTEMPORAL nontemporal_avx2)
qdq_target(x86_portable
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41
  INSTRUCTIONS ${sse41}
  NEEDS cpu_sse41
  NONTEMPORAL nontemporal_sse2)
qdq_target(arm_fp16
  PROCESSOR aarch64
  HALIDE arm-64-linux-arm_fp16-armv82a
  INSTRUCTIONS ${neon}
  NEEDS cpu_neon cpu_fp16
  SCHEDULE arm_neon)
# Halide's feature lets it convert f16 by instructions that Armv8.0 has as well; nothing else is computed in f16. Tests
# run on an emulated Cortex-A53, which has no more.
qdq_target(arm_neon
  PROCESSOR aarch64
  HALIDE arm-64-linux-arm_fp16
  INSTRUCTIONS ${neon}
  NEEDS cpu_neon)
# Of nothing is it said that it can: LLVM 21 takes calls of its fma apart where vectors are scalable, and rounds to 2^31 what
# lies beyond that (QEMU 7.2; 2.1e10); Halide emulates f16 there, and passes a select of vectors by one condition to an
# instruction that takes a vector of them.
qdq_target(riscv_rvv
  PROCESSOR riscv64
  HALIDE riscv-64-linux-rvv-vector_bits_128
  NEEDS cpu_rvv128)

# qdq_handwritten(<file> TARGETS <target>... ROWS <glob>... FORMS <form>... [BLOCKS <elements>...] [NONTEMPORAL <form>...]
#                 OPTIONS <of the compiler>...)
# A file of kernels/handwritten/ whose kernels take the place of the generated ones of these forms of the rows that globs
# match. BLOCKS: which blocks its block form takes, where not the type's; the operands' extent then tells which.
# NONTEMPORAL: the forms that it has besides with stores that bypass the caches.
set(avx512_vbmi -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512bf16)
qdq_handwritten(avx512_vbmi/dequantize_4_bits.h
  TARGETS x86_avx512_bf16
  ROWS dequantize_?4_* dequantize_f4e2m1_*
  FORMS row column block BLOCKS 2 4 8 16 32 NONTEMPORAL row column block
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512_vbmi/dequantize_8_bit_floats.h
  TARGETS x86_avx512_bf16
  ROWS dequantize_f8*_*f16
  FORMS row column block BLOCKS 2 4 8 16 32 NONTEMPORAL row block
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512_vbmi/quantize_bf16.h
  TARGETS x86_avx512_bf16
  ROWS quantize_bf16_f8e4m3
  FORMS row column block NONTEMPORAL row column block
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512_vbmi/quantize_bf16.h
  TARGETS x86_avx512_bf16
  ROWS quantize_bf16_f4e2m1
  FORMS row column block BLOCKS 16 32 NONTEMPORAL row column block
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512_vbmi/quantize_f32.h
  TARGETS x86_avx512_bf16
  ROWS quantize_f32_f8e4m3 quantize_f16_f8e4m3
  FORMS row column block NONTEMPORAL row column block
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512_vbmi/quantize_f32.h
  TARGETS x86_avx512_bf16
  ROWS quantize_f32_f4e2m1 quantize_f16_f4e2m1
  FORMS row column block BLOCKS 16 32 NONTEMPORAL row column block
  OPTIONS ${avx512_vbmi})
set(integers_by_hand ROWS quantize_*_?2 quantize_*_?4 quantize_*_?8 quantize_*_?16 FORMS row block BLOCKS 2 4 8 16 32
  NONTEMPORAL row)
qdq_handwritten(avx512/quantize_integers.h
  TARGETS x86_avx512 ${integers_by_hand}
  OPTIONS -mavx512bw)
qdq_handwritten(avx512/quantize_integers.h
  TARGETS x86_avx512_bf16 ${integers_by_hand}
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512/dequantize_integers.h
  TARGETS x86_avx512
  ROWS dequantize_?8_* dequantize_?16_*
  FORMS block BLOCKS 2 4 8 16 32
  OPTIONS -mavx512bw)
qdq_handwritten(avx512/dequantize_integers.h
  TARGETS x86_avx512_bf16
  ROWS dequantize_?8_* dequantize_?16_*
  FORMS block BLOCKS 2 4 8 16 32
  OPTIONS ${avx512_vbmi})
qdq_handwritten(avx512/dequantize_4_bits.h
  TARGETS x86_avx512
  ROWS dequantize_?4_* dequantize_f4e2m1_*
  FORMS row column block BLOCKS 2 4 8 16 32 NONTEMPORAL row column block
  OPTIONS -mavx512bw)
qdq_handwritten(avx2/dequantize_4_bits.h
  TARGETS x86_avx2
  ROWS dequantize_?4_*f16 dequantize_f4e2m1_*
  FORMS row block BLOCKS 16 32 NONTEMPORAL row block
  OPTIONS -mavx2 -mf16c)
qdq_handwritten(avx2/dequantize_4_bits.h
  TARGETS x86_avx2
  ROWS dequantize_?4_f32
  FORMS row NONTEMPORAL row
  OPTIONS -mavx2 -mf16c)

# qdq_nontemporal(TARGETS <target>... ROWS <glob>...)
# Rows whose generated kernels exist besides with stores that bypass the caches: those of the forms that have none by hand.
# cmake/nontemporal_stores.py makes them of assembly. On Zen 3 they take half to two thirds of the time of staged pieces
# (docs/performance.md), and the shared library is 0.2 MB larger. Left out: those to f16 whose conversion has no register free.
qdq_nontemporal(TARGETS x86_avx2
  ROWS dequantize_*_f32 dequantize_*_bf16 dequantize_i*_f16 dequantize_u*_f16 dequantize_f4*_f16 dequantize_f6*_f16
    dequantize_f8e4*_f16)

# qdq_handwritten_stochastic_row(<file> NAME <symbol> TARGETS <target>... OPTIONS <of the compiler>...)
# What rounds stochastically in one pass: kernels/stochastic_row.h.
qdq_handwritten_stochastic_row(avx512/stochastic_row.cpp
  NAME qdq_stochastic_row_avx512
  TARGETS x86_avx512_bf16 x86_avx512
  OPTIONS -mavx512bw -mavx512dq -mavx512vl)
qdq_handwritten_stochastic_row(avx2/stochastic_row.cpp
  NAME qdq_stochastic_row_avx2
  TARGETS x86_avx2
  OPTIONS -mavx2 -mfma -mf16c)

# qdq_device_target(<name> HALIDE <features> INSTRUCTIONS <generators/instructions.h>... DEVICE <runtime/src/targets/device_backend.h>)
# Kernels for tensors on a device, beside whichever targets the processor has. PTX for capability 7.0 runs on every later
# GPU, whose driver compiles it.
qdq_device_target(cuda
  HALIDE cuda-cuda_capability_70
  INSTRUCTIONS ptx fma f16 rounding fast_subnormals shared_select
  DEVICE device_cuda)
qdq_device_target(opencl
  HALIDE opencl
  INSTRUCTIONS opencl fma rounding shared_select
  DEVICE device_opencl)

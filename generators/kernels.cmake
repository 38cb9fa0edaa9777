# The one list of targets, types and forms. The build, the dispatch table, the tests and the benchmarks follow it.

# qdq_target(<name> PROCESSOR <of CMAKE_SYSTEM_PROCESSOR> HALIDE <Halide target> INSTRUCTIONS <generators/instructions.h>
#            NEEDS <cpu_feature> [STREAM <runtime/src/streams.h>])
qdq_target(x86_avx512
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake
  INSTRUCTIONS avx2
  NEEDS cpu_avx512
  STREAM stream_avx512)
qdq_target(x86_avx2
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2
  INSTRUCTIONS avx2
  NEEDS cpu_avx2_fma_f16c
  STREAM stream_avx2)
qdq_target(x86_portable
  PROCESSOR x86_64
  HALIDE x86-64-linux-sse41
  INSTRUCTIONS sse41
  NEEDS cpu_sse41
  STREAM stream_sse2)
qdq_target(arm_fp16
  PROCESSOR aarch64
  HALIDE arm-64-linux-arm_fp16-armv82a
  INSTRUCTIONS neon
  NEEDS cpu_neon|cpu_fp16)
# Halide's feature lets it convert f16 by instructions that Armv8.0 has as well; nothing else is computed in f16. Tests
# run on an emulated Cortex-A53, which has no more.
qdq_target(arm_neon
  PROCESSOR aarch64
  HALIDE arm-64-linux-arm_fp16
  INSTRUCTIONS neon
  NEEDS cpu_neon)
qdq_target(riscv_rvv
  PROCESSOR riscv64
  HALIDE riscv-64-linux-rvv-vector_bits_128
  INSTRUCTIONS rvv
  NEEDS cpu_rvv128)

# qdq_device_target(<name> HALIDE <features> INSTRUCTIONS <generators/instructions.h> DEVICE <runtime/src/device.h>)
# Kernels for tensors on a device, beside whichever targets the processor has. PTX for capability 7.0 runs on every later
# GPU, whose driver compiles it.
qdq_device_target(cuda
  HALIDE cuda-cuda_capability_70
  INSTRUCTIONS ptx
  DEVICE device_cuda)
qdq_device_target(opencl
  HALIDE opencl
  INSTRUCTIONS opencl
  DEVICE device_opencl)

# qdq_type(<name> <Halide type of a buffer element> <qdq_dtype> [<block>])
# <block>: the elements that share an operand in the block form. Longer blocks repeat theirs; shorter ones take the column
# form. 32 is what formats have in common, but for nvfp4: f4e2m1 in blocks of 16.
qdq_type(f32 float32 QDQ_F32)
qdq_type(f16 float16 QDQ_F16)
qdq_type(bf16 bfloat16 QDQ_BF16)
qdq_type(i8 int8 QDQ_I8 32)
qdq_type(u8 uint8 QDQ_U8 32)
qdq_type(i16 int16 QDQ_I16 32)
qdq_type(u16 uint16 QDQ_U16 32)
qdq_type(i32 int32 QDQ_I32 32)
qdq_type(i4 uint8 QDQ_I4 32)
qdq_type(u4 uint8 QDQ_U4 32)
qdq_type(f8e4m3 uint8 QDQ_F8E4M3 32)
qdq_type(f8e5m2 uint8 QDQ_F8E5M2 32)
qdq_type(f8e4m3fnuz uint8 QDQ_F8E4M3FNUZ 32)
qdq_type(f8e5m2fnuz uint8 QDQ_F8E5M2FNUZ 32)
qdq_type(f4e2m1 uint8 QDQ_F4E2M1 16)

# Every pair of one of these and one of those has kernels in both directions and every form.
set(QDQ_FLOAT_TYPES f32 f16 bf16)
set(QDQ_STORED_TYPES i8 u8 i16 u16 i32 i4 u4 f8e4m3 f8e5m2 f8e4m3fnuz f8e5m2fnuz f4e2m1)
set(QDQ_FORMS row column block)
set(QDQ_DEVICE_FORMS group each strided)

# Element sizes, in bits, that a transposing call moves.
set(QDQ_TRANSPOSED_BITS 8 16 32)

# Changes of the order of packed codes.
set(QDQ_REPACKINGS swap_nibbles split_halves join_halves)

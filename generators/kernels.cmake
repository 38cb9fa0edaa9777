# The one list of targets, types and forms. The build, the dispatch table, the tests and the benchmarks follow it.

# qdq_target(<name> HALIDE <Halide target> NEEDS <cpu_feature> STREAM <stream_copy function> [PARAMS <generator params>])
qdq_target(x86_avx512
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake
  NEEDS cpu_avx512
  STREAM stream_copy_avx512)
qdq_target(x86_avx2
  HALIDE x86-64-linux-sse41-avx-f16c-fma-avx2
  NEEDS cpu_avx2_fma_f16c
  STREAM stream_copy_avx2)
qdq_target(x86_portable
  HALIDE x86-64-linux-sse41
  NEEDS cpu_sse41
  STREAM stream_copy_sse2
  PARAMS has_fma=false)

# qdq_type(<name> <Halide type> <qdq_dtype>)
qdq_type(f32 float32 QDQ_F32)
qdq_type(i8 int8 QDQ_I8)
qdq_type(u8 uint8 QDQ_U8)

# Every pair of one of these and one of those has kernels in both directions and every form.
set(QDQ_FLOAT_TYPES f32)
set(QDQ_STORED_TYPES i8 u8)
set(QDQ_FORMS row column block16 block32)

# Element sizes, in bits, that a transposing call moves.
set(QDQ_TRANSPOSED_BITS 8 16 32)

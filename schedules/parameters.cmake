# The one list of tuned parameters: what each means and its legal values. schedules/tuned/common.json gives their values,
# <target>.json those of one target, both also by kernel.

# qdq_parameter(<name> FOR <generator>... RANGE <least> <most> [POWER_OF_TWO] MEANING <text>)    a number
# qdq_parameter(<name> FOR <generator>... CHOICES <choice>... MEANING <text>)                    a name
# FOR: the kernels that it shapes, whose generators take it on their command line: quantize, dequantize, transpose, reduce,
# device, scales (of devices, too); or dispatch: how the dispatcher uses the kernels of a pair of types on a CPU target, which kernels/manifest.cmake's table
# then holds.
qdq_parameter(vector FOR quantize dequantize RANGE 4 64 POWER_OF_TWO
  MEANING "lanes of f32")
qdq_parameter(stored_vector FOR quantize dequantize RANGE 4 64 POWER_OF_TWO
  MEANING "elements of y that are stored at once where f32 are narrowed directly")
qdq_parameter(narrowing_vector FOR quantize RANGE 4 64 POWER_OF_TWO
  MEANING "lanes in which codes are computed that saturating instructions will narrow")
qdq_parameter(narrowing_lanes FOR quantize RANGE 4 8 POWER_OF_TWO
  MEANING "neighbours that stay side by side while saturating instructions narrow codes to 8 bits")
qdq_parameter(narrowing FOR quantize CHOICES direct saturating
  MEANING "how codes of up to 16 bits are narrowed: by conversions, or by instructions that saturate two registers into one")
qdq_parameter(value_stage FOR quantize CHOICES inlined registers
  MEANING "where x becomes f32: in each vector of codes, or before them, `vector` lanes at once (packed codes that narrow directly: always)")
qdq_parameter(broadcast_stage FOR quantize CHOICES inlined registers
  MEANING "block form, direct narrowing: whether operands are broadcast in registers before the codes that use them")
qdq_parameter(exact_division FOR quantize device CHOICES instruction fma
  MEANING "x / scale: the division instruction, or the reciprocal and two fused multiply-adds, proven equal (arithmetic.h)")
qdq_parameter(rounding_loops FOR quantize CHOICES joined apart
  MEANING "of roundings to one side and of the others than nearest even: one loop that computes both, which is less code, or two")
qdq_parameter(lane_holds FOR quantize dequantize CHOICES element pair
  MEANING "of f16 and bf16 with codes of 4 or 8 bits, in 32 bits: one element, or two neighbours, which meet there without shuffles")
qdq_parameter(decoding_vector FOR dequantize RANGE 8 64 POWER_OF_TWO
  MEANING "lanes in which codes of 8 bits become 16")
qdq_parameter(decoding FOR dequantize CHOICES arithmetic native table
  MEANING "float codes: shifted into an f32, converted as an f16 where the type has its layout, or looked up")
qdq_parameter(decoded_stage FOR dequantize CHOICES inlined registers
  MEANING "where codes of 8 bits become 16: in each vector of y, or once for a group")
qdq_parameter(packed_load FOR dequantize CHOICES bytes words
  MEANING "codes of 2 and 4 bits: from bytes, so that results interleave, or from words of 32 bits, which lanes shift each by its place")
qdq_parameter(unroll FOR quantize dequantize RANGE 1 16 POWER_OF_TWO
  MEANING "vectors of y in one iteration, as far as a group of 64 elements has them; of direct narrowing")
qdq_parameter(transpose_rows FOR transpose RANGE 4 8 POWER_OF_TWO
  MEANING "rows of y in a block of a transpose")
qdq_parameter(transpose_columns FOR transpose RANGE 4 16 POWER_OF_TWO
  MEANING "columns of y in such a block")
qdq_parameter(reduced_elements FOR reduce RANGE 16 128 POWER_OF_TWO
  MEANING "elements of a row, or columns, that are reduced at once")
qdq_parameter(threads FOR device scales RANGE 32 1024 POWER_OF_TWO
  MEANING "threads in a block of a launch")
qdq_parameter(group_threads FOR scales RANGE 2 32 POWER_OF_TWO
  MEANING "threads that reduce a group of few elements together")
qdq_parameter(thread_units FOR device RANGE 1 16 POWER_OF_TWO
  MEANING "units that a thread computes one after another")
qdq_parameter(unit_elements FOR device RANGE 4 32 POWER_OF_TWO
  MEANING "of a unit of the dense forms: what is loaded and stored together; a 32-bit word of codes is the least")
qdq_parameter(access_words FOR device scales RANGE 1 4 POWER_OF_TWO
  MEANING "32-bit words in one load or store of a thread")

qdq_parameter(nontemporal_bytes FOR dispatch RANGE 65536 1099511627776
  MEANING "of x and y together: larger results bypass the caches, if the target has such stores")
qdq_parameter(piece_bytes FOR dispatch RANGE 256 1024
  MEANING "of y in a piece that is computed in the L1 cache before it is stored, at most; a group of 64 f32 is the least")
qdq_parameter(piece_elements FOR dispatch RANGE 64 1024
  MEANING "of such a piece, at most")
qdq_parameter(prefetch_bytes FOR dispatch RANGE 0 65536
  MEANING "how far ahead of such a piece x is fetched")
qdq_parameter(fused_row FOR dispatch RANGE 0 512
  MEANING "elements of a row: shorter ones are computed end to end as one, where blocks repeat their operands")
qdq_parameter(fused_nontemporal_row FOR dispatch RANGE 0 512
  MEANING "the same where results bypass the caches")
qdq_parameter(fused_repeating_row FOR dispatch RANGE 0 1024
  MEANING "the same where every element repeats its operand")
qdq_parameter(part_elements FOR dispatch RANGE 1024 1073741824
  MEANING "that one thread takes at least: where waking another costs what it saves")
qdq_parameter(part_columns FOR dispatch RANGE 64 1048576 POWER_OF_TWO
  MEANING "a contiguous loop that is split over threads has parts of a multiple of so many elements")
qdq_parameter(divided_columns FOR dispatch RANGE 0 1048576
  MEANING "columns, divided by scales of their own, up to which results bypass the caches by way of staged pieces; more are computed in parts, which lie apart")
qdq_parameter(fetched_elements FOR dispatch RANGE 0 1024
  MEANING "of a kernel call past the caches, where rows of x are apart, during which as many of the next are fetched; less than a group of 64: hardware fetches them")

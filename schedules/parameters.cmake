# The one list of tuned numbers: what each means and its legal range. schedules/tuned/<target>.json gives their values, by
# target and, where a kernel is better off with others, by kernel.

# qdq_parameter(<name> FOR <generator>... RANGE <least> <most> [POWER_OF_TWO] MEANING <text>)
# FOR: the kernels that it shapes, whose generators take it on their command line: quantize, dequantize, transpose, device.
qdq_parameter(vector FOR quantize dequantize RANGE 4 64 POWER_OF_TWO
  MEANING "lanes of f32")
qdq_parameter(stored_vector FOR quantize dequantize RANGE 4 64 POWER_OF_TWO
  MEANING "elements of y that are stored at once where f32 are narrowed directly")
qdq_parameter(narrowing_vector FOR quantize RANGE 4 64 POWER_OF_TWO
  MEANING "lanes in which codes are computed that saturating instructions will narrow")
qdq_parameter(decoding_vector FOR dequantize RANGE 8 64 POWER_OF_TWO
  MEANING "lanes in which codes of 8 bits become 16")
qdq_parameter(transpose_rows FOR transpose RANGE 4 8 POWER_OF_TWO
  MEANING "rows of y in a block of a transpose")
qdq_parameter(threads FOR device RANGE 32 1024 POWER_OF_TWO
  MEANING "threads in a block of a launch")
qdq_parameter(access_words FOR device RANGE 1 4 POWER_OF_TWO
  MEANING "32-bit words in one load or store of a thread")

#include "cpu/lookup_avx512.h"

namespace qdq::runtime {

const result_lookup lookup_avx512 = {look_up<words>, look_up<floats>, nullptr};

}  // namespace qdq::runtime

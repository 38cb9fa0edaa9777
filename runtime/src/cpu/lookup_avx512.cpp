#include "cpu/lookup_avx512.h"

namespace qdq::runtime {

const result_lookup qdq_lookup_avx512 = {look_up<words<from_table>>,
                                         look_up<floats<from_table>>,
                                         nullptr,
                                         look_up_rounded_products<words, to_bf16>,
                                         look_up_rounded_products<words, to_f16>,
                                         look_up_float_products};

}  // namespace qdq::runtime

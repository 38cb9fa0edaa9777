#include "plan/stochastic.h"

#include "plan/draft.h"

#include <cinttypes>

namespace qdq::runtime {

qdq_status check_stochastic_rounding(const draft &d) {
    if (d.options.random_offset > UINT64_MAX - uint64_t(d.x_elements)) {
        return d.invalid("%s: options: random_offset %" PRIu64 " and x's %" PRId64 " elements are more than 2^64 - 1",
                         d.options.random_offset, d.x_elements);
    }
    const qdq_dtype codes = d.code_type().dtype;
    return d.is_on_device() || find_quantize(*d.op.target, QDQ_F32, codes)
               ? QDQ_OK
               : fail(QDQ_UNSUPPORTED,
                      "%s: options: rounding %d is stochastic, by way of quantize_f32_%s, which was not picked; %s "
                      "adds it",
                      d.given.function, int(QDQ_STOCHASTIC), type_of(codes).name, qdq_linked_by);
}

}  // namespace qdq::runtime

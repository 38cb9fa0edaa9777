#include "plan/stochastic.h"

#include "plan/draft.h"

#include <cinttypes>

namespace qdq::runtime {

namespace {

qdq_status unsupported(const draft &d, const char *why) {
    return fail(QDQ_UNSUPPORTED, "%s: options: rounding %d is stochastic; %s", d.given.function, int(QDQ_STOCHASTIC),
                why);
}

}  // namespace

qdq_status check_stochastic_rounding(const draft &d) {
    if (!d.given.may_be_stochastic) {
        return unsupported(d, "qdq_quantize and qdq_plan_quantize alone round so");
    }
    if (d.is_on_device()) {
        return unsupported(d, "tensors on the host alone are rounded so");
    }
    if (d.options.random_offset > UINT64_MAX - uint64_t(d.x_elements)) {
        return d.invalid("%s: options: random_offset %" PRIu64 " and x's %" PRId64 " elements are more than 2^64 - 1",
                         d.options.random_offset, d.x_elements);
    }
    const qdq_dtype codes = d.code_type().dtype;
    return find_quantize(*d.op.target, QDQ_F32, codes)
               ? QDQ_OK
               : fail(QDQ_UNSUPPORTED,
                      "%s: options: rounding %d is stochastic, by way of quantize_f32_%s, which was not picked; %s "
                      "adds it",
                      d.given.function, int(QDQ_STOCHASTIC), type_of(codes).name, qdq_linked_by);
}

}  // namespace qdq::runtime

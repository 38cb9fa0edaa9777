#include "cpu/transcoding.h"

#include "cpu/consecutive.h"
#include "cpu/region_runner.h"
#include "plan/stochastic.h"

namespace qdq::runtime {

namespace {

constexpr int64_t most_values = 32 * group;

struct transcoded_tensors {
    const transcoding &plans;
    const void *x;
    void *y;
};

void transcode_some(const consecutive_elements &all, int64_t begin, int64_t end, const void *context) {
    const transcoded_tensors &whole = *static_cast<const transcoded_tensors *>(context);
    alignas(64) float values[most_values];
    region_runner dequantize(whole.plans.dequantize), quantize(whole.plans.quantize, whole.plans.bypasses_caches);
    for (int64_t number = begin; number < end; number++) {
        interval region[most_dimensions];
        const int64_t first = all.set_region(number, region);
        void *const tensor = tensor_of(values, first);
        dequantize.run(region, whole.x, tensor);
        quantize.run(region, tensor, whole.y);
    }
}

}  // namespace

void transcode(transcoding &plans, const void *x, void *y) {
    if (plans.quantize.path == execution_path::stochastic) {
        consecutive_elements(plans.dequantize).choose_path(plans.dequantize);
        qdq_linked_stochastic_rounding->run(plans.quantize, x, y, &plans.dequantize);
        return;
    }
    const consecutive_elements all(plans.quantize, most_values);
    for (plan *p : {&plans.dequantize, &plans.quantize}) {
        all.choose_path(*p);
    }
    const transcoded_tensors whole{plans, x, y};
    all.run(transcode_some, &whole);
}

}  // namespace qdq::runtime

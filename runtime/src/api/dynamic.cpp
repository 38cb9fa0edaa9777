// The entry points of dynamic quantization. What they call is in objects of its own: programs that compute no scales
// link none of it.
#include "cpu/areas.h"
#include "cpu/float_environment.h"
#include "support/first_options.h"
#include "support/status.h"
#include "targets/device_scales.h"

#include <cstddef>
#include <cstring>

namespace runtime = qdq::runtime;

namespace {

qdq_status make(const runtime::dynamic_arguments &given, runtime::dynamic_plan &p) {
    const runtime::float_environment environment;  // 2^31 - 1, the largest of i32, becomes an f32
    if (const qdq_status status = runtime::make_dynamic_plan(given, p)) {
        return status;
    }
    runtime::prepare(p);
    return QDQ_OK;
}

qdq_status run(const char *function, const runtime::dynamic_plan &p, const runtime::dynamic_tensors &at, void *stream) {
    qdq_status status;
    if ((status = runtime::check_overlap(function, p, at)) || (status = runtime::check_given_global(function, p))) {
        return status;
    }
    if (p.is_on_device()) {
        const runtime::device_scales &by = runtime::find_device_scales(*p.quantize.op.target);
        return by.run(function, by, p, at, stream);
    }
    if (at.y && p.quantize.elements > 0) {
        runtime::quantize_dynamic(p, at);
    } else {
        runtime::compute_scales(p, at);
    }
    return QDQ_OK;
}

void *stream_of(const qdq_options *options) { return options ? options->stream : nullptr; }

}  // namespace

qdq_status qdq_compute_scales(const qdq_tensor *x, qdq_dtype codes, const qdq_tensor *scale,
                              const qdq_tensor *zero_point, const qdq_scale_options *how, const qdq_options *options) {
    const char *const function = "qdq_compute_scales";
    if (!x) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: x: NULL", function);
    }
    const qdq_device where{x->device.kind, x->device.id, 0};
    const qdq_tensor y{nullptr, codes, x->rank, x->shape, nullptr, where};
    runtime::dynamic_plan p;
    if (const qdq_status status =
            make({{function, runtime::operation::quantize, x, scale, zero_point, &y, options, false}, how}, p)) {
        return status;
    }
    return run(function, p, {x->data, scale->data, zero_point ? zero_point->data : nullptr, nullptr},
               stream_of(options));
}

qdq_status qdq_quantize_dynamic(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                                const qdq_tensor *y, const qdq_scale_options *how, const qdq_options *options) {
    const char *const function = "qdq_quantize_dynamic";
    runtime::dynamic_plan p;
    qdq_status status =
        make({{function, runtime::operation::quantize, x, scale, zero_point, y, options, false}, how}, p);
    if (!status) {
        status = runtime::check_y(function, p, y->data);
    }
    return status ? status
                  : run(function, p, {x->data, scale->data, zero_point ? zero_point->data : nullptr, y->data},
                        stream_of(options));
}

qdq_status qdq_plan_quantize_dynamic(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale,
                                     const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_scale_options *how,
                                     const qdq_options *options) {
    const char *const function = "qdq_plan_quantize_dynamic";
    if (!plan) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: NULL", function);
    }
    runtime::dynamic_plan p;
    if (const qdq_status status =
            make({{function, runtime::operation::quantize, x, scale, zero_point, y, options, false}, how}, p)) {
        return status;
    }
    std::memcpy(plan->opaque, &p, sizeof(p));
    return QDQ_OK;
}

// The same by the names of the first header that had them, whose options end after `least_scale`.
#undef qdq_compute_scales
#undef qdq_quantize_dynamic
#undef qdq_plan_quantize_dynamic

namespace {

using first_scale_options = runtime::first_fields<qdq_scale_options, offsetof(qdq_scale_options, last_clip_ratio)>;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] qdq_status qdq_compute_scales(const qdq_tensor *x, qdq_dtype codes,
                                                             const qdq_tensor *scale, const qdq_tensor *zero_point,
                                                             const qdq_scale_options *how, const qdq_options *options) {
    return qdq_compute_scales_2(x, codes, scale, zero_point, first_scale_options(how).get(), options);
}

[[gnu::visibility("default")]] qdq_status qdq_quantize_dynamic(const qdq_tensor *x, const qdq_tensor *scale,
                                                               const qdq_tensor *zero_point, const qdq_tensor *y,
                                                               const qdq_scale_options *how,
                                                               const qdq_options *options) {
    return qdq_quantize_dynamic_2(x, scale, zero_point, y, first_scale_options(how).get(), options);
}

[[gnu::visibility("default")]] qdq_status qdq_plan_quantize_dynamic(qdq_plan *plan, const qdq_tensor *x,
                                                                    const qdq_tensor *scale,
                                                                    const qdq_tensor *zero_point, const qdq_tensor *y,
                                                                    const qdq_scale_options *how,
                                                                    const qdq_options *options) {
    return qdq_plan_quantize_dynamic_2(plan, x, scale, zero_point, y, first_scale_options(how).get(), options);
}

}  // extern "C"

qdq_status qdq_run_dynamic(const qdq_plan *plan, const void *x, void *scale, void *zero_point, void *y, void *stream) {
    const char *const function = "qdq_run_dynamic";
    if (!plan) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: NULL", function);
    }
    const auto &p = *reinterpret_cast<const runtime::dynamic_plan *>(plan->opaque);
    if (p.quantize.made != runtime::dynamic_plan_mark) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: qdq_plan_quantize_dynamic has not made it", function);
    }
    if (stream && !p.is_on_device()) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: stream: target %s runs on the CPU and takes none", function,
                             p.quantize.op.target->name);
    }
    const qdq_status status = runtime::check_y(function, p, y);
    return status ? status : run(function, p, {x, scale, zero_point, y}, stream);
}

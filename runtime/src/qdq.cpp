// The entry points: validate, then run.
#include "qdq/qdq.h"

#include "device.h"
#include "execute.h"
#include "status.h"
#include "validate.h"

#include <cstring>

namespace {

qdq_status run_now(const qdq::arguments &given) {
    qdq::plan p;
    if (const qdq_status status = qdq::make_plan(given, p)) {
        return status;
    }
    if (p.elements == 0) {
        return QDQ_OK;
    }
    if (p.how == qdq::walk::device) {
        return qdq::run_on_device(given.function, p, given.x->data, given.y->data,
                                  given.options ? given.options->stream : nullptr);
    }
    qdq::execute(p, given.x->data, given.y->data);
    return QDQ_OK;
}

qdq_status plan_only(qdq_plan *out, const qdq::arguments &given) {
    if (!out) {
        return qdq::fail(QDQ_INVALID_ARGUMENT, "%s: plan: NULL", given.function);
    }
    qdq::plan p;
    if (const qdq_status status = qdq::make_plan(given, p)) {
        return status;
    }
    std::memcpy(out->opaque, &p, sizeof(p));
    return QDQ_OK;
}

}  // namespace

qdq_status qdq_quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                        const qdq_options *options) {
    return run_now({"qdq_quantize", qdq::operation::quantize, x, scale, zero_point, y, options, true});
}

qdq_status qdq_dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                          const qdq_tensor *y, const qdq_options *options) {
    return run_now({"qdq_dequantize", qdq::operation::dequantize, x, scale, zero_point, y, options, true});
}

qdq_status qdq_plan_quantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                             const qdq_tensor *y, const qdq_options *options) {
    return plan_only(plan, {"qdq_plan_quantize", qdq::operation::quantize, x, scale, zero_point, y, options, false});
}

qdq_status qdq_plan_dequantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale,
                               const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options) {
    return plan_only(plan,
                     {"qdq_plan_dequantize", qdq::operation::dequantize, x, scale, zero_point, y, options, false});
}

qdq_status qdq_run(const qdq_plan *opaque, const void *x, void *y, void *stream) {
    if (!opaque) {
        return qdq::fail(QDQ_INVALID_ARGUMENT, "qdq_run: plan: NULL");
    }
    const qdq::plan &p = *reinterpret_cast<const qdq::plan *>(opaque->opaque);
    if (p.made != qdq::plan_mark) {
        return qdq::fail(QDQ_INVALID_ARGUMENT, "qdq_run: plan: no qdq_plan_* call has made it");
    }
    if (p.elements == 0) {
        return QDQ_OK;
    }
    if (!x || !y) {
        return qdq::fail(QDQ_INVALID_ARGUMENT, "qdq_run: %s: NULL", x ? "y" : "x");
    }
    if (stream && p.how != qdq::walk::device) {
        return qdq::fail(QDQ_INVALID_ARGUMENT, "qdq_run: stream: target %s runs on the CPU and takes none", p.what.on->name);
    }
    if (const qdq_status status = qdq::check_overlap("qdq_run", p, x, y)) {
        return status;
    }
    if (p.how == qdq::walk::device) {
        return qdq::run_on_device("qdq_run", p, x, y, stream);
    }
    qdq::execute(p, x, y);
    return QDQ_OK;
}

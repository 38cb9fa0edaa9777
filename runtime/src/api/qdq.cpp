// The entry points: plan, then run.
#include "qdq/qdq.h"

#include "api/kept_calls.h"
#include "cpu/execute.h"
#include "plan/make_plan.h"
#include "plan/memory.h"
#include "support/first_options.h"
#include "support/status.h"
#include "targets/device_backend.h"

#include <cstddef>
#include <cstring>

namespace runtime = qdq::runtime;

namespace {

qdq_status make(const runtime::arguments &given, runtime::plan &p) {
    const qdq_status status = runtime::make_plan(given, p);
    if (status == QDQ_OK && p.path != runtime::execution_path::device && p.elements > 0) {
        runtime::prepare_direct_call(p);
    }
    return status;
}

qdq_status run(const char *function, const runtime::plan &p, const void *x, void *y, void *stream) {
    if (p.path == runtime::execution_path::device) {
        return p.op.target->device->run(function, p, x, y, stream);
    }
    runtime::execute(p, x, y);
    return QDQ_OK;
}

qdq_status run_now(const runtime::arguments &given) {
    if (runtime::run_kept(given)) {
        return QDQ_OK;
    }
    runtime::plan p;
    if (const qdq_status status = make(given, p); status != QDQ_OK || p.elements == 0) {
        return status;
    }
    runtime::keep(given, p);
    void *const stream = given.options ? given.options->stream : nullptr;
    return run(given.function, p, given.x->data, given.y->data, stream);
}

qdq_status plan_only(qdq_plan *out, const runtime::arguments &given) {
    if (!out) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: NULL", given.function);
    }
    runtime::plan p;
    if (const qdq_status status = make(given, p)) {
        return status;
    }
    std::memcpy(out->opaque, &p, sizeof(p));
    return QDQ_OK;
}

}  // namespace

// The functions of the header, by the symbols that it gives them.
qdq_status qdq_quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                        const qdq_options *options) {
    return run_now({"qdq_quantize", runtime::operation::quantize, x, scale, zero_point, y, options, true, true});
}

qdq_status qdq_dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                          const qdq_tensor *y, const qdq_options *options) {
    return run_now({"qdq_dequantize", runtime::operation::dequantize, x, scale, zero_point, y, options, true, true});
}

qdq_status qdq_plan_quantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                             const qdq_tensor *y, const qdq_options *options) {
    return plan_only(
        plan, {"qdq_plan_quantize", runtime::operation::quantize, x, scale, zero_point, y, options, false, true});
}

qdq_status qdq_plan_dequantize(qdq_plan *plan, const qdq_tensor *x, const qdq_tensor *scale,
                               const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options) {
    return plan_only(
        plan, {"qdq_plan_dequantize", runtime::operation::dequantize, x, scale, zero_point, y, options, false, true});
}

// The same by the names of earlier headers.
#undef qdq_quantize
#undef qdq_dequantize
#undef qdq_plan_quantize
#undef qdq_plan_dequantize

namespace {

// The first header's options end before `nan`.
using first_options = runtime::first_fields<qdq_options, offsetof(qdq_options, nan)>;

}  // namespace

extern "C" {

// The second header's options end before `scale_is_arranged`.
[[gnu::visibility("default")]] qdq_status qdq_quantize_2(const qdq_tensor *x, const qdq_tensor *scale,
                                                         const qdq_tensor *zero_point, const qdq_tensor *y,
                                                         const qdq_options *options) {
    return run_now({"qdq_quantize", runtime::operation::quantize, x, scale, zero_point, y, options, true});
}

[[gnu::visibility("default")]] qdq_status qdq_dequantize_2(const qdq_tensor *x, const qdq_tensor *scale,
                                                           const qdq_tensor *zero_point, const qdq_tensor *y,
                                                           const qdq_options *options) {
    return run_now({"qdq_dequantize", runtime::operation::dequantize, x, scale, zero_point, y, options, true});
}

[[gnu::visibility("default")]] qdq_status qdq_plan_quantize_2(qdq_plan *plan, const qdq_tensor *x,
                                                              const qdq_tensor *scale, const qdq_tensor *zero_point,
                                                              const qdq_tensor *y, const qdq_options *options) {
    return plan_only(plan,
                     {"qdq_plan_quantize", runtime::operation::quantize, x, scale, zero_point, y, options, false});
}

[[gnu::visibility("default")]] qdq_status qdq_plan_dequantize_2(qdq_plan *plan, const qdq_tensor *x,
                                                                const qdq_tensor *scale, const qdq_tensor *zero_point,
                                                                const qdq_tensor *y, const qdq_options *options) {
    return plan_only(plan,
                     {"qdq_plan_dequantize", runtime::operation::dequantize, x, scale, zero_point, y, options, false});
}

[[gnu::visibility("default")]] qdq_status qdq_quantize(const qdq_tensor *x, const qdq_tensor *scale,
                                                       const qdq_tensor *zero_point, const qdq_tensor *y,
                                                       const qdq_options *options) {
    return qdq_quantize_2(x, scale, zero_point, y, first_options(options).get());
}

[[gnu::visibility("default")]] qdq_status qdq_dequantize(const qdq_tensor *x, const qdq_tensor *scale,
                                                         const qdq_tensor *zero_point, const qdq_tensor *y,
                                                         const qdq_options *options) {
    return qdq_dequantize_2(x, scale, zero_point, y, first_options(options).get());
}

[[gnu::visibility("default")]] qdq_status qdq_plan_quantize(qdq_plan *plan, const qdq_tensor *x,
                                                            const qdq_tensor *scale, const qdq_tensor *zero_point,
                                                            const qdq_tensor *y, const qdq_options *options) {
    return qdq_plan_quantize_2(plan, x, scale, zero_point, y, first_options(options).get());
}

[[gnu::visibility("default")]] qdq_status qdq_plan_dequantize(qdq_plan *plan, const qdq_tensor *x,
                                                              const qdq_tensor *scale, const qdq_tensor *zero_point,
                                                              const qdq_tensor *y, const qdq_options *options) {
    return qdq_plan_dequantize_2(plan, x, scale, zero_point, y, first_options(options).get());
}

}  // extern "C"

qdq_status qdq_run(const qdq_plan *opaque, const void *x, void *y, void *stream) {
    if (!opaque) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "qdq_run: plan: NULL");
    }
    const runtime::plan &p = *reinterpret_cast<const runtime::plan *>(opaque->opaque);
    if (p.made != runtime::plan_mark) {
        return runtime::fail(QDQ_INVALID_ARGUMENT,
                             "qdq_run: plan: neither qdq_plan_quantize nor qdq_plan_dequantize has made it");
    }
    if (p.elements == 0) {
        return QDQ_OK;
    }
    if (!x || !y) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "qdq_run: %s: NULL", x ? "y" : "x");
    }
    if (stream && p.path != runtime::execution_path::device) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "qdq_run: stream: target %s runs on the CPU and takes none",
                             p.op.target->name);
    }
    if (const qdq_status status = runtime::check_overlap("qdq_run", p, x, y)) {
        return status;
    }
    return run("qdq_run", p, x, y, stream);
}

#define QDQ_TEXT(macro) QDQ_TEXT_OF(macro)
#define QDQ_TEXT_OF(value) #value

const char *qdq_version() {
    return QDQ_TEXT(QDQ_VERSION_MAJOR) "." QDQ_TEXT(QDQ_VERSION_MINOR) "." QDQ_TEXT(QDQ_VERSION_PATCH);
}

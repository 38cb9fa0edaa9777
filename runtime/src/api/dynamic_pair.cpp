// The entry points of dynamic quantization in two ways at once. What they call is in objects of its own.
#include "cpu/areas.h"
#include "cpu/float_environment.h"
#include "support/status.h"
#include "targets/device_scales.h"

#include <cstring>

namespace runtime = qdq::runtime;

namespace {

// A function as messages have it, with the output that they are about.
struct names {
    const char *function, *first, *second;
};

constexpr names calling{"qdq_quantize_dynamic_pair", "qdq_quantize_dynamic_pair: first",
                        "qdq_quantize_dynamic_pair: second"};
constexpr names planning{"qdq_plan_quantize_dynamic_pair", "qdq_plan_quantize_dynamic_pair: first",
                         "qdq_plan_quantize_dynamic_pair: second"};
constexpr names running{"qdq_run_dynamic_pair", "qdq_run_dynamic_pair: first", "qdq_run_dynamic_pair: second"};

qdq_status make_plan(const char *name, const qdq_tensor *x, const qdq_dynamic_output *to, bool shares_areas,
                     runtime::dynamic_plan &p) {
    const runtime::float_environment environment;
    if (!to) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: NULL", name);
    }
    return runtime::make_dynamic_plan(
        {{name, runtime::operation::quantize, x, to->scale, to->zero_point, to->y, to->options, false},
         to->how,
         shares_areas},
        p);
}

qdq_status make_both(const names &named, const qdq_tensor *x, const qdq_dynamic_output *first,
                     const qdq_dynamic_output *second, bool share_areas, runtime::dynamic_plan &p,
                     runtime::dynamic_plan &q) {
    const qdq_status status = make_plan(named.first, x, first, share_areas, p);
    return status ? status : make_plan(named.second, x, second, share_areas, q);
}

// Plans that share areas have their dimensions in one order. It is not the fastest of either where there is nothing to
// share: f16 [14, 16, 16, 32] to i32 and i16 with a scale each takes 1.7 times as long so (Xeon).
qdq_status make_plans(const names &named, const qdq_tensor *x, const qdq_dynamic_output *first,
                      const qdq_dynamic_output *second, runtime::dynamic_plan &p, runtime::dynamic_plan &q) {
    if (!x) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: x: NULL", named.function);
    }
    qdq_status status = make_both(named, x, first, second, true, p, q);
    if (!status && !p.is_on_device() && !runtime::shares_boxes(p, q)) {
        status = make_both(named, x, first, second, false, p, q);
    }
    if (!status) {
        runtime::prepare(p);
        runtime::prepare(q);
    }
    return status;
}

qdq_status check_run(const char *name, const runtime::dynamic_plan &p, const runtime::dynamic_tensors &at) {
    qdq_status s;
    if ((s = runtime::check_y(name, p, at.y)) || (s = runtime::check_overlap(name, p, at))) {
        return s;
    }
    return runtime::check_given_global(name, p);
}

qdq_status run(const names &named, const runtime::dynamic_pair &pair, void *stream) {
    qdq_status s;
    if ((s = check_run(named.first, pair.first, pair.to_first)) ||
        (s = check_run(named.second, pair.second, pair.to_second)) ||
        (s = runtime::check_overlap(named.function, pair))) {
        return s;
    }
    if (pair.first.is_on_device()) {
        const runtime::device_scales &by = runtime::find_device_scales(*pair.first.quantize.op.target);
        s = by.run(named.first, by, pair.first, pair.to_first, stream);
        return s ? s : by.run(named.second, by, pair.second, pair.to_second, stream);
    }
    if (pair.first.quantize.elements > 0) {
        runtime::quantize_dynamic_pair(pair);
    } else {
        runtime::compute_scales(pair.first, pair.to_first);
        runtime::compute_scales(pair.second, pair.to_second);
    }
    return QDQ_OK;
}

runtime::dynamic_tensors data_of(const qdq_tensor &x, const qdq_dynamic_output &to) {
    return {x.data, to.scale->data, to.zero_point ? to.zero_point->data : nullptr, to.y->data};
}

qdq_status check_plan(const char *name, const qdq_plan *plan, void *stream) {
    if (!plan) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: NULL", name);
    }
    const auto &p = *reinterpret_cast<const runtime::dynamic_plan *>(plan->opaque);
    if (p.quantize.made != runtime::dynamic_plan_mark) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: no call that quantizes dynamically has made it", name);
    }
    return stream && !p.is_on_device()
               ? runtime::fail(QDQ_INVALID_ARGUMENT, "%s: stream: target %s runs on the CPU and takes none", name,
                               p.quantize.op.target->name)
               : QDQ_OK;
}

bool are_of_one_x(const runtime::dynamic_plan &p, const runtime::dynamic_plan &q) {
    const runtime::plan &a = p.quantize, &b = q.quantize;
    const bool has_same_bytes = a.elements == 0 || (a.x_first == b.x_first && a.x_end == b.x_end);
    return a.elements == b.elements && p.how.x_type == q.how.x_type && a.op.target->device == b.op.target->device &&
           has_same_bytes;
}

}  // namespace

qdq_status qdq_quantize_dynamic_pair(const qdq_tensor *x, const qdq_dynamic_output *first,
                                     const qdq_dynamic_output *second) {
    runtime::dynamic_plan p, q;
    const qdq_status status = make_plans(calling, x, first, second, p, q);
    return status ? status
                  : run(calling, {p, q, data_of(*x, *first), data_of(*x, *second)},
                        first->options ? first->options->stream : nullptr);
}

qdq_status qdq_plan_quantize_dynamic_pair(qdq_plan *first_plan, qdq_plan *second_plan, const qdq_tensor *x,
                                          const qdq_dynamic_output *first, const qdq_dynamic_output *second) {
    if (!first_plan || !second_plan) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: NULL", first_plan ? planning.second : planning.first);
    }
    runtime::dynamic_plan p, q;
    if (const qdq_status status = make_plans(planning, x, first, second, p, q)) {
        return status;
    }
    std::memcpy(first_plan->opaque, &p, sizeof(p));
    std::memcpy(second_plan->opaque, &q, sizeof(q));
    return QDQ_OK;
}

qdq_status qdq_run_dynamic_pair(const qdq_plan *first_plan, const qdq_plan *second_plan, const void *x,
                                void *first_scale, void *first_zero_point, void *first_y, void *second_scale,
                                void *second_zero_point, void *second_y, void *stream) {
    qdq_status s;
    if ((s = check_plan(running.first, first_plan, stream)) || (s = check_plan(running.second, second_plan, stream))) {
        return s;
    }
    const auto &p = *reinterpret_cast<const runtime::dynamic_plan *>(first_plan->opaque);
    const auto &q = *reinterpret_cast<const runtime::dynamic_plan *>(second_plan->opaque);
    if (!are_of_one_x(p, q)) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: plan: it is of another x than the first", running.second);
    }
    return run(running,
               {p, q, {x, first_scale, first_zero_point, first_y}, {x, second_scale, second_zero_point, second_y}},
               stream);
}

// The entry point of transcoding. What it calls is in objects of its own: programs that do not transcode link none of
// it.
#include "cpu/transcoding.h"
#include "plan/draft.h"
#include "plan/memory.h"

namespace runtime = qdq::runtime;

namespace {

qdq_status refuse_dense(const char *function, const runtime::plan &p) {
    return p.elements > 0 && p.op.packing == QDQ_DENSE
               ? runtime::fail(QDQ_UNSUPPORTED, "%s: options: codes of packing %d are not transcoded", function,
                               int(QDQ_DENSE))
               : QDQ_OK;
}

qdq_status refuse_device(const char *function, const runtime::plan &p) {
    return p.path == runtime::execution_path::device
               ? runtime::fail(QDQ_UNSUPPORTED,
                               "%s: x: it is on a device, and tensors on the host alone are transcoded", function)
               : QDQ_OK;
}

// The memory of y may be that of no input.
qdq_status check_inputs(const char *function, const runtime::transcoding &plans, const qdq_tensor &x,
                        const qdq_tensor &x_scale, const qdq_tensor *x_zero_point, const qdq_tensor &y) {
    const runtime::target &on = *plans.quantize.op.target;
    const struct {
        const char *name;
        const qdq_tensor *tensor;
    } inputs[] = {{"x", &x}, {"x's scale", &x_scale}, {"x's zero point", x_zero_point}};
    runtime::place of_y, of_input;
    if (!runtime::locate(on, y.data, {plans.quantize.y_first, plans.quantize.y_end}, 0, of_y)) {
        return runtime::out_of_reach(function, on, "y");
    }
    for (const auto &[name, tensor] : inputs) {
        if (!tensor) {
            continue;
        }
        int64_t strides[runtime::most_dimensions];
        runtime::span bytes;
        runtime::element_strides(*tensor, strides);
        runtime::touched(*tensor, strides, bytes);  // as planning has found
        if (!runtime::locate(on, tensor->data, bytes, 0, of_input)) {
            return runtime::out_of_reach(function, on, name);
        }
        if (of_y.overlaps(of_input)) {
            return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: y: it overlaps %s", function, name);
        }
    }
    return QDQ_OK;
}

// Strides of a dense tensor whose elements follow one another as a valid output's do in memory.
void dense_strides_as(const qdq_tensor &y, int64_t *strides) {
    int64_t of_y[runtime::most_dimensions];
    runtime::element_strides(y, of_y);
    for (int d = 0; d < y.rank; d++) {
        strides[d] = 1;
        for (int inner = 0; inner < y.rank; inner++) {
            const uint64_t own = runtime::distance_of(of_y[d]), other = runtime::distance_of(of_y[inner]);
            strides[d] *= other < own || (other == own && inner > d) ? y.shape[inner] : 1;
        }
    }
}

}  // namespace

qdq_status qdq_transcode(const qdq_tensor *x, const qdq_tensor *x_scale, const qdq_tensor *x_zero_point,
                         const qdq_options *x_options, const qdq_tensor *y, const qdq_tensor *y_scale,
                         const qdq_tensor *y_zero_point, const qdq_options *y_options) {
    const char *const function = "qdq_transcode", *const of_x = "qdq_transcode, dequantizing x",
                      *const of_y = "qdq_transcode, quantizing y";
    if (!x || !y) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: %s: NULL", function, x ? "y" : "x");
    }
    qdq_tensor values{nullptr, QDQ_F32, x->rank, x->shape, nullptr, x->device};
    const runtime::arguments dequantizing{
        of_x, runtime::operation::dequantize, x, x_scale, x_zero_point, &values, x_options, false};
    runtime::transcoding plans;
    const auto make_plans = [&] {
        bool values_bypass_caches;  // they do not: they are read at once
        qdq_status status = runtime::make_plan_of_regions(dequantizing, plans.dequantize, &values_bypass_caches);
        if (!status && !(status = refuse_device(function, plans.dequantize))) {
            status = refuse_dense(of_x, plans.dequantize);
        }
        if (!status) {
            status = runtime::make_plan_of_regions(
                {of_y, runtime::operation::quantize, &values, y_scale, y_zero_point, y, y_options, false},
                plans.quantize, &plans.bypasses_caches);
        }
        return status ? status : refuse_dense(of_y, plans.quantize);
    };
    qdq_status s = make_plans();
    if (s || plans.quantize.elements == 0) {
        return s;
    }
    int64_t strides[runtime::most_dimensions];
    if (plans.quantize.path == runtime::execution_path::stochastic) {  // which counts elements as the caller has them
        s = runtime::check_call(dequantizing, plans.dequantize);
        plans.dequantize.op.nontemporal = false;
        set_regions(plans.dequantize, runtime::merge_order::as_given);
    } else if (y->strides && !plans.dequantize.op.packs() && !plans.quantize.op.packs()) {
        dense_strides_as(*y, strides);
        values.strides = strides;
        s = make_plans();
    }
    if (s) {
        return s;
    }
    if (!x->data || !y->data) {
        return runtime::fail(QDQ_INVALID_ARGUMENT, "%s: %s: data is NULL", function, x->data ? "y" : "x");
    }
    if ((s = check_inputs(function, plans, *x, *x_scale, x_zero_point, *y))) {
        return s;
    }
    runtime::transcode(plans, x->data, y->data);
    return QDQ_OK;
}

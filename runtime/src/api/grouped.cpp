// The entry points of static calls whose rows are in groups. What they call is in objects of its own.
#include "cpu/execute.h"
#include "cpu/row_groups.h"
#include "support/status.h"

namespace runtime = qdq::runtime;

namespace {

// Every group's plan, before any runs: what is wrong of the last one writes nothing either. A float format's zero
// points are looked at, so each counts.
qdq_status check_each_group(const runtime::row_groups &groups) {
    runtime::met_rows met;
    for (int64_t g = 0; g < groups.count; g++) {
        if (!met.is_new(groups.rows(g)) && !groups.whole.zero_point) {
            continue;
        }
        const runtime::group_name name(groups, g);
        runtime::group_call call(groups, g);
        call.given.function = name.text;
        runtime::plan p;
        if (const qdq_status status = runtime::make_plan(call.given, p)) {
            return status;
        }
    }
    return QDQ_OK;
}

void run_group(int64_t group, const void *context) {
    const runtime::row_groups &groups = *static_cast<const runtime::row_groups *>(context);
    if (groups.rows(group) == 0) {
        return;
    }
    const runtime::group_call call(groups, group);
    runtime::plan p;
    if (runtime::make_plan(call.given, p) == QDQ_OK && p.elements > 0) {  // as it was before
        runtime::prepare_direct_call(p);
        runtime::execute(p, call.x.data, call.y.data);
    }
}

qdq_status check_storage(const runtime::arguments &given) {
    return runtime::tells_storage(given.options)
               ? runtime::fail(QDQ_UNSUPPORTED, "%s: options: %s: it is of a call without groups", given.function,
                               given.options->scale_is_arranged ? "scale_is_arranged" : "global_scale")
               : QDQ_OK;
}

qdq_status run_grouped(const runtime::row_groups &groups) {
    qdq_status s;
    if ((s = runtime::check_groups(groups)) || (s = check_storage(groups.whole))) {
        return s;
    }
    const runtime::ungrouped_call of_first(groups, false);
    runtime::plan of_all;
    if ((s = runtime::make_plan(of_first.given, of_all)) || (s = runtime::check_memory(groups, of_all, false)) ||
        (s = check_each_group(groups))) {
        return s;
    }
    runtime::run_groups(groups, of_all, run_group, &groups);
    return QDQ_OK;
}

}  // namespace

qdq_status qdq_quantize_grouped(const qdq_tensor *x, const int64_t *offsets, int64_t groups, const qdq_tensor *scale,
                                const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options) {
    return run_grouped({{"qdq_quantize_grouped", runtime::operation::quantize, x, scale, zero_point, y, options, true},
                        offsets,
                        groups});
}

qdq_status qdq_dequantize_grouped(const qdq_tensor *x, const int64_t *offsets, int64_t groups, const qdq_tensor *scale,
                                  const qdq_tensor *zero_point, const qdq_tensor *y, const qdq_options *options) {
    return run_grouped(
        {{"qdq_dequantize_grouped", runtime::operation::dequantize, x, scale, zero_point, y, options, true},
         offsets,
         groups});
}

// The entry point of dynamic calls whose rows are in groups. What it calls is in objects of its own.
#include "cpu/areas.h"
#include "cpu/float_environment.h"
#include "cpu/row_groups.h"
#include "support/status.h"

#include <cstring>

namespace runtime = qdq::runtime;

namespace {

struct dynamic_groups {
    runtime::row_groups rows;
    const qdq_scale_options *how;
};

qdq_status make(const runtime::arguments &given, const qdq_scale_options *how, runtime::dynamic_plan &p) {
    const runtime::float_environment environment;
    return runtime::make_dynamic_plan({given, how}, p);
}

// What is one for a whole call.
qdq_status check_how(const dynamic_groups &groups) {
    qdq_scale_options how{};
    if (groups.how) {
        std::memcpy(&how, groups.how, sizeof(how));
    }
    const char *const name = how.diagnostics ? "diagnostics" : how.global_sense != 0 ? "global_scale" : nullptr;
    return name ? runtime::fail(QDQ_UNSUPPORTED, "%s: how: %s: it is of a call without groups",
                                groups.rows.whole.function, name)
                : QDQ_OK;
}

qdq_status check_each_group(const dynamic_groups &groups) {
    runtime::met_rows met;
    for (int64_t g = 0; g < groups.rows.count; g++) {
        if (!met.is_new(groups.rows.rows(g))) {
            continue;
        }
        const runtime::group_name name(groups.rows, g);
        runtime::group_call call(groups.rows, g);
        call.given.function = name.text;
        runtime::dynamic_plan p;
        if (const qdq_status status = make(call.given, groups.how, p)) {
            return status;
        }
    }
    return QDQ_OK;
}

void run_group(int64_t group, const void *context) {
    const dynamic_groups &groups = *static_cast<const dynamic_groups *>(context);
    const runtime::group_call call(groups.rows, group);
    runtime::dynamic_plan p;
    if (make(call.given, groups.how, p) != QDQ_OK) {
        return;  // it was made before
    }
    const runtime::dynamic_tensors at{call.x.data, call.scale.data, call.zero_point.data, call.y.data};
    if (p.quantize.elements > 0) {
        runtime::prepare(p);
        runtime::quantize_dynamic(p, at);
    } else {
        runtime::compute_scales(p, at);
    }
}

}  // namespace

qdq_status qdq_quantize_dynamic_grouped(const qdq_tensor *x, const int64_t *offsets, int64_t groups,
                                        const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                                        const qdq_scale_options *how, const qdq_options *options) {
    const dynamic_groups all{
        {{"qdq_quantize_dynamic_grouped", runtime::operation::quantize, x, scale, zero_point, y, options, true},
         offsets,
         groups},
        how};
    qdq_status s;
    if ((s = runtime::check_groups(all.rows)) || (s = check_how(all))) {
        return s;
    }
    const runtime::ungrouped_call of_first(all.rows, true);
    runtime::dynamic_plan of_all;
    if ((s = make(of_first.given, how, of_all)) || (s = runtime::check_memory(all.rows, of_all.quantize, true)) ||
        (s = check_each_group(all))) {
        return s;
    }
    runtime::run_groups(all.rows, of_all.quantize, run_group, &all);
    return QDQ_OK;
}

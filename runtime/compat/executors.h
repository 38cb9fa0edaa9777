// Executors by number. A pointer that a program holds is the number of a slot and of its use: one whose executor has
// gone, or that never was one, is told without a look at what it points to.
#pragma once

#include "tensor.h"

#include <qdq/compat/aclnn.h>
#include <qdq/qdq.h>

namespace qdq::compat {

// A call that was checked. It refers to its tensors, as CANN's does.
struct executor {
    const operation *op;
    operands of;
    qdq_options options;  // those of "acl", until the function sets others
    qdq_options profile;  // the same for every executor, filled in by the first of a slot
    bool has_profile;
    qdq_scale_options how;     // of scales that are computed
    int32_t along;             // the dimension that something else varies along
    ascend::float4_mode mode;  // of aclnnDynamicMxQuant
    uint64_t workspace_size;   // what the first phase gave
    // Of a repeatable one, which makes the plan on its first run at its present addresses. On its own, as it takes
    // 1.5 KiB.
    qdq_plan *plan;
    bool planned;
    const void *planned_workspace;
};

// One that was released, or is new, and its number; NULL when memory is short. 64 at a time take none.
executor *acquire_executor(aclOpExecutor *&number);
executor *find_executor(const aclOpExecutor *number);  // NULL where there is none
void release_executor(executor &last_use);

// What the first phase of a function ends with, once its arguments keep the rules: the executor, with options of "acl",
// and its size; or NULL and a message.
executor *make_executor(const operation &op, const operands &of, uint64_t workspace, uint64_t *workspace_size,
                        aclOpExecutor **number);

// The second phase.
aclnnStatus run(const operation &op, void *workspace, uint64_t workspace_size, const aclOpExecutor *number);

// What a call of qdq came to, in the function's terms. `names` has qdq's arguments in the order of argument_names.
struct qdq_names {
    const char *x, *scale, *zero_point, *y;
};
aclnnStatus from_qdq(const operation &op, const qdq_names &names, qdq_status status);

// Calls make(plan) where the executor's plan is not of these addresses. For a repeatable executor.
template<typename Make> aclnnStatus keep_plan(executor &of, const void *workspace, Make &&make) {
    if (!of.planned || of.planned_workspace != workspace) {
        if (const aclnnStatus status = make(of.plan)) {
            return status;
        }
        of.planned = true;
        of.planned_workspace = workspace;
    }
    return ACLNN_SUCCESS;
}

}  // namespace qdq::compat

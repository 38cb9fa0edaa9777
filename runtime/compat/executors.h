// Executors by number. A pointer that a program holds is the number of a slot and of its use: one whose executor has
// gone, or that never was one, is told without a look at what it points to.
#pragma once

#include <qdq/compat/aclnn.h>
#include <qdq/qdq.h>

namespace qdq::compat {

// It refers to its tensors, as CANN's does.
struct executor {
    const aclTensor *x, *scales, *zero_points, *out;
    qdq_options options;  // but for the axis those of every executor, filled in by the first of a slot
    bool has_options;
    // Of a repeatable one, which makes the plan on its first run at its present addresses. On its own, as it takes
    // 1.5 KiB.
    qdq_plan *plan;
    bool planned;
};

// One that was released, or is new, and its number; NULL when memory is short. 64 at a time take none.
executor *acquire_executor(aclOpExecutor *&number);
executor *find_executor(const aclOpExecutor *number);  // NULL where there is none
void release_executor(executor &last_use);

}  // namespace qdq::compat

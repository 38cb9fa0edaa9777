// Runs a plan: cuts its loop nest into planes, planes into chunks whose operands fit a buffer, and chunks into tiles
// where data must be moved before or after a kernel.
#pragma once

#include "problem.h"

namespace qdq::runtime {

// Completes a plan whose call and loops are known.
void prepare(plan &p);

void execute(const plan &p, const void *x, void *y);

}  // namespace qdq::runtime

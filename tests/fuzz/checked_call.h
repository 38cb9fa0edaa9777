// A call in guarded memory, on two targets, at once and by a plan, against the oracle. What differs ends the process,
// as fuzzers want it.
#pragma once

#include "api/call.h"
#include "support/choices.h"

namespace fuzz {

using api_test::dimensions;
using api_test::tensor_memory;

// Prints why, with qdq's own last message, and ends the process, unless `holds`.
void require(bool holds, const char *what);

struct operands {
    api_test::direction way;
    const tensor_memory &x, &scale;
    const tensor_memory *zero_point;
    const tensor_memory &y;
    const qdq_options &options;
};

// `from` decides where in the guarded memory operands are, on which targets and how many threads the call runs.
void check_call(const operands &given, test_support::choices &from);

}  // namespace fuzz

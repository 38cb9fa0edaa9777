// What a benchmark computes, and on what.
#pragma once

#include "baselines.h"
#include "types_in_role.h"

#include <qdq/qdq.h>

#include <cstdint>
#include <string>

namespace bench {

using baselines::granularity;
using baselines::operation;

struct extent {
    int64_t rows, columns;
    int64_t elements() const { return rows * columns; }
};
// Of any problem; set before the first input is made.
inline int64_t most_elements = int64_t{64} << 20;

// What one benchmark computes, apart from how.
struct problem {
    operation op;
    element_type x, y;
    granularity of_scale;
    const char *granularity_name;
    qdq_scale_mode mode;
    extent size;
    bool zero_point = false;  // of y's type, for the whole tensor

    std::string row() const {
        const std::string kernel = op == operation::quantize ? "quantize_" : "dequantize_";
        const std::string scaling = op == operation::dequantize ? "multiply"
                                    : mode == QDQ_DIVIDE        ? "divide"
                                                                : "multiply";
        return kernel + x.name + "_" + y.name + "/" + granularity_name + "/" + scaling + (zero_point ? "_zp" : "");
    }
    int64_t bytes() const { return size.elements() * (x.bits + y.bits) / 8; }
};

// Memory for the whole run. An input is made once for each type, at the first use; `output` has room for any y.
const void *input(const element_type &type);
void *output();

// Near 1/32: codes of 8 bits are used well and none saturates often.
const float *scales();

bool solves(const baselines::loop &loop, const problem &what);
baselines::operands operands_of(const problem &what, void *y);

// The plan of a problem by a library's qdq_plan_quantize or qdq_plan_dequantize, on the target that is forced there.
using planner = decltype(&qdq_plan_quantize);
qdq_status prepare(planner by, qdq_plan &plan, const problem &what);

}  // namespace bench

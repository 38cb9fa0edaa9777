// A plan whose scales and zero points are computed of x: a plan of quantize, and what computes its operands.
#pragma once

#include "plan/make_plan.h"
#include "plan/memory.h"
#include "targets/reduction_table.h"

namespace qdq::runtime {

// A rule with all that it needs to know about codes and operands.
struct scale_computation {
    qdq_scale_rule rule;
    float clip_ratio, least_scale;
    qdq_global_sense global_sense;
    float global;              // the tensor's own scale, of a run
    float largest;             // L of qdq_scale_rule
    int32_t largest_exponent;  // e there
    int32_t mantissa_bits;     // of y's values, for QDQ_SCALE_POWER_EVEN
    int32_t lowest, highest;   // integer codes
    qdq_dtype x_type, scale_type, zero_point_type;
};

// A reduction that is one call of the kernel of rows, of as many as there are groups. No columns: it is not one.
struct reduction_call {
    int32_t columns, rows, pitch;
};

// What the clip ratio is searched in.
struct clip_candidates {
    float first, last;
    int32_t count;  // 1: nothing is searched

    float ratio(int32_t i) const {
        return count == 1 ? first : first + (last - first) * (static_cast<float>(i) / static_cast<float>(count - 1));
    }
};

// The tensor's own scale: where it is, and the largest product of a scale and a value that it is computed of; 0: it is
// given.
struct global_scale {
    float *at;
    float largest;
};

constexpr uint64_t dynamic_plan_mark = 0x32706c616e647171;

// What an opaque qdq_plan holds. The addresses of operands are those of a run.
struct dynamic_plan {
    plan quantize;
    scale_computation how;
    clip_candidates candidates;
    global_scale global;
    qdq_diagnostics *diagnostics;          // NULL: not asked for
    const dequantize_row *decodes;         // codes to f32, where candidates are compared or diagnostics asked for
    const reductions_of_size *reductions;  // NULL on a device
    int64_t groups;                        // that have a scale, elements or not
    bool has_zero_point;
    bool codes_have_areas;  // in bytes of their own, whatever other elements are
    // Areas do as asked alone: [4096, 4096] f32 to i8 by rows takes 5.0 ms past the caches, 4.1 through them (Zen 4).
    bool bypasses_caches;
    span scale, zero_point;  // bytes relative to their data
    reduction_call direct;   // the whole reduction, where it is one

    bool is_on_device() const { return quantize.path == execution_path::device; }
};
static_assert(std::is_trivially_copyable_v<dynamic_plan>);
static_assert(sizeof(dynamic_plan) <= sizeof(qdq_plan));

struct dynamic_arguments {
    arguments quantize;  // data is not looked at
    const qdq_scale_options *how;
    bool shares_areas = false;  // with another plan of the same x, where its codes are not diagnosed
};

qdq_status make_dynamic_plan(const dynamic_arguments &given, dynamic_plan &result);

class diagnosed_elements;

// The addresses of a run.
struct dynamic_tensors {
    const void *x;
    void *scale, *zero_point, *y;             // NULL: none
    diagnosed_elements *diagnosed = nullptr;  // NULL: diagnostics are not asked for
    float global = 1;                         // the tensor's own scale
};

// The rule about y where codes are wanted.
qdq_status check_y(const char *function, const dynamic_plan &p, const void *y);

// The rules about their memory.
qdq_status check_overlap(const char *function, const dynamic_plan &p, const dynamic_tensors &at);

// Two plans of one x and where their results go.
struct dynamic_pair {
    const dynamic_plan &first, &second;
    dynamic_tensors to_first, to_second;
};

// The rules about the memory of one and the other: what one writes the other neither reads nor writes.
qdq_status check_overlap(const char *function, const dynamic_pair &pair);

// The rule about a tensor's own scale that is given.
qdq_status check_given_global(const char *function, const dynamic_plan &p);

}  // namespace qdq::runtime

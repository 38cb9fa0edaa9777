// A call while its arguments are checked: what the caller gave, and what has been found out so far. make_plan() runs
// the checks in this order; each returns QDQ_OK or says what is wrong, and may rely on those before it.
#pragma once

#include "plan/make_plan.h"
#include "support/status.h"
#include "support/types.h"

namespace qdq::runtime {

struct draft {
    draft(const arguments &given, plan &result) : given(given), result(result) {}

    const arguments &given;
    plan &result;
    call &op = result.op;
    qdq_options options{};
    int axis = 0;  // of x, where the operands follow one
    int64_t x_elements = 0, scale_elements = 0, zero_point_elements = 0;
    // Of elements, as are all strides here; as many as the tensor has dimensions.
    int64_t x_strides[most_dimensions], y_strides[most_dimensions];
    int64_t scale_strides[most_dimensions], zero_point_strides[most_dimensions];

    // The tensor of floats and that of codes.
    const qdq_tensor &floats() const { return op.quantizes() ? *given.x : *given.y; }
    const qdq_tensor &codes() const { return op.quantizes() ? *given.y : *given.x; }
    const element_type &code_type() const { return type_of(codes().dtype); }
    bool is_on_device() const { return op.target->device != nullptr; }

    // The format's first %s is the name of the function that was called.
    template<typename... Values> qdq_status invalid(const char *format, Values... values) const {
        return fail(QDQ_INVALID_ARGUMENT, format, given.function, values...);
    }
};

// tensors.cpp: pointers, ranks and shapes.
qdq_status check_tensors(draft &d);

// kernels.cpp: element types, where the tensors live, and which target's kernels serve the pair of types.
qdq_status choose_kernels(draft &d);

// options.cpp
qdq_status check_options(draft &d);

// Row-major strides where the caller gave none, or the tensor is dense. Those of a tensor without elements may pass the
// range of int64_t, and lead nowhere.
void element_strides(const qdq_tensor &t, int64_t *strides, bool is_dense = false);

// scale_storage.cpp: how the scales are stored, as the options say.
qdq_status check_scale_storage(draft &d);

// granularity.cpp: which elements share an operand. Fills the blocks and strides of every dimension.
qdq_status check_granularity(draft &d);

// memory.cpp: the bytes that are touched, and who shares them.
qdq_status check_memory(draft &d);

// zero_points.cpp: a float format has no zero point; one that is 0 everywhere is accepted, as peers' interfaces demand
// one.
qdq_status check_zero_point_values(draft &d);

}  // namespace qdq::runtime

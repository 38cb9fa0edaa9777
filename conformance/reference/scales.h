// The rules of qdq_scale_rule: what scale and zero point follow from the elements that share them.
#pragma once

#include "formats.h"

#include <qdq/qdq.h>

#include <cstdint>

namespace reference {

// What a group of elements comes to.
struct group_range {
    bool has_nan = false;
    float lowest = 0, highest = 0;  // of its elements and 0

    void add(float x);
};

struct computed_scale {
    uint32_t scale;  // the bits of its type
    int64_t zero_point;
};

// What a rule needs to know of codes.
struct code_facts {
    float largest;  // value; of integers the highest code that they saturate to
    int exponent;   // floor(log2) of that, exactly
    int mantissa_bits;
    integer_range range;  // of integers
};

code_facts facts_of(qdq_dtype codes, const qdq_options &options);

// `global`: the tensor's own scale, where it has one.
computed_scale scale_of(const group_range &group, const code_facts &codes, qdq_dtype scale_type,
                        const qdq_scale_options &how, float global = 1);

// The tensor's own scale, computed of all its elements.
float global_scale_of(const group_range &all, const code_facts &codes, const qdq_scale_options &how);

// What x is divided by.
float effective_scale(qdq_dtype type, uint32_t code, const qdq_scale_options &how, float global);

// A candidate's error: whole numbers of units, squared and summed.
class squared_error {
public:
    explicit squared_error(float scale);

    // The square of an error in units, which counts.
    uint64_t add(float x, float y);
    double value() const;
    int exponent() const { return exponent_; }

private:
    int exponent_;  // of a unit
    uint64_t sum_ = 0;
};

// Where a scale of a matrix is among the bytes of a layout, and how many those are.
int64_t arranged_place(qdq_scale_layout layout, int64_t rows, int64_t columns, int64_t row, int64_t column);
int64_t arranged_bytes(qdq_scale_layout layout, int64_t rows, int64_t columns);

// qdq_compute_scales for a valid call. A global scale that is computed, and diagnostics, are written, too.
void compute_scales(const qdq_tensor &x, qdq_dtype codes, const qdq_tensor &scale, const qdq_tensor *zero_point,
                    const qdq_scale_options *how, const qdq_options *options);

}  // namespace reference

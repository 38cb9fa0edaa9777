// The conformance vectors of dynamic calls, docs/conformance.md: for each float type, type of codes and rule the calls
// that it is checked by. Every f16, bf16, and f32 of a list and drawn, is the largest magnitude of a row.
#pragma once

#include "check.h"

#include <string>
#include <vector>

namespace conformance {

struct dynamic_rule {
    qdq_dtype x;
    qdq_dtype codes;
    qdq_scale_rule rule;
};

// Of every row that is compiled.
std::vector<dynamic_rule> dynamic_rules();

// "quantize_dynamic_f32_i8_absmax"
std::string name_of(const dynamic_rule &r);

// x of dynamic calls, by its elements' numbers, in another shape of 2^18 elements.
storage dynamic_elements(qdq_dtype x, const dimensions &shape);

// The digest of scales, zero points and codes of all its calls. The difference is one between environments, or a failed
// call.
finding run(const dynamic_rule &r, const library &of, hostile_environments taken);

// `run`, and where the digest is not the published one, why.
finding check(const dynamic_rule &r, uint64_t published, const library &of, hostile_environments taken);

}  // namespace conformance

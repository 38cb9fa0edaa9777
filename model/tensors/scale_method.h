#pragma once

#include <qdq/qdq.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qdq::model {

// The names of the library's rules (docs/dynamic.md): absmax, minmax, power-floor and so on.
std::string_view scale_rule_name(qdq_scale_rule rule);
std::vector<std::string> scale_rule_names();

bool is_power_of_two(qdq_scale_rule rule);

// How scales follow from the values that share them. Without a rule it is that of compressed-tensors, of amax, the
// largest magnitude, or, where it is asymmetric, of min and max, which include 0; in f32:
//   symmetric    scale = amax / ((highest - lowest) / 2), for i8 amax / 127.5, for floats amax / highest;
//                zero point 0, for unsigned codes the middle, for u8 128
//   asymmetric   the library's rule minmax
//   The scale of a block that is all zero, or too small to tell, is 2^-23, the f32 epsilon. A scale that would round to
//   0 in its 16-bit type is the least one there.
//   mxfp4, mxfp6e2m3, mxfp6e3m2, mxfp8
//                scale = 2^(e - 2), 2^(e - 2), 2^(e - 4), 2^(e - 8), where amax is in [7/8 2^e, 7/8 2^(e + 1)): of
//                mxfp4 the library's rule power-even
//   nvfp4        scale = e4m3fn(global * amax / 6), 1/8 where that is 0, over global = 448 * 6 / (amax of the tensor)
struct scale_method {
    std::optional<qdq_scale_rule> rule;
    bool asymmetric = false;  // has zero points; the rule, if any, is minmax then
    float clip_ratio = 1;     // what amax, or both ends, are multiplied by first

    bool operator==(const scale_method &) const = default;
};

// Takes a rule by its name, minmax with its zero points. False where there is none of this name.
bool use_rule(scale_method &method, std::string_view name);

}  // namespace qdq::model

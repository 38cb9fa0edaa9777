// Calls to be timed: drawn ones, and those of a table.
#pragma once

#include "types_in_role.h"

#include <qdq/qdq.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace bench {

using dimensions = std::vector<int64_t>;

inline const element_type &type_of(qdq_dtype dtype) { return qdq::kernels::element_types[dtype]; }

inline int64_t count_of(const dimensions &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

struct layout {
    qdq_dtype type = QDQ_F32;
    dimensions shape, strides;  // no strides: dense
};

struct call {
    bool quantizes;
    layout x, scale, y;
    std::optional<layout> zero_point;
    qdq_options options{};
    dimensions blocks;          // of options
    bool has_specials = false;  // subnormal numbers, NaN and infinities among x
    bool by_plan = true;
    bool computes_scales = false;       // of a quantize: scales are outputs, by a rule for their type
    std::shared_ptr<const call> codes;  // of a quantize: a dequantize to f32, whose codes it transcodes

    int64_t elements() const { return count_of(x.shape); }
};

std::string text_of(const call &c);

enum class drawn { plain, dynamic, transcoding };  // dynamic: quantizes by scales that it computes

// The call of a number in a series that a seed begins.
call drawn_call(uint64_t seed, int64_t number, drawn kind);

struct row {
    std::string name;
    call measured, beside;
    bool whole = false;  // whole calls are compared, not elements
};

std::vector<row> table_rows();

call call_of(bool quantizes, qdq_dtype from, qdq_dtype to, const dimensions &shape);

// The dense call of a call's types and elements, with one f32 scale.
call dense(const call &c);

}  // namespace bench

// Calls to be timed: drawn ones, and those of a table.
#pragma once

#include "types_in_role.h"

#include <qdq/blocks.h>

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
    int64_t past_line = 0;      // bytes from a cache line to its memory
};

// Of elements; of a dense layout, too.
dimensions strides_of(const layout &l);

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

    // Of a quantize that computes scales: a pair's other output, of the same x; by one call, or by one for each.
    std::shared_ptr<const call> second;
    bool is_apart = false;

    dimensions offsets;                      // of rows in groups, which have the scale's first dimension
    std::optional<qdq_block_format> format;  // of ggml's blocks, on the side of codes

    int64_t elements() const { return count_of(quantizes ? x.shape : y.shape); }
};

std::string text_of(const call &c);

enum class drawn {
    plain,
    large,    // past the caches; half of them dynamic
    dynamic,  // quantizes by scales that it computes
    transcoding,
    pair,
    groups,
    blocks
};

// The call of a number in a series that a seed begins.
call drawn_call(uint64_t seed, int64_t number, drawn kind);

struct row {
    std::string name;
    call measured, beside;
    bool whole = false;  // whole calls are compared, not elements
};

std::vector<row> table_rows();

call call_of(bool quantizes, qdq_dtype from, qdq_dtype to, const dimensions &shape);

// The dense call of a call's types and elements, with one f32 scale. Of groups, one of as many with
// one each.
call dense(const call &c);

// What a drawn call is timed beside: a pair beside two calls, others beside dense ones.
call beside(const call &c);

}  // namespace bench

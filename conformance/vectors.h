// The conformance vectors of docs/conformance.md: for each kernel of the manifest the calls that it is checked by,
// whose inputs are given by formula.
#pragma once

#include "conformance/storage.h"

#include <qdq/blocks.h>

#include <cstdint>
#include <string>
#include <vector>

namespace conformance {

// What the scales of a call vary along: rows of x, its columns, or blocks within each row.
enum class form { row, column, block };

struct kernel {
    bool quantizes;
    qdq_dtype real;
    qdq_dtype stored;
    conformance::form form;

    qdq_dtype x() const { return quantizes ? real : stored; }
    qdq_dtype y() const { return quantizes ? stored : real; }
};

// Of every row that is compiled and every form.
std::vector<kernel> kernels();

// "quantize_f32_i8_row"
std::string name_of(const kernel &k);

enum class zero_point_rule { none, small, large, halves, special };

inline constexpr uint32_t special_scales = 0;

// One call of a kernel: its options, and the rules for its scales and zero points.
struct scenario {
    const char *name;
    uint32_t first_scale;  // its bits, or special_scales
    qdq_options options{};
    zero_point_rule zero_points = zero_point_rule::none;
};

std::vector<scenario> scenarios_of(const kernel &k);

// qdq's functions, or others that are to compute the same. Null where there is none.
struct library {
    decltype(&qdq_quantize) quantize = nullptr;
    decltype(&qdq_dequantize) dequantize = nullptr;
    decltype(&qdq_quantize_dynamic) quantize_dynamic = nullptr;
    decltype(&qdq_quantize_dynamic_pair) quantize_dynamic_pair = nullptr;
    decltype(&qdq_quantize_grouped) quantize_grouped = nullptr;
    decltype(&qdq_dequantize_grouped) dequantize_grouped = nullptr;
    decltype(&qdq_quantize_dynamic_grouped) quantize_dynamic_grouped = nullptr;
    decltype(&qdq_quantize_blocks) quantize_blocks = nullptr;
    decltype(&qdq_dequantize_blocks) dequantize_blocks = nullptr;
};

// A call with its inputs.
struct prepared_call {
    bool quantizes;
    qdq_options options;
    qdq_dtype y_type;
    bool has_zero_point;
    dimensions shape;
    storage x;
    storage scale;
    storage zero_point;

    // A y for the results.
    storage output() const { return {y_type, shape, {}, 0xa5}; }

    qdq_status run(const library &by, const storage &y) const;

    // "element 17, x 0x3dcccccd (0.1), scale 0x3f800000 (1), zero point 3"
    std::string describe_inputs(int64_t element) const;
};

prepared_call prepare(const kernel &k, const scenario &s);

// The bits of scale number j, and of zero point number j, of a scenario.
uint32_t scale_bits(const scenario &s, int64_t j);
uint32_t zero_point_bits(zero_point_rule rule, int64_t j);

// The code of element number i, which has a scale.
uint32_t element_code(qdq_dtype x, float scale, qdq_scale_mode mode, int64_t i);

// Every f32 to a stored type, or every i32 to a float type, with a scale of 0.1, in calls of 2^20 elements.
struct sweep {
    bool quantizes;
    qdq_dtype x;
    qdq_dtype y;
};

inline constexpr int64_t calls_of_a_sweep = 4096;

std::vector<sweep> sweeps();

// "quantize_f32_i8_every_x"
std::string name_of(const sweep &s);

prepared_call prepare(const sweep &s, int64_t call);

}  // namespace conformance

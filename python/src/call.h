// One call of qdq.quantize or qdq.dequantize: its arguments read, its result made.
#pragma once

#include "array.h"

#include <nanobind/nanobind.h>
#include <qdq/qdq.h>

#include <optional>
#include <vector>

namespace qdq::python {

struct direction {
    const char *function;
    bool quantizes;
    qdq_status (*run)(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                      const qdq_options *);
    qdq_status (*plan)(qdq_plan *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                       const qdq_options *);
};
inline constexpr direction quantization{"qdq.quantize", true, qdq_quantize, qdq_plan_quantize};
inline constexpr direction dequantization{"qdq.dequantize", false, qdq_dequantize, qdq_plan_dequantize};

// The keywords, as Python gives them.
struct keywords {
    nb::handle dtype, axis, block_size, scale_mode, zero_point_mode, rounding;
    nb::handle saturate, nan, profile, out, packed, stored, shape;
};

class call {
public:
    // Raises TypeError or ValueError.
    call(const direction &way, nb::handle x, nb::handle scale, nb::handle zero_point, const keywords &given);
    call(const call &) = delete;

    // Computes y and returns it.
    nb::object run();

protected:
    void read_x(array &x, nb::handle given) const;
    void read_y(array &y, nb::handle out, const array &x) const;
    void check_in_place(const array &x, const array &y) const;
    void check_operands_in_place() const;

    const direction &way_;
    array x_, scale_, zero_point_, y_;
    qdq_options options_{};

private:
    void read_options(const keywords &given);
    void check_axis_and_blocks_are_clear(const keywords &given) const;

    qdq_dtype dtype_;
    bool packed_;
    std::optional<qdq_dtype> stored_;
    std::optional<std::vector<std::int64_t>> stored_shape_;
    std::vector<std::int64_t> block_shape_;
};

// A call with its kernel chosen, for other x and y of the same layout; of scale and zero point it keeps the arrays.
class plan : call {
public:
    plan(const direction &way, nb::handle x, nb::handle scale, nb::handle zero_point, const keywords &given);
    nb::object run(nb::handle x, nb::handle out) const;

private:
    qdq_plan plan_;
};

// Raises what a status of qdq's is in Python, with the library's message.
void check(qdq_status status);

}  // namespace qdq::python

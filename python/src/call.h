// One call of qdq.quantize, qdq.dequantize or qdq.transcode: its arguments read, its result made.
#pragma once

#include "array.h"

#include <nanobind/nanobind.h>
#include <qdq/qdq.h>

#include <optional>
#include <vector>

namespace qdq::python {

// What Python calls the arguments of one side of a call.
struct argument_names {
    const char *x, *scale = "scale", *zero_point = "zero_point", *axis = "axis", *block_size = "block_size",
                   *zero_point_mode = "zero_point_mode", *profile = "profile";
};

struct direction {
    const char *function;
    bool quantizes;
    argument_names names;
    qdq_status (*run)(const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                      const qdq_options *) = nullptr;
    qdq_status (*plan)(qdq_plan *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *, const qdq_tensor *,
                       const qdq_options *) = nullptr;
    bool has_groups = false;
};
inline constexpr direction quantization{"qdq.quantize", true, {"x"}, qdq_quantize, qdq_plan_quantize};
inline constexpr direction dequantization{"qdq.dequantize", false, {"q"}, qdq_dequantize, qdq_plan_dequantize};
// The same of rows in groups.
inline constexpr direction grouped_quantization{"qdq.quantize_grouped", true, {"x"}, nullptr, nullptr, true};
inline constexpr direction grouped_dequantization{"qdq.dequantize_grouped", false, {"q"}, nullptr, nullptr, true};
// The two sides of qdq.transcode.
inline constexpr direction from_codes{"qdq.transcode", false, {"q"}};
inline constexpr direction to_codes{
    "qdq.transcode",
    true,
    {"q", "new_scale", "new_zero_point", "new_axis", "new_block_size", "new_zero_point_mode", "new_profile"}};

qdq_rounding rounding_of(const char *function, nb::handle given);

// The keywords, as Python gives them; null are those that a function does not have.
struct keywords {
    nb::handle dtype{}, axis{}, block_size{}, scale_mode{}, zero_point_mode{}, rounding{}, saturate{}, nan{}, profile{},
        out{}, packed{}, stored{}, shape{}, seed{}, offset{}, scale_layout{}, scale_dtype{}, global_sense{},
        global_scale{}, packing{};
};

// Scale, zero point and options of one side of a call.
class operands {
public:
    // For elements like x's.
    void read(const direction &way, nb::handle scale, nb::handle zero_point, const keywords &given, const array &x);
    void read_options(const direction &way, const keywords &given, const array &x, qdq_dtype stored);
    // Whether code of an argument's has run, which can have moved any that was read before.
    bool have_run_code() const { return scale_.has_run_code() || zero_point_.has_run_code() || options_have_run_code_; }
    void check_in_place(const direction &way) const;
    // Of an output, as array::check_apart_from().
    void check_apart_from(const direction &way, const array &y) const;

    const qdq_tensor *scale() const { return &scale_.view(); }
    const qdq_tensor *zero_point() const { return zero_point_.view_or_null(); }
    const qdq_options *options() const { return &options_; }

private:
    void check_axis_and_blocks_are_clear(const direction &way, const keywords &given, const array &x) const;
    void read_global_scale(const direction &way, const keywords &given);
    std::vector<std::int64_t> blocked_shape(const direction &way, const array &x) const;

    array scale_, zero_point_;
    qdq_options options_{};
    float global_scale_ = 1;
    bool options_have_run_code_ = false;
    std::vector<std::int64_t> block_shape_;
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
    void check_apart(const array &x, const array &y) const;
    // What `compute` writes to y.
    template<typename Compute> nb::object computed(Compute &&compute);

    const direction &way_;
    array x_, y_;
    operands operands_;

private:
    qdq_dtype dtype_;
    bool packed_, dense_;
    std::optional<qdq_dtype> stored_;
    std::optional<std::vector<std::int64_t>> stored_shape_;
};

// Codes of q as codes of `new_` operands, whose keywords are `made`; `given` has those of q, and of what is written.
class transcoding : call {
public:
    transcoding(nb::handle q, nb::handle scale, nb::handle zero_point, const keywords &given, nb::handle new_scale,
                nb::handle new_zero_point, const keywords &made);
    nb::object run();

private:
    operands new_operands_;
};

// A call whose rows are in groups, each with operands of its own.
class grouped_call : call {
public:
    grouped_call(const direction &way, nb::handle x, nb::handle offsets, nb::handle scale, nb::handle zero_point,
                 const keywords &given);
    nb::object run();

private:
    std::vector<std::int64_t> offsets_;
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

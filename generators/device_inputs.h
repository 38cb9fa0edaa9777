// The inputs that both operations' device kernels share, and what becomes of them: which place a unit of work has in x,
// y, the scale and the zero point, and the values of the latter two.
#pragma once

#include "arithmetic.h"
#include "device_arguments.h"
#include "formats.h"

#include "Halide.h"

#include <map>
#include <string>
#include <vector>

namespace qdq {

inline const std::map<std::string, device_form> &device_form_names() {
    static const std::map<std::string, device_form> names = {
        {"group", device_form::group}, {"each", device_form::each}, {"strided", device_form::strided}};
    return names;
}

using byte_input = Halide::GeneratorInput<Halide::Buffer<uint8_t, 2>>;
using word_input = Halide::GeneratorInput<Halide::Buffer<uint32_t, 2>>;

template<typename T> using input_pointer = Halide::GeneratorInput<T> *;

// What a call is like, for autoschedulers.
constexpr int estimated_units = 1 << 16, estimated_page = 1 << 20;

// The arguments as inputs of a generator, which makes them in its configure().
struct device_inputs : device_arguments<input_pointer> {
    // Of the form each: f32 scales that lie as a group's elements do, or nothing.
    word_input *scale_words = nullptr;

    template<typename Generator> void add_to(Generator &generator, device_form form) {
        if (form == device_form::each) {
            scale_words = generator.template add_input<Halide::Buffer<uint32_t, 2>>("scale_words");
        }
        for_each_argument(*this, form, [&]<typename T>(const char *name, int d, Halide::GeneratorInput<T> *&field) {
            field = generator.template add_input<T>(d < 0 ? name : name + ("_" + std::to_string(d)));
        });
    }

    void set_estimates(device_form form) {
        for_each_argument(*this, form, [](const char *, int, auto *&field) { field->set_estimate(1); });
        units->set_estimate(estimated_units);
    }
};

// n / d for an invariant divisor d (kernels/device_arguments.h) and n below 2^31.
Expr quotient(const instructions &on, Expr n, Expr multiplier, Expr shift);

struct places {
    Expr x, y;               // int64; of dense forms int32, in groups
    Expr scale, zero_point;  // int64
};

// Of a unit, by its number among the kernel's dimensions; the last counts so many rows.
places places_of(const instructions &on, const device_inputs &in, Expr unit, int dimensions, int rows = 1);

// The number of a unit's rows in the last of two dimensions.
Expr rows_before(const instructions &on, const device_inputs &in, Expr unit, int rows);

// An element of a buffer by its 64-bit place, in two dimensions: within a page and of pages. Arguments for its Func.
// One that is a few places further may lie past the page, where the next begins. A kernel that is specialized for one
// page finds it by fewer instructions.
std::vector<Expr> page_and_place(Expr place, Expr places_in_page, Expr pages, bool has_one_page_kernel = false,
                                 Expr further = 0);

// A buffer of such pages.
template<typename View> void assume_pages(View &view) {
    view.dim(0).set_min(0).set_stride(1);
    view.dim(1).set_min(0).set_stride(1 << page_bits);
}

// The bits of an operand, read byte by byte, as its bytes may lie anywhere.
Expr operand_bits(const byte_input &bytes, Expr place, Expr operand_bytes, bool has_one_page_kernel = false);

// The value of an operand whose type is known when the kernel runs: of a scale; of a zero point of a float type, and of
// an integer type, which it has or not. Each type is looked for in one place of a kernel, as Halide makes a parameter
// of each comparison, which costs three instructions wherever it is read first.
Expr scale_value(Expr bits, Expr dtype);
Expr has_integers(Expr zero_point_type);
Expr float_zero_point(Expr bits, Expr dtype);
Expr integer_zero_point(Expr bits, Expr dtype);

// The int32 that a float zero point rounds to, ties to even, saturated; NaN gives 0.
Expr nearest_integer(Expr z);

// The number among all elements of the code at a place of a byte of packed codes.
Expr packed_element(int codes_per_byte, Expr byte, Expr place, Expr packing);

}  // namespace qdq

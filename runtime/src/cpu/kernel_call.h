// One call of one kernel.
#pragma once

#include "cpu/operands.h"

namespace qdq::runtime {

// Elements of x or y as a kernel sees them: c is contiguous, rows are `pitch` elements apart.
struct rows_of_x {
    const void *data;
    int64_t pitch;
};
struct rows_of_y {
    void *data;
    int64_t pitch;
};

// Kernels count elements with 32 bits: what they are given begins and ends within so many on either side.
constexpr int64_t reach = int64_t{1} << 30;

// The most rows so far apart that one call takes, at least one.
inline int64_t rows_in_reach(int64_t pitch) {
    const int64_t distance = pitch < 0 ? -pitch : pitch;
    return distance == 0 ? reach : distance > reach ? 1 : reach / distance;
}

inline int64_t round_up(int64_t columns) { return (columns + group - 1) / group * group; }  // to whole groups

// Calls one kernel again and again: what does not change between tiles is set up once.
class kernel_caller {
public:
    // `operand_step` is 0 where every row shares one operand, else 1.
    kernel_caller(const call &what, kernel_form form, bool nontemporal, int32_t variant, int64_t operand_step);
    kernel_caller(const kernel_caller &) = delete;

    // Computes rows x columns elements within reach, columns a multiple of `group`, with operands from `first_operand`
    // of `loaded`.
    void run(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to, int64_t columns,
             int64_t rows);

private:
    const call &what;
    const kernel_form form;
    const bool nontemporal;
    const int32_t variant;
    const int64_t operand_step;
    void run_kernel(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to, int64_t columns,
                    int64_t rows);
    void run_and_code_nan(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to, int64_t columns,
                          int64_t rows);
    void run_part_and_code_nan(const operands &loaded, int64_t first_operand, rows_of_x from, rows_of_y to,
                               int64_t columns, int64_t rows);
    halide_buffer_t x, scale, inverse, zero_point, y;
    halide_dimension_t x_shape[2], operand_shape[1], y_shape[2];
};

// `nontemporal`: the form's kernel whose stores bypass the caches, which there is then.
void call_kernel(const call &what, kernel_form form, bool nontemporal, int32_t variant, const halide_buffer_t &x,
                 const halide_buffer_t &scale, const halide_buffer_t &inverse, const halide_buffer_t &zero_point,
                 halide_buffer_t &y);

// y(i, j) = x(j, i) over whole 64 x 64 tiles of 1, 2 or 4-byte elements: contiguous rows within reach on both sides.
void call_transpose(const target &on, int64_t element_bytes, rows_of_x x, rows_of_y y);

// A kernel from so many bytes, a multiple of 64, to as many.
void call_bytes(bytes_kernel *kernel, const void *x, void *y, int64_t bytes);

}  // namespace qdq::runtime

// One call of one kernel.
#pragma once

#include "cpu/kernel_buffer.h"
#include "plan/plan.h"

namespace qdq::runtime {

constexpr int64_t spare_operands = 64;  // kernels that take operands by vectors read so many past the last

// Operands as kernels take them.
struct kernel_operands {
    const float *scale;
    const float *inverse;       // of scales that divide, and of reciprocals; else any memory, which no kernel reads
    const int32_t *zero_point;  // zeros without one

    kernel_operands from(int64_t first) const { return {scale + first, inverse + first, zero_point + first}; }
};

// What a kernel is called with, apart from numbers. The shapes must outlive it.
struct kernel_buffers {
    halide_buffer_t x, scale, inverse, zero_point, y;

    kernel_buffers(const call &op, const void *from, const kernel_operands &with, void *to,
                   const halide_dimension_t *x_shape, const halide_dimension_t *operand_shape,
                   const halide_dimension_t *y_shape)
        : kernel_buffers(op.quantizes(), op.x_element, op.y_element, from, with, to, x_shape, operand_shape, y_shape) {}

    kernel_buffers(bool quantizes, halide_type_t x_element, halide_type_t y_element, const void *from,
                   const kernel_operands &with, void *to, const halide_dimension_t *x_shape,
                   const halide_dimension_t *operand_shape, const halide_dimension_t *y_shape) {
        set_buffer(x, from, x_element, 2, x_shape);
        set_buffer(scale, with.scale, scale_type, 1, operand_shape);
        if (quantizes) {
            set_buffer(inverse, with.inverse, scale_type, 1, operand_shape);
        }
        set_buffer(zero_point, with.zero_point, zero_point_type, 1, operand_shape);
        set_buffer(y, to, y_element, 2, y_shape);
    }
};

// Whether a form has a kernel whose stores bypass the caches.
inline bool has_nontemporal_kernel(const call &op, kernel_form form) {
    return op.quantizes() ? op.quantize->nontemporal[int(form)] != nullptr
                          : op.dequantize->nontemporal[int(form)] != nullptr;
}

// Whether rows of y are what such kernels take: whole groups that begin at cache lines.
bool begin_at_lines(const call &op, const void *y, int64_t columns, int64_t pitch, int64_t rows);

// The fewest rows so far apart that are whole groups, and lines of y: the next one begins at a line, too.
int64_t rows_of_lines(const call &op, int64_t pitch);

// `nontemporal`: the form's kernel whose stores bypass the caches, which there is then.
void call_kernel(const call &op, kernel_form form, bool nontemporal, int32_t variant, kernel_buffers &all);

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

// Calls one kernel again and again: what does not change between tiles is set up once.
class kernel_caller {
public:
    // `nontemporal`: by the form's kernel whose stores bypass the caches, which there is then. `operand_step` is 0
    // where every row shares one operand, else 1.
    kernel_caller(const call &op, kernel_form form, bool nontemporal, int32_t variant, int64_t operand_step);
    kernel_caller(const kernel_caller &) = delete;

    // How many bytes ahead x is fetched by kernels that do so, if not as they do anyway.
    void fetch_ahead(int64_t bytes);

    // Computes rows x columns elements within reach, columns a multiple of `group`.
    void run(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns, int64_t rows);

private:
    const call &op;
    const kernel_form form;
    const bool nontemporal;
    const int32_t variant;
    const int64_t operand_step;
    void run_kernel(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns, int64_t rows);
    void run_and_code_nan(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns, int64_t rows);
    void run_part_and_code_nan(const kernel_operands &with, rows_of_x from, rows_of_y to, int64_t columns,
                               int64_t rows);
    kernel_buffers all;
    halide_dimension_t x_shape[2], operand_shape[1], y_shape[2];
};

// y(i, j) = x(j, i) over whole 64 x 64 tiles of 1, 2 or 4-byte elements: contiguous rows within reach on both sides.
void call_transpose(const target &on, int64_t element_bytes, rows_of_x x, rows_of_y y);

// A kernel from so many bytes, a multiple of 64, to as many.
void call_bytes(bytes_kernel *kernel, const void *x, void *y, int64_t bytes);

}  // namespace qdq::runtime

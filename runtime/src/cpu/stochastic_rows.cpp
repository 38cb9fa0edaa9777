#include "cpu/stochastic_rows.h"

#include "cpu/consecutive.h"
#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/operands.h"
#include "plan/make_plan.h"
#include "support/types.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>

namespace qdq::runtime {

namespace {

constexpr int64_t operand_bytes = 12 << 10;
// Of a call of the kernel. It draws the bits of 512 elements at once: rows of 128 take as long otherwise.
constexpr int64_t fewest = 256, most = 1 << 16;

// What a call of the kernel computes at most: consecutive elements whose operands vary along the innermost dimension
// alone, if at all.
struct row {
    int64_t elements, of_operand;

    explicit row(const plan &p) {
        const auto &[whole, block] = p.dimensions[0];
        if (whole.varies()) {
            elements = whole.extent;
            of_operand = block;
            const int64_t unit = std::lcm(block, group), room = operands::least_room(operand_bytes) * block;
            elements = std::min(elements, std::max(std::min(most, room) / unit * unit, unit));
            return;
        }
        elements = 1;
        for (int d = 0; d < p.dimension_count && !p.dimensions[d].whole.varies(); d++) {
            elements *= p.dimensions[d].whole.extent;
        }
        of_operand = elements;
        elements = std::min(elements, most);
    }
};

struct rows_call {
    const plan &p;
    call op;  // whose variants are those of nearest even
    random_numbers random;
    kernels::stochastic_row_kernel *kernel;
    const void *x;
    void *y;
    int64_t of_operand;
    std::atomic<bool> *refused;
};

// Whether the kernel takes loaded operands by a variant.
bool takes(const call &op, const operands &of, int64_t count, quantize_variant variant) {
    using enum quantize_variant;
    constexpr bit_range small{1, std::bit_cast<uint32_t>(float{kernels::small_zero_point_of_bytes})};
    const bool adds = variant == multiply_after || variant == divide_after;
    return (adds || variant == multiply || variant == divide) && all_within(*op.target, of.scale, count, divisors) &&
           all_zero_or_within(of.zero_point, adds ? count : 0, small);
}

bool quantize_row(const rows_call &whole, operands &of, const interval *region, int64_t first) {
    const call &op = whole.op;
    operand_range range{0, whole.p.dimensions[0].whole.scale, 0, whole.p.dimensions[0].whole.zero_point, 1};
    int64_t elements = 1;
    for (int d = 0; d < whole.p.dimension_count; d++) {
        const auto &[loop, block] = whole.p.dimensions[d];
        range.scale += region[d].start / block * loop.scale;
        range.zero_point += region[d].start / block * loop.zero_point;
        elements *= region[d].extent;
    }
    range.count = (elements + whole.of_operand - 1) / whole.of_operand;
    const auto variant = quantize_variant(of.load(range, true));
    if (!takes(op, of, range.count, variant)) {
        return false;
    }
    char *const y = static_cast<char *>(whole.y) + first * op.y_bits / 8;
    const bool multiplies = variant == quantize_variant::multiply || variant == quantize_variant::multiply_after;
    return whole.kernel({op.x_type, op.y_type, static_cast<const char *>(whole.x) + first * op.x_bits / 8, y, elements,
                         whole.random.seed, (whole.random.offset + uint64_t(first)) / kernels::random_block_elements,
                         of.scale, of.inverse, of.zero_point, whole.of_operand, op.lowest, op.highest, multiplies,
                         op.nontemporal && reinterpret_cast<uintptr_t>(y) % 64 == 0});
}

void quantize_rows(const consecutive_elements &all, int64_t begin, int64_t end, const void *context) {
    const rows_call &whole = *static_cast<const rows_call *>(context);
    const float_environment environment(true);  // what is subnormal rounds to 0, as all that is as small does
    alignas(64) char memory[operand_bytes];
    operands of(whole.op, memory, operand_bytes);
    for (int64_t number = begin; number < end && !*whole.refused; number++) {
        interval region[most_dimensions];
        const int64_t first = all.set_region(number, region);
        if (!quantize_row(whole, of, region, first)) {
            *whole.refused = true;
        }
    }
    if (whole.op.nontemporal) {
        whole.op.target->nontemporal->fence();
    }
}

}  // namespace

bool quantize_stochastic_rows(const plan &as_given, const stochastic_kernels &by_hand, const void *x, void *y) {
    const auto dimensions = innermost_first_as_given(as_given);
    // The kernel makes the lowest code of NaN.
    if (!by_hand.row || as_given.op.nan_is_zero || as_given.elements < fewest || as_given.op.packing != QDQ_LOW_FIRST ||
        as_given.random.offset % kernels::sharing_elements != 0 || !is_dense(dimensions, &dimension::x) ||
        !is_dense(dimensions, &dimension::y)) {
        return false;
    }
    plan p = as_given;
    set_regions(p, merge_order::as_given);
    const row own(p);
    const consecutive_elements all(p, own.elements);
    const bool share_operands = own.of_operand % kernels::sharing_distance == 0 || own.of_operand >= p.elements;
    if (own.elements < fewest || !all.begin_at_multiples(kernels::sharing_elements) || !share_operands) {
        return false;
    }
    std::atomic<bool> refused = false;
    rows_call whole{p, p.op, as_given.random, by_hand.row, x, y, own.of_operand, &refused};
    whole.op.rounding = QDQ_NEAREST_EVEN;
    all.run(quantize_rows, &whole);
    return !refused;
}

}  // namespace qdq::runtime

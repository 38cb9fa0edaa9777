// Areas of an x whose elements lie apart. They are copied end to end, and reduced and quantized there: else both passes
// would go by single elements. Dynamic bf16 to i16, 151 936 elements two apart in groups of 512, takes 0.22 ns an
// element so, and 0.72 otherwise; f16 to u8, rows of 7 with gaps, 0.57 and 1.15 (Zen 5).
#pragma once

#include "plan/area_grid.h"
#include "plan/dynamic_plan.h"

namespace qdq::runtime {

// Of x, of an area that is copied. The last area may have twice as many, and QDQ_STACK_BYTES leaves room for no more.
constexpr int64_t copied_bytes = int64_t{7} << 9;

// Whether a plan's areas are copied: where they are of so many bytes.
bool copies_areas(const dynamic_plan &p);

// Plans of areas of one shape as their copies have them, and the copy of one area after another.
class area_copy {
public:
    // `quantize`: with the operands' addresses.
    area_copy(const dynamic_plan &p, const plan &quantize) : of_x(p), reduced(p), coded(quantize) {}

    // Copies the elements of x in a box. Where the box has another shape than the one before, so have the plans.
    // Returns whether it has.
    bool copy(const void *x, const interval *box);

    // In which x has the strides of the last copy.
    const dynamic_plan &reduction() const { return reduced; }
    const plan &codes() const { return coded; }

    // Where x of such plans begins: the elements of the last box are in the copy, and no others may be read.
    const void *x() const { return begin; }

private:
    const dynamic_plan &of_x;
    dynamic_plan reduced;
    plan coded;
    int64_t shape[most_dimensions]{};
    const void *begin = nullptr;
    alignas(64) char memory[2 * copied_bytes];

    void set_shape(const interval *box);
};

}  // namespace qdq::runtime

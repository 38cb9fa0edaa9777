// QDQ_NAN_ZERO on a processor. The general variants do it themselves. The fast ones make the lowest code of NaN; where
// that is so, x is looked at, and the codes of its NaNs are put right.
#pragma once

#include "cpu/kernel_call.h"

namespace qdq::runtime {

class nan_places {
public:
    static constexpr int64_t most = 1024;  // elements, for the stack's sake (QDQ_STACK_BYTES)

    explicit nan_places(const call &op) : op(op) {}
    nan_places(const nan_places &) = delete;

    // Looks at a row of x, whole groups, whose first element is to be at a place.
    void find(const void *x, int64_t count, int64_t place);

    // Gives the NaNs of a row their code in y.
    void put_codes(int64_t place, int64_t count, void *y) const;

private:
    const call &op;
    bool any = false;
    uint8_t is_number[most];  // 0 or 0xff; set where there is any NaN
};

// Whether y, once it is computed, tells faster than x does that there is no NaN: it is not in x's memory, and shorter.
inline bool tells_nan(const call &op) { return op.y_bits >= 8 && op.y_bits < op.x_bits; }

// Then all of the above, after the kernel.
void code_nan(const call &op, rows_of_x from, rows_of_y to, int64_t columns, int64_t rows);

}  // namespace qdq::runtime

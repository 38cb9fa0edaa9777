// What it costs to move a call's elements: plain loops copy them from x's places to y's, and compute nothing. A packed
// code takes a byte.
#pragma once

#include "cliffs_calls.h"

namespace bench {

class plain_copy {
public:
    enum class order { of_x, of_y };  // whose least stride the innermost loop has

    plain_copy(const call &c, order by);
    void run() const;

private:
    struct loop {
        int64_t extent, x, y;  // strides in bytes
    };
    struct memory {
        std::vector<char> bytes;
        int64_t first = 0;
    };
    using row_copy = void(const char *x, char *y, const loop &row);

    std::vector<loop> loops;  // the innermost first
    memory x;
    mutable memory y;
    row_copy *copy_row;

    static memory memory_of(const layout &of);
};

}  // namespace bench

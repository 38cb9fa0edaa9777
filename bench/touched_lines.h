// What it costs to touch the cache lines that a call's elements lie in: one word of each is read of x, or written of y,
// in the order of their places. No call takes less.
#pragma once

#include "cliffs_calls.h"

namespace bench {

class touched_lines {
public:
    touched_lines(const call &c, bool of_x);
    void read() const;
    void write();

private:
    struct run {
        int64_t first, count;  // of neighbouring lines
    };
    struct alignas(64) line {
        uint64_t words[8];
    };

    std::vector<run> runs;
    std::vector<line> memory;
};

}  // namespace bench

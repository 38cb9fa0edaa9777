#include "touched_lines.h"

#include <algorithm>

namespace bench {

namespace {

constexpr int64_t line_bits = 512;

// Of ggml's blocks an element takes 4 bits at least.
layout elements_of(const call &c, bool of_x) {
    const bool of_blocks = c.format && of_x != c.quantizes;
    return of_blocks         ? layout{QDQ_I4, c.quantizes ? c.x.shape : c.y.shape, {}}
           : of_x && c.codes ? c.codes->x
           : of_x            ? c.x
                             : c.y;
}

int64_t floor_of(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// The lines of all elements from dimension d on, where the first one lies so many bits from a line.
void add_lines(const layout &of, const dimensions &strides, size_t d, int64_t bit, std::vector<int64_t> &lines) {
    if (d == of.shape.size()) {
        const int64_t line = floor_of(bit, line_bits);
        if (lines.empty() || lines.back() != line) {
            lines.push_back(line);
        }
        return;
    }
    for (int64_t i = 0; i < of.shape[d]; i++) {
        add_lines(of, strides, d + 1, bit + i * strides[d] * type_of(of.type).bits, lines);
    }
}

}  // namespace

touched_lines::touched_lines(const call &c, bool of_x) {
    const layout of = elements_of(c, of_x);
    std::vector<int64_t> lines;
    add_lines(of, strides_of(of), 0, of.past_line * 8, lines);
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    for (const int64_t each : lines) {
        const int64_t place = each - lines.front();
        if (!runs.empty() && place == runs.back().first + runs.back().count) {
            runs.back().count++;
        } else {
            runs.push_back({place, 1});
        }
    }
    memory.resize(lines.empty() ? 0 : static_cast<size_t>(lines.back() - lines.front() + 1));
}

void touched_lines::read() const {
    uint64_t sum = 0;
    for (const run &each : runs) {
        const line *const from = memory.data() + each.first;
        for (int64_t i = 0; i < each.count; i++) {
            sum += from[i].words[0];
        }
    }
    asm volatile("" : : "r"(sum));
}

void touched_lines::write() {
    for (const run &each : runs) {
        line *const to = memory.data() + each.first;
        for (int64_t i = 0; i < each.count; i++) {
            to[i].words[0] = 1;
        }
    }
    asm volatile("" : : "r"(memory.data()) : "memory");
}

}  // namespace bench

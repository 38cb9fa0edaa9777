// What instructions.py counts: one row's kernel, or the hand-written loop of its family, on a number of elements.
//
// qdq_instructions                          checks that loops and kernels agree, and lists the families
// qdq_instructions <family> qdq|hand <elements>
#include "neon_loops.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

constexpr float scale = 0.1f;
constexpr int64_t most_elements = 1 << 16;

struct buffers {
    std::vector<float> x = std::vector<float>(most_elements);  // as large as the largest type needs
    std::vector<float> y = std::vector<float>(most_elements);
};

// Bit patterns of every kind, NaNs and infinities among them, of types of 16 and 32 bits.
void fill(buffers &b) {
    uint32_t state = 1;
    for (float &x : b.x) {
        state = state * 1664525 + 1013904223;
        const float value = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-25f;
        x = state % 3 == 0 ? std::bit_cast<float>(state * 2654435761u) : value;
    }
}

void run_by_hand(const neon::loop &loop, buffers &b, int64_t elements) {
    loop.run({b.x.data(), b.y.data(), elements, scale, loop.zero_point, std::numeric_limits<int32_t>::min(),
              std::numeric_limits<int32_t>::max()});
}

void run_qdq(const neon::loop &loop, buffers &b, int64_t elements) {
    const int64_t shape[] = {elements};
    const int32_t zero_point = static_cast<int32_t>(loop.zero_point);
    const qdq_tensor x{b.x.data(), loop.x, 1, shape, nullptr}, y{b.y.data(), loop.y, 1, shape, nullptr};
    const qdq_tensor s{const_cast<float *>(&scale), QDQ_F32, 0, nullptr, nullptr};
    const qdq_tensor z{const_cast<int32_t *>(&zero_point), QDQ_I32, 0, nullptr, nullptr};
    const bool quantizes = loop.x == QDQ_F32 || loop.x == QDQ_F16 || loop.x == QDQ_BF16;
    if ((quantizes ? qdq_quantize : qdq_dequantize)(&x, &s, zero_point != 0 ? &z : nullptr, &y, &loop.options) !=
        QDQ_OK) {
        std::fprintf(stderr, "%s: %s\n", loop.family, qdq_last_error());
        std::exit(1);
    }
}

bool agree(const neon::loop &loop) {
    buffers by_qdq, by_hand;
    fill(by_qdq);
    fill(by_hand);
    run_qdq(loop, by_qdq, most_elements);
    run_by_hand(loop, by_hand, most_elements);
    return std::memcmp(by_qdq.y.data(), by_hand.y.data(), most_elements * sizeof(float)) == 0;
}

int check_and_list() {
    for (const neon::loop &loop : neon::loops()) {
        if (!agree(loop)) {
            std::fprintf(stderr, "%s: the loop and qdq differ\n", loop.family);
            return 1;
        }
        std::puts(loop.family);
    }
    return 0;
}

}  // namespace

int main(int count, char **arguments) {
    qdq_set_num_threads(1);
    if (count != 4) {
        return check_and_list();
    }
    buffers b;
    const int64_t elements = std::strtoll(arguments[3], nullptr, 10);
    for (const neon::loop &loop : neon::loops()) {
        if (std::strcmp(loop.family, arguments[1]) == 0) {
            (std::strcmp(arguments[2], "hand") == 0 ? run_by_hand : run_qdq)(loop, b, elements);
        }
    }
    return 0;
}

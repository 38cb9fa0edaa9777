// Codes of 6 bits, four in three bytes: a run of elements at a time becomes, or comes from, bytes with a code in each,
// by the kernels that there are. Those bytes stay in the L1 cache.
#include "plan/dense_codes.h"

#include "cpu/consecutive.h"
#include "cpu/region_runner.h"
#include "plan/make_plan.h"
#include "support/types.h"

#include <cstring>

namespace qdq::runtime {

namespace {

constexpr int64_t word = 2 * dense_unit, word_bytes = 2 * dense_unit_bytes;  // codes in 48 bits
constexpr int64_t most_codes = 4 * most_consecutive;  // of a run: as many bytes as others have for f32
static_assert(most_codes % word == 0);

// Eight codes of 6 bits, the first in the lowest, as eight of 8: halves, quarters and eighths move apart.
uint64_t spread_codes(uint64_t dense) {
    const uint64_t halves = (dense & 0x000000ffffff) | (dense & 0xffffff000000) << 8;
    const uint64_t quarters = (halves & 0x00000fff00000fff) | (halves & 0x00fff00000fff000) << 4;
    return (quarters & 0x003f003f003f003f) | (quarters & 0x0fc00fc00fc00fc0) << 2;
}

uint64_t join_codes(uint64_t codes) {
    const uint64_t quarters = (codes & 0x003f003f003f003f) | (codes & 0x3f003f003f003f00) >> 2;
    const uint64_t halves = (quarters & 0x00000fff00000fff) | (quarters & 0x0fff00000fff0000) >> 4;
    return (halves & 0x00ffffff) | (halves & 0x00ffffff00000000) >> 8;
}

// Of its bytes, by two loads: a load of what one store has left half written waits for that.
uint64_t word_at(const uint8_t *dense) {
    uint32_t low;
    uint16_t high;
    std::memcpy(&low, dense, sizeof(low));
    std::memcpy(&high, dense + sizeof(low), sizeof(high));
    return low | uint64_t{high} << 32;
}

// Element i of a dense tensor.
uint8_t code_at(const uint8_t *dense, int64_t i) {
    const uint8_t *const unit = dense + i / dense_unit * dense_unit_bytes;
    switch (i % dense_unit) {
    case 0: return unit[0] & 0x3f;
    case 1: return uint8_t((unit[0] >> 6 | unit[1] << 2) & 0x3f);
    case 2: return uint8_t((unit[1] >> 4 | unit[2] << 4) & 0x3f);
    default: return unit[2] >> 2;
    }
}

// Elements are put in their order: each clears what follows it in its last byte.
void put_code(uint8_t *dense, int64_t i, uint8_t code) {
    uint8_t *const unit = dense + i / dense_unit * dense_unit_bytes;
    switch (i % dense_unit) {
    case 0: unit[0] = code; break;
    case 1:
        unit[0] = uint8_t(unit[0] | code << 6);
        unit[1] = code >> 2;
        break;
    case 2:
        unit[1] = uint8_t(unit[1] | code << 4);
        unit[2] = code >> 4;
        break;
    default: unit[2] = uint8_t(unit[2] | code << 2); break;
    }
}

// Elements [first, end) of a dense tensor: calls one(i) for those before and after whole words, and words(i, count) for
// these.
template<typename One, typename Words> void for_each_code(int64_t first, int64_t end, One one, Words words) {
    int64_t i = first;
    for (; i < end && i % dense_unit != 0; i++) {
        one(i);
    }
    const int64_t count = (end - i) / word;
    words(i, count);
    for (i += count * word; i < end; i++) {
        one(i);
    }
}

void unpack(const uint8_t *dense, int64_t first, int64_t count, uint8_t *codes) {
    for_each_code(
        first, first + count, [&](int64_t i) { codes[i - first] = code_at(dense, i); },
        [&](int64_t i, int64_t words) {
            const uint8_t *const from = dense + i / dense_unit * dense_unit_bytes;
            for (int64_t w = 0; w < words; w++) {
                const uint64_t bits = spread_codes(word_at(from + w * word_bytes));
                std::memcpy(codes + (i - first) + w * word, &bits, word);
            }
        });
}

void pack(const uint8_t *codes, int64_t first, int64_t count, uint8_t *dense) {
    for_each_code(
        first, first + count, [&](int64_t i) { put_code(dense, i, codes[i - first]); },
        [&](int64_t i, int64_t words) {
            uint8_t *const to = dense + i / dense_unit * dense_unit_bytes;
            for (int64_t w = 0; w < words; w++) {
                uint64_t bits;
                std::memcpy(&bits, codes + (i - first) + w * word, word);
                bits = join_codes(bits);
                std::memcpy(to + w * word_bytes, &bits, word_bytes);
            }
        });
}

struct dense_call {
    const plan &bytes;  // with a code in each
    const void *x;
    void *y;
};

void run_some(const consecutive_elements &all, int64_t begin, int64_t end, const void *context) {
    const dense_call &whole = *static_cast<const dense_call *>(context);
    alignas(64) uint8_t codes[most_codes] = {};
    region_runner bytes(whole.bytes);
    for (int64_t number = begin; number < end; number++) {
        interval region[most_dimensions];
        int64_t count = 1;
        const int64_t first = all.set_region(number, region);
        for (int d = 0; d < whole.bytes.dimension_count; d++) {
            count *= region[d].extent;
        }
        void *const tensor = tensor_of(codes, first);
        if (whole.bytes.op.quantizes()) {
            bytes.run(region, whole.x, tensor);
            pack(codes, first, count, static_cast<uint8_t *>(whole.y));
        } else {
            unpack(static_cast<const uint8_t *>(whole.x), first, count, codes);
            bytes.run(region, tensor, whole.y);
        }
    }
}

void run_dense(const plan &p, const void *x, void *y) {
    plan dense = p;
    set_regions(dense, p.op.quantizes() ? merge_order::of_strides : merge_order::of_x_strides);  // those of codes
    plan bytes = dense;
    bytes.op.packing = QDQ_LOW_FIRST;
    bytes.op.nontemporal = p.op.nontemporal && !p.op.quantizes();
    const consecutive_elements all(dense, most_codes);
    const dense_call whole{bytes, x, y};
    all.run(run_some, &whole);
}

}  // namespace

}  // namespace qdq::runtime

extern "C" const struct qdq_dense_codes qdq_dense_codes = {qdq::runtime::run_dense};

#include "philox.h"

namespace reference {

namespace {

uint32_t high_product(uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); }

}  // namespace

philox_counter philox4x32(philox_counter counter, philox_key key) {
    for (int round = 0; round < 10; ++round) {
        const auto [x0, x1, x2, x3] = counter;
        counter = {high_product(0xcd9e8d57, x2) ^ x1 ^ key[0], 0xcd9e8d57 * x2,
                   high_product(0xd2511f53, x0) ^ x3 ^ key[1], 0xd2511f53 * x0};
        key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
    }
    return counter;
}

uint32_t random_bits(uint64_t seed, uint64_t number) {
    const uint64_t word = number / 32 * 16 + number % 16, block = word / 8;
    const philox_counter words = philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0},
                                            {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const uint32_t bits = words[word % 8 / 2] >> word % 2 * 16 & 0xffff;
    return number % 32 < 16 ? bits : bits >> 8 | (bits & 0xff) << 8;
}

}  // namespace reference

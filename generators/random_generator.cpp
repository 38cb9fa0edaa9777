// random: the words of consecutive blocks of Philox4x32-10, which has a word for each counter and key, in any order:
// Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Its multipliers and the steps
// of its key are constants of that paper.

#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

constexpr int rounds = 10;
constexpr uint64_t multipliers[] = {0xd2511f53, 0xcd9e8d57}, key_steps[] = {0x9e3779b9, 0xbb67ae85};

class Random : public Generator<Random> {
public:
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<uint64_t> seed{"seed"};                // the key
    Input<uint64_t> first{"first"};              // the counter of the first block; its upper half is 0
    Output<Buffer<uint64_t, 1>> words{"words"};  // two for each block, of two of the generator's: the first is low

    void generate() {
        pair(k, block) = select(k == 0, pair_of(0), pair_of(1));
        words(i) = pair(i % 2, i / 2);
        words.set_estimates({{0, 1024}});
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        random_stages stages{words, pair};
        cpu_schedule_named(schedule_name).random(stages);
    }

private:
    static Expr wide(uint64_t value) { return Internal::make_const(UInt(64), value); }
    static Expr low(const Expr &a) { return a & wide(0xffffffff); }

    // Words of 32 bits in lanes of 64, as products are: what is above them is arbitrary.
    Expr pair_of(int which) {
        Expr counter = first + cast<uint64_t>(block);
        std::vector<Expr> word = {counter, counter >> 32, wide(0), wide(0)};
        Expr key[] = {low(seed), seed >> 32};
        for (int round = 0; round < rounds; round++) {
            Expr products[] = {low(word[0]) * wide(multipliers[0]), low(word[2]) * wide(multipliers[1])};
            word = {(products[1] >> 32) ^ word[1] ^ key[0], products[1], (products[0] >> 32) ^ word[3] ^ key[1],
                    products[0]};
            for (int half = 0; half < 2; half++) {
                key[half] = key[half] + wide(key_steps[half]);
            }
        }
        return low(word[2 * which]) | (word[2 * which + 1] << 32);
    }

    Var i{"i"}, k{"k"}, block{"block"};
    Func pair{"pair"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Random, random)

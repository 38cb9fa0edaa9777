// random: the words of consecutive blocks of Philox4x32-10.
#include "chance.h"
#include "schedule.h"

namespace {

using namespace Halide;
using namespace qdq;

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
    static Expr low(const Expr &a) { return a & Internal::make_const(UInt(64), uint64_t{0xffffffff}); }

    // Words of 32 bits in lanes of 64, as products are: what is above them is arbitrary.
    Expr pair_of(int which) {
        Expr counter = first + cast<uint64_t>(block), zero = Internal::make_const(UInt(64), uint64_t{0});
        std::vector<Expr> words = {counter, counter >> 32, zero, zero};
        for (int round = 0; round < philox_rounds; round++) {
            words = philox_round(words, {low(seed), seed >> 32}, round);
        }
        return low(words[2 * which]) | (words[2 * which + 1] << 32);
    }

    Var i{"i"}, k{"k"}, block{"block"};
    Func pair{"pair"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Random, random)

// Calls drawn at random. QDQ_TEST_SEED=<n> draws others.
#include "drawn_call.h"

#include "support/targets.h"
#include "support/thinning.h"

#include <algorithm>

namespace api_test {
namespace {

constexpr unsigned calls = 3000, calls_of_rows = 12000;
constexpr int64_t largest = 8000000;

class Random : public Api {};

void expect_reference(const drawn_call &drawn) {
    SCOPED_TRACE(drawn.description());
    expect_reference_result(drawn.way, *drawn.x, *drawn.scale, drawn.zero_point ? &*drawn.zero_point : nullptr,
                            *drawn.y, drawn.options);
}

// On each target, by several threads.
template<typename Expect> void draw(unsigned count, Expect expect) {
    const unsigned seed = test_support::drawn_seed();
    test_support::for_each_target([=](const std::string &) {
        qdq_set_num_threads(3);
        for (unsigned i = 0; i < count && !testing::Test::HasFailure(); i++) {
            if (test_support::is_taken(i)) {
                SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i));
                test_support::random_choices random(seed * 1000003 + i);
                expect(random);
            }
        }
    });
}

TEST_F(Random, calls_equal_the_reference) {
    draw(calls, [](test_support::choices &random) {
        drawn_call drawn(random, largest);
        drawn.draw_stochastic();
        drawn.draw_storage();
        expect_reference(drawn);
    });
}

// What kernels that are written by hand are for, under every option.
TEST_F(Random, dense_rows_equal_the_reference) {
    draw(calls_of_rows, [](test_support::choices &random) {
        const dimensions shape = {random.between(1, 2), random.between(200, 700)};
        const int64_t block = random.one_of<int64_t>({16, 32, 48, 64, 96, 100, 128, 160, shape[1], shape[1]});
        drawn_call drawn(random, random.chance(2) ? direction::quantize : direction::dequantize, shape);
        drawn.make_dense_rows(std::min(block, shape[1]));
        drawn.draw_stochastic();
        drawn.draw_stochastic();  // twice, for almost half of the calls of quantize
        expect_reference(drawn);
    });
}

}  // namespace
}  // namespace api_test

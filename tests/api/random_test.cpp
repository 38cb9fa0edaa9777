// Calls drawn at random. QDQ_TEST_SEED=<n> draws others.
#include "drawn_call.h"

#include "support/targets.h"
#include "support/thinning.h"

#include <cstdlib>

namespace api_test {
namespace {

constexpr unsigned calls = 3000, calls_of_rows = 12000;
constexpr int64_t largest = 8000000;

class Random : public Api {};

unsigned drawn_seed() {
    const char *wanted = std::getenv("QDQ_TEST_SEED");
    return wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
}

TEST_F(Random, calls_equal_the_reference) {
    const unsigned seed = drawn_seed();
    test_support::for_each_target([=](const std::string &) {
        qdq_set_num_threads(3);
        for (unsigned i = 0; i < calls && !testing::Test::HasFailure(); i++) {
            if (test_support::is_taken(i)) {
                test_support::random_choices random(seed * 1000003 + i);
                drawn_call drawn(random, largest);
                drawn.draw_stochastic();
                drawn.draw_storage();
                SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " +
                             drawn.description());
                expect_reference_result(drawn.way, *drawn.x, *drawn.scale,
                                        drawn.zero_point ? &*drawn.zero_point : nullptr, *drawn.y, drawn.options);
            }
        }
    });
}

// What kernels that are written by hand are for, under every option.
TEST_F(Random, dense_rows_equal_the_reference) {
    const unsigned seed = drawn_seed();
    test_support::for_each_target([=](const std::string &) {
        qdq_set_num_threads(3);
        for (unsigned i = 0; i < calls_of_rows && !testing::Test::HasFailure(); i++) {
            if (test_support::is_taken(i)) {
                test_support::random_choices random(seed * 1000003 + i);
                const dimensions shape = {random.between(1, 2), random.between(200, 700)};
                const int64_t block = random.one_of<int64_t>({16, 32, 48, 64, 96, 100, 128, 160, shape[1], shape[1]});
                drawn_call drawn(random, random.chance(2) ? direction::quantize : direction::dequantize, shape);
                drawn.make_dense_rows(std::min(block, shape[1]));
                drawn.draw_stochastic();
                drawn.draw_stochastic();  // as often as any other rounding
                SCOPED_TRACE("seed " + std::to_string(seed) + ", call " + std::to_string(i) + ": " +
                             drawn.description());
                expect_reference_result(drawn.way, *drawn.x, *drawn.scale,
                                        drawn.zero_point ? &*drawn.zero_point : nullptr, *drawn.y, drawn.options);
            }
        }
    });
}

}  // namespace
}  // namespace api_test

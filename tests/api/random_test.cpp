// Calls drawn at random. QDQ_TEST_SEED=<n> draws others.
#include "drawn_call.h"

#include "support/targets.h"
#include "support/thinning.h"

#include <cstdlib>

namespace api_test {
namespace {

constexpr int calls = 3000;
constexpr int64_t largest = 8000000;

class Random : public Api {};

TEST_F(Random, calls_equal_the_reference) {
    const char *wanted = std::getenv("QDQ_TEST_SEED");
    const unsigned seed = wanted != nullptr ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 1;
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

}  // namespace
}  // namespace api_test

// Every kernel of the manifest has one published digest, over the same inputs on every target of every processor:
// docs/conformance.md.
#include "conformance/check.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>

namespace conformance {

void PrintTo(const kernel &k, std::ostream *out) { *out << name_of(k); }

namespace {

class RowTest : public testing::TestWithParam<kernel> {
protected:
    void TearDown() override { test_support::restore_defaults(); }

    uint64_t published() const { return published_digest(name_of(GetParam())); }
};

// The results of every target have the published digest, and are the reference's in the other tests: of the reference
// itself a part of the rows says enough.
TEST_P(RowTest, has_the_published_digest_of_the_reference) {
    if (!test_support::is_taken(static_cast<int64_t>(published() % 64), 4)) {
        GTEST_SKIP() << "one in four rows, and all with QDQ_TEST_THIN=1";
    }
    const finding found = run(GetParam(), reference_library(), hostile_environments::none);
    EXPECT_EQ(found.digest, published()) << "the reference or the inputs have changed; conformance.digests prints all";
}

TEST_P(RowTest, has_the_published_digest_on_every_target) {
    qdq_set_num_threads(1);
    test_support::for_each_target([&](const std::string &) {
        const library tested{qdq_quantize, qdq_dequantize};
        EXPECT_EQ(check(GetParam(), published(), tested, hostile_environments::one).difference, "");
    });
}

INSTANTIATE_TEST_SUITE_P(Kernels, RowTest, testing::ValuesIn(kernels()),
                         [](const auto &param) { return name_of(param.param); });

}  // namespace
}  // namespace conformance

// Each kernel of a device, on few elements: for tools that look at every access of a kernel and take their time, as
// Oclgrind and compute-sanitizer.
#include "kernel/checked_call.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "support/thinning.h"

#include "conformance/supported.h"

namespace kernel_test {
namespace {

// Of rows of 40, a scale for each row (groups share one) and for each column; rows of 39 are no whole groups.
struct form {
    const char *name;
    int64_t columns;
    bool by_column;
};
constexpr form forms[] = {{"group", 40, false}, {"each", 40, true}, {"strided", 39, true}};
constexpr int64_t rows = 5;

class EveryKernel : public test_support::KernelTest {
protected:
    // Zero points below 2^24 beside others, which need wider sums.
    static double zero_point(int64_t i) { return i % 3 == 1 ? 16777217.0 + static_cast<double>(i) : 7.0 - double(i); }

    void compare(bool quantizes, qdq_dtype real, const form &f) const {
        storage x(quantizes ? real : stored(), {rows, f.columns});
        test_support::random_bits random(3);
        for (int64_t i = 0; i < x.elements(); ++i) {
            x.set_code(i, random.next32() >> (32 - reference::bits_of(x.tensor().dtype)));
        }
        const dimensions shape = f.by_column ? dimensions{1, f.columns} : dimensions{rows, 1};
        storage scale(QDQ_F32, shape), zero_points(QDQ_I32, shape);
        for (int64_t i = 0; i < scale.elements(); ++i) {
            scale.set_code(i, operand::encode(QDQ_F32, 0.3 * static_cast<double>(i + 1)));
            zero_points.set_code(i, operand::encode(QDQ_I32, zero_point(i)));
        }
        const qdq_tensor zero_point_tensor = zero_points.tensor();
        for (const qdq_tensor *zero_point : {static_cast<const qdq_tensor *>(nullptr), &zero_point_tensor}) {
            if (zero_point == nullptr || reference::is_integer(stored())) {
                EXPECT_TRUE(agrees_with_oracle(quantizes ? quantization : dequantization, x.tensor(), scale.tensor(),
                                               zero_point, quantizes ? stored() : real, {}, {}))
                    << f.name << (zero_point == nullptr ? "" : ", zero points");
            }
        }
        if (quantizes) {
            const qdq_options by_chance{.rounding = QDQ_STOCHASTIC, .random_seed = 1, .random_offset = 8};
            EXPECT_TRUE(quantizes_as_oracle(x.tensor(), scale.tensor(), nullptr, stored(), {}, by_chance))
                << f.name << ", stochastic";
        }
    }
};

TEST_P(EveryKernel, agrees_with_the_oracle) {
    int64_t number = static_cast<int64_t>(stored());
    for (const qdq_dtype real : supported::float_types) {
        for (const form &f : forms) {
            for (const bool quantizes : {true, false}) {
                if (test_support::is_taken(number++, 1)) {
                    compare(quantizes, real, f);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel,
                         testing::ValuesIn(test_support::every_kernel(supported::stored_types,
                                                                      test_support::device_targets())),
                         test_support::name_of_case);

}  // namespace
}  // namespace kernel_test

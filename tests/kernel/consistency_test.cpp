// Large work has one result: on every target, for every number of threads.
#include "operand.h"

#include "conformance/storage.h"
#include "conformance/supported.h"
#include "reference/dequantize.h"
#include "reference/quantize.h"
#include "reference/tensor.h"
#include "support/compare.h"
#include "support/device.h"
#include "support/inputs.h"
#include "support/targets.h"
#include "support/thinning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <thread>
#include <vector>

namespace kernel_test {
namespace {

// Sizes past what caches hold, so that non-temporal stores and threads take part; odd, so that tails do as well.
struct workload {
    const char *name;
    dimensions shape;
    dimensions scale_shape;
    int32_t axis;
    int64_t block_size;
    bool has_zero_point;
    qdq_packing packing = QDQ_LOW_FIRST;  // of packed types
};

const workload workloads[] = {
    {"per_tensor", {4000037}, {}, 0, 0, false},
    {"per_tensor_with_zero_point", {3, 1400033}, {}, 0, 0, true},
    {"rows", {61, 70001}, {61}, 0, 0, true},
    {"columns", {30011, 131}, {131}, 1, 0, true},
    {"blocks_of_32", {1024, 4000}, {1024, 125}, 1, 32, false},
    {"blocks_of_16_ragged", {1001, 4001}, {1001, 251}, 1, 16, true},
    {"small", {1000}, {}, 0, 0, false},
    {"high_first", {1024, 4001}, {1024}, 0, 0, false, QDQ_HIGH_FIRST},
    {"split_halves", {1024, 4000}, {1024, 125}, 1, 32, false, QDQ_SPLIT_HALVES},
};

class prepared_work {
public:
    prepared_work(const workload &work, qdq_dtype stored, bool quantizes)
        : quantizes_(quantizes),
          y_type_(quantizes ? stored : QDQ_F32),
          x_(quantizes ? QDQ_F32 : stored, work.shape),
          scale_(QDQ_F32, work.scale_shape),
          zero_point_(QDQ_I32, work.scale_shape),
          has_zero_point_(work.has_zero_point && reference::is_integer(stored)),
          shape_(work.shape) {
        options_.axis = work.axis;
        options_.block_size = work.block_size;
        options_.packing = work.packing;
        fill();
    }

    storage empty_y() const { return storage(y_type_, shape_); }

    storage by_oracle() const {
        storage y = empty_y();
        const qdq_tensor zero_point = zero_point_.tensor();
        (quantizes_ ? reference::quantize : reference::dequantize)(
            x_.tensor(), scale_.tensor(), has_zero_point_ ? &zero_point : nullptr, y.tensor(), &options_);
        return y;
    }

    // Over whatever y holds.
    void run_library(storage &y) const {
        std::fill_n(y.bytes(), bytes_for(y_type_, y.elements()), uint8_t{0xa5});
        const qdq_tensor x = x_.tensor();
        const qdq_tensor scale = scale_.tensor();
        const qdq_tensor zero_point = zero_point_.tensor();
        const qdq_tensor y_tensor = y.tensor();
        const qdq_status status = (quantizes_ ? test_support::quantize : test_support::dequantize)(
            &x, &scale, has_zero_point_ ? &zero_point : nullptr, &y_tensor, &options_);
        EXPECT_EQ(status, QDQ_OK) << qdq_last_error();
    }

private:
    void fill() {
        test_support::random_bits random(23);
        for (int64_t i = 0; i < scale_.elements(); ++i) {
            scale_.set_code(i, std::bit_cast<uint32_t>(0.01f + static_cast<float>(random.below(1000)) / 8192));
            zero_point_.set_code(i, static_cast<uint32_t>(random.below(100)));
        }
        const std::vector<float> ordinary = test_support::random_in_range(x_.elements(), 0.05f, -200, 200, 29);
        for (int64_t i = 0; i < x_.elements(); ++i) {
            const bool any_pattern = random.below(16) == 0;
            const uint32_t pattern = random.next32();
            const uint32_t ordinary_bits = std::bit_cast<uint32_t>(ordinary[static_cast<size_t>(i)]);
            x_.set_code(i, quantizes_ && !any_pattern ? ordinary_bits : pattern);
        }
        if (!quantizes_) {
            reference::clear_padding(x_.tensor());
        }
    }

    bool quantizes_;
    qdq_dtype y_type_;
    storage x_;
    storage scale_;
    storage zero_point_;
    bool has_zero_point_;
    dimensions shape_;
    qdq_options options_{};
};

testing::AssertionResult same_results(const storage &expected, const storage &actual) {
    return test_support::same_codes(expected.tensor().dtype, expected.bytes(), actual.bytes(), expected.elements(),
                                    [](int64_t i) { return "of y's " + std::to_string(i); });
}

// Tasks last to first, each on a thread of its own: no order may matter.
void backwards_pool(void *calls, int64_t count, qdq_task task, void *task_context) {
    ++*static_cast<int *>(calls);
    for (int64_t i = count - 1; i >= 0; --i) {
        std::thread([&] { task(i, task_context); }).join();
    }
}

struct consistency_case {
    qdq_dtype stored;
    bool quantizes;
    workload work;
};

std::string name_of(const consistency_case &c) {
    return std::string(c.quantizes ? "quantize_" : "dequantize_") + reference::name_of(c.stored) + "_" + c.work.name;
}

void PrintTo(const consistency_case &c, std::ostream *out) { *out << name_of(c); }

std::vector<consistency_case> consistency_cases() {
    std::vector<consistency_case> cases;
    for (qdq_dtype stored : supported::stored_types) {
        for (bool quantizes : {true, false}) {
            for (const workload &work : workloads) {
                if (!supported::takes(stored, work.packing)) {
                    continue;
                }
                cases.push_back({stored, quantizes, work});
            }
        }
    }
    return cases;
}

class ConsistencyTest : public testing::TestWithParam<consistency_case> {
protected:
    void TearDown() override { test_support::restore_defaults(); }
};

TEST_P(ConsistencyTest, one_result_on_every_target_for_any_number_of_threads) {
    const consistency_case &c = GetParam();
    const prepared_work work(c.work, c.stored, c.quantizes);
    const storage expected = work.by_oracle();
    storage actual = work.empty_y();
    test_support::for_each_target([&](const std::string &target) {
        for (int32_t threads = 1; threads <= 4; ++threads) {
            const bool is_chosen = threads == 1 + static_cast<int32_t>(name_of(c).size() % 4);
            if (test_support::thinning(2) > 1 && !is_chosen) {
                continue;
            }
            qdq_set_num_threads(threads);
            work.run_library(actual);
            EXPECT_TRUE(same_results(expected, actual)) << target << ", " << threads << " threads";
        }
        int pool_calls = 0;
        qdq_set_parallel_for(backwards_pool, &pool_calls);
        work.run_library(actual);
        EXPECT_TRUE(same_results(expected, actual))
            << target << ", the caller's pool, called " << pool_calls << " times";
        qdq_set_parallel_for(nullptr, nullptr);
    });
}

TEST_P(ConsistencyTest, the_same_result_on_every_device_target) {
    const consistency_case &c = GetParam();
    if (test_support::device_targets().empty() || !supported::on_devices(c.stored)) {
        return;
    }
    const prepared_work work(c.work, c.stored, c.quantizes);
    const storage expected = work.by_oracle();
    storage actual = work.empty_y();
    test_support::for_each_device_target([&](const std::string &target) {
        work.run_library(actual);
        EXPECT_TRUE(same_results(expected, actual)) << target;
    });
}

INSTANTIATE_TEST_SUITE_P(Kernels, ConsistencyTest, testing::ValuesIn(consistency_cases()),
                         [](const auto &param) { return name_of(param.param); });

}  // namespace
}  // namespace kernel_test

// How large work is split over threads: into how many parts, and which part computes what.
#include "cpu/execute.h"
#include "cpu/threads.h"
#include "plan/make_plan.h"

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace runtime_test {
namespace {

using namespace qdq::runtime;

constexpr int64_t least = 1000;  // elements that are worth another thread
constexpr int64_t line = 64;

class Splitting : public testing::Test {
protected:
    void TearDown() override {
        qdq_set_parallel_for(nullptr, nullptr);
        qdq_set_num_threads(0);
    }
};

TEST_F(Splitting, one_thread_gets_one_part) {
    qdq_set_num_threads(1);
    for (int64_t elements : {int64_t{0}, int64_t{1}, 2 * least, int64_t{1} << 40}) {
        EXPECT_EQ(useful_parts(elements, least), 1) << elements;
    }
}

TEST_F(Splitting, a_part_has_enough_elements_to_pay_for_its_thread) {
    qdq_set_num_threads(4);
    EXPECT_EQ(useful_parts(0, least), 1);
    EXPECT_EQ(useful_parts(2 * least - 1, least), 1);
    EXPECT_EQ(useful_parts(2 * least, least), 2);
    EXPECT_EQ(useful_parts(7 * least, least), 7);
}

TEST_F(Splitting, there_are_at_most_four_parts_for_each_thread) {
    for (int32_t threads : {2, 3, 256}) {
        qdq_set_num_threads(threads);
        EXPECT_EQ(useful_parts(int64_t{1} << 40, least), 4 * threads);
    }
}

TEST_F(Splitting, every_index_is_called_once_by_the_librarys_threads) {
    for (int32_t threads : {1, 2, 5}) {
        qdq_set_num_threads(threads);
        for (int64_t count : {0, 1, 2, 7, 1000}) {
            std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
            run_in_parallel(
                count,
                [](int64_t i, void *context) {
                    (*static_cast<std::vector<std::atomic<int>> *>(context))[static_cast<size_t>(i)]++;
                },
                &calls);
            EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](int n) { return n == 1; }))
                << threads << " threads, " << count << " parts";
        }
    }
}

// A caller's pool that looks at what each part writes.
class watching_pool {
public:
    explicit watching_pool(std::span<uint8_t> y_bytes) : y(y_bytes), writes(y.size()) {
        qdq_set_parallel_for(
            [](void *self, int64_t count, qdq_task task, void *task_context) {
                for (int64_t i = count - 1; i >= 0; i--) {  // any order will do
                    static_cast<watching_pool *>(self)->watch(i, task, task_context);
                }
            },
            this);
    }

    int parts() const { return parts_; }
    int64_t least_written() const { return least_written_; }

    // How many parts have written each byte.
    const std::vector<int> &writes_of_bytes() const { return writes; }

    // Where a part begins or ends within y.
    const std::vector<int64_t> &boundaries() const { return boundaries_; }

private:
    static constexpr uint8_t untouched = 0x55;  // in no byte of a 1, of any type

    const std::span<uint8_t> y;
    std::vector<int> writes;
    std::vector<int64_t> boundaries_;
    int parts_ = 0;
    int64_t least_written_ = INT64_MAX;

    void watch(int64_t i, qdq_task task, void *task_context) {
        std::fill(y.begin(), y.end(), untouched);
        task(i, task_context);
        int64_t written = 0, first = -1, end = 0;
        for (size_t at = 0; at < y.size(); at++) {
            if (y[at] != untouched) {
                writes[at]++;
                written++;
                first = first < 0 ? static_cast<int64_t>(at) : first;
                end = static_cast<int64_t>(at) + 1;
            }
        }
        for (int64_t boundary : {first, end}) {
            if (boundary > 0 && boundary < static_cast<int64_t>(y.size())) {
                boundaries_.push_back(boundary);
            }
        }
        least_written_ = std::min(least_written_, written);
        parts_++;
    }
};

struct layout {
    const char *name;
    std::vector<int64_t> shape, x_strides, scale_shape;
    qdq_dtype stored = QDQ_I8;
    int64_t block_size = 0;
    bool is_split_along_columns = false;  // contiguous throughout
};

int64_t product(const std::vector<int64_t> &extents) {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

// A call all of whose results are 1, with a scale of 1.
struct split_call {
    const layout &how;
    bool quantizes;
    std::vector<float> floats, scales;
    std::vector<uint8_t> codes;

    split_call(const layout &l, bool quantizes)
        : how(l),
          quantizes(quantizes),
          floats(static_cast<size_t>(product(l.shape)), 1.0f),
          scales(static_cast<size_t>(product(l.scale_shape)), 1.0f),
          codes(static_cast<size_t>((product(l.shape) * qdq_dtype_bits(l.stored) + 7) / 8),
                l.stored == QDQ_I8 ? 0x01 : 0x11) {}

    size_t result_bytes() const {
        const int64_t bits = quantizes ? qdq_dtype_bits(how.stored) : 32;
        return static_cast<size_t>((product(how.shape) * bits + 7) / 8);
    }

    plan planned() {
        const auto rank = static_cast<int32_t>(how.shape.size());
        const int64_t *const strides = how.x_strides.empty() ? nullptr : how.x_strides.data();
        const qdq_tensor x{nullptr, quantizes ? QDQ_F32 : how.stored, rank, how.shape.data(), strides, {}};
        const qdq_tensor y{nullptr, quantizes ? how.stored : QDQ_F32, rank, how.shape.data(), nullptr, {}};
        const qdq_tensor scale{scales.data(),          QDQ_F32, static_cast<int32_t>(how.scale_shape.size()),
                               how.scale_shape.data(), nullptr, {}};
        qdq_options options{};
        options.axis = -1;
        options.block_size = how.block_size;
        plan p{};
        EXPECT_EQ(make_plan({"test", quantizes ? operation::quantize : operation::dequantize, &x, &scale, nullptr, &y,
                             &options, false},
                            p),
                  QDQ_OK)
            << qdq_last_error();
        return p;
    }

    const void *x() const { return quantizes ? static_cast<const void *>(floats.data()) : codes.data(); }
};

const std::vector<layout> &split_layouts() {
    static const std::vector<layout> all{
        {"contiguous", {(1 << 20) + 13}, {}, {}, QDQ_I8, 0, true},
        {"packed", {(1 << 20) + 13}, {}, {}, QDQ_I4, 0, true},
        {"few long rows", {3, 400001}, {}, {3, 1}},
        {"many rows", {1031, 1027}, {}, {1031, 1}},
        {"columns", {1031, 1027}, {}, {1, 1027}},
        {"blocks", {1024, 1056}, {}, {1024, 33}, QDQ_I8, 32},
        {"ragged blocks", {2048, 1060}, {}, {2048, 2}, QDQ_I8, 640},  // 420 columns, too, are split
        {"transposed", {1024, 1100}, {1, 1024}, {}},
        {"backwards", {1100, 1024}, {-1024, -1}, {}},
        {"packed rows of odd length", {1031, 1027}, {}, {1031, 1}, QDQ_I4},
    };
    return all;
}

// Runs a plan with a pool that looks on.
template<typename Expectation> void watch_every_layout(Expectation expect) {
    qdq_set_num_threads(2);
    for (const layout &how : split_layouts()) {
        for (bool quantizes : {true, false}) {
            SCOPED_TRACE(std::string(how.name) + (quantizes ? ", quantize" : ", dequantize"));
            split_call call(how, quantizes);
            std::vector<uint8_t> memory(call.result_bytes() + line);
            uint8_t *const y = memory.data() + (line - reinterpret_cast<uintptr_t>(memory.data()) % line);
            watching_pool pool({y, call.result_bytes()});
            const plan p = call.planned();
            execute(p, static_cast<const char *>(call.x()) - p.x_first, y);
            expect(how, pool);
        }
    }
}

TEST_F(Splitting, together_the_parts_of_a_call_write_each_byte_once) {
    watch_every_layout([](const layout &, const watching_pool &pool) {
        EXPECT_GT(pool.parts(), 1);
        const std::vector<int> &writes = pool.writes_of_bytes();
        const auto wrong = std::find_if(writes.begin(), writes.end(), [](int n) { return n != 1; });
        EXPECT_EQ(wrong, writes.end()) << "byte " << wrong - writes.begin() << " is written by " << *wrong << " parts";
    });
}

TEST_F(Splitting, no_part_is_empty) {
    watch_every_layout([](const layout &, const watching_pool &pool) { EXPECT_GT(pool.least_written(), 0); });
}

TEST_F(Splitting, parts_of_a_contiguous_tensor_are_whole_cache_lines) {
    watch_every_layout([](const layout &how, const watching_pool &pool) {
        for (int64_t boundary : pool.boundaries()) {
            EXPECT_TRUE(!how.is_split_along_columns || boundary % line == 0) << boundary;
        }
    });
}

}  // namespace
}  // namespace runtime_test

// Which calls write their results past the caches, and that each thread that has done so orders its stores before it
// returns: the dispatcher, with non-temporal stores that count.
#include "targets/nontemporal.h"
#include "cpu/execute.h"
#include "cpu/kernel_call.h"
#include "handwritten_kernels.h"  // generated from the manifest

#include <qdq/qdq.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

namespace {

std::atomic<int64_t> nontemporal_bytes;
std::atomic<int> unordered_returns;  // of a thread whose last non-temporal stores no fence has followed
thread_local bool unordered = false;

void counted_copy(void *to, const void *from, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
    nontemporal_bytes += bytes;
    unordered = true;
}
void counted_fence() { unordered = false; }

void note_return() { unordered_returns += std::exchange(unordered, false) ? 1 : 0; }

}  // namespace

namespace qdq::runtime {

const nontemporal_stores qdq_nontemporal_sse2 = {counted_copy, counted_fence};
const nontemporal_stores qdq_nontemporal_avx2 = {counted_copy, counted_fence};
const nontemporal_stores qdq_nontemporal_avx512 = {counted_copy, counted_fence};

}  // namespace qdq::runtime

static void count_stores(const halide_buffer_t *y) {
    nontemporal_bytes += int64_t{y->type.bytes()} * y->dim[0].extent * y->dim[1].extent;
    unordered = true;
}

// The linker has the table call these instead of the kernels.
#define COUNTED_quantize(kernel)                                                                                       \
    extern "C" qdq_quantize_kernel __real_##kernel;                                                                    \
    extern "C" int __wrap_##kernel(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *inverse,               \
                                   halide_buffer_t *zero_point, int32_t variant, int32_t before, int32_t rounding,     \
                                   int32_t lowest, int32_t highest, int32_t no_saturate, halide_buffer_t *y) {         \
        count_stores(y);                                                                                               \
        return __real_##kernel(x, scale, inverse, zero_point, variant, before, rounding, lowest, highest, no_saturate, \
                               y);                                                                                     \
    }
#define COUNTED_dequantize(kernel)                                                                          \
    extern "C" qdq_dequantize_kernel __real_##kernel;                                                       \
    extern "C" int __wrap_##kernel(halide_buffer_t *x, halide_buffer_t *scale, halide_buffer_t *zero_point, \
                                   int32_t variant, int32_t sign, halide_buffer_t *y) {                     \
        count_stores(y);                                                                                    \
        return __real_##kernel(x, scale, zero_point, variant, sign, y);                                     \
    }
#define COUNTED(target, row, form, op, float_type, stored_type, blocks, file) \
    COUNTED_##op(qdq_##target##_##row##_##form##_nontemporal)
QDQ_NONTEMPORAL_KERNELS(COUNTED)

namespace {

using dimensions = std::vector<int64_t>;

// Each task on a thread of its own.
void threads_of_the_callers(void *, int64_t count, qdq_task task, void *task_context) {
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < count; i++) {
        threads.emplace_back([=] {
            task(i, task_context);
            note_return();
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

struct layout {
    const char *name;
    dimensions shape, scale_shape;
    int64_t block_size = 0;
    qdq_packing packing = QDQ_LOW_FIRST;
    qdq_dtype codes = QDQ_I8;
    qdq_stores stores = QDQ_STORES_BY_SIZE;
};

int64_t bits_of(qdq_dtype type) { return type == QDQ_F32 ? 32 : type == QDQ_I4 ? 4 : 8; }

// The bytes of y that a call writes so.
int64_t bytes_streamed(const layout &how, bool quantizes, bool by_plan) {
    int64_t elements = 1, scales = 1;
    for (int64_t extent : how.shape) {
        elements *= extent;
    }
    for (int64_t extent : how.scale_shape) {
        scales *= extent;
    }
    const qdq_dtype from = quantizes ? QDQ_F32 : how.codes, to = quantizes ? how.codes : QDQ_F32;
    std::vector<uint8_t> x(static_cast<size_t>(elements * bits_of(from) / 8));
    std::vector<uint8_t> y(static_cast<size_t>(elements * bits_of(to) / 8 + 64));
    std::vector<float> scale(static_cast<size_t>(scales), 0.5f);
    const auto rank = static_cast<int32_t>(how.shape.size()), scale_rank = static_cast<int32_t>(how.scale_shape.size());
    void *const aligned = y.data() + (64 - reinterpret_cast<uintptr_t>(y.data()) % 64) % 64;
    const qdq_tensor c_x{x.data(), from, rank, how.shape.data(), nullptr, {}};
    const qdq_tensor c_y{aligned, to, rank, how.shape.data(), nullptr, {}};
    const qdq_tensor c_scale{scale.data(), QDQ_F32, scale_rank, how.scale_shape.data(), nullptr, {}};
    qdq_options options{};
    options.axis = -1;
    options.block_size = how.block_size;
    options.packing = how.packing;
    options.stores = how.stores;
    nontemporal_bytes = 0;
    qdq_plan plan;
    const auto call = quantizes ? qdq_quantize : qdq_dequantize;
    const auto prepare = quantizes ? qdq_plan_quantize : qdq_plan_dequantize;
    if (by_plan) {
        EXPECT_EQ(prepare(&plan, &c_x, &c_scale, nullptr, &c_y, &options), QDQ_OK) << qdq_last_error();
        EXPECT_EQ(qdq_run(&plan, x.data(), aligned, nullptr), QDQ_OK) << qdq_last_error();
    } else {
        EXPECT_EQ(call(&c_x, &c_scale, nullptr, &c_y, &options), QDQ_OK) << qdq_last_error();
    }
    note_return();
    return nontemporal_bytes;
}

constexpr int64_t limit = int64_t{16} << 20;  // bytes of x and y up to which nothing is written so

const std::vector<layout> &large_layouts() {
    static const std::vector<layout> all{
        {"one kernel call, were it small", {4 << 20}, {}},
        {"8-bit floats", {4 << 20}, {}, 0, QDQ_LOW_FIRST, QDQ_F8E4M3},
        {"8-bit floats in blocks", {4096, 1024}, {4096, 32}, 32, QDQ_LOW_FIRST, QDQ_F8E4M3},
        {"packed", {4 << 20}, {}, 0, QDQ_LOW_FIRST, QDQ_I4},
        {"packed, high first", {4 << 20}, {}, 0, QDQ_HIGH_FIRST, QDQ_I4},
        {"packed in split halves", {4 << 20}, {}, 0, QDQ_SPLIT_HALVES, QDQ_I4},
        {"rows", {4096, 1027}, {4096, 1}},
        {"channels of the last axis", {4096, 1027}, {1, 1027}},
        {"blocks", {4096, 1024}, {4096, 32}, 32},
        {"ragged blocks", {4096, 1048}, {4096, 33}, 32},
        {"ragged blocks of short rows", {1 << 17, 40}, {1 << 17, 2}, 32},  // by tiles
        {"short rows", {1 << 17, 33}, {1 << 17, 1}},
    };
    return all;
}

class NonTemporal : public testing::Test {
protected:
    void SetUp() override { unordered_returns = 0; }
    void TearDown() override {
        EXPECT_EQ(unordered_returns, 0) << "threads returned before their stores were ordered";
        qdq_set_num_threads(0);
        qdq_set_parallel_for(nullptr, nullptr);
        qdq_force_target(nullptr);
    }

    static void expect_all_streamed() {
        for (int32_t i = 0; i < qdq_target_count(); i++) {
            if (qdq_target_usable(i) == 0 || qdq_target_device(i) != QDQ_DEVICE_HOST) {
                continue;
            }
            ASSERT_EQ(qdq_force_target(qdq_target_name(i)), QDQ_OK);
            for (const layout &how : large_layouts()) {
                for (bool quantizes : {true, false}) {
                    for (bool by_plan : {false, true}) {
                        int64_t elements = 1;
                        for (int64_t extent : how.shape) {
                            elements *= extent;
                        }
                        EXPECT_EQ(bytes_streamed(how, quantizes, by_plan),
                                  elements * bits_of(quantizes ? how.codes : QDQ_F32) / 8)
                            << qdq_target_name(i) << ", " << how.name << (quantizes ? ", quantize" : ", dequantize")
                            << (by_plan ? ", by a plan" : "");
                    }
                }
            }
        }
    }
};

TEST_F(NonTemporal, all_of_a_large_result_on_one_thread) {
    qdq_set_num_threads(1);
    expect_all_streamed();
}

TEST_F(NonTemporal, all_of_a_large_result_on_several_threads) {
    qdq_set_num_threads(3);
    qdq_set_parallel_for(threads_of_the_callers, nullptr);
    expect_all_streamed();
}

TEST_F(NonTemporal, nothing_of_one_that_the_caches_hold) {
    qdq_set_num_threads(1);
    const int64_t most = limit / 5 / 64 * 64;
    for (bool by_plan : {false, true}) {
        EXPECT_EQ(bytes_streamed({"", {most}, {}}, true, by_plan), 0);
        EXPECT_EQ(bytes_streamed({"", {most + 64}, {}}, true, by_plan), most + 64);
        EXPECT_EQ(bytes_streamed({"", {most}, {}}, false, by_plan), 0);
        EXPECT_EQ(bytes_streamed({"", {most + 64}, {}}, false, by_plan), 4 * (most + 64));
    }
}

TEST_F(NonTemporal, as_the_caller_says) {
    qdq_set_num_threads(1);
    for (const bool quantizes : {true, false}) {
        const int64_t bytes = quantizes ? 1 : 4;
        for (int64_t elements : {int64_t{64}, int64_t{1000}, limit}) {
            layout how{"", {elements}, {}};
            how.stores = QDQ_STORES_CACHED;
            EXPECT_EQ(bytes_streamed(how, quantizes, true), 0);
            how.stores = QDQ_STORES_NONTEMPORAL;
            EXPECT_EQ(bytes_streamed(how, quantizes, true), elements * bytes);
        }
    }
}

const qdq_quantize_row *row_of(const char *target, qdq_dtype float_type, qdq_dtype stored_type) {
    for (int i = 0; i < qdq_linked_target_count; i++) {
        const qdq_target &on = qdq_linked_targets[i];
        for (int row = 0; row < on.quantize_count && std::strcmp(on.name, target) == 0; row++) {
            const qdq_quantize_row &r = on.quantize[row];
            if (r.float_type == float_type && r.stored_type == stored_type) {
                return &r;
            }
        }
    }
    return nullptr;
}

bool has_columns_past_caches(const qdq_quantize_row *row) {
    return row && row->nontemporal[int(qdq::runtime::kernel_form::column)] != nullptr;
}

TEST_F(NonTemporal, columns_that_are_divided_by_as_many_scales_as_a_target_likes_or_as_the_caller_says) {
    constexpr int64_t elements = 4 << 20;
    qdq_set_num_threads(1);
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) == 0 || qdq_target_device(i) != QDQ_DEVICE_HOST) {
            continue;
        }
        const char *const target = qdq_target_name(i);
        ASSERT_EQ(qdq_force_target(target), QDQ_OK);
        const qdq_quantize_row *const row = row_of(target, QDQ_F32, QDQ_I8);
        ASSERT_NE(row, nullptr);
        for (int64_t columns : {2048, 4096}) {
            layout how{"", {elements / columns, columns}, {1, columns}};
            const bool streams = columns <= row->tuned.divided_columns || has_columns_past_caches(row);
            EXPECT_EQ(bytes_streamed(how, true, true), streams ? elements : 0) << target << ", " << columns;
            how.stores = QDQ_STORES_NONTEMPORAL;
            EXPECT_EQ(bytes_streamed(how, true, true), elements) << target << ", " << columns;
        }
    }
}

// Where such a kernel takes them: from a cache line's begin on.
TEST_F(NonTemporal, columns_of_a_dynamic_call_where_a_kernel_stores_so) {
    constexpr int64_t rows = 4096, columns = 1024;
    qdq_set_num_threads(1);
    const std::vector<float> x(rows * columns, 1.5f);
    std::vector<float> scale(rows / 32 * columns);
    std::vector<uint8_t> y(rows * columns + 128);
    const int64_t shape[] = {rows, columns}, scale_shape[] = {rows / 32, columns}, block[] = {32, 1};
    const qdq_tensor c_x{const_cast<float *>(x.data()), QDQ_F32, 2, shape, nullptr, {}};
    const qdq_tensor c_scale{scale.data(), QDQ_F32, 2, scale_shape, nullptr, {}};
    const qdq_options options{.block_shape = block};
    uint8_t *const aligned = y.data() + (-reinterpret_cast<intptr_t>(y.data()) & 63);
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) == 0 || qdq_target_device(i) != QDQ_DEVICE_HOST) {
            continue;
        }
        const char *const target = qdq_target_name(i);
        ASSERT_EQ(qdq_force_target(target), QDQ_OK);
        for (const int64_t past_line : {0, 4}) {
            const qdq_tensor c_y{aligned + past_line, QDQ_F8E4M3, 2, shape, nullptr, {}};
            nontemporal_bytes = 0;
            EXPECT_EQ(qdq_quantize_dynamic(&c_x, &c_scale, nullptr, &c_y, nullptr, &options), QDQ_OK)
                << qdq_last_error();
            note_return();
            const bool streams = past_line == 0 && has_columns_past_caches(row_of(target, QDQ_F32, QDQ_F8E4M3));
            EXPECT_EQ(nontemporal_bytes, streams ? rows * columns : 0) << target << ", past a line by " << past_line;
        }
    }
}

// What a target without non-temporal stores would run at once, if kernels could count so far.
TEST_F(NonTemporal, a_direct_call_is_no_longer_than_kernels_reach) {
    using namespace qdq::runtime;
    qdq_set_num_threads(1);
    for (int64_t beyond : {int64_t{0}, group, reach, 3 * reach}) {
        plan p{};
        p.op.kind = operation::quantize;
        p.op.tuned = &qdq_linked_targets[0].quantize[0].tuned;
        p.op.x_type = QDQ_F32;
        p.op.y_type = QDQ_I8;
        p.op.x_bits = 32;
        p.op.y_bits = 8;
        p.path = execution_path::nest;
        p.nest.count = 1;
        p.nest.loops[0] = {reach + beyond, 1, 1, 0, 0};
        p.elements = reach + beyond;
        prepare_direct_call(p);
        EXPECT_EQ(p.direct.possible, beyond == 0) << beyond;
    }
}

}  // namespace

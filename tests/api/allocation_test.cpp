// Calls, plans and runs allocate nothing. This program counts every way of asking for memory.
#include "call.h"

#include "conformance/supported.h"
#include "support/own_allocator.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>

namespace {

std::atomic<int64_t> allocations{0};

}  // namespace

bool memory_is_granted() {
    allocations++;
    return true;
}

namespace api_test {
namespace {

class Allocation : public Api {
protected:
    void SetUp() override {
        if (!QDQ_TEST_OWN_ALLOCATOR) {
            GTEST_SKIP() << "a sanitizer owns the allocator";
        }
        qdq_set_num_threads(1);
    }

    template<typename Work> static int64_t count_during(Work &&work) {
        const int64_t before = allocations;
        work();
        return allocations - before;
    }

    // Of a call, of a plan and of a run of it, for every type that has a kernel.
    static void expect_none(const dimensions &shape, const dimensions &x_strides, const dimensions &y_strides,
                            const tensor_memory &scale, const qdq_options &options = {}) {
        for (qdq_dtype floating : {QDQ_F32, QDQ_F16, QDQ_BF16}) {
            for (qdq_dtype codes : supported::stored_types) {
                expect_none_of(direction::quantize, floats(floating, shape, x_strides), scale,
                               tensor_memory(codes, shape, y_strides), options);
                if (!reference::is_packed(codes) || x_strides.empty()) {
                    expect_none_of(direction::dequantize, stored(codes, shape, x_strides), scale,
                                   tensor_memory(floating, shape, y_strides), options);
                }
            }
        }
    }

    static void expect_none_of(direction way, const tensor_memory &x, const tensor_memory &scale,
                               const tensor_memory &y, const qdq_options &options) {
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
        SCOPED_TRACE(name_of(way) + " " + reference::name_of(c_x.dtype) + " to " + reference::name_of(c_y.dtype));
        const arguments given{way, &c_x, &c_scale, nullptr, &c_y, &options};
        qdq_status status{}, planned{}, ran{};
        qdq_plan plan{};
        const int64_t of_call = count_during([&] { status = call(given); });
        EXPECT_EQ(of_call, 0);
        if (status == QDQ_UNSUPPORTED) {
            return;
        }
        const int64_t of_plan = count_during([&] { planned = prepare(&plan, given); });
        const int64_t of_run = count_during([&] { ran = qdq_run(&plan, c_x.data, c_y.data, nullptr); });
        EXPECT_EQ(status, QDQ_OK) << qdq_last_error();
        EXPECT_EQ(planned, QDQ_OK) << qdq_last_error();
        EXPECT_EQ(ran, QDQ_OK) << qdq_last_error();
        EXPECT_EQ(of_plan, 0);
        EXPECT_EQ(of_run, 0);
    }
};

TEST_F(Allocation, is_counted_at_all) {
    const int64_t counted = count_during([] {
        std::free(std::malloc(10));
        std::free(std::calloc(2, 5));
        std::free(std::aligned_alloc(64, 64));
        ::operator delete(::operator new(10));
        ::operator delete(::operator new(64, std::align_val_t{64}), std::align_val_t{64});
    });
    EXPECT_EQ(counted, 5);
}

TEST_F(Allocation, does_not_happen_on_small_calls) {
    expect_none({64}, {}, {}, scales({}));
    expect_none({5, 7}, {}, {}, scales({5, 1}));
    expect_none({5, 7}, {}, {}, scales({1, 7}));
    expect_none({8, 64}, {}, {}, scales({8, 2}));
}

TEST_F(Allocation, does_not_happen_on_large_calls) {
    expect_none({300001}, {}, {}, scales({}));
    expect_none({300, 1001}, {}, {}, scales({1, 1001}));
}

TEST_F(Allocation, does_not_happen_past_the_caches) {
    const dimensions shape{24 << 20};
    expect_none_of(direction::quantize, floats(QDQ_F32, shape), scales({}), tensor_memory(QDQ_I8, shape), {});
    expect_none_of(direction::dequantize, stored(QDQ_I8, shape), scales({}), tensor_memory(QDQ_F32, shape), {});
}

TEST_F(Allocation, does_not_happen_on_strided_calls) {
    const dimensions shape{33, 65};
    expect_none(shape, {1, 33}, {}, scales({33, 1}));
    expect_none(shape, {}, {1, 33}, scales({1, 65}));
    expect_none(shape, {130, 2}, {130, 2}, scales({}));
    expect_none(shape, {-65, -1}, {}, scales({}));
    expect_none(shape, {0, 1}, {}, scales({}));
}

TEST_F(Allocation, does_not_happen_on_ragged_blocks) {
    expect_none({33, 65}, {}, {}, scales({5, 13}));
    expect_none({33, 65}, {1, 33}, {}, scales({5, 13}));
}

TEST_F(Allocation, does_not_happen_for_any_option) {
    for (auto rounding : {QDQ_NEAREST_EVEN, QDQ_NEAREST_AWAY, QDQ_TOWARD_ZERO, QDQ_DOWN, QDQ_UP}) {
        qdq_options options{};
        options.rounding = rounding;
        options.scale_mode = QDQ_MULTIPLY;
        options.quantize_zp = QDQ_ZP_BEFORE_ROUNDING;
        const tensor_memory x = floats(QDQ_F32, {1000});
        expect_none_of(direction::quantize, x, scales({}), tensor_memory(QDQ_I8, {1000}), options);
    }
}

TEST_F(Allocation, does_not_happen_on_any_target) {
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) != 0 && qdq_target_device(i) == QDQ_DEVICE_HOST) {
            ASSERT_EQ(qdq_force_target(qdq_target_name(i)), QDQ_OK);
            expect_none({3, 1001}, {}, {}, scales({3, 1}));
        }
    }
}

TEST_F(Allocation, does_not_happen_on_failing_calls) {
    const tensor_memory x = floats(QDQ_F32, {4}), scale = scales({3}), y(QDQ_I8, {4});
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    qdq_status status = QDQ_OK;
    const int64_t counted = count_during([&] {
        status = qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr);
        qdq_quantize(nullptr, &c_scale, nullptr, &c_y, nullptr);
        qdq_force_target("no_such_target");
        qdq_last_error();
    });
    EXPECT_EQ(status, QDQ_INVALID_ARGUMENT);
    EXPECT_EQ(counted, 0);
}

// The pool's threads are started by the first large call; after it nothing more is needed.
TEST_F(Allocation, does_not_happen_on_threaded_calls_once_the_pool_runs) {
    qdq_set_num_threads(4);
    const dimensions shape{2 << 20};
    const tensor_memory x = floats(QDQ_F32, shape), scale = scales({}), y(QDQ_I8, shape);
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = y.view();
    for (int warm_up = 0; warm_up < 5; warm_up++) {
        ASSERT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    }
    EXPECT_EQ(count_during([&] {
                  for (int i = 0; i < 20; i++) {
                      qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr);
                  }
              }),
              0);
}

}  // namespace
}  // namespace api_test

// How much stack a call takes: calls on a painted stack, in every layout, on every target.
#include "api/call.h"
#include "support/sanitizers.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>

namespace concurrency_test {
namespace {

using namespace api_test;

constexpr size_t stated = 64 << 10, whole = 1 << 20;
constexpr std::byte paint{0xa5};

// Runs body() on a stack of its own; returns how many bytes below this function's frame it has written to.
template<typename Body> size_t stack_of(Body &&body) {
    static std::byte *entry;
    std::byte *stack = static_cast<std::byte *>(
        mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0));
    EXPECT_NE(stack, MAP_FAILED);
    std::fill(stack, stack + whole, paint);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, whole);
    pthread_t thread;
    EXPECT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void *body) -> void * {
                      entry = static_cast<std::byte *>(__builtin_frame_address(0));
                      (*static_cast<std::remove_reference_t<Body> *>(body))();
                      return nullptr;
                  },
                  &body),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    const std::byte *lowest = std::find_if(stack, stack + whole, [](std::byte b) { return b != paint; });
    const size_t taken = static_cast<size_t>(entry - lowest);
    munmap(stack, whole);
    return taken;
}

void in_order(void *, int64_t count, qdq_task task, void *task_context) {
    for (int64_t i = 0; i < count; i++) {
        task(i, task_context);
    }
}

class Stack : public Api {
protected:
    void SetUp() override {
        if (QDQ_TEST_ASAN || QDQ_TEST_TSAN) {
            GTEST_SKIP() << "instrumented code takes more";
        }
        // Parts run here, too, as a caller's pool would have them.
        qdq_set_num_threads(4);
        qdq_set_parallel_for(in_order, nullptr);
    }

    // The most that a call and the run of its plan take.
    static size_t most_of(direction way, const tensor_memory &x, const tensor_memory &scale, const tensor_memory &zero,
                          const tensor_memory &y, const qdq_options &options) {
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_zero = zero.view(), c_y = y.view();
        const bool shifts = reference::is_integer(way == direction::quantize ? c_y.dtype : c_x.dtype);
        const arguments given{way, &c_x, &c_scale, shifts ? &c_zero : nullptr, &c_y, &options};
        qdq_status status{};
        qdq_plan plan{};
        return std::max(stack_of([&] { status = call(given); }), stack_of([&] {
                            if (prepare(&plan, given) == QDQ_OK) {
                                status = qdq_run(&plan, c_x.data, c_y.data, nullptr);
                            }
                        }));
    }

    static size_t most_of(qdq_dtype floating, qdq_dtype codes, const dimensions &shape, const dimensions &scale,
                          const dimensions &x_strides, const dimensions &y_strides) {
        const bool packed = reference::is_packed(codes);
        const dimensions dense;
        size_t most = 0;
        for (const qdq_packing packing : {QDQ_LOW_FIRST, QDQ_HIGH_FIRST, QDQ_SPLIT_HALVES}) {
            qdq_options options{};
            options.packing = packing;
            const tensor_memory zero = zero_points(QDQ_I32, scale);
            most = std::max({most,
                             most_of(direction::quantize, floats(floating, shape, x_strides), scales(scale), zero,
                                     tensor_memory(codes, shape, packed ? dense : y_strides), options),
                             most_of(direction::dequantize, stored(codes, shape, packed ? dense : x_strides),
                                     scales(scale), zero, tensor_memory(floating, shape, y_strides), options)});
            if (!packed) {
                break;
            }
        }
        return most;
    }
};

TEST_F(Stack, of_a_call_is_at_most_what_the_header_says) {
    struct layout {
        dimensions shape, scale, x_strides, y_strides;
    };
    const std::vector<layout> layouts{{{}, {}, {}, {}},
                                      {{70000}, {}, {}, {}},
                                      {{130, 132}, {130, 1}, {}, {}},
                                      {{130, 132}, {1, 132}, {}, {}},
                                      {{130, 132}, {130, 1}, {1, 130}, {}},
                                      {{130, 132}, {1, 132}, {}, {1, 130}},
                                      {{130, 132}, {13, 7}, {}, {}},
                                      {{130, 132}, {13, 7}, {1, 130}, {}},
                                      {{64, 160}, {64, 5}, {}, {}},
                                      {{1001, 7}, {1001, 1}, {}, {}},
                                      {{130, 132}, {}, {300, 2}, {400, 3}},
                                      {{130, 132}, {}, {-132, -1}, {}},
                                      {{5, 6, 7, 8, 9}, {5, 1, 7, 1, 9}, {}, {}},
                                      {{2, 2, 2, 2, 2, 2, 2, 3}, {1, 2, 1, 2, 1, 2, 1, 3}, {}, {}},
                                      {{1100, 1000}, {1100, 1}, {}, {}}};
    size_t most = 0;
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (!qdq_target_usable(i) || qdq_target_device(i) != QDQ_DEVICE_HOST) {
            continue;
        }
        ASSERT_EQ(qdq_force_target(qdq_target_name(i)), QDQ_OK);
        for (const layout &l : layouts) {
            for (const qdq_dtype floating : {QDQ_F32, QDQ_F16}) {
                for (const qdq_dtype codes : {QDQ_I8, QDQ_I32, QDQ_I4, QDQ_F8E4M3, QDQ_F4E2M1}) {
                    const size_t taken = most_of(floating, codes, l.shape, l.scale, l.x_strides, l.y_strides);
                    EXPECT_LE(taken, stated) << qdq_target_name(i) << ", shape " << testing::PrintToString(l.shape)
                                             << ", " << reference::name_of(codes);
                    most = std::max(most, taken);
                }
            }
        }
    }
    // With non-temporal stores, past 16 MiB.
    most = std::max(most, most_of(QDQ_F32, QDQ_I8, {1931, 1933}, {1931, 1}, {1, 1931}, {}));
    most = std::max(most, most_of(QDQ_F32, QDQ_I4, {1031, 3731}, {1031, 1}, {}, {}));
    EXPECT_LE(most, stated);
    EXPECT_GT(most, size_t{4} << 10) << "nothing was measured";
    std::printf("[   NOTE   ] at most %zu bytes\n", most);
}

TEST_F(Stack, of_a_failing_call_is_at_most_what_the_header_says) {
    const tensor_memory x = floats(QDQ_F32, {4}), y(QDQ_I8, {4}), scale = scales({3});
    EXPECT_LE(most_of(direction::quantize, x, scale, zero_points(QDQ_I32, {3}), y, {}), stated);
}

}  // namespace
}  // namespace concurrency_test

// Calls from many threads, work split over many threads, and the caller's own pool.
#include "call.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace api_test {
namespace {

class Threads : public Api {};

// Large enough for every split, with sizes that no vector width or thread count divides.
struct large_call {
    direction way;
    tensor_memory x, scale, y;

    static std::vector<large_call> all() {
        const dimensions flat{1 << 21 | 13}, wide{3, 700001}, square{1501, 1403}, tall{700001, 3}, broad{21001, 100};
        std::vector<large_call> calls;
        for (const auto &[shape, scale, strides] :
             std::vector<std::tuple<dimensions, dimensions, dimensions>>{{flat, {}, {}},
                                                                         {flat, {50}, {}},
                                                                         {wide, {3, 1}, {}},
                                                                         {square, {1, 1403}, {}},
                                                                         {square, {1501, 1}, {1, 1501}},
                                                                         {square, {12, 11}, {}},
                                                                         {tall, {1, 3}, {}},
                                                                         {tall, {700001, 1}, {}},
                                                                         {broad, {1, 100}, {}}}) {
            calls.push_back(
                {direction::quantize, floats(QDQ_F32, shape, strides), scales(scale), tensor_memory(QDQ_I8, shape)});
            calls.push_back(
                {direction::dequantize, stored(QDQ_I8, shape, strides), scales(scale), tensor_memory(QDQ_F32, shape)});
        }
        // Odd rows of 4-bit elements: neighbouring rows share a byte.
        calls.push_back({direction::quantize, floats(QDQ_F32, wide), scales({3, 1}), tensor_memory(QDQ_I4, wide)});
        calls.push_back({direction::quantize, floats(QDQ_F32, wide), scales({3, 1}), tensor_memory(QDQ_U2, wide)});
        for (const dimensions &scale : {dimensions{700001, 1}, {1, 3}}) {
            calls.push_back({direction::quantize, floats(QDQ_F32, tall), scales(scale), tensor_memory(QDQ_I4, tall)});
            calls.push_back({direction::dequantize, stored(QDQ_I4, tall), scales(scale), tensor_memory(QDQ_F32, tall)});
        }
        return calls;
    }

    qdq_status run(tensor_memory &into) const {
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = into.view();
        return call({way, &c_x, &c_scale, nullptr, &c_y, nullptr});
    }
};

TEST_F(Threads, give_the_same_bits_in_any_number) {
    for (const large_call &large : large_call::all()) {
        qdq_set_num_threads(1);
        tensor_memory alone = large.y;
        const qdq_status status = large.run(alone);
        if (status == QDQ_UNSUPPORTED) {
            std::printf("[   NOTE   ] %s\n", qdq_last_error());
            continue;
        }
        ASSERT_EQ(status, QDQ_OK) << qdq_last_error();
        for (int32_t count : {0, 2, 3, 7, 64}) {
            qdq_set_num_threads(count);
            tensor_memory split = large.y;
            ASSERT_EQ(large.run(split), QDQ_OK) << qdq_last_error();
            EXPECT_TRUE(alone == split) << count << " threads";
        }
    }
}

TEST_F(Threads, alone_give_the_reference_result_on_large_work) {
    qdq_set_num_threads(1);
    for (const large_call &large : large_call::all()) {
        tensor_memory actual = large.y, expected = large.y;
        const qdq_status status = large.run(actual);
        if (status == QDQ_UNSUPPORTED) {
            continue;
        }
        ASSERT_EQ(status, QDQ_OK) << qdq_last_error();
        const qdq_tensor c_x = large.x.view(), c_scale = large.scale.view(), c_expected = expected.view();
        call_reference({large.way, &c_x, &c_scale, nullptr, &c_expected, nullptr});
        EXPECT_TRUE(expected == actual);
    }
}

// Every thread quantizes its own size with its own scale, small and large, and finds its own result.
TEST_F(Threads, may_all_call_at_once) {
    constexpr int callers = 8;
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < callers; t++) {
        threads.emplace_back([t, &wrong] {
            const dimensions shape{t % 2 == 0 ? 1000 + t : 300000 + t};
            const tensor_memory x = floats(QDQ_F32, shape);
            const float step = 0.5f + static_cast<float>(t);
            const tensor_memory scale = tensor_memory::of<float>(QDQ_F32, {}, {step});
            tensor_memory expected(QDQ_I8, shape);
            const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_expected = expected.view();
            call_reference({direction::quantize, &c_x, &c_scale, nullptr, &c_expected, nullptr});
            for (int repeat = 0; repeat < 30; repeat++) {
                const tensor_memory y(QDQ_I8, shape);
                const qdq_tensor c_y = y.view();
                const qdq_status status = call({direction::quantize, &c_x, &c_scale, nullptr, &c_y, nullptr});
                wrong += status != QDQ_OK || !(expected == y);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, may_share_a_plan) {
    const dimensions shape{100003};
    const tensor_memory x = floats(QDQ_F32, shape), scale = scales({}), layout(QDQ_I8, shape);
    tensor_memory expected = layout;
    const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_layout = layout.view(), c_expected = expected.view();
    call_reference({direction::quantize, &c_x, &c_scale, nullptr, &c_expected, nullptr});
    qdq_plan plan;
    ASSERT_EQ(prepare(&plan, {direction::quantize, &c_x, &c_scale, nullptr, &c_layout, nullptr}), QDQ_OK);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&] {
            for (int repeat = 0; repeat < 20; repeat++) {
                const tensor_memory y = layout;
                wrong += qdq_run(&plan, c_x.data, y.view().data, nullptr) != QDQ_OK || !(expected == y);
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, may_change_settings_while_others_call) {
    std::atomic<bool> done{false};
    std::thread changer([&] {
        for (int i = 0; !done; i++) {
            qdq_set_num_threads(1 + i % 3);
            qdq_force_target(i % 2 == 0 ? nullptr : qdq_current_target());
        }
    });
    const large_call large{direction::quantize, floats(QDQ_F32, {400001}), scales({}), tensor_memory(QDQ_I8, {400001})};
    tensor_memory first = large.y;
    EXPECT_EQ(large.run(first), QDQ_OK) << qdq_last_error();
    for (int i = 0; i < 50; i++) {
        tensor_memory again = large.y;
        EXPECT_EQ(large.run(again), QDQ_OK) << qdq_last_error();
        EXPECT_TRUE(first == again);
    }
    done = true;
    changer.join();
}

// Into how many parts a call is cut that has enough for `most` threads. No part is computed.
int64_t parts_with(int32_t threads, int32_t most) {
    static int64_t parts;
    parts = 1;
    qdq_set_num_threads(threads);
    qdq_set_parallel_for([](void *, int64_t count, qdq_task, void *) { parts = count; }, nullptr);
    const int64_t elements = int64_t{most} << 20, still = 0;
    const std::unique_ptr<int8_t[]> untouched(new int8_t[static_cast<size_t>(elements)]);
    float x = 0, step = 1;
    const qdq_tensor c_x{&x, QDQ_F32, 1, &elements, &still}, c_scale{&step, QDQ_F32, 0, nullptr, nullptr};
    const qdq_tensor c_y{untouched.get(), QDQ_I8, 1, &elements, nullptr};
    EXPECT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    return parts;
}

TEST_F(Threads, are_by_default_as_many_as_processors) {
    const int32_t processors = static_cast<int32_t>(std::thread::hardware_concurrency()), more = processors + 1;
    EXPECT_EQ(parts_with(0, more), parts_with(processors, more));
    EXPECT_EQ(parts_with(-1, more), parts_with(processors, more));
    EXPECT_LT(parts_with(0, more), parts_with(more, more));
    EXPECT_EQ(parts_with(1, more), 1);
}

// A parallel_for that runs each task on a thread of its own, last first, and counts.
struct pool {
    std::atomic<int> loops{0};
    std::atomic<bool> on_caller{true};  // every loop came from the thread that made the call
    std::thread::id caller = std::this_thread::get_id();

    static void parallel_for(void *context, int64_t count, qdq_task task, void *task_context) {
        pool &self = *static_cast<pool *>(context);
        self.loops++;
        std::vector<std::thread> threads;
        for (int64_t i = count; i-- > 0;) {
            threads.emplace_back([=] { task(i, task_context); });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    }

    // On the caller's thread, in order, as a pool without workers would.
    static void in_order(void *context, int64_t count, qdq_task task, void *task_context) {
        pool &self = *static_cast<pool *>(context);
        self.loops++;
        self.on_caller = self.on_caller && std::this_thread::get_id() == self.caller;
        for (int64_t i = 0; i < count; i++) {
            task(i, task_context);
        }
    }
};

class OwnPool : public Api {
protected:
    pool own;

    static tensor_memory alone(const large_call &large) {
        qdq_set_num_threads(1);
        tensor_memory y = large.y;
        EXPECT_EQ(large.run(y), QDQ_OK) << qdq_last_error();
        return y;
    }
};

TEST_F(OwnPool, runs_large_work_with_the_same_bits) {
    for (const qdq_parallel_for parallel_for : {&pool::parallel_for, &pool::in_order}) {
        for (const large_call &large : large_call::all()) {
            tensor_memory probe = large.y;
            if (large.run(probe) == QDQ_UNSUPPORTED) {
                continue;
            }
            const tensor_memory expected = alone(large);
            qdq_set_num_threads(4);
            qdq_set_parallel_for(parallel_for, &own);
            own.loops = 0;
            tensor_memory y = large.y;
            EXPECT_EQ(large.run(y), QDQ_OK) << qdq_last_error();
            EXPECT_TRUE(expected == y);
            EXPECT_GT(own.loops, 0) << "the pool was not used";
            qdq_set_parallel_for(nullptr, nullptr);
        }
    }
    EXPECT_TRUE(own.on_caller);
}

// A task run twice, or one left out, must show: the tasks write all of y, each its own part.
TEST_F(OwnPool, is_given_tasks_that_together_write_all_of_y_once) {
    const dimensions shape{1 << 21};
    const large_call large{direction::quantize, floats(QDQ_F32, shape), scales({}), tensor_memory(QDQ_I8, shape)};
    const tensor_memory expected = alone(large);
    static tensor_memory *watched;
    static std::vector<std::byte> snapshot;
    static std::atomic<int64_t> changed;
    tensor_memory y = large.y;
    watched = &y;
    changed = 0;
    qdq_set_num_threads(4);
    qdq_set_parallel_for(
        [](void *, int64_t count, qdq_task task, void *task_context) {
            for (int64_t i = 0; i < count; i++) {
                snapshot = watched->bytes();
                task(i, task_context);
                for (size_t b = 0; b < snapshot.size(); b++) {
                    changed += snapshot[b] != watched->bytes()[b];
                }
            }
        },
        nullptr);
    ASSERT_EQ(large.run(y), QDQ_OK) << qdq_last_error();
    EXPECT_TRUE(expected == y);
    int64_t different_from_poison = 0;
    for (size_t b = 0; b < y.bytes().size(); b++) {
        different_from_poison += y.bytes()[b] != large.y.bytes()[b];
    }
    EXPECT_EQ(changed, different_from_poison);
}

TEST_F(OwnPool, is_not_used_with_one_thread) {
    qdq_set_num_threads(1);
    qdq_set_parallel_for(&pool::parallel_for, &own);
    for (const large_call &large : large_call::all()) {
        tensor_memory y = large.y;
        large.run(y);
    }
    EXPECT_EQ(own.loops, 0);
}

TEST_F(OwnPool, is_not_used_for_small_work) {
    qdq_set_num_threads(4);
    qdq_set_parallel_for(&pool::parallel_for, &own);
    expect_both_ways({64}, {}, {}, scales({}));
    EXPECT_EQ(own.loops, 0);
}

TEST_F(OwnPool, is_left_again_with_null) {
    qdq_set_num_threads(4);
    qdq_set_parallel_for(&pool::parallel_for, &own);
    qdq_set_parallel_for(nullptr, nullptr);
    const dimensions shape{1 << 21};
    const large_call large{direction::quantize, floats(QDQ_F32, shape), scales({}), tensor_memory(QDQ_I8, shape)};
    tensor_memory y = large.y;
    EXPECT_EQ(large.run(y), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(own.loops, 0);
}

}  // namespace
}  // namespace api_test

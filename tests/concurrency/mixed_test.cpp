// 64 threads that call at once, in every way, while others change what is set for the whole process. ThreadSanitizer
// looks on where it is built in; without it, wrong results show.
#include "api/call.h"
#include "support/targets.h"

#include <array>
#include <atomic>
#include <thread>

namespace concurrency_test {
namespace {

using namespace api_test;

// A call, its plan and its result, which threads share.
struct known_call {
    direction way;
    tensor_memory x, scale, y;
    qdq_plan plan{};

    known_call(direction way, tensor_memory x, tensor_memory scale, tensor_memory y)
        : way(way), x(std::move(x)), scale(std::move(scale)), y(std::move(y)) {
        with(this->y, [&](const arguments &given) {
            call_reference(given);
            EXPECT_EQ(prepare(&plan, given), QDQ_OK) << qdq_last_error();
        });
    }

    template<typename Body> void with(const tensor_memory &into, Body &&body) const {
        const qdq_tensor c_x = x.view(), c_scale = scale.view(), c_y = into.view();
        body(arguments{way, &c_x, &c_scale, nullptr, &c_y, nullptr});
    }

    bool is_right(bool planned) const {
        const qdq_tensor t = y.view();
        const tensor_memory mine(t.dtype, dimensions(t.shape, t.shape + t.rank));
        qdq_status status{};
        with(mine, [&](const arguments &given) {
            status = planned ? qdq_run(&plan, given.x->data, given.y->data, nullptr) : call(given);
        });
        return status == QDQ_OK && mine == y;
    }
};

bool fails_with_a_message_of_its_own(int64_t i) {
    const int64_t shape = 1000 + i;
    float value = 1;
    const qdq_tensor x{&value, QDQ_F32, 1, &shape, nullptr}, y{&value, QDQ_F32, 1, &shape, nullptr};
    const qdq_tensor scale{&value, QDQ_F32, 1, &shape, nullptr};
    const std::string name = "target " + std::to_string(i);
    return qdq_quantize(&x, &scale, nullptr, &y, nullptr) == QDQ_INVALID_ARGUMENT &&
           qdq_force_target(name.c_str()) == QDQ_INVALID_ARGUMENT &&
           std::string(qdq_last_error()).find('"' + name + '"') != std::string::npos;
}

class Mixed : public Api {
protected:
    static std::vector<known_call> known_calls() {
        std::vector<known_call> calls;
        for (const dimensions &shape : {dimensions{100}, {700, 1001}}) {
            calls.emplace_back(direction::quantize, floats(QDQ_F32, shape), scales({}), tensor_memory(QDQ_I8, shape));
            calls.emplace_back(direction::quantize, floats(QDQ_BF16, shape), scales({}), tensor_memory(QDQ_I4, shape));
            calls.emplace_back(direction::dequantize, stored(QDQ_F8E4M3, shape), scales({}),
                               tensor_memory(QDQ_F32, shape));
            calls.emplace_back(direction::dequantize, stored(QDQ_U4, shape), scales({}), tensor_memory(QDQ_F16, shape));
        }
        calls.emplace_back(direction::quantize, floats(QDQ_F32, {701, 900}, {1, 701}), scales({701, 1}),
                           tensor_memory(QDQ_U8, {701, 900}));
        return calls;
    }
};

void backwards(void *count_of_loops, int64_t count, qdq_task task, void *task_context) {
    ++*static_cast<std::atomic<int> *>(count_of_loops);
    for (int64_t i = count; i-- > 0;) {
        task(i, task_context);
    }
}

void on_a_thread_each(void *count_of_loops, int64_t count, qdq_task task, void *task_context) {
    ++*static_cast<std::atomic<int> *>(count_of_loops);
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < count; i++) {
        threads.emplace_back(task, i, task_context);
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

TEST_F(Mixed, calls_of_64_threads_are_right_while_targets_threads_and_pools_change) {
    const std::vector<known_call> calls = known_calls();
    const std::vector<std::string> targets = test_support::host_targets();  // a device's takes no tensors of the host
    std::atomic<bool> done{false};
    std::array<std::atomic<int>, 2> loops{};
    std::vector<std::thread> changers;
    changers.emplace_back([&] {
        for (size_t i = 0; !done; i++) {
            const size_t next = i % (targets.size() + 1);
            qdq_force_target(next < targets.size() ? targets[next].c_str() : nullptr);
            EXPECT_NE(qdq_current_target(), nullptr);
            std::this_thread::yield();
        }
    });
    changers.emplace_back([&] {
        for (int32_t i = 0; !done; i++) {
            qdq_set_num_threads(i % 9);
            std::this_thread::yield();
        }
    });
    changers.emplace_back([&] {
        while (!done) {
            qdq_set_parallel_for(backwards, &loops[0]);
            std::this_thread::yield();
            qdq_set_parallel_for(on_a_thread_each, &loops[1]);
            std::this_thread::yield();
            qdq_set_parallel_for(nullptr, nullptr);
            std::this_thread::yield();
        }
    });
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (size_t t = 0; t < 64; t++) {
        callers.emplace_back([&, t] {
            for (size_t i = 0; i < 2 * calls.size(); i++) {
                wrong += !calls[(t + i) % calls.size()].is_right((t + i) / calls.size() % 2 == 0);
                wrong += !fails_with_a_message_of_its_own(static_cast<int64_t>(t));
            }
        });
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    done = true;
    for (std::thread &changer : changers) {
        changer.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(loops[0], 0);
    EXPECT_GT(loops[1], 0);
}

}  // namespace
}  // namespace concurrency_test

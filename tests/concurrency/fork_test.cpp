// Processes that fork while their threads are in calls.
#include "child.h"
#include "split_call.h"
#include "support/sanitizers.h"

#include <atomic>
#include <thread>

namespace concurrency_test {
namespace {

class Fork : public api_test::Api {
protected:
    void SetUp() override {
        if (QDQ_TEST_TSAN) {
            GTEST_SKIP() << "ThreadSanitizer ends a child that creates threads where its parent had some";
        }
        qdq_set_num_threads(4);
    }

    // Forks a hundred times while two threads do something; the children call, split over threads of their own.
    template<typename Body> static void expect_children_to_call_while(Body &&body) {
        std::atomic<bool> done{false};
        std::vector<std::thread> threads;
        for (int t = 0; t < 2; t++) {
            threads.emplace_back([&] {
                split_call own;
                while (!done) {
                    body(own);
                }
            });
        }
        split_call call;
        EXPECT_TRUE(call.is_right());
        for (int i = 0; i < 100; i++) {
            EXPECT_EQ(in_child([&] { return call.is_right() && call.is_right() ? 0 : 1; }), 0) << "child " << i;
        }
        done = true;
        for (std::thread &thread : threads) {
            thread.join();
        }
        EXPECT_TRUE(call.is_right());
    }
};

void in_order(void *, int64_t count, qdq_task task, void *task_context) {
    for (int64_t i = 0; i < count; i++) {
        task(i, task_context);
    }
}

TEST_F(Fork, leaves_children_that_call_while_the_parent_s_threads_work) {
    expect_children_to_call_while([](split_call &call) { EXPECT_TRUE(call.is_right()); });
}

TEST_F(Fork, leaves_children_that_call_while_the_parent_changes_its_pool) {
    expect_children_to_call_while([](split_call &) {
        qdq_set_parallel_for(in_order, nullptr);
        qdq_set_parallel_for(nullptr, nullptr);
    });
}

TEST_F(Fork, gives_children_threads_of_their_own) {
    split_call call;
    const auto threads_it_creates = [&] {
        const int64_t before = thread_count();
        return call.is_right() ? static_cast<int>(thread_count() - before) : -1;
    };
    EXPECT_EQ(in_child([&] {
                  EXPECT_EQ(threads_it_creates(), 3);
                  EXPECT_EQ(threads_it_creates(), 0);
                  EXPECT_EQ(in_child(threads_it_creates), 3);
                  return HasFailure() ? 1 : 0;
              }),
              0);
}

}  // namespace
}  // namespace concurrency_test

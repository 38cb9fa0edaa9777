// Processes that end while their threads are in calls, or wait for some.
#include "child.h"
#include "split_call.h"
#include "support/thinning.h"

#include <atomic>
#include <cstdlib>
#include <thread>

namespace concurrency_test {
namespace {

// No call is made by this process, whose children create threads of their own.
class Exit : public testing::Test {
protected:
    static inline split_call &call = *new split_call;  // never destroyed: threads are at it
    static inline const int repeats = 100 / static_cast<int>(test_support::thinning());
};

TEST_F(Exit, ends_a_process_whose_threads_wait_for_work) {
    for (int i = 0; i < repeats; i++) {
        EXPECT_EQ(in_child([] {
                      qdq_set_num_threads(4);
                      std::exit(call.is_right() ? 0 : 1);
                      return 1;
                  }),
                  0);
    }
}

TEST_F(Exit, ends_a_process_whose_other_threads_are_in_calls) {
    for (int i = 0; i < repeats; i++) {
        EXPECT_EQ(in_child([] {
                      static std::atomic<int> calls{0};
                      qdq_set_num_threads(4);
                      std::thread([] {
                          while (call.is_right()) {
                              calls++;
                          }
                          _exit(1);
                      }).detach();
                      while (calls < 2) {
                          std::this_thread::yield();
                      }
                      std::exit(0);
                      return 1;
                  }),
                  0);
    }
}

}  // namespace
}  // namespace concurrency_test

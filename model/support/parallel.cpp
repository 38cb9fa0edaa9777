#include "support/parallel.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace qdq::model {

void run_in_parallel(size_t threads, size_t count, const std::function<void(size_t)> &task,
                     const std::function<void()> &stop) {
    std::atomic<size_t> next = 0;
    std::exception_ptr thrown;
    std::mutex mutex;
    auto work = [&] {
        for (size_t i = next++; i < count; i = next++) {
            try {
                task(i);
            } catch (...) {
                std::lock_guard lock(mutex);
                next = count;
                if (!thrown) {
                    thrown = std::current_exception();
                    stop();
                }
            }
        }
    };
    {
        std::vector<std::jthread> others;
        for (size_t i = 1; i < threads && i < count; ++i) {
            try {
                others.emplace_back(work);
            } catch (const std::system_error &) {
                break;  // the machine has no more of them
            }
        }
        work();
    }
    if (thrown) {
        std::rethrow_exception(thrown);
    }
}

}  // namespace qdq::model

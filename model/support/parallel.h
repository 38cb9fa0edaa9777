#pragma once

#include <cstddef>
#include <functional>

namespace qdq::model {

// Calls task(i) once for every i in [0, count), on this thread and up to `threads` - 1 others. After a task has thrown
// no other one begins, and `stop` is called; what was thrown first is thrown again once all threads have ended.
void run_in_parallel(size_t threads, size_t count, const std::function<void(size_t)> &task,
                     const std::function<void()> &stop);

}  // namespace qdq::model

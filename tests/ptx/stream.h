// A stream: what is put into it runs in order, on a thread of its own; or, while it is captured, is kept for a graph.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace ptx {

class stream {
public:
    explicit stream(void *context) : context_(context), worker_([this] { work(); }) {}
    ~stream() {
        {
            const std::lock_guard hold(lock_);
            ending_ = true;
        }
        changed_.notify_all();
        worker_.join();
    }
    stream(const stream &) = delete;

    void *context() const { return context_; }
    void put(std::function<void()> next) {
        {
            const std::lock_guard hold(lock_);
            (captures_ ? captured_ : waiting_).push_back(std::move(next));
        }
        changed_.notify_all();
    }
    // False where it is captured already; what was put into it since then.
    bool begin_capture() {
        const std::lock_guard hold(lock_);
        return !std::exchange(captures_, true);
    }
    bool is_captured() {
        const std::lock_guard hold(lock_);
        return captures_;
    }
    std::deque<std::function<void()>> end_capture() {
        const std::lock_guard hold(lock_);
        captures_ = false;
        return std::exchange(captured_, {});
    }
    void finish() {
        std::unique_lock hold(lock_);
        changed_.wait(hold, [this] { return waiting_.empty() && !busy_; });
    }

private:
    void work() {
        std::unique_lock hold(lock_);
        for (;;) {
            changed_.wait(hold, [this] { return ending_ || !waiting_.empty(); });
            if (waiting_.empty()) {
                return;
            }
            const std::function<void()> next = std::move(waiting_.front());
            waiting_.pop_front();
            busy_ = true;
            hold.unlock();
            next();
            hold.lock();
            busy_ = false;
            changed_.notify_all();
        }
    }

    void *context_;
    std::mutex lock_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_, captured_;
    bool busy_ = false, ending_ = false, captures_ = false;
    std::thread worker_;  // the last, as it uses the others
};

}  // namespace ptx

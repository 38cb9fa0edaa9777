#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace qdq::cli {

// A bar on standard error, drawn only when that is a terminal and the work lasts long enough to be noticed.
class progress {
public:
    enum class unit { bytes, pieces };

    // Of bytes it also tells how many there are, their rate, and the time that is left.
    explicit progress(uint64_t total, unit of = unit::bytes, bool quiet = false);
    ~progress();
    progress(const progress &) = delete;
    progress &operator=(const progress &) = delete;

    void advance(uint64_t amount);  // from any thread

private:
    void draw() const;
    std::string rate_text() const;

    std::mutex mutex_;
    uint64_t total_, done_ = 0;
    unit unit_;
    bool shown_, drawn_ = false;
    std::chrono::steady_clock::time_point begin_, next_draw_;
};

}  // namespace qdq::cli

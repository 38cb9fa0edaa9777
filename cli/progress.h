#pragma once

#include <chrono>
#include <cstdint>

namespace qdq_cli {

// A bar on standard error, drawn only when that is a terminal and the work lasts long enough to be noticed.
class progress {
public:
    explicit progress(uint64_t total);
    ~progress();
    progress(const progress &) = delete;
    progress &operator=(const progress &) = delete;

    void advance(uint64_t amount);

private:
    void draw() const;

    uint64_t total_, done_ = 0;
    bool terminal_, drawn_ = false;
    std::chrono::steady_clock::time_point next_draw_;
};

}  // namespace qdq_cli

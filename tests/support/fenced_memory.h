// Memory between two unreadable pages, so that touching one byte too many is a crash rather than luck.
#pragma once

#include <cstdint>

namespace test_support {

enum class flush { leading, trailing };  // the guard page that the data lies against

class fenced_memory {
public:
    explicit fenced_memory(int64_t capacity);
    ~fenced_memory();
    fenced_memory(const fenced_memory &) = delete;
    fenced_memory &operator=(const fenced_memory &) = delete;

    // Room for `bytes`, `gap` bytes away from a guard page. All bytes, the data's own included, hold a canary.
    void *place(int64_t bytes, flush side, int64_t gap = 0);

    // Makes writing a crash, for as long as this lives.
    void forbid_writing();

    // Whether every byte around the data placed last still holds the canary.
    bool surroundings_intact() const;

private:
    uint8_t *mapping_ = nullptr;
    uint8_t *usable_ = nullptr;  // what lies between the guards
    int64_t page_ = 0;
    int64_t usable_bytes_ = 0;
    int64_t begin_ = 0;  // of the data placed last, within usable_
    int64_t end_ = 0;
};

}  // namespace test_support

#include "fenced_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace test_support {

namespace {

constexpr uint8_t canary = 0xa5;

bool all_canary(const uint8_t *begin, const uint8_t *end) {
    if (begin == end) {
        return true;
    }
    return *begin == canary && std::memcmp(begin, begin + 1, static_cast<size_t>(end - begin - 1)) == 0;
}

}  // namespace

fenced_memory::fenced_memory(int64_t capacity) : page_(sysconf(_SC_PAGESIZE)) {
    usable_bytes_ = (capacity + page_ - 1) / page_ * page_;
    const size_t total = static_cast<size_t>(usable_bytes_ + 2 * page_);
    void *mapping = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) {
        std::abort();
    }
    mapping_ = static_cast<uint8_t *>(mapping);
    usable_ = mapping_ + page_;
    if (usable_bytes_ > 0 && mprotect(usable_, static_cast<size_t>(usable_bytes_), PROT_READ | PROT_WRITE) != 0) {
        std::abort();
    }
}

fenced_memory::~fenced_memory() { munmap(mapping_, static_cast<size_t>(usable_bytes_ + 2 * page_)); }

void *fenced_memory::place(int64_t bytes, flush side, int64_t gap) {
    if (bytes + gap > usable_bytes_) {
        std::abort();
    }
    begin_ = side == flush::leading ? gap : usable_bytes_ - gap - bytes;
    end_ = begin_ + bytes;
    std::memset(usable_, canary, static_cast<size_t>(usable_bytes_));
    return usable_ + begin_;
}

void fenced_memory::forbid_writing() {
    if (mprotect(usable_, static_cast<size_t>(usable_bytes_), PROT_READ) != 0) {
        std::abort();
    }
}

bool fenced_memory::surroundings_intact() const {
    return all_canary(usable_, usable_ + begin_) && all_canary(usable_ + end_, usable_ + usable_bytes_);
}

}  // namespace test_support

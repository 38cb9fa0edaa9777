// A device's memory: allocations, and for each byte whether it was ever written, and which thread of a launch wrote and
// read it. An address of it is an address of this process.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>

namespace ptx {

// A thread of a launch: the launch's number above, the thread's below, from 1 on. 0 is none.
using thread_stamp = uint64_t;

class allocation {
public:
    allocation(uint64_t bytes, const void *owner);
    ~allocation();
    allocation(const allocation &) = delete;

    uint64_t begin() const { return begin_; }
    uint64_t end() const { return begin_ + bytes_; }
    const void *owner() const { return owner_; }  // the context
    bool has(uint64_t address, uint64_t bytes) const {
        return address >= begin_ && bytes <= bytes_ && address - begin_ <= bytes_ - bytes;
    }

    // Bytes that the host, or a copy from elsewhere, writes.
    void written(uint64_t address, uint64_t bytes);
    // As written as those of another allocation.
    void written_as(uint64_t address, uint64_t bytes, const allocation &from, uint64_t from_address);

    // A thread's access: "" or what is wrong with it.
    const char *read(uint64_t address, uint64_t bytes, thread_stamp by);
    const char *write(uint64_t address, uint64_t bytes, thread_stamp by);

private:
    struct touched {  // by which threads of the latest launch
        std::atomic<thread_stamp> writer, reader;
    };
    static constexpr thread_stamp several = 0xffffffff;  // as the thread of a stamp

    uint64_t begin_, bytes_, mapped_;
    const void *owner_;
    uint8_t *initialised_;
    touched *touched_;
};

class memory {
public:
    // nullptr where that is more than there is.
    const allocation *allocate(uint64_t bytes, const void *owner);
    bool free(uint64_t begin);

    // That which has all of these bytes, or nullptr. It stays until it is freed.
    allocation *find(uint64_t address, uint64_t bytes) const;
    // As a driver says what is its memory: in blocks of 2 MiB.
    const allocation *find_block(uint64_t address) const;

    // Changes with each allocation and free: what find() gave holds for one version.
    uint64_t version() const { return version_.load(std::memory_order_acquire); }

    static constexpr uint64_t capacity = uint64_t{1} << 35;

private:
    mutable std::shared_mutex lock_;
    std::map<uint64_t, std::unique_ptr<allocation>> all_;
    uint64_t in_use_ = 0;
    std::atomic<uint64_t> version_{1};
};

}  // namespace ptx

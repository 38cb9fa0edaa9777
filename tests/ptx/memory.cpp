#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>
#include <vector>

namespace ptx {

namespace {

// Memory that was freed is used again, with what it held: the system takes longer to map and clear it than kernels to
// use it.
class mappings {
public:
    void *take(uint64_t bytes) {
        {
            const std::lock_guard hold(lock_);
            if (std::vector<void *> &unused = unused_[bytes]; !unused.empty()) {
                void *const at = unused.back();
                unused.pop_back();
                return at;
            }
        }
        void *at =
            mmap(nullptr, with_room(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) {
            throw std::bad_alloc();
        }
        return at;
    }
    void give_back(void *at, uint64_t bytes) {
        constexpr uint64_t most = uint64_t{64} << 20;
        if (bytes > most) {
            munmap(at, with_room(bytes));
            return;
        }
        const std::lock_guard hold(lock_);
        unused_[bytes].push_back(at);
    }

private:
    // Other memory lies as far from large memory as a test may claim that this reaches.
    static uint64_t with_room(uint64_t bytes) {
        constexpr uint64_t large = uint64_t{1} << 20, room = uint64_t{1} << 29;
        return bytes < large ? bytes : bytes + room;
    }

    std::mutex lock_;
    std::map<uint64_t, std::vector<void *>> unused_;
};

// Those of bytes, and those of who touched them, which hold nothing else: what is left there is of earlier launches.
mappings &of_bytes() {
    static auto *const made = new mappings;
    return *made;
}
mappings &of_touches() {
    static auto *const made = new mappings;
    return *made;
}

}  // namespace

allocation::allocation(uint64_t bytes, const void *owner)
    : bytes_(bytes), mapped_(std::max<uint64_t>(4096, std::bit_ceil(bytes))), owner_(owner) {
    begin_ = reinterpret_cast<uint64_t>(of_bytes().take(mapped_));
    initialised_ = static_cast<uint8_t *>(of_bytes().take(mapped_));
    touched_ = static_cast<touched *>(of_touches().take(mapped_ * sizeof(touched)));
    std::memset(initialised_, 0, bytes);
}

allocation::~allocation() {
    of_bytes().give_back(reinterpret_cast<void *>(begin_), mapped_);
    of_bytes().give_back(initialised_, mapped_);
    of_touches().give_back(static_cast<void *>(touched_), mapped_ * sizeof(touched));
}

void allocation::written(uint64_t address, uint64_t bytes) { std::memset(initialised_ + (address - begin_), 1, bytes); }

void allocation::written_as(uint64_t address, uint64_t bytes, const allocation &from, uint64_t from_address) {
    std::memmove(initialised_ + (address - begin_), from.initialised_ + (from_address - from.begin_), bytes);
}

const char *allocation::read(uint64_t address, uint64_t bytes, thread_stamp by) {
    const thread_stamp launch = by >> 32;
    for (uint64_t i = address - begin_; i < address - begin_ + bytes; ++i) {
        if (initialised_[i] == 0) {
            return "reads memory that was never written";
        }
        touched &byte = touched_[i];
        const thread_stamp reader = byte.reader.load(std::memory_order_relaxed);
        if (reader != by) {
            byte.reader.store(reader >> 32 == launch ? launch << 32 | several : by, std::memory_order_relaxed);
        }
        const thread_stamp writer = byte.writer.load(std::memory_order_relaxed);
        if (writer != by && writer >> 32 == launch) {
            return "reads what another thread of the launch writes";
        }
    }
    return "";
}

const char *allocation::write(uint64_t address, uint64_t bytes, thread_stamp by) {
    const thread_stamp launch = by >> 32;
    for (uint64_t i = address - begin_; i < address - begin_ + bytes; ++i) {
        touched &byte = touched_[i];
        const thread_stamp writer = byte.writer.exchange(by);
        if (writer != by && writer >> 32 == launch) {
            return "writes what another thread of the launch writes";
        }
        const thread_stamp reader = byte.reader.load();
        if (reader != by && reader >> 32 == launch) {
            return "writes what another thread of the launch reads";
        }
        initialised_[i] = 1;
    }
    return "";
}

const allocation *memory::allocate(uint64_t bytes, const void *owner) {
    const std::unique_lock hold(lock_);
    if (bytes == 0 || bytes > capacity - in_use_) {
        return nullptr;
    }
    try {
        auto made = std::make_unique<allocation>(bytes, owner);
        in_use_ += bytes;
        ++version_;
        const allocation *const place = made.get();
        all_[place->begin()] = std::move(made);
        return place;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

bool memory::free(uint64_t begin) {
    const std::unique_lock hold(lock_);
    const auto found = all_.find(begin);
    if (found == all_.end()) {
        return false;
    }
    in_use_ -= found->second->end() - begin;
    all_.erase(found);
    ++version_;
    return true;
}

allocation *memory::find(uint64_t address, uint64_t bytes) const {
    const std::shared_lock hold(lock_);
    const auto after = all_.upper_bound(address);
    if (after == all_.begin()) {
        return nullptr;
    }
    allocation *const found = std::prev(after)->second.get();
    return found->has(address, bytes) ? found : nullptr;
}

const allocation *memory::find_block(uint64_t address) const {
    constexpr uint64_t block = uint64_t{2} << 20;
    const std::shared_lock hold(lock_);
    const auto after = all_.upper_bound(address);
    if (after == all_.begin()) {
        return nullptr;
    }
    const allocation *const found = std::prev(after)->second.get();
    return address - found->begin() < (found->end() - found->begin() + block - 1) / block * block ? found : nullptr;
}

}  // namespace ptx

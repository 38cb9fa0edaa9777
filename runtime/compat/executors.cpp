#include "executors.h"

#include <atomic>
#include <bit>
#include <cstdlib>

namespace qdq::compat {

namespace {

static_assert(sizeof(uintptr_t) == 8);

struct slot : executor {
    std::atomic<uint32_t> uses;  // odd while it is in use
};

// Chunk c has 64 * 2^c slots. Only the first is there from the beginning, and none goes: their number is that of
// executors that were there at one time.
constexpr uint32_t first_slots = 64;
constexpr int most_chunks = 24;
slot first_chunk[first_slots];
std::atomic<slot *> chunks[most_chunks] = {first_chunk};

uint32_t slots_in(int chunk) { return first_slots << chunk; }

// A chunk that may have to be made first; NULL when memory is short.
slot *chunk_at(int chunk) {
    slot *present = chunks[chunk].load(std::memory_order_acquire);
    if (present) {
        return present;
    }
    auto *made = static_cast<slot *>(std::calloc(slots_in(chunk), sizeof(slot)));
    if (made && !chunks[chunk].compare_exchange_strong(present, made, std::memory_order_acq_rel)) {
        std::free(made);  // another thread was first
        return present;
    }
    return made;
}

// The slot of a number; NULL where there is none.
slot *slot_at(uint32_t index) {
    const auto chunk = static_cast<int>(std::bit_width(index / first_slots + 1)) - 1;
    slot *slots = chunk < most_chunks ? chunks[chunk].load(std::memory_order_acquire) : nullptr;
    return slots ? slots + (index - first_slots * ((1u << chunk) - 1)) : nullptr;
}

bool take(slot &of, uint32_t &use) {
    use = of.uses.load(std::memory_order_relaxed);
    if (use % 2 != 0 || !of.uses.compare_exchange_strong(use, use + 1, std::memory_order_acquire)) {
        return false;
    }
    use++;
    return true;
}

// The lowest bit is set, as in no pointer to an object.
aclOpExecutor *number_of(uint32_t index, uint32_t use) {
    return std::bit_cast<aclOpExecutor *>(uintptr_t{use} << 32 | index << 1 | 1);
}

}  // namespace

executor *acquire_executor(aclOpExecutor *&number) {
    static thread_local uint32_t recent;  // threads come back to slots of their own
    uint32_t use;
    if (slot *again = slot_at(recent); again && take(*again, use)) {
        number = number_of(recent, use);
        return again;
    }
    uint32_t index = 0;
    for (int chunk = 0; chunk < most_chunks; chunk++) {
        slot *slots = chunk_at(chunk);
        if (!slots) {
            return nullptr;
        }
        for (uint32_t i = 0; i < slots_in(chunk); i++, index++) {
            if (take(slots[i], use)) {
                recent = index;
                number = number_of(index, use);
                return &slots[i];
            }
        }
    }
    return nullptr;
}

executor *find_executor(const aclOpExecutor *number) {
    const auto bits = std::bit_cast<uintptr_t>(number);
    const auto use = static_cast<uint32_t>(bits >> 32);
    slot *found = bits % 2 != 0 && use % 2 != 0 ? slot_at(static_cast<uint32_t>(bits) >> 1) : nullptr;
    return found && found->uses.load(std::memory_order_acquire) == use ? found : nullptr;
}

void release_executor(executor &last_use) {
    std::free(last_use.plan);
    last_use.plan = nullptr;
    std::atomic<uint32_t> &uses = static_cast<slot &>(last_use).uses;
    uses.store(uses.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace qdq::compat

#include "interpreter.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace ptx {

void warp::stop(fault::kind what, const instruction &at, int lane, const std::string &why) const {
    throw fault(what, of->name + ": line " + std::to_string(at.line) + ":" + of->text[static_cast<size_t>(at.line)] +
                          ": " + why + " (block " + std::to_string(block) + ", thread " +
                          std::to_string(first_thread + static_cast<uint32_t>(lane)) + ")");
}

namespace {

std::atomic<uint64_t> launches{0};

uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15;
    return x ^ x >> 29;
}

// Numbers below a count in an order that the seed draws: i times a step that shares no factor with the count.
class drawn_order {
public:
    drawn_order(uint32_t count, uint64_t seed) : count_(count) {
        first_ = static_cast<uint32_t>(mixed(seed) % count);
        step_ = static_cast<uint32_t>(mixed(seed + 1) % count) | 1;
        while (std::gcd(step_, count) != 1) {
            ++step_;
        }
    }
    uint32_t operator[](uint32_t i) const { return static_cast<uint32_t>((first_ + uint64_t{i} * step_) % count_); }

private:
    uint32_t count_, first_ = 0, step_ = 1;
};

// Lanes that wait at an instruction for the others to come there.
struct group {
    uint32_t pc, mask;
};

// A warp and its lanes that wait, those that are furthest behind last; and those that wait at a barrier.
struct warp_state {
    warp w;
    std::vector<char> registers;
    std::vector<group> waiting, at_barrier;
};

class block_runner {
public:
    block_runner(const launch &l, uint64_t number)
        : l_(l), warps_((l.threads + lanes - 1) / lanes), executed_(l.kernel->code.size()) {
        all_.resize(l.kernel->has_barriers ? warps_ : 1);  // otherwise one after another in the same place
        for (warp_state &s : all_) {
            prepare(s, number);
        }
    }

    void run_block(uint32_t block) {
        if (l_.shared_bytes != 0) {
            shared_ = std::make_unique<allocation>(l_.shared_bytes, l_.context);
        }
        begin_phase();
        const drawn_order order(warps_, mixed(l_.seed) + block);
        for (uint32_t i = 0; i < warps_; ++i) {
            warp_state &s = all_[order[i] % all_.size()];
            start(s, block, order[i]);
            run_warp(s);
        }
        while (const warp_state *const first = first_at_barrier()) {
            check_barrier(*first);
            begin_phase();
            for (uint32_t i = 0; i < warps_; ++i) {
                warp_state &s = all_[order[i]];
                std::swap(s.waiting, s.at_barrier);
                run_warp(s);
            }
        }
    }

    counts done() const {
        counts sum;
        for (const warp_state &s : all_) {
            sum += s.w.done;
        }
        return sum;
    }
    const std::vector<uint8_t> &executed() const { return executed_; }

private:
    void prepare(warp_state &s, uint64_t number) const {
        s.registers.resize(static_cast<size_t>(l_.kernel->register_bytes) + 64);
        warp &w = s.w;
        w.registers = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(s.registers.data()) + 63) / 64 * 64);
        w.parameters = l_.parameters.data();
        w.of = l_.kernel;
        w.threads_in_block = l_.threads;
        w.launch = number;
        w.context = l_.context;
        w.all_memory = l_.all_memory;
        for (const program::constant &c : l_.kernel->constants) {
            for (int lane = 0; lane < lanes; ++lane) {
                set(w, c.at, lane, c.value, c.wide);
            }
        }
    }

    static void set(warp &w, int32_t at, int lane, uint64_t value, bool wide) {
        if (wide) {
            w.lanes_of<uint64_t>(at)[lane] = value;
        } else {
            w.lanes_of<uint32_t>(at)[lane] = static_cast<uint32_t>(value);
        }
    }

    void begin_phase() {
        const uint64_t phase = l_.shared_bytes != 0 ? ++launches : 0;
        for (warp_state &s : all_) {
            s.w.shared = shared_.get();
            s.w.phase = phase;
        }
    }

    const warp_state *first_at_barrier() const {
        const auto found = std::ranges::find_if(all_, [](const warp_state &s) { return !s.at_barrier.empty(); });
        return found == all_.end() ? nullptr : &*found;
    }

    // All threads of the block are to be at one barrier.
    void check_barrier(const warp_state &first) const {
        const group &at = first.at_barrier[0];
        uint32_t there = 0;
        bool is_one = true;
        for (const warp_state &s : all_) {
            for (const group &g : s.at_barrier) {
                there += static_cast<uint32_t>(std::popcount(g.mask));
                is_one = is_one && g.pc == at.pc;
            }
        }
        if (!is_one || there != l_.threads) {
            first.w.stop(
                fault::kind::other, l_.kernel->code[at.pc - 1], std::countr_zero(at.mask),
                is_one ? "waits for threads that have finished" : "waits while others wait at another barrier");
        }
    }

    void start(warp_state &s, uint32_t block, uint32_t index) {
        warp &w = s.w;
        w.block = block;
        w.first_thread = index * lanes;
        w.nan = nan_source(l_.nan, mixed(l_.seed + (uint64_t{block} << 8 | index)));
        for (const program::special &special : l_.kernel->specials) {
            for (int lane = 0; lane < lanes; ++lane) {
                const uint32_t value = special.name == "%tid.x"     ? w.first_thread + static_cast<uint32_t>(lane)
                                       : special.name == "%ctaid.x" ? block
                                       : special.name == "%ntid.x"  ? l_.threads
                                                                    : l_.blocks;
                set(w, special.at, lane, value, false);
            }
        }
        const uint32_t count = std::min<uint32_t>(lanes, l_.threads - w.first_thread);
        w.done.threads += count;
        s.waiting.assign(1, {0, count == lanes ? ~uint32_t{0} : (uint32_t{1} << count) - 1});
    }

    // Until its lanes have finished, or wait at a barrier.
    void run_warp(warp_state &s) {
        while (!s.waiting.empty()) {
            run_first_group(s);
        }
    }

    static void activate(warp &w, uint32_t mask) {
        w.mask = mask;
        for (int lane = 0; lane < lanes; ++lane) {
            w.active[lane] = -(mask >> lane & 1);
        }
    }

    // Those that are furthest behind run until they finish or meet, or pass, the next ones. Lanes that part at a branch
    // so come together where its ways do.
    void run_first_group(warp_state &s) {
        warp &w = s.w;
        std::sort(s.waiting.begin(), s.waiting.end(), [](const group &a, const group &b) { return a.pc > b.pc; });
        group now = s.waiting.back();
        s.waiting.pop_back();
        while (!s.waiting.empty() && s.waiting.back().pc == now.pc) {
            now.mask |= s.waiting.back().mask;
            s.waiting.pop_back();
        }
        const uint32_t next = s.waiting.empty() ? ~uint32_t{0} : s.waiting.back().pc;
        activate(w, now.mask);
        const instruction *const code = l_.kernel->code.data();
        uint32_t pc = now.pc;
        uint64_t executed = 0;
        const bool all = now.mask == ~uint32_t{0};
        while (pc < next) {
            executed_[pc] = 1;
            const instruction &i = code[pc++];
            ++executed;
            if (i.then == flow::next && i.predicate < 0) {
                (all ? i.all : i.some)(w, i);
                continue;
            }
            const uint32_t taken = i.predicate < 0 ? now.mask : now.mask & true_lanes(w, i);
            if (i.then == flow::next) {
                activate(w, taken);
                i.some(w, i);
                activate(w, now.mask);
                continue;
            }
            const uint32_t stay = now.mask & ~taken;
            if (taken == 0) {
                continue;
            }
            if (i.then == flow::branch && stay == 0) {
                pc = static_cast<uint32_t>(i.target);
                continue;
            }
            if (i.then == flow::branch) {
                s.waiting.push_back({static_cast<uint32_t>(i.target), taken});
            } else if (i.then == flow::meet) {
                s.at_barrier.push_back({pc, taken});
            }
            now.mask = stay;
            break;
        }
        w.done.instructions += executed * static_cast<uint32_t>(std::popcount(w.mask));
        if (now.mask != 0) {
            s.waiting.push_back({pc, now.mask});
        }
    }

    static uint32_t true_lanes(warp &w, const instruction &i) {
        const uint32_t *const predicate = w.lanes_of<uint32_t>(i.predicate);
        uint32_t mask = 0;
        for (int lane = 0; lane < lanes; ++lane) {
            mask |= static_cast<uint32_t>((predicate[lane] != 0) != i.unless) << lane;
        }
        return mask;
    }

    const launch &l_;
    const uint32_t warps_;
    std::vector<warp_state> all_;
    std::vector<uint8_t> executed_;
    std::unique_ptr<allocation> shared_;
};

}  // namespace

counts run(const launch &l, std::vector<uint8_t> &executed) {
    executed.resize(l.kernel->code.size());
    const uint64_t number = ++launches;
    const drawn_order order(l.blocks, l.seed);
    std::atomic<uint32_t> next{0};
    std::exception_ptr first_fault;
    counts all;
    std::mutex lock;
    const auto work = [&] {
        std::fesetenv(FE_DFL_ENV);  // not what a test has set, which a new thread would inherit
        block_runner runner(l, number);
        try {
            for (uint32_t i; (i = next++) < l.blocks;) {
                runner.run_block(order[i]);
            }
        } catch (const fault &) {
            const std::lock_guard hold(lock);
            first_fault = first_fault ? first_fault : std::current_exception();
            next = l.blocks;
        }
        const std::lock_guard hold(lock);
        all += runner.done();
        for (size_t i = 0; i < executed.size(); ++i) {
            executed[i] |= runner.executed()[i];
        }
    };
    const uint32_t processors =
        l.processors != 0 ? static_cast<uint32_t>(l.processors) : std::thread::hardware_concurrency();
    constexpr uint32_t worth_a_thread = 4;  // blocks
    std::vector<std::thread> helpers;
    for (uint32_t i = 1; i < std::min(processors, l.blocks / worth_a_thread); ++i) {
        helpers.emplace_back(work);
    }
    std::fenv_t environment;
    std::fegetenv(&environment);
    work();
    std::fesetenv(&environment);
    for (std::thread &helper : helpers) {
        helper.join();
    }
    if (first_fault) {
        std::rethrow_exception(first_fault);
    }
    return all;
}

}  // namespace ptx

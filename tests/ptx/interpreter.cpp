#include "interpreter.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cfenv>
#include <cstring>
#include <exception>
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

class warp_runner {
public:
    warp_runner(const launch &l, uint64_t number)
        : l_(l), registers_(static_cast<size_t>(l.kernel->register_bytes) + 64), executed_(l.kernel->code.size()) {
        w_.registers = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(registers_.data()) + 63) / 64 * 64);
        w_.parameters = l.parameters.data();
        w_.of = l.kernel;
        w_.threads_in_block = l.threads;
        w_.launch = number;
        w_.context = l.context;
        w_.all_memory = l.all_memory;
        for (const program::constant &c : l.kernel->constants) {
            for (int lane = 0; lane < lanes; ++lane) {
                set(c.at, lane, c.value, c.wide);
            }
        }
    }

    void run_block(uint32_t block) {
        const uint32_t warps = (l_.threads + lanes - 1) / lanes;
        const drawn_order order(warps, mixed(l_.seed) + block);
        for (uint32_t i = 0; i < warps; ++i) {
            run_warp(block, order[i]);
        }
    }

    const counts &done() const { return w_.done; }
    const std::vector<uint8_t> &executed() const { return executed_; }

private:
    void set(int32_t at, int lane, uint64_t value, bool wide) {
        if (wide) {
            w_.lanes_of<uint64_t>(at)[lane] = value;
        } else {
            w_.lanes_of<uint32_t>(at)[lane] = static_cast<uint32_t>(value);
        }
    }

    void run_warp(uint32_t block, uint32_t index) {
        w_.block = block;
        w_.first_thread = index * lanes;
        w_.nan = nan_source(l_.nan, mixed(l_.seed + (uint64_t{block} << 8 | index)));
        for (const program::special &s : l_.kernel->specials) {
            for (int lane = 0; lane < lanes; ++lane) {
                const uint32_t value = s.name == "%tid.x"     ? w_.first_thread + static_cast<uint32_t>(lane)
                                       : s.name == "%ctaid.x" ? block
                                       : s.name == "%ntid.x"  ? l_.threads
                                                              : l_.blocks;
                set(s.at, lane, value, false);
            }
        }
        const uint32_t count = std::min<uint32_t>(lanes, l_.threads - w_.first_thread);
        w_.done.threads += count;
        waiting_.assign(1, {0, count == lanes ? ~uint32_t{0} : (uint32_t{1} << count) - 1});
        while (!waiting_.empty()) {
            run_first_group();
        }
    }

    void activate(uint32_t mask) {
        w_.mask = mask;
        for (int lane = 0; lane < lanes; ++lane) {
            w_.active[lane] = -(mask >> lane & 1);
        }
    }

    // Those that are furthest behind run until they finish or meet, or pass, the next ones. Lanes that part at a branch
    // so come together where its ways do.
    void run_first_group() {
        std::sort(waiting_.begin(), waiting_.end(), [](const group &a, const group &b) { return a.pc > b.pc; });
        group now = waiting_.back();
        waiting_.pop_back();
        while (!waiting_.empty() && waiting_.back().pc == now.pc) {
            now.mask |= waiting_.back().mask;
            waiting_.pop_back();
        }
        const uint32_t next = waiting_.empty() ? ~uint32_t{0} : waiting_.back().pc;
        activate(now.mask);
        const instruction *const code = l_.kernel->code.data();
        uint32_t pc = now.pc;
        uint64_t executed = 0;
        const bool all = now.mask == ~uint32_t{0};
        while (pc < next) {
            executed_[pc] = 1;
            const instruction &i = code[pc++];
            ++executed;
            if (i.then == flow::next && i.predicate < 0) {
                (all ? i.all : i.some)(w_, i);
                continue;
            }
            const uint32_t taken = i.predicate < 0 ? now.mask : now.mask & true_lanes(i);
            if (i.then == flow::next) {
                activate(taken);
                i.some(w_, i);
                activate(now.mask);
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
                waiting_.push_back({static_cast<uint32_t>(i.target), taken});
            }
            now.mask = stay;
            break;
        }
        w_.done.instructions += executed * static_cast<uint32_t>(std::popcount(w_.mask));
        if (now.mask != 0) {
            waiting_.push_back({pc, now.mask});
        }
    }

    uint32_t true_lanes(const instruction &i) {
        const uint32_t *const predicate = w_.lanes_of<uint32_t>(i.predicate);
        uint32_t mask = 0;
        for (int lane = 0; lane < lanes; ++lane) {
            mask |= static_cast<uint32_t>((predicate[lane] != 0) != i.unless) << lane;
        }
        return mask;
    }

    const launch &l_;
    std::vector<char> registers_;
    std::vector<uint8_t> executed_;
    warp w_;
    std::vector<group> waiting_;
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
        warp_runner runner(l, number);
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

// Every kernel of the library on every usable target, beside the loops and copies of baselines.h. The library
// takes --threads N (1 without it); loops and copies take one. Of more than one, real time is what counts: CPU time is
// the calling thread's.
//
// A benchmark's name is <row>/<elements>/<contender>, with <row> = <op>_<x>_<y>/<granularity>/<mode>; copies are
// copy/<elements>/<bits of x>:<bits of y>/<contender>. Benchmarks of one size are to be run together, in random
// order and several times; run.py does that and makes the table.
#include "baselines.h"
#include "problem.h"

#include <qdq/qdq.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace bench;

// 64 elements: what a call costs. 4 Ki to 64 Mi: the L1 cache, the L2 cache, the shared cache, memory.
constexpr extent extents[] = {{1, 64}, {64, 64}, {256, 256}, {1024, 1024}, {8192, 8192}};
constexpr extent checked_extent = {64, 64};

constexpr struct {
    granularity of_scale;
    const char *name;
} granularities[] = {{granularity::tensor, "tensor"},
                     {granularity::channel_rows, "channel_axis0"},
                     {granularity::channel_columns, "channel_last"},
                     {granularity::block32, "block32"}};

planner planner_of(operation op) { return op == operation::quantize ? qdq_plan_quantize : qdq_plan_dequantize; }

// The contender's time as Google Benchmark measures it. Its smallest over the repetitions is what run.py compares:
// everything else a machine does can only add to it.
template<typename Work> void add(const std::string &name, int64_t bytes, Work &&work) {
    benchmark::RegisterBenchmark(name.c_str(), [work, bytes](benchmark::State &state) {
        work(state);
        state.counters["bytes"] = static_cast<double>(bytes);  // read and written
    })->ComputeStatistics("min", [](const std::vector<double> &all) {
        return *std::min_element(all.begin(), all.end());
    });
}

void add_plan(const problem &what, const char *target, const qdq_plan &plan) {
    const std::string name = what.row() + "/" + std::to_string(what.size.elements()) + "/qdq:" + target;
    add(name, what.bytes(), [what, plan](benchmark::State &state) {
        const void *x = input(what.x);
        void *y = output();
        for (auto _ : state) {
            if (qdq_run(&plan, x, y, nullptr) != QDQ_OK) {
                state.SkipWithError(qdq_last_error());
            }
            benchmark::ClobberMemory();
        }
    });
}

void add_hand_loops(const problem &what) {
    for (const baselines::loop &loop : baselines::hand_loops()) {
        if (!solves(loop, what)) {
            continue;
        }
        const std::string contender = std::string("hand:") + loop.target + ":" + loop.name;
        add(what.row() + "/" + std::to_string(what.size.elements()) + "/" + contender, what.bytes(),
            [what, run = loop.run](benchmark::State &state) {
                const baselines::operands all = operands_of(what, output());
                for (auto _ : state) {
                    run(all);
                    benchmark::ClobberMemory();
                }
            });
    }
}

// copy/<elements>/<bits of x>:<bits of y>/<contender>: as many bytes read and written as the kernel's.
std::string copy_name(const problem &what, const char *contender) {
    return "copy/" + std::to_string(what.size.elements()) + "/" + std::to_string(what.x.bits) + ":" +
           std::to_string(what.y.bits) + "/" + contender;
}

void add_stream(const problem &what, const char *contender, bool prefetches) {
    const int64_t unit = std::gcd(what.x.bits, what.y.bits), x_lines = what.x.bits / unit, y_lines = what.y.bits / unit;
    const size_t steps = static_cast<size_t>(what.bytes() / 64 / (x_lines + y_lines));
    add(copy_name(what, contender), what.bytes(), [=](benchmark::State &state) {
        const baselines::traffic traffic{input(float_types[0]),     output(),  steps, static_cast<int>(x_lines),
                                         static_cast<int>(y_lines), prefetches};
        for (auto _ : state) {
            baselines::stream(traffic);
            benchmark::ClobberMemory();
        }
    });
}

void add_copies(const problem &what) {
    static std::set<std::string> added;
    if (!added.insert(copy_name(what, "")).second) {
        return;
    }
    add(copy_name(what, "memcpy"), what.bytes(), [bytes = what.bytes() / 2](benchmark::State &state) {
        const void *from = input(float_types[0]);
        void *to = output();
        for (auto _ : state) {
            baselines::copy(to, from, static_cast<size_t>(bytes));
            benchmark::ClobberMemory();
        }
    });
    if (baselines::can_stream() && what.size.elements() > extents[0].elements()) {  // that has steps of whole lines
        add_stream(what, "stream", false);
        add_stream(what, "stream_prefetch", true);
    }
}

// A baseline that computes something else proves nothing, so each loop must agree with qdq, bit for bit.
void check_hand_loops(const problem &what, const qdq_plan &plan) {
    const size_t bytes = static_cast<size_t>(what.size.elements() * what.y.bits / 8);
    void *const expected = output();
    void *const actual = static_cast<char *>(output()) + (size_t{32} << 20);
    for (const baselines::loop &loop : baselines::hand_loops()) {
        if (!solves(loop, what)) {
            continue;
        }
        qdq_run(&plan, input(what.x), expected, nullptr);
        std::memset(actual, 0x5a, bytes);
        loop.run(operands_of(what, actual));
        if (std::memcmp(expected, actual, bytes) != 0) {
            std::fprintf(stderr, "%s: the hand loop %s for %s differs from qdq\n", what.row().c_str(), loop.name,
                         loop.target);
            std::exit(1);
        }
    }
}

std::vector<std::string> usable_targets() {
    std::vector<std::string> names;
    for (int32_t i = 0; i < qdq_target_count(); i++) {
        if (qdq_target_usable(i) != 0 && qdq_target_device(i) == QDQ_DEVICE_HOST) {
            names.emplace_back(qdq_target_name(i));
        }
    }
    return names;
}

// Adds the problem's contenders; the library itself knows which problems it has kernels for.
void add_problem(const problem &what, const std::vector<std::string> &targets) {
    bool supported = false;
    for (const std::string &target : targets) {
        qdq_plan plan;
        qdq_force_target(target.c_str());
        if (prepare(planner_of(what.op), plan, what) != QDQ_OK) {
            continue;
        }
        if (!supported && what.size.elements() == checked_extent.elements()) {
            check_hand_loops(what, plan);
        }
        supported = true;
        add_plan(what, target.c_str(), plan);
    }
    if (supported) {
        add_hand_loops(what);
        add_copies(what);
    }
}

void add_all() {
    const std::vector<std::string> targets = usable_targets();
    for (const extent &size : extents) {
        for (const auto &[of_scale, granularity_name] : granularities) {
            for (const element_type &floating : float_types) {
                for (const element_type &stored : stored_types) {
                    for (qdq_scale_mode mode : {QDQ_DIVIDE, QDQ_MULTIPLY}) {
                        problem what{operation::quantize, floating, stored, of_scale, granularity_name, mode, size};
                        add_problem(what, targets);
                        if (of_scale == granularity::tensor && (stored.dtype == QDQ_I8 || stored.dtype == QDQ_U8)) {
                            what.zero_point = true;
                            add_problem(what, targets);
                        }
                    }
                    add_problem({operation::dequantize, stored, floating, of_scale, granularity_name, QDQ_DIVIDE, size},
                                targets);
                }
            }
        }
    }
    qdq_force_target(nullptr);
}

// The value of --threads, which is taken from the arguments; 1 without it.
int32_t take_threads(int &argc, char **argv) {
    char **const last = argv + argc;
    char **const flag = std::find(argv, last, std::string_view("--threads"));
    if (last - flag < 2) {
        return 1;
    }
    const int32_t threads = std::atoi(flag[1]);
    std::copy(flag + 2, last + 1, flag);  // the null pointer at the end, too
    argc -= 2;
    return threads;
}

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

}  // namespace

int main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    qdq_set_num_threads(take_threads(argc, argv));
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::AddCustomContext("compiler", compiler());
    add_all();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}

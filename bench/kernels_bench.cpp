// Every kernel of the library on every usable target, beside the loops and copies of baselines.h. One thread.
//
// A benchmark's name is <row>/<elements>/<contender>, with <row> = <op>_<x>_<y>/<granularity>/<mode>; copies are
// copy/<elements>/<bits of x>:<bits of y>/<contender>. Benchmarks of one size are to be run together, in random
// order and several times; run.py does that and makes the table.
#include "baselines.h"
#include "types_in_role.h"

#include <qdq/qdq.h>

#include <benchmark/benchmark.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using baselines::granularity;
using baselines::operation;
using bench::element_type;
using bench::float_types;
using bench::stored_types;

// 4 Ki to 64 Mi elements: the L1 cache, the L2 cache, the shared cache, memory.
struct extent {
    int64_t rows, columns;
    int64_t elements() const { return rows * columns; }
};
constexpr extent extents[] = {{64, 64}, {256, 256}, {1024, 1024}, {8192, 8192}};
constexpr int64_t most_elements = int64_t{64} << 20;

constexpr struct {
    granularity of_scale;
    const char *name;
} granularities[] = {{granularity::tensor, "tensor"},
                     {granularity::channel_rows, "channel_axis0"},
                     {granularity::channel_columns, "channel_last"},
                     {granularity::block32, "block32"}};

// What one benchmark computes, apart from how.
struct problem {
    operation op;
    element_type x, y;
    granularity of_scale;
    const char *granularity_name;
    qdq_scale_mode mode;
    extent size;

    std::string row() const {
        const std::string kernel = op == operation::quantize ? "quantize_" : "dequantize_";
        const std::string scaling = op == operation::dequantize ? "multiply"
                                    : mode == QDQ_DIVIDE        ? "divide"
                                                                : "multiply";
        return kernel + x.name + "_" + y.name + "/" + granularity_name + "/" + scaling;
    }
    int64_t bytes() const { return size.elements() * (x.bits + y.bits) / 8; }
};

// Memory that stays for the whole run, so that every contender of a row finds the same pages. Huge pages where the
// system gives them: page walks would be noise.
void *reserve(size_t bytes) {
    constexpr size_t huge_page = size_t{2} << 20;
    void *memory = std::aligned_alloc(huge_page, (bytes + huge_page - 1) / huge_page * huge_page);
    if (memory == nullptr) {
        std::fprintf(stderr, "no memory for %zu bytes\n", bytes);
        std::exit(1);
    }
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

uint32_t next_random() {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>(state >> 32);
}

// In (-4, 4), away from subnormals, which some operations are slow on.
float random_float() {
    const float unit = static_cast<float>(next_random() >> 8) * 0x1p-24f;
    return (unit + 0x1p-10f) * (next_random() % 2 == 0 ? 4.0f : -4.0f);
}

uint16_t to_f16(float value) {  // truncated: any normal value will do
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return static_cast<uint16_t>((bits >> 16 & 0x8000u) | (((bits >> 23 & 0xff) - 112) << 10) | (bits >> 13 & 0x3ffu));
}

void fill(void *data, qdq_dtype type, size_t bytes) {
    switch (type) {
    case QDQ_F32: std::generate_n(static_cast<float *>(data), bytes / 4, random_float); break;
    case QDQ_F16:
        std::generate_n(static_cast<uint16_t *>(data), bytes / 2, [] { return to_f16(random_float()); });
        break;
    case QDQ_BF16:
        std::generate_n(static_cast<uint16_t *>(data), bytes / 2,
                        [] { return static_cast<uint16_t>(std::bit_cast<uint32_t>(random_float()) >> 16); });
        break;
    default: std::generate_n(static_cast<uint32_t *>(data), bytes / 4, next_random);
    }
}

// Inputs are made once for each type, at the first use.
const void *input(const element_type &type) {
    static std::map<qdq_dtype, void *> inputs;
    void *&data = inputs[type.dtype];
    if (data == nullptr) {
        const size_t bytes = static_cast<size_t>(most_elements * type.bits / 8);
        data = reserve(bytes);
        fill(data, type.dtype, bytes);
    }
    return data;
}

void *output() {
    static void *const data = [] {
        void *memory = reserve(most_elements * 4);
        std::memset(memory, 0, most_elements * 4);
        return memory;
    }();
    return data;
}

// Near 1/32: codes of 8 bits are used well and none saturates often.
const float *scales() {
    static const std::vector<float> values = [] {
        std::vector<float> all(most_elements / 32);
        std::generate(all.begin(), all.end(), [] { return 0.03f + 0.001f * static_cast<float>(next_random() % 8); });
        return all;
    }();
    return values.data();
}

// The plan of a problem on the forced target, or a status that says why there is none.
qdq_status prepare(qdq_plan &plan, const problem &what) {
    const std::array<int64_t, 2> shape{what.size.rows, what.size.columns};
    std::array<int64_t, 2> scale_shape{1, 1};
    switch (what.of_scale) {
    case granularity::tensor: break;
    case granularity::channel_rows: scale_shape = {what.size.rows, 1}; break;
    case granularity::channel_columns: scale_shape = {1, what.size.columns}; break;
    case granularity::block32: scale_shape = {what.size.rows, what.size.columns / 32}; break;
    }
    const qdq_tensor x{nullptr, what.x.dtype, 2, shape.data(), nullptr, {}};
    const qdq_tensor y{nullptr, what.y.dtype, 2, shape.data(), nullptr, {}};
    const qdq_tensor scale{const_cast<float *>(scales()), QDQ_F32, 2, scale_shape.data(), nullptr, {}};
    qdq_options options{};
    options.scale_mode = what.mode;
    const auto function = what.op == operation::quantize ? qdq_plan_quantize : qdq_plan_dequantize;
    return function(&plan, &x, &scale, nullptr, &y, &options);
}

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

bool solves(const baselines::loop &loop, const problem &what) {
    return loop.op == what.op && loop.x == what.x.dtype && loop.y == what.y.dtype && loop.of_scale == what.of_scale &&
           (what.op == operation::dequantize || loop.mode == what.mode);
}

baselines::operands operands_of(const problem &what, void *y) {
    return {input(what.x), y, scales(), what.size.rows, what.size.columns};
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
    if (baselines::can_stream()) {
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
        if (prepare(plan, what) != QDQ_OK) {
            continue;
        }
        if (!supported && what.size.elements() == extents[0].elements()) {
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
                        add_problem({operation::quantize, floating, stored, of_scale, granularity_name, mode, size},
                                    targets);
                    }
                    add_problem({operation::dequantize, stored, floating, of_scale, granularity_name, QDQ_DIVIDE, size},
                                targets);
                }
            }
        }
    }
    qdq_force_target(nullptr);
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
    qdq_set_num_threads(1);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::AddCustomContext("compiler", compiler());
    add_all();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}

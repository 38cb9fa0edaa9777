// Times one kernel of several builds of the library, interleaved, for tools/tune.py:
//
//     qdq_measure_kernel KERNEL TARGET --elements 4096 65536 --rounds 20 first/libqdq.so second/libqdq.so
//
// Builds whose results differ from the published digest of the kernel, or from the first build's, are not timed. Prints
// a JSON object: `differences`, a text for each build, empty where there is none, and `rows`, each with `ns`, the times
// of a call in each round, for each build (null where it was not timed). With --limits so many rounds of what no kernel
// can beat are timed between them: `memcpy` of as many bytes, and the hand loops for the row.
#include "problem.h"

#include "conformance/check.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct options {
    int rounds = 20;
    double seconds = 50e-6;
    bool one_variant = false;
    bool limits = false;
};

struct build {
    planner plan_quantize, plan_dequantize;
    decltype(&qdq_run) run;
    conformance::library library;
    std::string difference;

    planner plan(operation op) const { return op == operation::quantize ? plan_quantize : plan_dequantize; }
};

template<typename Function> void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) {
        throw std::runtime_error(dlerror());
    }
}

build load(const std::string &file, const std::string &target) {
    void *library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        throw std::runtime_error(dlerror());
    }
    build b{};
    decltype(&qdq_force_target) force_target;
    decltype(&qdq_set_num_threads) set_num_threads;
    find(library, "qdq_force_target", force_target);
    find(library, "qdq_set_num_threads", set_num_threads);
    find(library, "qdq_plan_quantize", b.plan_quantize);
    find(library, "qdq_plan_dequantize", b.plan_dequantize);
    find(library, "qdq_run", b.run);
    find(library, "qdq_quantize", b.library.quantize);
    find(library, "qdq_dequantize", b.library.dequantize);
    if (force_target(target.c_str()) != QDQ_OK) {
        throw std::runtime_error("target " + target + " is not usable here");
    }
    set_num_threads(1);
    return b;
}

conformance::kernel kernel_named(const std::string &name) {
    for (const conformance::kernel &k : conformance::kernels()) {
        if (name_of(k) == name) {
            return k;
        }
    }
    throw std::runtime_error("there is no kernel " + name);
}

const element_type &type_of(qdq_dtype dtype) { return qdq::kernels::element_types[dtype]; }

// The calls that a kernel is for: of its form, and of both modes where it quantizes.
std::vector<problem> problems_of(const conformance::kernel &k, int64_t elements) {
    constexpr int64_t columns_at_most = 1024;
    const int64_t columns = std::min(columns_at_most, elements / 64);
    problem what{k.quantizes ? operation::quantize : operation::dequantize,
                 type_of(k.x()),
                 type_of(k.y()),
                 granularity::tensor,
                 "tensor",
                 QDQ_DIVIDE,
                 {elements / columns, columns}};
    if (k.form == conformance::form::column) {
        what.of_scale = granularity::channel_columns;
        what.granularity_name = "channel_last";
    } else if (k.form == conformance::form::block) {
        what.of_scale = granularity::block32;
        what.granularity_name = "block32";
    }
    std::vector<problem> all{what};
    if (k.quantizes) {
        all.push_back(what);
        all.back().mode = QDQ_MULTIPLY;
    }
    return all;
}

template<typename Call> double seconds_of(int calls, const Call &call) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++) {
        call();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Calls that take long enough for the clock to tell.
template<typename Call> int calls_of(double seconds, const Call &call) {
    int calls = 1;
    while (calls < 1 << 20 && seconds_of(calls, call) < seconds) {
        calls *= 2;
    }
    return calls;
}

std::vector<char> results_of(const build &b, const qdq_plan &plan, const problem &what) {
    const size_t bytes = static_cast<size_t>(what.size.elements() * what.y.bits / 8);
    std::memset(output(), 0x5a, bytes);
    b.run(&plan, input(what.x), output(), nullptr);
    const char *const y = static_cast<const char *>(output());
    return {y, y + bytes};
}

// The plans of a problem by all builds; those with other results than the first are told so.
std::vector<qdq_plan> plans_of(std::vector<build> &builds, const problem &what) {
    std::vector<qdq_plan> plans(builds.size());
    std::vector<char> expected;
    for (size_t i = 0; i < builds.size(); i++) {
        if (prepare(builds[i].plan(what.op), plans[i], what) != QDQ_OK) {
            throw std::runtime_error("no plan for " + what.row());
        }
        const std::vector<char> results = results_of(builds[i], plans[i], what);
        if (i == 0) {
            expected = results;
        } else if (results != expected && builds[i].difference.empty()) {
            builds[i].difference = what.row() + " differs from the first build's";
        }
    }
    return plans;
}

using contender = std::function<void()>;

// By name, "hand:<target>:<arithmetic>" or "memcpy".
std::map<std::string, contender> limits_of(const problem &what) {
    const size_t bytes = static_cast<size_t>(what.bytes() / 2);
    std::map<std::string, contender> all{
        {"memcpy", [bytes] { baselines::copy(output(), input(float_types[0]), bytes); }}};
    for (const baselines::loop &loop : baselines::hand_loops()) {
        if (solves(loop, what)) {
            all[std::string("hand:") + loop.target + ":" + loop.name] = [&loop, what] {
                loop.run(operands_of(what, output()));
            };
        }
    }
    return all;
}

nlohmann::json time_problem(std::vector<build> &builds, const problem &what, const options &given) {
    const std::vector<qdq_plan> plans = plans_of(builds, what);
    const void *const x = input(what.x);
    std::vector<contender> contenders;
    for (size_t i = 0; i < builds.size(); i++) {
        contenders.push_back([run = builds[i].run, plan = &plans[i], x] { run(plan, x, output(), nullptr); });
    }
    const std::map<std::string, contender> limits = given.limits ? limits_of(what) : std::map<std::string, contender>{};
    const int calls = calls_of(given.seconds, contenders[0]);
    std::vector<nlohmann::json> ns(builds.size());
    nlohmann::json limits_ns = nlohmann::json::object();
    const auto time = [&](nlohmann::json &into, const contender &call) {
        into.push_back(seconds_of(calls, call) / calls * 1e9);
    };
    for (int round = 0; round < given.rounds; round++) {
        for (size_t turn = 0; turn < builds.size(); turn++) {
            const size_t i = (turn + static_cast<size_t>(round)) % builds.size();
            if (builds[i].difference.empty()) {
                time(ns[i], contenders[i]);
            }
        }
        for (const auto &[name, call] : limits) {
            time(limits_ns[name], call);
        }
    }
    return {{"row", what.row()},
            {"elements", what.size.elements()},
            {"bytes", what.bytes()},
            {"ns", ns},
            {"limits", limits_ns}};
}

}  // namespace

int main(int argc, char **argv) try {
    std::string kernel, target;
    std::vector<int64_t> elements{4096, 65536, 1 << 20};
    std::vector<std::string> files;
    options given;
    CLI::App app{"Times one kernel of several builds of the library."};
    app.add_option("kernel", kernel)->required();
    app.add_option("target", target)->required();
    app.add_option("--elements", elements);
    app.add_option("--rounds", given.rounds);
    app.add_option("--seconds", given.seconds, "of each timing");
    app.add_flag("--one-variant", given.one_variant, "no digests: kernels are of one variant, a plain division");
    app.add_flag("--limits", given.limits, "memcpy and hand loops, too");
    app.add_option("libraries", files)->required();
    CLI11_PARSE(app, argc, argv);

    most_elements = *std::max_element(elements.begin(), elements.end());
    const conformance::kernel k = kernel_named(kernel);
    std::vector<build> builds;
    for (const std::string &file : files) {
        builds.push_back(load(file, target));
        if (!given.one_variant) {
            build &b = builds.back();
            b.difference =
                check(k, conformance::published_digest(kernel), b.library, conformance::hostile_environments::none)
                    .difference;
        }
    }
    nlohmann::json rows = nlohmann::json::array();
    for (const int64_t count : elements) {
        std::vector<problem> problems = problems_of(k, count);
        problems.resize(given.one_variant ? 1 : problems.size());
        for (const problem &what : problems) {
            rows.push_back(time_problem(builds, what, given));
        }
    }
    nlohmann::json differences = nlohmann::json::array();
    for (const build &b : builds) {
        differences.push_back(b.difference);
    }
    std::cout << nlohmann::json{{"differences", differences}, {"rows", rows}} << "\n";
} catch (const std::exception &e) {
    std::cerr << "qdq_measure_kernel: " << e.what() << "\n";
    return 1;
}

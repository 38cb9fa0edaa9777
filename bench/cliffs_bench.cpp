// What calls cost beyond dense ones: each is timed by a plan beside another, interleaved, and the least times of an
// element are compared; also what copying its elements by plain loops costs, and what touching their cache lines does.
// Calls are drawn from a seed, beside the dense call of their types with one f32 scale and no other option than the
// scale's mode; or they are those of a table, each beside its own neighbour.
#include "plain_copy.h"
#include "prepared_call.h"
#include "touched_lines.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <stdexcept>

namespace {

using bench::call;
using bench::plain_copy;
using bench::prepared;
using bench::require;
using bench::touched_lines;
using test_support::random_bits;

struct limits {
    int rounds = 9;
    double seconds = 20e-6;  // of one timing, at least
};

// The least times of runs, interleaved, in seconds.
std::vector<double> least_times(const std::vector<std::function<void()>> &runs, const limits &by) {
    const auto time = [](const std::function<void()> &run, int64_t times) {
        using clock = std::chrono::steady_clock;
        const auto begin = clock::now();
        for (int64_t i = 0; i < times; i++) {
            run();
        }
        return std::chrono::duration<double>(clock::now() - begin).count() / static_cast<double>(times);
    };
    std::vector<double> least;
    std::vector<int64_t> times;
    for (const auto &run : runs) {
        time(run, 1);  // pages that are new
        least.push_back(time(run, 1));
        times.push_back(int64_t(by.seconds / least.back()) + 1);
    }
    for (int round = 0; round < by.rounds; round++) {
        for (size_t i = 0; i < runs.size(); i++) {
            least[i] = std::min(least[i], time(runs[i], times[i]));
        }
    }
    return least;
}

// The least times of an element of two calls, of copying the first one's, and of touching its lines: those of x or of
// y, whichever takes longer. In ns.
struct times {
    double ns, beside_ns, copy_ns, lines_ns;
};

times times_of(const call &a, const call &b, uint64_t seed, const limits &by) {
    random_bits of_a(seed), of_b(seed);  // two calls of one x have the same numbers
    const prepared first(a, of_a), second(b, of_b);
    const plain_copy by_x(a, plain_copy::order::of_x), by_y(a, plain_copy::order::of_y);
    const touched_lines of_x(a, true);
    touched_lines of_y(a, false);
    const std::vector<double> least =
        least_times({[&] { first.run(); }, [&] { second.run(); }, [&] { by_x.run(); }, [&] { by_y.run(); }}, by);
    const std::vector<double> lines = least_times({[&] { of_x.read(); }, [&] { of_y.write(); }}, by);
    const double a_ns = 1e9 / static_cast<double>(a.elements()), b_ns = 1e9 / static_cast<double>(b.elements());
    return {least[0] * a_ns, least[1] * b_ns, std::min(least[2], least[3]) * a_ns, std::max(lines[0], lines[1]) * a_ns};
}

struct found {
    double ratio;
    times of;
    int64_t elements;
    std::string text;

    double ratio_to_limit() const { return of.ns / std::max(of.beside_ns, of.copy_ns); }
    double ratio_of_lines() const { return of.lines_ns / of.beside_ns; }
};

void print_header(const char *last) {
    std::printf("%8s %9s %9s %9s %9s %9s  %s\n", "ratio", "ns", "beside ns", "copy ns", "lines ns", "elements", last);
}

void print(const found &each) {
    std::printf("%8.2f %9.4f %9.4f %9.4f %9.4f %9lld  %s\n", each.ratio, each.of.ns, each.of.beside_ns, each.of.copy_ns,
                each.of.lines_ns, static_cast<long long>(each.elements), each.text.c_str());
}

found compare(const call &c, const call &beside, const std::string &text, uint64_t seed, const limits &by) {
    const times of = times_of(c, beside, seed, by);
    return {of.ns / of.beside_ns, of, c.elements(), text};
}

void print_ratios(const char *of, std::vector<double> ratios) {
    std::sort(ratios.begin(), ratios.end());
    if (!ratios.empty()) {
        const auto at = [&](double part) { return ratios[static_cast<size_t>(part * double(ratios.size() - 1))]; };
        std::printf("%s: %zu calls, median %.2f, p90 %.2f, p99 %.2f, worst %.2f\n", of, ratios.size(), at(0.5), at(0.9),
                    at(0.99), at(1));
        std::printf("percentiles:");
        for (int percent = 0; percent <= 100; percent++) {
            std::printf(" %.2f", at(percent / 100.0));
        }
        std::printf("\n");
    }
}

// The kinds of drawn calls but for plain ones, by the flag that asks for each.
constexpr struct {
    bench::drawn kind;
    const char *flag, *help;
} kinds[] = {
    {bench::drawn::large, "--large", "draws calls past the caches, some of which compute their scales"},
    {bench::drawn::dynamic, "--dynamic", "draws calls that compute their scales, beside a dense one that computes one"},
    {bench::drawn::transcoding, "--transcode",
     "draws calls of qdq_transcode, beside one of dense codes with one scale each"},
    {bench::drawn::pair, "--pair", "draws pairs of dynamic outputs, beside a call for each"},
    {bench::drawn::groups, "--groups",
     "draws calls of rows in groups, beside a dense one of as many groups with a scale each"},
    {bench::drawn::blocks, "--blocks", "draws calls of ggml's blocks, beside one of dense blocks"},
};

std::string flag_of(bench::drawn kind) {
    for (const auto &each : kinds) {
        if (each.kind == kind) {
            return std::string(each.flag) + " ";
        }
    }
    return "";
}

void measure_drawn(uint64_t seed, int64_t first, int64_t end, size_t worst, bench::drawn kind, const limits &by) {
    std::vector<found> all;
    for (int64_t i = first; i < end; i++) {
        const call c = bench::drawn_call(seed, i, kind);
        const std::string again =
            flag_of(kind) + "--seed " + std::to_string(seed) + " --call " + std::to_string(i) + "  ";
        all.push_back(compare(c, bench::beside(c), again + text_of(c), seed, by));
    }
    std::vector<double> ratios, of_large, to_limit, of_lines;
    for (const found &each : all) {
        ratios.push_back(each.ratio);
        if (each.elements >= 4096) {
            of_large.push_back(each.ratio);
            to_limit.push_back(each.ratio_to_limit());
            of_lines.push_back(each.ratio_of_lines());
        }
    }
    print_ratios("all", ratios);
    print_ratios("of 4 Ki elements and more, beside the longer of a dense call and a copy of the elements", to_limit);
    print_ratios("of 4 Ki elements and more, touching the cache lines of the elements beside a dense call", of_lines);
    print_ratios("of 4 Ki elements and more", of_large);
    std::stable_sort(all.begin(), all.end(), [](const found &a, const found &b) {
        return std::pair(a.elements >= 4096, a.ratio) > std::pair(b.elements >= 4096, b.ratio);
    });
    std::printf("\n");
    print_header("the worst");
    all.resize(std::min(all.size(), worst));
    std::for_each(all.begin(), all.end(), print);
}

void measure_row(const bench::row &r, const std::string &filter, const limits &by) {
    if (r.name.find(filter) == std::string::npos) {
        return;
    }
    found each = compare(r.measured, r.beside, r.name, 1, by);
    if (r.whole) {
        each.of.ns *= double(each.elements);
        each.of.beside_ns *= double(r.beside.elements());
        each.of.copy_ns *= double(each.elements);
        each.of.lines_ns *= double(each.elements);
        each.ratio = each.of.ns / each.of.beside_ns;
    }
    print(each);
    std::fflush(stdout);
}

// The least and the most of a call's time over that of the next multiple of 64 elements.
void measure_lengths(bool quantizes, qdq_dtype from, qdq_dtype to, const std::string &filter, const limits &by) {
    std::vector<found> all;
    const std::string name = std::string(qdq_dtype_name(from)) + " to " + qdq_dtype_name(to) + ", n from 1 to 128";
    if (name.find(filter) == std::string::npos) {
        return;
    }
    for (int64_t n = 1; n <= 128; n++) {
        const int64_t next = (n + 63) / 64 * 64;
        const auto [ns, beside_ns, copy_ns, lines_ns] =
            times_of(bench::call_of(quantizes, from, to, {n}), bench::call_of(quantizes, from, to, {next}), 1, by);
        const times whole = {ns * double(n), beside_ns * double(next), copy_ns * double(n), lines_ns * double(n)};
        all.push_back({whole.ns / whole.beside_ns, whole, n, name});
    }
    print(*std::max_element(all.begin(), all.end(), [](const found &a, const found &b) { return a.ratio < b.ratio; }));
}

void measure_table(const std::string &filter, const limits &by) {
    print_header("row");
    for (const bench::row &r : bench::table_rows()) {
        measure_row(r, filter, by);
    }
    measure_lengths(true, QDQ_F32, QDQ_I8, filter, by);
    measure_lengths(false, QDQ_I8, QDQ_F32, filter, by);
    measure_lengths(false, QDQ_I4, QDQ_BF16, filter, by);
}

}  // namespace

int main(int argc, char **argv) try {
    CLI::App app{"Times calls beside dense ones."};
    bool table = false;
    bench::drawn kind = bench::drawn::plain;
    uint64_t seed = 1;
    int64_t calls = 2000, one = -1;
    size_t worst = 20;
    std::string target, filter;
    limits by;
    app.add_flag("--table", table, "a fixed list of calls instead of drawn ones");
    auto *const drawn = app.add_option_group("drawn")->require_option(0, 1);
    for (const auto &each : kinds) {
        drawn->add_flag_callback(each.flag, [&] { kind = each.kind; }, each.help);
    }
    app.add_option("--filter", filter, "rows of the table that have this in their names");
    app.add_option("--seed", seed, "of the draws");
    app.add_option("--calls", calls, "how many are drawn");
    app.add_option("--call", one, "only the draw of this number");
    app.add_option("--worst", worst, "how many of the worst are printed");
    app.add_option("--target", target, "the best usable one without it");
    app.add_option("--rounds", by.rounds, "of which the least time counts");
    app.add_option("--seconds", by.seconds, "of one timing");
    CLI11_PARSE(app, argc, argv);

    require(qdq_force_target(target.empty() ? nullptr : target.c_str()));
    qdq_set_num_threads(1);
    std::printf("%s, one thread\n", qdq_current_target());
    if (table) {
        measure_table(filter, by);
    } else {
        measure_drawn(seed, one < 0 ? 0 : one, one < 0 ? calls : one + 1, worst, kind, by);
    }
} catch (const std::exception &e) {
    std::cerr << "qdq_cliffs_bench: " << e.what() << "\n";
    return 1;
}

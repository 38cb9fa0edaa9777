// What threads are worth, on processors that do nothing else: for each call the time of one thread, how many times as
// fast two are, and how two callers at once fare, each in a thread of its own that calls again and again: the median of
// their calls and the 99th percentile, where calls take one thread and where they take two.
#include "prepared_call.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <thread>

namespace {

using bench::call;
using bench::prepared;
using bench::random_bits;

struct conversion {
    bool quantizes;
    qdq_dtype from, to;
    int64_t block;  // elements along the last axis that share a scale; 0: all
};

const conversion conversions[] = {
    {true, QDQ_F32, QDQ_I8, 0},    {true, QDQ_F32, QDQ_I4, 32},     {true, QDQ_F32, QDQ_F8E4M3, 0},
    {true, QDQ_F16, QDQ_I8, 0},    {true, QDQ_BF16, QDQ_I8, 1024},  {true, QDQ_BF16, QDQ_F8E4M3, 32},
    {false, QDQ_I8, QDQ_F32, 0},   {false, QDQ_I8, QDQ_BF16, 1024}, {false, QDQ_F8E4M3, QDQ_BF16, 0},
    {false, QDQ_I4, QDQ_BF16, 32},
};

call call_of(const conversion &c, int64_t elements) {
    const int64_t columns = 1024;
    call made = bench::call_of(c.quantizes, c.from, c.to, {elements / columns, columns});
    if (c.block > 0) {
        made.scale.shape = {elements / columns, columns / c.block};
        made.blocks = {1, c.block};
    }
    return made;
}

std::string name_of(const conversion &c) {
    return std::string(qdq_dtype_name(c.from)) + " to " + qdq_dtype_name(c.to) +
           (c.block == 0 ? "" : ", blocks of " + std::to_string(c.block));
}

double seconds_of(const prepared &p) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    p.run();
    return std::chrono::duration<double>(clock::now() - begin).count();
}

struct times {
    double least = 1, median = 0, p99 = 0;
};

times summary(std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return {all.front(), all[all.size() / 2], all[all.size() * 99 / 100]};
}

times measure(const prepared &p, int32_t threads, int calls) {
    qdq_set_num_threads(threads);
    std::vector<double> all;
    for (int i = 0; i < calls; i++) {
        all.push_back(seconds_of(p));
    }
    return summary(all);
}

// Of calls by two callers at once.
times measure_pair(const prepared &a, const prepared &b, int32_t threads, int calls) {
    qdq_set_num_threads(threads);
    std::vector<double> all(2 * static_cast<size_t>(calls));
    std::barrier together(2);
    const auto run = [&](const prepared &p, size_t first) {
        together.arrive_and_wait();
        for (size_t i = first; i < all.size(); i += 2) {
            all[i] = seconds_of(p);
        }
    };
    std::thread other(run, std::cref(b), 1);
    run(a, 0);
    other.join();
    return summary(all);
}

void measure_call(const conversion &c, int64_t elements, int calls, int rounds) {
    random_bits random(1);
    const prepared first(call_of(c, elements), random), second(call_of(c, elements), random);
    times one, two, alone, shared;
    for (int round = 0; round < rounds; round++) {
        const auto keep = [](times &best, const times &next) { best = next.least < best.least ? next : best; };
        const auto keep_median = [](times &best, const times &next) {
            best = best.median == 0 || next.median < best.median ? next : best;
        };
        keep(one, measure(first, 1, calls));
        keep(two, measure(first, 2, calls));
        keep_median(alone, measure_pair(first, second, 1, calls));
        keep_median(shared, measure_pair(first, second, 2, calls));
    }
    std::printf("%9lld %8.1f %8.2f %8.2f   %8.1f %8.1f   %8.1f %8.1f  %s\n", static_cast<long long>(elements),
                one.least * 1e6, one.least / two.least, one.median / two.median, alone.median * 1e6, alone.p99 * 1e6,
                shared.median * 1e6, shared.p99 * 1e6, name_of(c).c_str());
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) try {
    CLI::App app{"Times calls on one thread and on two, alone and two at once."};
    std::vector<int64_t> sizes{int64_t{1} << 18, int64_t{1} << 20, int64_t{1} << 22};
    int calls = 200, rounds = 5;
    app.add_option("--elements", sizes, "of the calls, multiples of 1024");
    app.add_option("--calls", calls, "in a round");
    app.add_option("--rounds", rounds, "of which the best counts");
    CLI11_PARSE(app, argc, argv);
    std::printf("%s\n%9s %8s %8s %8s   %8s %8s   %8s %8s  times in us\n", qdq_current_target(), "elements", "one",
                "gain", "median", "pair 1", "p99", "pair 2", "p99");
    for (const int64_t elements : sizes) {
        for (const conversion &c : conversions) {
            measure_call(c, elements, calls, rounds);
        }
    }
} catch (const std::exception &e) {
    std::cerr << "qdq_threads_bench: " << e.what() << "\n";
    return 1;
}

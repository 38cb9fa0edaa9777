#include "commands.h"
#include "progress.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/json.h"
#include "support/text.h"

#include "conformance/check.h"
#include "conformance/device.h"
#include "conformance/dynamic.h"
#include "conformance/other_calls.h"
#include "conformance/supported.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <system_error>
#include <thread>
#include <vector>

namespace qdq::cli {

namespace {

using conformance::finding;

// Of the target that is checked, if it is a device's. Never closed: its driver may be gone when the process ends.
conformance::device *in_use = nullptr;

qdq_status quantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                    const qdq_options *options) {
    return in_use != nullptr ? call_on_device(*in_use, true, x, scale, zero_point, y, options, {})
                             : qdq_quantize(x, scale, zero_point, y, options);
}

qdq_status dequantize(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point, const qdq_tensor *y,
                      const qdq_options *options) {
    return in_use != nullptr ? call_on_device(*in_use, false, x, scale, zero_point, y, options, {})
                             : qdq_dequantize(x, scale, zero_point, y, options);
}

qdq_status quantize_dynamic(const qdq_tensor *x, const qdq_tensor *scale, const qdq_tensor *zero_point,
                            const qdq_tensor *y, const qdq_scale_options *how, const qdq_options *options) {
    return in_use != nullptr
               ? conformance::call_on_device(*in_use, {x, scale, zero_point, y, y->dtype, how, options}, {})
               : qdq_quantize_dynamic(x, scale, zero_point, y, how, options);
}

const conformance::library tested = {quantize,
                                     dequantize,
                                     quantize_dynamic,
                                     qdq_quantize_dynamic_pair,
                                     qdq_quantize_grouped,
                                     qdq_dequantize_grouped,
                                     qdq_quantize_dynamic_grouped,
                                     qdq_quantize_blocks,
                                     qdq_dequantize_blocks};

// Calls task(i) for every i in [0, count), on this thread, which draws the bar and sees signals, and on others.
void run_on_threads(int threads, int64_t count, const std::function<void(int64_t)> &task) {
    progress bar(static_cast<uint64_t>(count), progress::unit::pieces);
    std::atomic<int64_t> next = 0, done = 0;
    auto run_one = [&] {
        int64_t i = next++;
        if (i < count) {
            task(i);
            ++done;
        }
        return i < count;
    };
    struct end_of_work {
        std::atomic<int64_t> &next;
        int64_t count;
        ~end_of_work() { next = count; }
    };
    std::vector<std::future<void>> others;  // whose end waits for their threads
    end_of_work whatever_happens{next, count};
    for (int i = 1; i < threads; ++i) {
        try {
            others.push_back(std::async(std::launch::async, [&] {
                while (run_one()) {
                }
            }));
        } catch (const std::system_error &) {
            break;  // the machine has no more of them
        }
    }
    for (int64_t drawn = 0; run_one();) {
        throw_if_interrupted();
        int64_t now = done;
        bar.advance(static_cast<uint64_t>(now - drawn));
        drawn = now;
    }
    for (std::future<void> &other : others) {
        other.get();
    }
}

// What the checks of one target have found.
class summary {
public:
    void add(const std::string &name, const finding &found) {
        results_ += found.results;
        if (!found.difference.empty() && ++differing_ == 1) {
            first_ = name + ": " + found.difference;
        }
    }

    bool as_published() const { return differing_ == 0; }

    std::string text() const {
        std::string results = std::to_string(results_) + " results";
        if (as_published()) {
            return results + ", as published";
        }
        return results + "; " + std::to_string(differing_) + " of the kernels differ, the first\n  " + first_;
    }

private:
    int64_t results_ = 0, differing_ = 0;
    std::string first_;
};

bool is_on_devices(const conformance::kernel &k) { return supported::on_devices(k.stored); }
bool is_on_devices(const conformance::dynamic_rule &rule) { return supported::on_devices(rule.codes); }
bool is_on_devices(const conformance::sweep &s) { return supported::on_devices(s.quantizes ? s.y : s.x); }
bool is_on_devices(const conformance::other_call &c) { return c.is_on_devices; }

// Those of them that the target in use has.
template<typename Checked> std::vector<Checked> of_target(std::vector<Checked> all) {
    std::erase_if(all, [](const Checked &one) { return in_use != nullptr && !is_on_devices(one); });
    return all;
}

// Of kernels, of the rules of dynamic calls, or of other calls.
template<typename Checked>
void check_each(const std::vector<Checked> &each, const verify_options &options, int threads, summary &all) {
    auto taken = in_use != nullptr ? conformance::hostile_environments::none  // which are of the processor
                 : options.full    ? conformance::hostile_environments::all
                                   : conformance::hostile_environments::one;
    std::vector<finding> found(each.size());
    run_on_threads(threads, std::ssize(each), [&](int64_t i) {
        const Checked &one = each[static_cast<size_t>(i)];
        uint64_t published = conformance::published_digest(name_of(one));
        found[static_cast<size_t>(i)] = check(one, published, tested, taken);
    });
    for (size_t i = 0; i < each.size(); ++i) {
        all.add(name_of(each[i]), found[i]);
    }
}

// The first call of a sweep whose results are not the reference's says where; its digest alone does not.
std::string explained(const conformance::sweep &sweep, int threads) {
    std::vector<std::string> differences(conformance::calls_of_a_sweep);
    run_on_threads(threads, conformance::calls_of_a_sweep, [&](int64_t call) {
        differences[static_cast<size_t>(call)] = first_difference(sweep, call, tested);
    });
    auto first = std::ranges::find_if(differences, [](const std::string &text) { return !text.empty(); });
    return first == differences.end() ? conformance::only_the_digest : *first;
}

finding check_sweep(const conformance::sweep &sweep, int threads) {
    finding all;
    std::vector<finding> found(conformance::calls_of_a_sweep);
    run_on_threads(threads, conformance::calls_of_a_sweep,
                   [&](int64_t call) { found[static_cast<size_t>(call)] = conformance::run(sweep, call, tested); });
    std::vector<uint64_t> digests;
    for (const finding &call : found) {
        all.results += call.results;
        digests.push_back(call.digest);
        if (all.difference.empty()) {
            all.difference = call.difference;
        }
    }
    all.digest = conformance::combined(digests);
    if (all.difference.empty() && all.digest != conformance::published_digest(name_of(sweep))) {
        all.difference = explained(sweep, threads);
    }
    return all;
}

void tell(const console_options &console, const std::string &line) {
    if (!console.json && !console.quiet) {
        std::cout << line << "\n" << std::flush;
    }
}

// Why a target's kernels are not checked; empty where they are to be. Then its device, if it has one, is in use.
std::string obstacle(int32_t target, bool is_named) {
    in_use = nullptr;
    const qdq_device_kind kind = qdq_target_device(target);
    if (kind != QDQ_DEVICE_HOST && !is_named) {
        return "a device is checked with --target alone: its driver compiles every kernel first";
    }
    if (!qdq_target_usable(target)) {
        return qdq_target_problem(target);
    }
    std::string reason;
    if (kind != QDQ_DEVICE_HOST) {
        in_use = conformance::open_device(kind, reason).release();
    }
    return reason;
}

// Forces the target, and tells what it gives. Whether that is what is published.
bool verify_target(const std::string &name, const verify_options &options, int threads, json &found) {
    apply({name, 1});  // each check is a call on a thread of its own
    auto begin = std::chrono::steady_clock::now();
    summary all;
    const std::vector<conformance::kernel> kernels = of_target(conformance::kernels());
    const std::vector<conformance::dynamic_rule> rules = of_target(conformance::dynamic_rules());
    const std::vector<conformance::other_call> others = of_target(conformance::other_calls());
    check_each(kernels, options, threads, all);
    check_each(rules, options, threads, all);
    check_each(others, options, threads, all);
    std::string checked = std::to_string(kernels.size()) + " kernels, " + std::to_string(rules.size()) +
                          " dynamic rules, " + std::to_string(others.size()) + " other calls";
    if (options.full) {
        const std::vector<conformance::sweep> sweeps = of_target(conformance::sweeps());
        for (const conformance::sweep &sweep : sweeps) {
            all.add(name_of(sweep), check_sweep(sweep, threads));
        }
        checked += ", " + std::to_string(sweeps.size()) + " sweeps";
    }
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    tell(options.console, name + ": " + checked + ", " + fixed(seconds, 1) + " s, " + all.text());
    found.push_back({{"target", name}, {"as_published", all.as_published()}, {"text", all.text()}});
    return all.as_published();
}

}  // namespace

void run_verify(const verify_options &options) {
    const std::string &named = options.target.target;
    int threads = options.target.threads;
    if (threads == 0) {
        threads = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    }
    if (!named.empty()) {
        apply(options.target);  // refuses a name that there is not, and a target that this machine cannot run
    }
    int checked = 0, different = 0;
    json found = json::array();
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        std::string name = qdq_target_name(i);
        if (!named.empty() && name != named) {
            continue;
        }
        if (std::string reason = obstacle(i, !named.empty()); !reason.empty()) {
            tell(options.console, std::string(name).append(": not checked: ").append(reason));
            found.push_back({{"target", name}, {"as_published", nullptr}, {"text", reason}});
            continue;
        }
        ++checked;
        different += !verify_target(name, options, threads, found);
    }
    if (options.console.json) {
        std::cout << json_text({{"targets", found}}, 1) << "\n";
    }
    if (checked == 0) {
        throw failure("no target was checked");
    }
    if (different > 0) {
        throw failure(std::to_string(different) + " of " + std::to_string(checked) +
                      " targets do not give the published results");
    }
}

}  // namespace qdq::cli

#include "conversion/bit_allocation.h"

#include "conversion/quantization.h"
#include "files/file_kinds.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/parallel.h"
#include "support/text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <optional>

namespace qdq::model {

namespace {

// In the order of their bits.
std::vector<scheme> candidates(const tensor_reader &input) {
    std::vector<scheme> all = {{.type = find_quantized_type("i4"), .scales = {.block_size = 128}},
                               {.type = find_quantized_type("mxfp4"), .scales = {}},
                               {.type = find_quantized_type("i4"), .scales = {.block_size = 32}},
                               {.type = find_quantized_type("f8e4m3"), .scales = {}},
                               {.type = find_quantized_type("i8"), .scales = {}}};
    if (input.kind().holds != holding::graph) {  // whose DequantizeLinear has no scales in two levels
        all.insert(all.begin() + 2, {.type = find_quantized_type("nvfp4"), .scales = {}});
    }
    return all;
}

// A folder's blocks are whole, as compressed-tensors wants them.
bool has_whole_blocks(const tensor_info &tensor, const scheme &how) {
    const int64_t size = how.type->block_size != 0 ? how.type->block_size : how.scales.block_size;
    return size == 0 || tensor.shape.back() % size == 0;
}

// The error of each element counts as its share of the tensor's own values.
double weighted_error(const type_choice &choice, int64_t elements) {
    return choice.signal == 0 ? 0 : choice.noise / choice.signal * static_cast<double>(elements);
}

struct tensor_choices {
    tensor_info tensor;
    std::vector<type_choice> choices;
    size_t chosen = 0;

    int64_t elements() const { return element_count(tensor.shape); }
    double error(size_t i) const { return weighted_error(choices[i], elements()); }

    // What a later choice gains on an earlier one for each bit.
    double gain(size_t from, size_t to) const {
        const auto more = static_cast<double>(choices[to].bits) - static_cast<double>(choices[from].bits);
        return (error(from) - error(to)) / more;
    }

    // Leaves those that no two others lie below: with more bits each has less error, and gains less for each bit.
    void keep_convex() {
        std::ranges::sort(choices, [](const type_choice &a, const type_choice &b) {
            return a.bits != b.bits ? a.bits < b.bits : a.noise < b.noise;
        });
        size_t kept = 0;
        for (size_t i = 0; i < choices.size(); ++i) {
            if (kept > 0 && error(i) >= error(kept - 1)) {
                continue;
            }
            while (kept > 1 && gain(kept - 2, kept - 1) <= gain(kept - 1, i)) {
                --kept;
            }
            std::swap(choices[kept++], choices[i]);
        }
        choices.resize(kept);
    }
};

std::vector<tensor_choices> measure(const std::filesystem::path &input, size_t threads,
                                    const progress_function &advance) {
    std::vector<tensor_choices> all;
    std::map<std::string, size_t> place_of;
    std::mutex one_at_a_time;
    for (const scheme &candidate : candidates(*open_reader(input))) {
        const quantization plan(open_reader(input), {.rules = {}, .otherwise = candidate});
        const bool is_model = plan.input().kind().holds == holding::model;
        run_in_parallel(
            threads, plan.steps().size(),
            [&](size_t i) {
                throw_if_interrupted();
                const quantization::step &each = plan.steps()[i];
                const tensor_info &tensor = plan.input().tensors()[each.input];
                if (!each.how || (is_model && !has_whole_blocks(tensor, candidate))) {
                    return;
                }
                const auto [signal, noise] = plan.error_of(each);
                const std::lock_guard lock(one_at_a_time);
                const size_t place = place_of.emplace(tensor.name, all.size()).first->second;
                if (place == all.size()) {
                    all.push_back({tensor, {}});
                }
                all[place].choices.push_back({candidate, plan.output_bytes(each) * 8, signal, noise});
                advance(byte_size(tensor));
            },
            [] {});
    }
    std::ranges::sort(all, {}, [](const tensor_choices &each) { return each.tensor.name; });  // whichever came first
    return all;
}

uint64_t total_bits(const std::vector<tensor_choices> &all) {
    uint64_t bits = 0;
    for (const tensor_choices &each : all) {
        bits += each.choices[each.chosen].bits;
    }
    return bits;
}

// The one whose next choice gains most for each bit of those that fit; null where none does.
tensor_choices *best_upgrade(std::vector<tensor_choices> &all, double room) {
    tensor_choices *best = nullptr;
    for (tensor_choices &each : all) {
        const size_t next = each.chosen + 1;
        const bool fits = next < each.choices.size() &&
                          static_cast<double>(each.choices[next].bits - each.choices[each.chosen].bits) <= room;
        if (fits && (best == nullptr || each.gain(each.chosen, next) > best->gain(best->chosen, best->chosen + 1))) {
            best = &each;
        }
    }
    return best;
}

// A pattern that matches this name alone.
std::string escaped(const std::string &name) {
    std::string pattern;
    for (const char c : name) {
        pattern += std::string_view("*?[\\").find(c) == std::string_view::npos ? "" : "\\";
        pattern += c;
    }
    return pattern;
}

// The type of most elements is the default.
recipe recipe_of(const std::vector<allocated_tensor> &tensors) {
    std::vector<std::pair<scheme, int64_t>> elements;
    for (const allocated_tensor &each : tensors) {
        auto found = std::ranges::find(elements, each.chosen.how, &std::pair<scheme, int64_t>::first);
        if (found == elements.end()) {
            found = elements.insert(elements.end(), {each.chosen.how, 0});
        }
        found->second += element_count(each.tensor.shape);
    }
    const auto most = std::ranges::max_element(elements, {}, &std::pair<scheme, int64_t>::second);
    recipe rules = {.rules = {}, .otherwise = most->first};
    for (const allocated_tensor &each : tensors) {
        if (each.chosen.how != rules.otherwise) {
            rules.rules.push_back({escaped(each.tensor.name), each.chosen.how});
        }
    }
    return rules;
}

}  // namespace

double type_choice::sqnr_db() const {
    return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

double bit_allocation::mean_bits() const {
    double bits = 0, elements = 0;
    for (const allocated_tensor &each : tensors) {
        bits += static_cast<double>(each.chosen.bits);
        elements += static_cast<double>(element_count(each.tensor.shape));
    }
    return bits / elements;
}

uint64_t bytes_to_measure(const std::filesystem::path &input) {
    const quantization plan(open_reader(input), {});
    uint64_t bytes = 0;
    for (const quantization::step &each : plan.steps()) {
        bytes += each.how ? byte_size(plan.input().tensors()[each.input]) : 0;
    }
    return bytes * candidates(plan.input()).size();
}

bit_allocation allocate_bits(const std::filesystem::path &input, double bits, size_t threads,
                             const progress_function &advance) {
    std::vector<tensor_choices> all = measure(input, threads, advance);
    double elements = 0;
    for (tensor_choices &each : all) {
        each.keep_convex();
        elements += static_cast<double>(each.elements());
    }
    const double budget = bits * elements;
    if (static_cast<double>(total_bits(all)) > budget) {
        throw failure(input.string() + ": its weights take at least " +
                      fixed(std::ceil(static_cast<double>(total_bits(all)) / elements * 1000) / 1000, 3) +
                      " bits each, with their scales");
    }
    while (tensor_choices *each = best_upgrade(all, budget - static_cast<double>(total_bits(all)))) {
        throw_if_interrupted();
        ++each->chosen;
    }
    bit_allocation result;
    for (const tensor_choices &each : all) {
        result.tensors.push_back({each.tensor, each.choices[each.chosen]});
    }
    result.rules = recipe_of(result.tensors);
    return result;
}

}  // namespace qdq::model

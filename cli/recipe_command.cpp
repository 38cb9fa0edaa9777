#include "commands.h"
#include "console.h"
#include "progress.h"
#include "support/atomic_file.h"
#include "support/error.h"
#include "support/text.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>
#include <thread>

namespace qdq::cli {

namespace {

double bits_of_weight(const allocated_tensor &each) {
    return static_cast<double>(each.chosen.bits) / static_cast<double>(element_count(each.tensor.shape));
}

void print_table(const bit_allocation &made) {
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "type", "bits", "SQNR dB"}};
    type_choice total;
    for (const allocated_tensor &each : made.tensors) {
        rows.push_back({shortened(each.tensor.name), shape_text(each.tensor.shape), scheme_text(each.chosen.how),
                        fixed(bits_of_weight(each), 2), fixed(each.chosen.sqnr_db(), 2)});
        total.signal += each.chosen.signal;
        total.noise += each.chosen.noise;
    }
    rows.push_back({"total", "", "", fixed(made.mean_bits(), 3), fixed(total.sqnr_db(), 2)});
    std::cout << terminal_table(rows, 3);
}

void print_json(const bit_allocation &made) {
    json tensors = json::array();
    for (const allocated_tensor &each : made.tensors) {
        const double sqnr = each.chosen.sqnr_db();
        tensors.push_back({{"name", each.tensor.name},
                           {"shape", each.tensor.shape},
                           {"scheme", scheme_text(each.chosen.how)},
                           {"bits", bits_of_weight(each)},
                           {"sqnr_db", std::isfinite(sqnr) ? json(sqnr) : json()}});
    }
    std::cout << json_text({{"tensors", tensors}, {"bits", made.mean_bits()}}, 1) << "\n";
}

}  // namespace

void run_recipe(const recipe_options &options) {
    if (!(options.bits > 0 && std::isfinite(options.bits))) {
        throw usage_error("--bits: it is above 0");
    }
    if (kind_of(options.input).holds == holding::arrays) {
        throw usage_error(options.input + ": it holds one array, and a recipe chooses by names");
    }
    check_replaces_none_of(*open_reader(options.input), options.output.path);
    apply({options.target.target, 1});  // each tensor has a thread of its own
    const auto threads = static_cast<size_t>(options.target.threads);
    atomic_file file(options.output.path, options.output.replace);
    bit_allocation made;
    {
        progress bar(bytes_to_measure(options.input), progress::unit::bytes, options.console.quiet);
        made = allocate_bits(options.input, options.bits,
                             threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 1u),
                             [&](uint64_t bytes) { bar.advance(bytes); });
    }
    const std::string text = recipe_json(made.rules).dump(1) + "\n";
    file.write(0, std::as_bytes(std::span(text)));
    file.publish();
    if (options.console.json) {
        print_json(made);
    } else if (!options.console.quiet) {
        print_table(made);
    }
}

}  // namespace qdq::cli

#include "commands.h"
#include "console.h"
#include "progress.h"
#include "support/json.h"
#include "support/text.h"

#include <iostream>

namespace qdq::cli {

namespace {

std::vector<std::string> table_row(const comparison &each, const std::string &shape) {
    return {shortened(each.name),
            shape,
            std::to_string(each.bytes_before),
            std::to_string(each.bytes_after),
            each.unchanged ? "-" : fixed(each.sqnr_db(), 2),
            each.max_steps ? fixed(*each.max_steps, 3) : "-",
            each.clipped ? std::to_string(*each.clipped) : "-"};
}

void print_table(const std::vector<comparison> &all, bool with_unchanged) {
    std::vector<std::vector<std::string>> rows = {
        {"tensor", "shape", "bytes before", "bytes after", "SQNR dB", "max error (steps)", "clipped"}};
    size_t unchanged = 0;
    uint64_t unchanged_bytes = 0;
    for (const comparison &each : all) {
        if (each.unchanged && !with_unchanged) {
            ++unchanged;
            unchanged_bytes += each.bytes_before;
        } else {
            rows.push_back(table_row(each, shape_text(each.shape)));
        }
    }
    if (unchanged != 0) {
        std::string bytes = std::to_string(unchanged_bytes);
        rows.push_back({"(" + std::to_string(unchanged) + " unchanged)", "", bytes, bytes, "-", "-", "-"});
    }
    rows.push_back(table_row(total_of(all), ""));
    std::cout << terminal_table(rows, 2);
}

void print_json(const std::vector<comparison> &all, const std::vector<std::string> &warnings) {
    std::cout << "{\"tensors\": [";
    for (size_t i = 0; i < all.size(); ++i) {
        std::cout << (i == 0 ? "\n" : ",\n") << json_text(named_json(all[i]));
    }
    std::cout << "\n],\n\"total\": " << json_text(to_json(total_of(all)))
              << ",\n\"warnings\": " << json_text(printable(warnings)) << "}\n";
}

}  // namespace

void run_compare(const compare_options &options) {
    apply(options.target);
    if (options.report) {
        check_report(*options.report);
    }
    comparer both(options.original, options.other);
    std::vector<std::string> warnings = both.odd_scales();
    warn(warnings, options.console);
    std::vector<comparison> all;
    {
        progress bar(both.bytes(), progress::unit::bytes, options.console.quiet);
        all = both.run([&](uint64_t bytes) { bar.advance(bytes); });
    }
    if (options.report) {
        write_report(*options.report, all, options.original, options.other, {options.command});
    }
    if (options.console.json) {
        print_json(all, warnings);
    } else if (!options.console.quiet) {
        print_table(all, options.console.verbose);
    }
}

}  // namespace qdq::cli

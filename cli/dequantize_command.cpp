#include "commands.h"
#include "console.h"
#include "support/text.h"

#include <iostream>

namespace qdq::cli {

void run_dequantize(const dequantize_options &options) {
    apply(options.target);
    std::unique_ptr<transformation> made =
        plan_dequantization(options.input, options.output, options.dtype, options.profile);
    const transformation &plan = *made;
    std::vector<std::string> warnings = odd_scales(plan.input());
    warn(warnings, options.console);
    if (options.console.verbose && !options.console.json) {
        print_outputs(plan);
    }
    kernel_figures figures = run_under_bar(plan, options.output, options.target, options.console);
    summary of = summary_of(plan);
    if (options.console.json) {
        json result = {{"tensors", of.tensors_after},
                       {"restored", of.changed},
                       {"bytes_before", of.bytes_before},
                       {"bytes_after", of.bytes_after},
                       {"warnings", printable(warnings)}};
        std::cout << result.dump() << "\n";
    } else if (!options.console.quiet) {
        std::cout << "dequantized " << of.changed << " of " << of.tensors_after
                  << " tensors: " << bytes_text(of.bytes_before) << " -> " << bytes_text(of.bytes_after) << "\n"
                  << figures.text() << "\n";
    }
}

}  // namespace qdq::cli

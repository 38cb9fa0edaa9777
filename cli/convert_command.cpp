#include "commands.h"
#include "console.h"
#include "support/text.h"

#include <iostream>

namespace qdq::cli {

void run_convert(const convert_options &options) {
    std::unique_ptr<transformation> made = plan_recoding(options.input, options.output, options.method);
    const transformation &plan = *made;
    std::vector<std::string> warnings = odd_scales(plan.input());
    warn(warnings, options.console);
    if (options.console.verbose && !options.console.json) {
        print_outputs(plan);
    }
    run_under_bar(plan, options.output, options.target, options.console);
    if (options.console.json) {
        json summary = {{"tensors", plan.input().tensors().size()},
                        {"converted", plan.changed_count()},
                        {"warnings", printable(warnings)}};
        std::cout << summary.dump() << "\n";
    } else if (!options.console.quiet) {
        std::cout << "converted " << plan.changed_count() << " quantized tensors, bit for bit\n";
    }
}

}  // namespace qdq::cli

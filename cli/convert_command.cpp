#include "commands.h"
#include "conversion/recoding.h"
#include "run_conversion.h"
#include "support/text.h"
#include "tensors/odd_scales.h"

#include <iostream>

namespace qdq_cli {

void run_convert(const convert_options &options) {
    recoding plan(open_reader(options.input), form_of(options.input, options.output, options.method));
    std::vector<std::string> warnings = odd_scales(plan.input());
    warn(warnings, options.console);
    if (options.console.verbose && !options.console.json) {
        print_outputs(plan, options.output);
    }
    run_conversion(plan, options.output, options.target, options.console);
    if (options.console.json) {
        json summary = {{"tensors", plan.input().tensors().size()},
                        {"converted", plan.quantized_count()},
                        {"warnings", escaped(warnings)}};
        std::cout << summary.dump() << "\n";
    } else if (!options.console.quiet) {
        std::cout << "converted " << plan.quantized_count() << " quantized tensors, bit for bit\n";
    }
}

}  // namespace qdq_cli

#include "commands.h"
#include "conversion/dequantization.h"
#include "run_conversion.h"
#include "support/text.h"
#include "tensors/odd_scales.h"

#include <iostream>

namespace qdq_cli {

namespace {

uint64_t bytes_of(const tensor_list &tensors) {
    uint64_t total = 0;
    for (const tensor_info &tensor : tensors) {
        total += byte_size(tensor);
    }
    return total;
}

}  // namespace

void run_dequantize(const dequantize_options &options) {
    apply(options.target);
    check_restorable(options.input, options.output, options.dtype);
    const dtype *type = options.dtype.empty() ? nullptr : find_dtype(options.dtype);
    dequantization plan(open_reader(options.input), type, options.profile);
    std::vector<std::string> warnings = odd_scales(plan.input());
    warn(warnings, options.console);
    if (options.console.verbose && !options.console.json) {
        print_outputs(plan, options.output);
    }
    kernel_figures figures = run_conversion(plan, options.output, options.target, options.console);
    uint64_t before = stored_bytes(plan.input()), after = bytes_of(plan.outputs());
    if (options.console.json) {
        json summary = {{"tensors", plan.outputs().size()},
                        {"restored", plan.restored_count()},
                        {"bytes_before", before},
                        {"bytes_after", after},
                        {"warnings", escaped(warnings)}};
        std::cout << summary.dump() << "\n";
    } else if (!options.console.quiet) {
        std::cout << "dequantized " << plan.restored_count() << " of " << plan.outputs().size()
                  << " tensors: " << bytes_text(before) << " -> " << bytes_text(after) << "\n"
                  << figures.text() << "\n";
    }
}

}  // namespace qdq_cli

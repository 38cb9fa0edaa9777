#include "commands.h"
#include "error.h"
#include "model_folder.h"
#include "recoding.h"
#include "run_conversion.h"
#include "text.h"

#include <iostream>

namespace qdq_cli {

namespace {

code_form form_of(const convert_options &options) {
    bool folder = is_model_folder(options.input), graph = is_onnx(options.output.path);
    if (!options.method.empty() && (!folder || graph)) {
        throw usage_error("--method is of the config.json of a folder that becomes a folder");
    }
    if (folder && !graph && options.method.empty()) {
        throw usage_error("a folder becomes a folder with --method compressed-tensors or --method fp8");
    }
    if (graph && is_onnx(options.input)) {
        throw usage_error(options.output.path.string() + ": the input is an ONNX model already");
    }
    return graph ? code_form::onnx : options.method == "fp8" ? code_form::fp8 : code_form::compressed_tensors;
}

}  // namespace

void run_convert(const convert_options &options) {
    recoding plan(open_reader(options.input), form_of(options));
    if (options.console.verbose && !options.console.json) {
        print_outputs(plan, options.output);
    }
    run_conversion(plan, options.output, options.target, options.console);
    if (options.console.json) {
        json summary = {{"tensors", plan.input().tensors().size()}, {"converted", plan.quantized_count()}};
        std::cout << summary.dump() << "\n";
    } else if (!options.console.quiet) {
        std::cout << "converted " << plan.quantized_count() << " quantized tensors, bit for bit\n";
    }
}

}  // namespace qdq_cli

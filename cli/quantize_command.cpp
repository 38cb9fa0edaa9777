#include "commands.h"
#include "error.h"
#include "model_folder.h"
#include "quantization.h"
#include "ray_run.h"
#include "report.h"
#include "run_conversion.h"
#include "text.h"
#include "yaml.h"

#include <iostream>

namespace qdq_cli {

namespace {

recipe read_any_recipe(const std::filesystem::path &path, const scheme &otherwise) {
    if (!is_yaml(path)) {
        return read_recipe(path, otherwise);
    }
    json text = read_yaml(path);
    recipe result;
    in_file(path.string(), [&] { result = parse_recipe(text, otherwise); });
    return result;
}

// What --exclude names is left alone, then what --include names is quantized, then the rules of the recipe are asked.
recipe recipe_of(const quantize_options &options) {
    scheme how = {find_format(options.format), options.scales, options.asymmetric};
    check(how);
    recipe given = options.recipe ? read_any_recipe(*options.recipe, how) : recipe{{}, how};
    recipe result = {.rules = {}, .otherwise = given.otherwise};
    for (const std::string &pattern : options.exclude) {
        result.rules.push_back({pattern, std::nullopt});
    }
    for (const std::string &pattern : options.include) {
        result.rules.push_back({pattern, given.otherwise});
    }
    result.rules.insert(result.rules.end(), given.rules.begin(), given.rules.end());
    return result;
}

void print_plan(const quantization &plan) {
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "from", "to", "bytes before", "bytes after"}};
    for (const quantization::step &each : plan.steps()) {
        const tensor_info &tensor = plan.input().tensors()[each.input];
        const stored_form before = plan.input().form(each.input);
        rows.push_back({shortened(tensor.name), shape_text(tensor.shape), std::string(before.type),
                        each.how ? scheme_text(*each.how) : "left alone", std::to_string(before.bytes),
                        std::to_string(plan.output_bytes(each))});
    }
    rows.push_back(
        {"total", "", "", "", std::to_string(stored_bytes(plan.input())), std::to_string(plan.output_bytes())});
    std::cout << terminal_table(rows, 4);
}

json plan_to_json(const quantization &plan) {
    json tensors = json::array();
    for (const quantization::step &each : plan.steps()) {
        const tensor_info &tensor = plan.input().tensors()[each.input];
        const stored_form before = plan.input().form(each.input);
        tensors.push_back({{"name", tensor.name},
                           {"shape", tensor.shape},
                           {"dtype", before.type},
                           {"scheme", each.how ? json(scheme_text(*each.how)) : json()},
                           {"bytes_before", before.bytes},
                           {"bytes_after", plan.output_bytes(each)}});
    }
    return {{"tensors", tensors},
            {"total",
             {{"tensors", plan.input().tensors().size()},
              {"quantized", plan.quantized_count()},
              {"bytes_before", stored_bytes(plan.input())},
              {"bytes_after", plan.output_bytes()}}}};
}

void print_summary(const quantization &plan, const recipe &rules, const std::optional<kernel_figures> &figures) {
    std::cout << "quantized " << plan.quantized_count() << " of " << plan.input().tensors().size() << " tensors to "
              << (rules.rules.empty() ? std::string(rules.otherwise.type->option) : "the types of the recipe") << ": "
              << bytes_text(stored_bytes(plan.input())) << " -> " << bytes_text(plan.output_bytes()) << "\n"
              << (figures ? figures->text() + "\n" : "");
}

}  // namespace

void run_quantize(const quantize_options &options) {
    apply(options.target);
    if (!options.dry_run && options.output.path.empty()) {
        throw usage_error("--output is required, but for --dry-run");
    }
    if (!options.output.path.empty() && is_onnx(options.input) != is_onnx(options.output.path)) {
        throw usage_error(options.output.path.string() + ": a quantized model is a file as " + options.input +
                          "; `qdq convert` makes another kind of it");
    }
    recipe rules = recipe_of(options);
    std::unique_ptr<tensor_reader> input = open_reader(options.input);
    selection select = select_by(rules, *input);
    quantization plan(std::move(input), select, options.profile);
    const console_options &console = options.console;
    const auto *folder = dynamic_cast<const model_folder *>(&plan.input());
    if (options.dry_run && folder != nullptr) {
        json config;
        plan.configure(config);  // these throw what the run would
        static_cast<void>(folder->other_files());
    }
    if (folder != nullptr && (options.dry_run || options.ray) && !console.quiet) {
        tell_links_out(*folder);
    }
    if (!console.json && (options.dry_run || console.verbose)) {
        print_plan(plan);
    }
    std::optional<kernel_figures> figures;  // none of other machines
    if (!options.dry_run) {
        if (options.ray) {
            run_on_ray(plan, rules, options);
        } else {
            figures = run_conversion(plan, options.output, options.target, console);
        }
        if (options.report) {
            write_report(*options.report, options.input, options.output.path);
        }
    }
    if (console.json) {
        std::cout << json_text(plan_to_json(plan), 1) << "\n";
        return;
    }
    if (!options.dry_run && !console.quiet) {
        print_summary(plan, rules, figures);
    }
    if (size_t experts = count_experts_left_alone(plan, rules); experts != 0 && !console.quiet) {
        std::cout << experts << " weights of experts are left alone: transformers would not load them as "
                  << scheme_text(rules.otherwise) << "; --include '*experts*' quantizes them\n";
    }
}

}  // namespace qdq_cli

#include "commands.h"
#include "console.h"
#include "ray_run.h"
#include "support/error.h"
#include "support/text.h"
#include "yaml.h"

#include <filesystem>
#include <iostream>

namespace qdq::cli {

namespace {

recipe read_any_recipe(const std::filesystem::path &path, const scheme &otherwise) {
    if (!is_yaml(path)) {
        return read_recipe(path, otherwise);
    }
    json text = read_yaml(path);
    recipe result;
    name_in_failures(path.string(), [&] { result = parse_recipe(text, otherwise); });
    return result;
}

scale_method method_of(const quantize_options &options) {
    scale_method method = {.asymmetric = options.asymmetric, .clip_ratio = options.clip_ratio};
    if (!options.scale_rule.empty()) {
        use_rule(method, options.scale_rule);
    }
    return method;
}

// What --exclude names is left alone, then what --include names is quantized, then the rules of the recipe are asked.
recipe recipe_of(const quantize_options &options) {
    scheme how = {.type = find_quantized_type(options.dtype),
                  .scales = options.scales,
                  .method = method_of(options),
                  .dynamic_activations = !options.activations.empty()};
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

// An array has no name that a glob could match.
void check_names_choose(const quantize_options &options) {
    if (kind_of(options.input).holds == holding::arrays && !(options.exclude.empty() && options.include.empty())) {
        throw usage_error(std::string(options.exclude.empty() ? "--include: " : "--exclude: ") + options.input +
                          ": it holds one array, which no name chooses");
    }
}

bool is_graph(const file_kind &kind) { return kind.holds == holding::graph; }

void print_plan(const quantization &plan) {
    std::vector<std::vector<std::string>> rows = {{"tensor", "shape", "from", "to", "bytes before", "bytes after"}};
    for (const quantization::step &each : plan.steps()) {
        const tensor_info &tensor = plan.input().tensors()[each.input];
        const stored_form before = plan.input().form(each.input);
        rows.push_back({shortened(tensor.name), shape_text(tensor.shape), std::string(before.type),
                        each.how ? scheme_text(*each.how) : "left alone", std::to_string(before.bytes),
                        std::to_string(plan.output_bytes(each))});
    }
    summary of = summary_of(plan);
    rows.push_back({"total", "", "", "", std::to_string(of.bytes_before), std::to_string(of.bytes_after)});
    std::cout << terminal_table(rows, 4);
}

// Of the rules of recipe_of(), which match no name: a sentence for each that has given such.
std::vector<std::string> unmatched(const tensor_reader &input, const recipe &rules, const quantize_options &options) {
    size_t excluded = options.exclude.size(), included = excluded + options.include.size();
    std::vector<std::string> patterns[3];
    for (size_t place : rules_that_match_nothing(input, rules)) {
        patterns[(place >= excluded) + (place >= included)].push_back(rules.rules[place].pattern);
    }
    std::vector<std::string> warnings;
    for (size_t i = 0; const char *given_by : {"--exclude", "--include", "--recipe"}) {
        if (!patterns[i].empty()) {
            warnings.push_back(std::string(given_by) + ": no tensor matches " + some_of(patterns[i]));
        }
        ++i;
    }
    return warnings;
}

// A long row of 4-bit integers has one value that decides how coarse all others become.
bool wants_blocks(const quantization::step &each) {
    bool is_coarse =
        each.how && each.how->type->code_dtype().bits == 4 && each.how->type->code_dtype().is_integer_code();
    return is_coarse && each.how->scales.block_size == 0 && each.how->type->block_size == 0 &&
           !each.how->scales.per_tensor;
}

// What else could have been asked for.
std::vector<std::string> hints(const quantization &plan, const recipe &rules) {
    std::vector<std::string> found;
    if (auto coarse = std::ranges::find_if(plan.steps(), wants_blocks); coarse != plan.steps().end()) {
        found.push_back(std::string(coarse->how->type->option) +
                        " has one scale for each channel here: --block-size 32 or 128, in a recipe "
                        "\"block_size\", loses less");
    }
    if (size_t experts = plan.experts_left_alone(); experts != 0) {
        found.push_back(std::to_string(experts) + " weights of experts are left alone: transformers would not load " +
                        "them as " + scheme_text(rules.otherwise) + "; --include '*experts*' quantizes them");
    }
    return found;
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
    summary of = summary_of(plan);
    return {{"tensors", tensors},
            {"total",
             {{"tensors", of.tensors_before},
              {"quantized", of.changed},
              {"bytes_before", of.bytes_before},
              {"bytes_after", of.bytes_after}}}};
}

void print_summary(const quantization &plan, const recipe &rules, const std::optional<kernel_figures> &figures) {
    summary of = summary_of(plan);
    std::cout << "quantized " << of.changed << " of " << of.tensors_before << " tensors to "
              << (rules.rules.empty() ? std::string(rules.otherwise.type->option) : "the types of the recipe") << ": "
              << bytes_text(of.bytes_before) << " -> " << bytes_text(of.bytes_after) << "\n"
              << (figures ? figures->text() + "\n" : "");
}

// Before anything is written, as the page comes last.
void check_report_of(const quantize_options &options) {
    if (!options.report) {
        return;
    }
    std::error_code error;
    const auto place = [&](const std::filesystem::path &path) {
        return std::filesystem::weakly_canonical(path, error);
    };
    if (place(*options.report) == place(options.output.path)) {
        throw usage_error(options.report->string() + ": the report would replace the output");
    }
    check_report(*options.report);
}

}  // namespace

void run_quantize(const quantize_options &options) {
    apply(options.target);
    if (!options.dry_run && options.output.path.empty()) {
        throw usage_error("--output is required, but for --dry-run");
    }
    check_output(options.input, options.output);
    if (!options.output.path.empty() && is_graph(kind_of(options.input)) != is_graph(kind_named(options.output.path))) {
        throw usage_error(options.output.path.string() + ": a quantized model is a file as " + options.input +
                          "; `qdq convert` makes another kind of it");
    }
    check_report_of(options);
    check_names_choose(options);
    recipe rules = recipe_of(options);
    if (kind_named(options.output.path).holds_blocks) {
        rules = in_blocks(std::move(rules));
    }
    std::unique_ptr<tensor_reader> input = open_reader(options.input);
    std::vector<std::string> warnings = unmatched(*input, rules, options);
    warn(warnings, options.console);
    quantization plan(std::move(input), rules, options.profile,
                      options.rounding.empty() ? std::nullopt : std::optional(options.seed));
    if (!options.output.path.empty()) {
        plan.check_output(options.output.path);
    }
    const console_options &console = options.console;
    if (options.dry_run) {
        check_writable(plan);
    }
    if (options.dry_run || options.ray) {
        tell_links_out(plan, console);
    }
    if (!console.json && (options.dry_run || console.verbose)) {
        print_plan(plan);
    }
    std::optional<kernel_figures> figures;  // none of other machines
    if (!options.dry_run) {
        if (options.ray) {
            run_on_ray(plan, rules, options);
        } else {
            figures = run_under_bar(plan, options.output, options.target, console);
        }
        if (options.report) {
            write_report(*options.report, options.input, options.output.path, {options.command, &rules});
        }
    }
    if (console.json) {
        json result = plan_to_json(plan);
        result["warnings"] = printable(warnings);
        result["hints"] = printable(hints(plan, rules));
        std::cout << json_text(result, 1) << "\n";
        return;
    }
    if (!options.dry_run && !console.quiet) {
        print_summary(plan, rules, figures);
    }
    if (!console.quiet) {
        for (const std::string &hint : hints(plan, rules)) {
            std::cout << hint << "\n";
        }
    }
}

}  // namespace qdq::cli

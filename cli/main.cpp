#include "commands.h"
#include "generate_command.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"

#include <qdq/qdq.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <iostream>
#include <map>
#include <new>
#include <numeric>
#include <span>
#include <utility>

namespace {

using namespace qdq::cli;

constexpr int exit_failure = 1, exit_usage = 2;

constexpr const char *quantize_footer = R"(Types:
  The integers and floats of --dtype also go by their other common names (int8, fp8, e4m3fn, ...). Five formats fix
  their blocks and scales. mxfp8, mxfp6e2m3, mxfp6e3m2 and mxfp4 have blocks of 32 with a power of two (e8m0). nvfp4 has
  blocks of 16 with an e4m3fn, and one F32 for the tensor. q8_0, q4_0, q4_1, q5_0, q5_1 and iq4_nl are ggml's blocks of
  32, with scales of F16 among the codes, for .gguf files alone. There mxfp4 is ggml's, too.
Files:
  A .safetensors file: its float tensors with two or more dimensions are quantized, the others copied.
  A model's folder, with config.json, and model.safetensors or the shards of model.safetensors.index.json: the weights
  of linear layers are quantized. Embeddings, output head, norms, biases, routers and gates are left alone, unless
  --include names them. So are experts where transformers would not load them; stacked ones are quantized per expert.
  All other files are copied. config.json gets the quantization_config that transformers and vLLM load.
  --block-size 128x128 follows DeepSeek's fp8 models, with x.weight_scale_inv. A run that is killed can be started
  again, and goes on. What it has finished waits in .NAME.qdq-partial beside the output.
  An .onnx model: the weights of MatMul, Gemm, Conv and ConvTranspose nodes become DequantizeLinear nodes, with external
  data in NAME.data where they were external. The opset is raised where these nodes need it.
  A .gguf file is made of another one, or of a .safetensors file, with the names that are there. Its metadata, as the
  tokenizer, are those of the input, or of --metadata. Blocks of Q8_0 and Q4_0 stay, others are quantized from F32.
  A recipe is JSON, or YAML in a .yaml file. --exclude decides first, then --include, then the first rule whose glob
  matches (* also matches dots):
    {"default": {"dtype": "i4", "block_size": 128},
     "rules": [{"match": "*.down_proj.weight", "dtype": "f8e4m3", "per_tensor": true},
               {"match": "model.layers.0.*", "dtype": "keep"}]}
  with dtype, axis, per_tensor, block_size (also [128, 128]), asymmetric, scale_rule, clip and activations, as the
  options.
Ray:
  --ray takes an address as ray.init does: auto, ray://HOST:PORT, or local for a cluster of this machine. python3 runs
  it, and needs the packages qdq and ray, as every machine of the cluster does, and the folders under the same paths.
  A shard is a task, run again where its worker dies; the output is byte for byte that of one machine.
Layout:
  Names, types and shapes are those of compressed-tensors, which defines i8, i4, f8e4m3, mxfp8, mxfp4 and nvfp4; the
  other types follow them. The scale of x.weight is x.weight_scale (F32), its zero point, if it has one,
  x.weight_zero_point. A weight [out, in] has a scale [out, 1] per channel, [1] per tensor, [out, ceil(in / N)] in
  blocks of N.
    i8              x.weight, I8; in a folder, symmetric and without --activations dynamic, x.weight_packed holds codes
                    + 128, I32 [out, ceil(in / 4)], low byte first, and x.weight_shape the shape
    i4, u4          x.weight_packed holds codes + 8 (u4: the codes), I32 [out, ceil(in / 8)], low nibble first, and
                    x.weight_shape the shape; zero points are packed too, I32 [ceil(out / 8), ...], except [1]
    f4e2m1, mxfp4, nvfp4
                    x.weight_packed holds the codes, U8 [out, ceil(in / 2)]; there is x.weight_shape where `in` is odd
    mxfp8, mxfp4    x.weight_scale is U8, the exponent + 127
    mxfp6e2m3, mxfp6e3m2
                    x.weight is F6_E2M3 or F6_E3M2, four codes in three bytes, the first in the lowest bits, and
                    x.weight_scale is F8_E8M0: safetensors' own types, as compressed-tensors has no f6
    nvfp4           x.weight_scale is F8_E4M3; a block's scale is x.weight_scale / x.weight_global_scale
  An array is an .npy file, of a type numpy has. Its scale and zero point follow the codes in the same file: load it
  with open() and one numpy.load() after the other. Those that others put beside x.npy, in x.scale.npy and
  x.zero_point.npy, are read too.
  A result is written to a temporary file and renamed: it is there complete, or not at all, whatever happens.
Scales (without --scale-rule those of compressed-tensors, in f32):
  symmetric:    scale = amax / ((highest - lowest) / 2), for i8 amax / 127.5 with codes -128..127, for floats
                amax / highest; the zero point is 0, for u8 128.
  --asymmetric: scale = (max - min) / (highest - lowest), with min <= 0 <= max;
                zero point = round(lowest - min / scale). Integers only.
  A scale that would be 0, as that of an all-zero channel, is 2^-23. NaN and infinite values are refused.
  mxfp4, mxfp6e2m3, mxfp6e3m2, mxfp8:
                scale = 2^(e - 2), 2^(e - 2), 2^(e - 4), 2^(e - 8), where amax is in [7/8 2^e, 7/8 2^(e + 1)).
  nvfp4:        scale = e4m3fn(global * amax / 6), 1/8 where that is 0, over global = 2688 / amax of the tensor.
  --scale-rule: absmax, for i8 amax / 127; minmax, which is --asymmetric; or a power of two, power-floor (OCP),
                power-ceil, power-even and power-round-up, which the mx types take alone. A block that is all zero has
                the scale 1, or 2^-127. docs/dynamic.md has each rule.
  --clip:       amax, or min and max, are multiplied by it before. What lies beyond becomes the outermost code.)";

constexpr const char *dequantize_footer = R"(Restores names, shapes and, where the file records it, the type of each
tensor; otherwise the type is F32. Reads what `qdq quantize` writes, and any tensor x with its x_scale beside it, or
x_packed with x_scale.)";

constexpr const char *convert_footer =
    R"(Codes, scales and zero points stay as they are: each value is the same before and after.
  .gguf                  Q8_0 and Q4_0 to .safetensors (i8 and i4 in blocks of 32, F16 scales) or .onnx; others
                         become F32
  .safetensors, .onnx    i8 and i4 in blocks of 32 with F16 scales to .gguf, where there is nothing but floats beside
  .safetensors, folder   to .onnx: a graph of DequantizeLinear nodes, whose outputs are the weights
  .onnx                  DequantizeLinear of initializers to .safetensors
  folder                 f8e4m3 in blocks of rows and columns to a folder: x_scale_inv with --method fp8, as DeepSeek's
                         models have it, x_scale with --method compressed-tensors; GPTQ, AWQ and i4 in groups of
                         columns with --method compressed-tensors
What has no such form is refused: its message says which tensor, and why.)";

constexpr const char *compare_footer = R"(ORIGINAL and OTHER hold the same tensors; either may be quantized.
  SQNR dB            10 log10(sum x^2 / sum (x - y)^2)
  max error (steps)  the largest |x - y| / scale; 0.5 is rounding alone
  clipped            values more than half a step outside the codes; of float types, half of the last step
The last two are known where OTHER is quantized, the steps where its codes are integers. In JSON the SQNR of equal
tensors is null.)";

constexpr const char *recipe_footer = R"(Writes a recipe, which `qdq quantize --recipe` takes.
  Each weight is quantized to i4 in blocks of 128 and of 32, mxfp4, nvfp4, f8e4m3 and i8, and its error is measured. All
  start with the fewest bits. Then the weight that gains most for each bit gets more, again and again, while bits are left.
  What counts is the error relative to the tensor's own values, times its number of elements.
  No activations are looked at: it is the weights' own error that is small.)";

constexpr const char *verify_footer = R"(Runs every kernel of every target that this machine can run, and every rule by
which dynamic calls compute scales. Inputs are given by formula. Each runs in the default floating-point environment
and in hostile ones. Digests of the results are compared with the published ones: docs/conformance.md. Where one
differs, the first wrong result is printed with its operands and the right one, and the exit code is 1. Nothing is
written to disk. A device (cuda, opencl) is checked where --target names it, with tensors in its memory.)";

// What help shows of an option that takes one of these names, and shells complete.
std::string one_of(const std::vector<std::string> &names) { return "NAME:{" + CLI::detail::join(names) + "}"; }

void add_target_options(CLI::App &command, target_options &target,
                        const std::string &threads = "Threads for large tensors") {
    std::vector<std::string> names;
    names.reserve(static_cast<size_t>(qdq_target_count()));
    for (int32_t i = 0; i < qdq_target_count(); ++i) {
        names.emplace_back(qdq_target_name(i));
    }
    command.add_option("--target", target.target, "Use only this target (see `qdq targets`)")->type_name(one_of(names));
    command.add_option("--threads", target.threads, threads + "; 0: one for each processor")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
}

void add_console_options(CLI::App &command, console_options &console) {
    CLI::Option *json = command.add_flag("--json", console.json, "Print JSON");
    CLI::Option *quiet = command.add_flag("--quiet", console.quiet, "Print errors alone");
    json->excludes(quiet);
}

CLI::Option *add_output_options(CLI::App &command, output_options &output) {
    auto is_a_name = [](const std::string &path) {
        bool named = !path.empty() && path != "-";
        return named ? "" : "a result goes to a file with a name, not to standard output";
    };
    CLI::Option *path = command.add_option("-o,--output", output.path, "The file or folder to write");
    path->required()->check(CLI::Validator(is_a_name, ""))->type_name("PATH");
    command.add_flag("--force", output.replace, "Replace what has this name");
    return path;
}

void add_profile_option(CLI::App &command, std::string &profile) {
    command.add_option("--profile", profile, "Compute as another system does")
        ->type_name(one_of({"onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto"}));
}

// 0 for what is no positive integer.
int64_t parse_positive(std::string_view number) {
    int64_t value = 0;
    const char *begin = number.data(), *end = begin + number.size();
    auto [rest, error] = std::from_chars(begin, end, value);
    return error == std::errc() && rest == end && value > 0 ? value : 0;
}

// "128", or "128x128" of rows and columns. CLI11's own check of a number prints a bound of 309 digits.
void parse_block_size(const std::string &text, granularity &scales) {
    size_t cross = text.find('x');
    scales.block_rows = cross == std::string::npos ? 0 : parse_positive(std::string_view(text).substr(0, cross));
    scales.block_size = parse_positive(std::string_view(text).substr(cross == std::string::npos ? 0 : cross + 1));
    if (scales.block_size == 0 || (cross != std::string::npos && scales.block_rows == 0)) {
        throw CLI::ValidationError("--block-size", text + " is not a positive integer");
    }
}

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// Any name of a type becomes its first one. In help the names take lines of at most 120 characters.
CLI::Validator type_of_codes() {
    constexpr size_t most_of_a_line = 100;
    std::string names, shown;
    for (const std::string &name : quantized_type_names()) {
        names += (names.empty() ? "" : ",") + name;
        size_t line = shown.size() - (shown.rfind('\n') + 1);
        shown += shown.empty() ? "" : line + name.size() > most_of_a_line ? ",\n      " : ",";
        shown += name;
    }
    auto translate = [names](std::string &name) {
        const quantized_type *found = find_quantized_type(lower_case(name));
        name = found != nullptr ? found->option : name;
        return found != nullptr ? "" : name + " not in {" + names + "}";
    };
    return {translate, "{" + shown + "}"};
}

void add_metadata_option(CLI::App &command, output_options &output) {
    command.add_option("--metadata", output.metadata, "Of a .gguf output: another such file, whose metadata it gets")
        ->type_name("FILE");
}

void add_quantize(CLI::App &app, quantize_options &options) {
    CLI::App &command = *app.add_subcommand("quantize", "Quantize the weights of a model, or an array");
    command.add_option("input", options.input, "A model's folder, or a .safetensors, .onnx, .gguf or\n.npy file")
        ->required();
    add_output_options(command, options.output)->required(false);
    add_metadata_option(command, options.output);
    command.add_option("--dtype", options.dtype, "The type to quantize to (default i8)")
        ->transform(type_of_codes())
        ->type_name("ONE");
    CLI::Option *axis = command.add_option("--axis", options.scales.axis,
                                           "One scale for each index of this axis (default 0),\n"
                                           "or, with --block-size, the axis cut into blocks (default -1)");
    CLI::Option *per_tensor = command.add_flag("--per-tensor", options.scales.per_tensor, "One scale per tensor");
    CLI::Option *block_size = command.add_option_function<std::string>(
        "--block-size", [&options](const std::string &text) { parse_block_size(text, options.scales); },
        "One scale for each N elements along the axis;\nROWSxCOLUMNS: for each block, as 128x128");
    block_size->type_name("N");
    per_tensor->excludes(axis)->excludes(block_size);
    command.add_flag("--asymmetric", options.asymmetric, "Use zero points, and the range from minimum to maximum");
    command.add_option("--scale-rule", options.scale_rule, "Compute scales by this rule (default: see below)")
        ->check(CLI::IsMember(scale_rule_names()))
        ->type_name("RULE");
    command.add_option("--clip", options.clip_ratio, "Multiply the largest values by this first, above 0, at most 1")
        ->type_name("RATIO");
    command
        .add_option("--activations", options.activations,
                    "dynamic: quantize the layers' inputs, too, as the model runs,\nwith one scale per token; of an "
                    ".onnx model one per tensor")
        ->check(CLI::IsMember({"dynamic"}))
        ->type_name("HOW");
    CLI::Option *rounding = command.add_option("--rounding", options.rounding,
                                               "stochastic: up or down by chance, the same for each element by a seed");
    rounding->check(CLI::IsMember({"stochastic"}))->type_name("HOW");
    command.add_option("--seed", options.seed, "Of the random numbers, 0 to 2^64 - 1")->needs(rounding)->type_name("N");
    command.add_option("--include", options.include, "Quantize the tensors whose names match, too")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    command.add_option("--exclude", options.exclude, "Leave the tensors alone whose names match")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    command.add_option("--recipe", options.recipe, "Rules by name, in JSON or YAML: see below")->type_name("FILE");
    command.add_flag("--dry-run", options.dry_run, "Print what would become of each tensor, and write nothing");
    command.add_option("--report", options.report, "Write a page of HTML on what changed")->type_name("FILE");
    command.add_flag("--verbose", options.console.verbose, "Print what becomes of each tensor");
    add_profile_option(command, options.profile);
    CLI::Option *ray = command.add_option("--ray", options.ray,
                                          "Quantize a folder's shards on the Ray cluster with this address,\n"
                                          "by the Python package qdq: see below");
    ray->type_name("ADDRESS");
    add_target_options(command, options.target);
    ray->excludes(command.get_option("--target"))->excludes(command.get_option("--threads"))->excludes(rounding);
    add_console_options(command, options.console);
    command.footer(quantize_footer);
    command.callback([&options] { run_quantize(options); });
}

const std::map<std::string, std::string> float_names = {{"f32", "F32"},     {"f16", "F16"},     {"bf16", "BF16"},
                                                        {"float32", "F32"}, {"float16", "F16"}, {"bfloat16", "BF16"}};

void add_dequantize(CLI::App &app, dequantize_options &options) {
    CLI::App &command = *app.add_subcommand("dequantize", "Restore a quantized model or array");
    command.add_option("input", options.input, "A quantized model's folder, .safetensors, .onnx,\n.gguf or .npy file")
        ->required();
    add_output_options(command, options.output);
    add_metadata_option(command, options.output);
    command.add_option("--dtype", options.dtype, "The type to restore to (default: as it was)")
        ->transform(
            CLI::CheckedTransformer(std::map<std::string, std::string>(float_names), CLI::ignore_case).description(""))
        ->type_name(one_of({"f32", "f16", "bf16"}));
    add_profile_option(command, options.profile);
    add_target_options(command, options.target);
    command.add_flag("--verbose", options.console.verbose, "Print what becomes of each tensor");
    add_console_options(command, options.console);
    command.footer(dequantize_footer);
    command.callback([&options] { run_dequantize(options); });
}

void add_convert(CLI::App &app, convert_options &options) {
    CLI::App &command = *app.add_subcommand("convert", "Keep the codes of a quantized model in another format");
    command.add_option("input", options.input, "A quantized model's folder, .safetensors, .onnx or .gguf file")
        ->required();
    add_output_options(command, options.output);
    add_metadata_option(command, options.output);
    command.add_option("--method", options.method, "Of a folder: the quant_method of its config.json")
        ->check(CLI::IsMember({"compressed-tensors", "fp8"}))
        ->type_name("NAME");
    command.add_flag("--verbose", options.console.verbose, "Print what becomes of each tensor");
    add_console_options(command, options.console);
    command.footer(convert_footer);
    command.callback([&options] { run_convert(options); });
}

void add_compare(CLI::App &app, compare_options &options) {
    CLI::App &command = *app.add_subcommand("compare", "Measure what quantization changed, tensor by tensor");
    command.add_option("original", options.original, "The file or folder before quantization")->required();
    command.add_option("other", options.other, "The quantized or restored one")->required();
    command.add_option("--report", options.report, "Write a page of HTML, too")->type_name("FILE");
    add_target_options(command, options.target);
    command.add_flag("--verbose", options.console.verbose, "List the tensors that are unchanged, too");
    add_console_options(command, options.console);
    command.footer(compare_footer);
    command.callback([&options] { run_compare(options); });
}

void add_recipe(CLI::App &app, recipe_options &options) {
    CLI::App &command = *app.add_subcommand("recipe", "Choose a type for each tensor by what it would lose");
    command.add_option("input", options.input, "A model's folder, or a .safetensors, .onnx or .gguf file")->required();
    command.add_option("--bits", options.bits, "The bits for each weight, with scales, that all may take together")
        ->required()
        ->type_name("NUMBER");
    add_output_options(command, options.output);
    add_target_options(command, options.target, "Tensors at a time");
    add_console_options(command, options.console);
    command.footer(recipe_footer);
    command.callback([&options] { run_recipe(options); });
}

void add_inspect(CLI::App &app, inspect_options &options) {
    CLI::App &command = *app.add_subcommand("inspect", "List the tensors of a model or array, and what they hold");
    command.add_option("input", options.input, "A model's folder, or a .safetensors, .onnx, .gguf or\n.npy file")
        ->required();
    add_console_options(command, options.console);
    command.footer("Of a quantized tensor the values are those that it stands for, its scales with the global one.");
    command.callback([&options] { run_inspect(options); });
}

void add_targets(CLI::App &app, targets_options &options) {
    CLI::App &command = *app.add_subcommand("targets", "List the targets built in, usable here, and chosen");
    command.add_flag("--why", options.why, "Say of each why it is chosen or not");
    command.add_flag("--json", options.console.json, "Print JSON");
    command.callback([&options] { run_targets(options); });
}

void add_verify(CLI::App &app, verify_options &options) {
    CLI::App &command = *app.add_subcommand("verify", "Check that every kernel gives the published results here");
    command.add_flag("--full", options.full,
                     "Take every f32, every i32 and every floating-point environment:\n"
                     "5 minutes of a processor for each target");
    add_target_options(command, options.target, "Threads to check on");
    add_console_options(command, options.console);
    command.footer(verify_footer);
    command.callback([&options] { run_verify(options); });
}

void add_generate(CLI::App &app, std::string &what) {
    CLI::App &command = *app.add_subcommand("generate", "Print the manual page, or a shell's completions");
    command.add_option("what", what, "What to print")->required()->check(CLI::IsMember({"man", "bash", "zsh", "fish"}));
    command.callback([&what, &app] { run_generate(what, app); });
}

// The one of these words that is a slip of the pen away, or nothing: how many letters must be added, left out or
// exchanged.
std::string closest(const std::string &word, const std::vector<std::string> &known) {
    constexpr size_t most = 2;
    std::pair<size_t, std::string> best = {most + 1, ""};
    for (const std::string &each : known) {
        std::vector<size_t> row(each.size() + 1);
        std::iota(row.begin(), row.end(), size_t{0});
        for (size_t i = 0; i < word.size(); ++i) {
            size_t diagonal = std::exchange(row[0], i + 1);
            for (size_t j = 0; j < each.size(); ++j) {
                size_t exchanged = diagonal + (word[i] != each[j]);
                diagonal = row[j + 1];
                row[j + 1] = std::min({exchanged, row[j] + 1, row[j + 1] + 1});
            }
        }
        best = std::min(best, {row.back(), each});
    }
    return best.second;
}

std::vector<std::string> option_names(const CLI::App &command) {
    std::vector<std::string> names;
    for (const CLI::Option *option : command.get_options()) {
        for (const std::string &name : option->get_lnames()) {
            names.push_back("--" + name);
        }
    }
    return names;
}

void check_command(const CLI::App &app, const std::string &word) {
    std::vector<std::string> names;
    for (const CLI::App *command : app.get_subcommands(nullptr)) {
        names.push_back(command->get_name());
    }
    if (!word.starts_with('-') && std::ranges::find(names, word) == names.end()) {
        std::string meant = closest(word, names);
        throw usage_error(
            word + " is no command: " + (meant.empty() ? "`qdq --help` lists them" : "is `qdq " + meant + "` meant?"));
    }
}

// Of the first option that its command has not: the one that is meant, or the command that has it.
std::string about_unknown_option(const CLI::App &app) {
    for (const CLI::App *command : app.get_subcommands()) {
        for (const std::string &given : app.remaining(true)) {
            std::string name = given.substr(0, given.find('='));
            if (!name.starts_with("--") || name == "--") {
                continue;
            }
            std::string text = name + " is no option of `qdq " + command->get_name() + "`", owners;
            if (std::string meant = closest(name, option_names(*command)); !meant.empty()) {
                return text.append(": is ").append(meant).append(" meant?");
            }
            for (const CLI::App *other : app.get_subcommands(nullptr)) {
                std::vector<std::string> names = option_names(*other);
                bool owns = std::ranges::find(names, name) != names.end();
                owners += owns ? (owners.empty() ? ": it is one of " : " and ") + other->get_name() : "";
            }
            return text + owners;
        }
    }
    return "";
}

// The words of a command as a shell takes them.
std::string shell_text(std::span<char *const> words) {
    constexpr const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_";
    std::string text;
    for (std::string word : words) {
        if (word.empty() || word.find_first_not_of(plain) != std::string::npos) {
            word = "'" + CLI::detail::find_and_replace(word, "'", "'\\''") + "'";
        }
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

// Runs the subcommand as its arguments are parsed. Output that could not be written is a failure too.
int run_command_line(int argc, char **argv) {
    CLI::App app("Quantize and dequantize tensors, with the same bits on every target.", "qdq");
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text);
    app.failure_message([&app](const CLI::App *, const CLI::Error &error) {  // which quotes arguments
        std::string unknown =
            error.get_exit_code() == int(CLI::ExitCodes::ExtrasError) ? about_unknown_option(app) : "";
        return one_line(unknown.empty() ? error.what() : unknown) + "\nRun with --help for more information.\n";
    });
    app.footer("Exit codes: 0 success, 1 failure, 2 wrong usage.");
    quantize_options quantize;
    dequantize_options dequantize;
    convert_options convert;
    compare_options compare;
    recipe_options recipe;
    inspect_options inspect;
    targets_options targets;
    verify_options verify;
    std::string generate;
    quantize.command = compare.command = shell_text(std::span(argv, static_cast<size_t>(argc)));
    add_quantize(app, quantize);
    add_dequantize(app, dequantize);
    add_convert(app, convert);
    add_compare(app, compare);
    add_recipe(app, recipe);
    add_inspect(app, inspect);
    add_targets(app, targets);
    add_verify(app, verify);
    add_generate(app, generate);
    check_command(app, argc > 1 ? argv[1] : "--");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (app.exit(error) != 0) {
            return exit_usage;
        }
    }
    std::cout.flush();
    if (!std::cout) {
        throw failure("cannot write to standard output");
    }
    return 0;
}

int report(const char *message, int code) {
    std::cerr << "qdq: " << one_line(message) << "\n";
    return code;
}

}  // namespace

int main(int argc, char **argv) {
    install_signal_handlers();
    try {
        return run_command_line(argc, argv);
    } catch (const interrupted &reason) {
        die_of(reason);
    } catch (const usage_error &error) {
        return report(error.what(), exit_usage);
    } catch (const std::bad_alloc &) {
        return report("out of memory", exit_failure);
    } catch (const std::exception &error) {
        return report(error.what(), exit_failure);
    }
}

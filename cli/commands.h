#pragma once

#include "model.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qdq::cli {

using namespace qdq::model;

// What a command tells beside its result.
struct console_options {
    bool json = false, quiet = false, verbose = false;
};

struct quantize_options {
    std::string input;
    output_options output;
    std::string dtype = "i8";
    std::string profile;  // of qdq_profile_options; empty: none
    granularity scales;
    bool asymmetric = false;
    std::string scale_rule;  // empty: that of compressed-tensors
    float clip_ratio = 1;
    std::string activations;  // "dynamic", or empty: they are left alone
    std::string rounding;     // "stochastic", or empty: to nearest even
    uint64_t seed = 0;
    std::vector<std::string> include, exclude;
    std::optional<std::filesystem::path> recipe, report;
    std::optional<std::string> ray;  // the address of a cluster
    std::string command;             // as a shell takes it, for the report
    bool dry_run = false;
    target_options target;
    console_options console;
};

struct dequantize_options {
    std::string input;
    output_options output;
    std::string dtype;  // F32, F16 or BF16; empty: as recorded
    std::string profile;
    target_options target;
    console_options console;
};

struct convert_options {
    std::string input;
    output_options output;
    std::string method;  // quant_method of a folder's config.json: compressed-tensors or fp8
    target_options target;
    console_options console;
};

struct compare_options {
    std::string original, other;
    std::optional<std::filesystem::path> report;
    std::string command;  // as a shell takes it, for the report
    target_options target;
    console_options console;
};

struct recipe_options {
    std::string input;
    output_options output;
    double bits = 0;  // for each weight, scales included
    target_options target;
    console_options console;
};

struct inspect_options {
    std::string input;
    console_options console;
};

struct targets_options {
    bool why = false;
    console_options console;
};

struct verify_options {
    bool full = false;
    target_options target;
    console_options console;
};

// Each prints its result to standard output, or throws.
void run_quantize(const quantize_options &options);
void run_dequantize(const dequantize_options &options);
void run_convert(const convert_options &options);
void run_compare(const compare_options &options);
void run_recipe(const recipe_options &options);
void run_inspect(const inspect_options &options);
void run_targets(const targets_options &options);
void run_verify(const verify_options &options);

// "qdq 0.1.0 ...", the commit, and the targets that are built in.
std::string version_text();

}  // namespace qdq::cli

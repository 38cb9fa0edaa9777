#pragma once

#include "granularity.h"
#include "kernel_call.h"
#include "tensor_file.h"

#include <string>

namespace qdq_cli {

struct quantize_options {
    std::string input;
    output_options output;
    std::string format = "i8";
    std::string profile;  // of qdq_profile_options; empty: none
    granularity scales;
    bool asymmetric = false;
    target_options target;
};

struct dequantize_options {
    std::string input;
    output_options output;
    std::string profile;
    target_options target;
};

struct compare_options {
    std::string original, other;
    bool json = false;
    target_options target;
};

struct targets_options {
    bool why = false;
};

struct verify_options {
    bool full = false;
    target_options target;
};

// Each prints its result to standard output, or throws.
void run_quantize(const quantize_options &options);
void run_dequantize(const dequantize_options &options);
void run_compare(const compare_options &options);
void run_targets(const targets_options &options);
void run_verify(const verify_options &options);

}  // namespace qdq_cli

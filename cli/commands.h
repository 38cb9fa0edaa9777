#pragma once

#include "dtype_table.h"
#include "granularity.h"
#include "kernel_call.h"

#include <string>

namespace qdq_cli {

struct quantize_options {
    std::string input, output;
    std::string code = "i8";
    granularity scales;
    bool asymmetric = false;
    target_options target;
};

struct dequantize_options {
    std::string input, output;
    target_options target;
};

struct compare_options {
    std::string original, other;
    bool json = false;
    target_options target;
};

// Each prints its result to standard output, or throws.
void run_quantize(const quantize_options &options);
void run_dequantize(const dequantize_options &options);
void run_compare(const compare_options &options);
void run_targets();

}  // namespace qdq_cli

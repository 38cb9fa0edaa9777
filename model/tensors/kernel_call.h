#pragma once

#include "tensors/granularity.h"
#include "tensors/kernel_use.h"
#include "tensors/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qdq::model {

// A tensor in memory: its data is dense.
struct tensor_data {
    const dtype *type = nullptr;
    std::vector<int64_t> shape;
    std::byte *data = nullptr;
};

// What one call of the library takes. Without zero points `zero_point.data` is null.
struct kernel_arguments {
    tensor_data x, scale, zero_point, y;
    blocking granularity;
};

// The same as the library takes them; null for what there is not.
struct kernel_views {
    const qdq_tensor *x, *scale, *zero_point, *y;
};

// Of stochastic rounding: a seed, and the number of the first element.
struct random_numbers {
    uint64_t seed, offset;
};

// Calls the library, and adds up what the calls take.
class kernel_caller {
public:
    // With the options of a profile, or the library's own. Throws usage_error when there is no such profile.
    explicit kernel_caller(std::string profile = "");

    // By random numbers it rounds stochastically.
    void quantize(const kernel_arguments &arguments, const std::optional<random_numbers> &random = {});
    void dequantize(const kernel_arguments &arguments) {
        call(qdq_dequantize, arguments, options_for(*arguments.x.type));
    }

    // Computes the scales, and the zero points where there are any, by a rule for codes of y's type, of which nothing
    // else counts; `lowest` and `highest` narrow them, both 0: all.
    void compute_scales(const kernel_arguments &arguments, const qdq_scale_options &how, int32_t lowest = 0,
                        int32_t highest = 0);

    // F32 values in a float type: what 1 stands for with these scales.
    void round(std::span<std::byte> values, const dtype &type, std::byte *result);

    const kernel_figures &figures() const { return figures_; }

private:
    void call(decltype(qdq_quantize) function, const kernel_arguments &arguments, const qdq_options &options);
    void run(const kernel_arguments &arguments, qdq_options options,
             const std::function<qdq_status(const kernel_views &, const qdq_options &)> &function);
    qdq_options options_for(const dtype &code) const;

    std::string profile_;
    kernel_figures figures_;
};

}  // namespace qdq::model

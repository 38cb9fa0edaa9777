#include "tensors/kernel_call.h"

#include "support/error.h"
#include "support/text.h"
#include "support/words.h"

#include <chrono>
#include <utility>

namespace qdq::model {

namespace {

qdq_tensor view(const tensor_data &tensor) {
    const auto rank = static_cast<int32_t>(tensor.shape.size());
    return {tensor.data, *tensor.type->core, rank, tensor.shape.data(), nullptr, {}};
}

uint64_t bytes_of(const tensor_data &tensor) {
    return tensor.data == nullptr ? 0 : byte_size({"", tensor.type, tensor.shape});
}

std::string error_text(qdq_status status) { return std::string(qdq_status_string(status)) + ": " + qdq_last_error(); }

}  // namespace

void apply(const target_options &options) {
    qdq_set_num_threads(options.threads);
    if (!options.target.empty()) {
        if (qdq_status status = qdq_force_target(options.target.c_str()); status != QDQ_OK) {
            throw failure(option_text("target") + " " + options.target + ": " + error_text(status));
        }
    }
}

kernel_caller::kernel_caller(std::string profile) : profile_(std::move(profile)) {
    qdq_options unused;
    if (!profile_.empty() && qdq_profile_options(profile_.c_str(), QDQ_I8, &unused) != QDQ_OK) {
        throw usage_error(option_text("profile") + " " + profile_ + ": " + qdq_last_error());
    }
}

qdq_options kernel_caller::options_for(const dtype &code) const {
    qdq_options options = {};
    if (!profile_.empty() && qdq_profile_options(profile_.c_str(), *code.core, &options) != QDQ_OK) {
        throw failure(qdq_last_error());
    }
    return options;
}

void kernel_caller::round(std::span<std::byte> values, const dtype &type, std::byte *result) {
    std::vector<int64_t> shape = {static_cast<int64_t>(values.size() / sizeof(float))};
    std::vector<std::byte> ones(values.size() / sizeof(float), std::byte{1});
    dequantize({{&dtype_of(QDQ_I8), shape, ones.data()},
                {&f32_dtype(), shape, values.data()},
                {},
                {&type, shape, result},
                {}});
}

void kernel_caller::compute_scales(const kernel_arguments &arguments, const qdq_scale_options &how, int32_t lowest,
                                   int32_t highest) {
    qdq_options options = {};
    options.quant_min = lowest;
    options.quant_max = highest;
    run(arguments, options, [&](const kernel_views &views, const qdq_options &used) {
        return qdq_compute_scales(views.x, views.y->dtype, views.scale, views.zero_point, &how, &used);
    });
}

void kernel_caller::quantize(const kernel_arguments &arguments, const std::optional<random_numbers> &random) {
    qdq_options options = options_for(*arguments.y.type);
    if (random) {
        options.rounding = QDQ_STOCHASTIC;
        options.random_seed = random->seed;
        options.random_offset = random->offset;
    }
    call(qdq_quantize, arguments, options);
}

void kernel_caller::call(decltype(qdq_quantize) function, const kernel_arguments &arguments, const qdq_options &given) {
    run(arguments, given, [&](const kernel_views &views, const qdq_options &options) {
        return function(views.x, views.scale, views.zero_point, views.y, &options);
    });
}

void kernel_caller::run(const kernel_arguments &arguments, qdq_options options,
                        const std::function<qdq_status(const kernel_views &, const qdq_options &)> &function) {
    qdq_tensor x = view(arguments.x), scale = view(arguments.scale), y = view(arguments.y), zero_point = {};
    bool shifted = arguments.zero_point.data != nullptr;
    if (shifted) {
        zero_point = view(arguments.zero_point);
    }
    options.axis = static_cast<int32_t>(arguments.granularity.axis);
    options.block_size = arguments.granularity.block_size;
    std::vector<int64_t> block_shape = arguments.granularity.block_shape(arguments.x.shape.size());
    if (arguments.granularity.block_rows != 0) {
        options.block_size = 0;
        options.block_shape = block_shape.data();
    }
    auto begin = std::chrono::steady_clock::now();
    qdq_status status = function({&x, &scale, shifted ? &zero_point : nullptr, &y}, options);
    figures_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (status != QDQ_OK) {
        throw failure(error_text(status));
    }
    figures_.bytes +=
        bytes_of(arguments.x) + bytes_of(arguments.scale) + bytes_of(arguments.zero_point) + bytes_of(arguments.y);
}

void kernel_figures::add(const kernel_figures &more) {
    seconds += more.seconds;
    bytes += more.bytes;
}

std::string kernel_figures::text() const {
    const char *target = qdq_current_target();
    double rate = seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0;
    return fixed(seconds * 1e3, 2) + " ms in kernels, " + fixed(rate, 1) + " GB/s, target " +
           (target == nullptr ? "none" : target);
}

}  // namespace qdq::model

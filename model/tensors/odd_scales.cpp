#include "tensors/odd_scales.h"

#include "support/interrupt.h"
#include "support/text.h"
#include "tensors/quantized_tensor.h"

#include <cmath>
#include <cstdint>

namespace qdq::model {

namespace {

// Scales of one kind.
struct kind_of_scale {
    const char *name, *effect;
    uint64_t count = 0;
    std::vector<std::string> tensors = {};

    void add(uint64_t more, const std::string &tensor) {
        count += more;
        if (more != 0) {
            tensors.push_back(tensor);
        }
    }
};

}  // namespace

std::vector<std::string> odd_scales(const tensor_reader &file) {
    kind_of_scale zero{"0", "their values are 0"}, negative{"negative", "codes stand for values of the other sign"},
        not_finite{"NaN or infinite", "no values"};
    uint64_t all = 0;
    for (const logical_tensor &tensor : logical_tensors(file)) {
        throw_if_interrupted();
        if (!tensor.parts) {
            continue;
        }
        std::vector<float> scales;
        name_in_failures(file, tensor.index, [&] { scales = load_scales(file, *tensor.parts); });
        auto count = [&](auto is_one) { return static_cast<uint64_t>(std::ranges::count_if(scales, is_one)); };
        all += scales.size();
        not_finite.add(count([](float scale) { return !std::isfinite(scale); }), tensor.name);
        if (!file.kind().has_signed_scales) {
            zero.add(count([](float scale) { return scale == 0; }), tensor.name);
            negative.add(count([](float scale) { return scale < 0 && std::isfinite(scale); }), tensor.name);
        }
    }
    std::vector<std::string> found;
    for (const kind_of_scale &each : {zero, negative, not_finite}) {
        if (each.count != 0) {
            found.push_back(file.path() + ": " + std::to_string(each.count) + " of " + std::to_string(all) +
                            " scales " + (each.count == 1 ? "is " : "are ") + each.name + ": " + each.effect + " (" +
                            some_of(each.tensors) + ")");
        }
    }
    return found;
}

}  // namespace qdq::model

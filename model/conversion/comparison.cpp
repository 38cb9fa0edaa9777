#include "conversion/comparison.h"

#include "conversion/value_reader.h"
#include "files/file_kinds.h"
#include "support/error.h"
#include "support/text.h"
#include "tensors/float_values.h"
#include "tensors/odd_scales.h"
#include "tensors/scales.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace qdq::model {

namespace {

// NaN, once seen, stays.
void keep_worst(double &worst, double value) { worst = value > worst || std::isnan(value) ? value : worst; }

void add_values(comparison &result, std::span<const float> original, std::span<const float> other) {
    for (size_t i = 0; i < original.size(); ++i) {
        double a = original[i], b = other[i];
        double error = a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::abs(a - b);
        result.signal += std::isfinite(a) ? a * a : 0;
        result.noise += error * error;
        keep_worst(result.max_error, error);
    }
}

int exponent_of(float value) { return static_cast<int>(std::bit_cast<uint32_t>(value) >> 23 & 0xff) - 127; }

void add_errors(comparison &result, std::span<const float> original, std::span<const float> other) {
    constexpr int last = static_cast<int>(std::tuple_size_v<decltype(comparison::errors)>) - 1;
    auto rms = static_cast<float>(std::sqrt(result.signal / static_cast<double>(original.size())));
    for (size_t i = 0; i < original.size(); ++i) {
        float error = std::abs(original[i] - other[i]);
        if (error != 0) {
            int bin = std::clamp(exponent_of(error / rms) - comparison::first_exponent, 0, last);
            ++result.errors[static_cast<size_t>(bin)];
        }
    }
}

// Half of the last step is what rounding may do; a value farther than that from the codes was clipped. The slack allows
// for the rounding of the scale itself, which puts the largest value of many blocks at half a step: to 16 bits, or to
// f32, where it is many steps of an i32.
double clipping_distance(const dtype &codes) { return (0.5 + 1e-3) * codes.last_step + codes.highest * 0x1p-22; }

// Integer codes are a step apart everywhere; how far a value is from a float code says little in steps.
void add_steps(comparison &result, std::span<const float> original, std::span<const float> other,
               const quantized_tensor &codes) {
    const dtype &type = *codes.codes.type;
    scale_map map(codes.codes.shape, codes.granularity);
    std::vector<float> scales(static_cast<size_t>(map.scale_count()));
    widen(*codes.scale.type->core, codes.scale.data, 0, map.scale_count(), scales.data());
    double worst = 0, beyond = clipping_distance(type);
    uint64_t clipped = 0;
    int64_t last_zero_point = codes.zero_point.data ? element_count(codes.zero_point.shape) - 1 : 0;
    map.for_each_run([&](const run &r) {
        for (int64_t i = 0; i < r.count; ++i) {
            auto at = static_cast<size_t>(r.first_element + i);
            int64_t scale_index = r.first_scale + i * r.step;
            double a = original[at], b = other[at], scale = scales[static_cast<size_t>(scale_index)];
            keep_worst(worst, a == b ? 0 : std::abs((a - b) / scale));
            double zero_point = 0;
            if (codes.zero_point.data) {
                int64_t index = std::min(scale_index, last_zero_point);
                zero_point = static_cast<double>(load_code(*codes.zero_point.type, codes.zero_point.data, index));
            }
            double code = a / scale + zero_point;
            clipped += code > type.highest + beyond || code < type.lowest - beyond;
        }
    });
    result.clipped = clipped;
    if (type.is_integer_code()) {
        result.max_steps = worst;
    }
}

}  // namespace

double comparison::sqnr_db() const {
    return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

struct comparer::sides {
    const std::unique_ptr<tensor_reader> original_file, other_file;
    value_reader original, other;

    sides(std::unique_ptr<tensor_reader> first, std::unique_ptr<tensor_reader> second)
        : original_file(std::move(first)),
          other_file(std::move(second)),
          original(*original_file),
          other(*other_file) {}

    void refuse_extra_tensors() const {
        for (const logical_tensor &tensor : other.tensors()) {
            if (!original.find(tensor.name)) {
                throw failure(other.file().path() + ": " + shortened(tensor.name) + " is not in " +
                              original.file().path());
            }
        }
    }

    const logical_tensor &counterpart(const logical_tensor &tensor) const {
        const logical_tensor *found = other.find(tensor.name);
        if (found == nullptr) {
            throw failure("it is not in " + other.file().path());
        }
        if (found->shape != tensor.shape) {
            throw failure("its shape in " + other.file().path() + " is " + shape_text(found->shape));
        }
        return *found;
    }

    comparison compare(const logical_tensor &tensor, const logical_tensor &its_other) {
        comparison result;
        result.name = tensor.name;
        result.shape = tensor.shape;
        result.bytes_before = original.bytes(tensor);
        result.bytes_after = other.bytes(its_other);
        result.dtype = other.codes_type(its_other);
        bool same_kind = &original.type(tensor) == &other.type(its_other) && !tensor.parts && !its_other.parts;
        if (same_kind && std::ranges::equal(original.raw(tensor), other.raw(its_other))) {
            return result;
        }
        if (!original.has_values(tensor) || !other.has_values(its_other)) {
            throw failure("it differs from that in " + other.file().path() +
                          ", and only float tensors can be compared");
        }
        result.unchanged = false;
        std::span<const float> a = original.values(tensor), b = other.values(its_other);
        add_values(result, a, b);
        add_errors(result, a, b);
        if (other.quantized()) {
            add_steps(result, a, b, *other.quantized());
        }
        return result;
    }
};

comparer::comparer(const std::string &original, const std::string &other)
    : sides_(new sides(open_reader(original), open_reader(other))) {
    sides_->refuse_extra_tensors();
}

comparer::~comparer() = default;

uint64_t comparer::bytes() const { return stored_bytes(sides_->original.file()); }

std::vector<std::string> comparer::odd_scales() const {
    std::vector<std::string> found = model::odd_scales(sides_->original.file()),
                             more = model::odd_scales(sides_->other.file());
    found.insert(found.end(), more.begin(), more.end());
    return found;
}

std::vector<comparison> comparer::run(const progress_function &advance) {
    const value_reader &original = sides_->original;
    std::vector<comparison> results;
    for (const logical_tensor &tensor : original.tensors()) {
        name_in_failures(original.file(), tensor.index,
                         [&] { results.push_back(sides_->compare(tensor, sides_->counterpart(tensor))); });
        advance(original.bytes(tensor));
    }
    original.file().check_unchanged();
    sides_->other.file().check_unchanged();
    return results;
}

comparison total_of(const std::vector<comparison> &all) {
    comparison total;
    total.name = "total";
    for (const comparison &each : all) {
        total.bytes_before += each.bytes_before;
        total.bytes_after += each.bytes_after;
        total.unchanged = total.unchanged && each.unchanged;
        std::ranges::transform(total.errors, each.errors, total.errors.begin(), std::plus());
        total.signal += each.signal;
        total.noise += each.noise;
        keep_worst(total.max_error, each.max_error);
        if (each.max_steps) {
            double worst = total.max_steps.value_or(0);
            keep_worst(worst, *each.max_steps);
            total.max_steps = worst;
        }
        if (each.clipped) {
            total.clipped = total.clipped.value_or(0) + *each.clipped;
        }
    }
    return total;
}

// JSON has no infinity: the SQNR of an exact copy is null.
json to_json(const comparison &each) {
    json entry = {{"bytes_before", each.bytes_before},
                  {"bytes_after", each.bytes_after},
                  {"unchanged", each.unchanged},
                  {"sqnr_db", each.unchanged ? json() : json(each.sqnr_db())},
                  {"max_error", each.max_error},
                  {"max_error_steps", each.max_steps ? json(*each.max_steps) : json()},
                  {"clipped", each.clipped ? json(*each.clipped) : json()}};
    return entry;
}

json named_json(const comparison &each) {
    json entry = to_json(each);
    entry["name"] = each.name;
    entry["shape"] = each.shape;
    return entry;
}

}  // namespace qdq::model

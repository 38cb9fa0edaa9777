#include "commands.h"
#include "error.h"
#include "float_bits.h"
#include "progress.h"
#include "quantized_tensor.h"
#include "scales.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

namespace qdq_cli {

using nlohmann::json;

namespace {

// How far one tensor is from the original, or all of them together.
struct comparison {
    std::string name;
    std::vector<int64_t> shape;
    uint64_t bytes_before = 0, bytes_after = 0;
    bool unchanged = true;
    double signal = 0, noise = 0;  // sums of squares
    double max_error = 0;
    std::optional<double> max_steps;  // nothing: the other tensor is not quantized
    std::optional<uint64_t> clipped;

    double sqnr_db() const { return 10 * std::log10(signal / noise); }
};

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

// An error of half a step is what rounding may do; a value farther than that from the codes was clipped. The slack
// allows for the rounding of the scale itself, which puts the largest value of many blocks at half a step.
constexpr double clipping_distance = 0.5 + 1e-3;

void add_steps(comparison &result, std::span<const float> original, std::span<const float> other,
               const quantized_tensor &codes) {
    scale_map map(codes.codes.shape, codes.granularity);
    std::vector<float> scales(static_cast<size_t>(map.scale_count()));
    widen(*codes.scale.type->core, codes.scale.data, 0, map.scale_count(), scales.data());
    double worst = 0;
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
            clipped += code > codes.codes.type->highest + clipping_distance ||
                       code < codes.codes.type->lowest - clipping_distance;
        }
    });
    result.max_steps = worst;
    result.clipped = clipped;
}

// One of the two files.
class side {
public:
    explicit side(const std::string &path) : file_(open_reader(path)), records_(read_records(*file_)) {}

    const tensor_reader &file() const { return *file_; }
    const tensor_info &tensor(size_t index) const { return file_->tensors()[index]; }

    bool is_comparable(size_t index) const { return tensor(index).type->is_float() || find_quantized(*file_, index); }

    // With scale and zero point.
    uint64_t bytes(size_t index) const {
        uint64_t total = byte_size(tensor(index));
        if (auto parts = find_quantized(*file_, index)) {
            total += byte_size(tensor(parts->scale));
            total += parts->zero_point ? byte_size(tensor(*parts->zero_point)) : 0;
        }
        return total;
    }

    std::span<const std::byte> raw(size_t index) {
        std::span<std::byte> bytes = stored_.take(byte_size(tensor(index)));
        file_->read(index, bytes);
        return bytes;
    }

    // The tensor's values; a quantized tensor's codes are available from quantized() afterwards.
    std::span<const float> values(size_t index) {
        auto count = static_cast<size_t>(element_count(tensor(index).shape));
        std::span<std::byte> bytes = values_.take(count * sizeof(float));
        auto *floats = reinterpret_cast<float *>(bytes.data());
        quantized_.reset();
        if (auto parts = find_quantized(*file_, index)) {
            quantized_ = load_quantized(*file_, *parts, records_, stored_);
            kernels_.dequantize(quantized_->dequantize_to({&f32_dtype(), tensor(index).shape, bytes.data()}));
        } else if (tensor(index).type == &f32_dtype()) {
            file_->read(index, bytes);
        } else {
            widen(*tensor(index).type->core, raw(index).data(), 0, static_cast<int64_t>(count), floats);
        }
        return {floats, count};
    }

    const std::optional<quantized_tensor> &quantized() const { return quantized_; }

private:
    std::unique_ptr<tensor_reader> file_;
    record_map records_;
    scratch_buffer stored_, values_;
    std::optional<quantized_tensor> quantized_;
    kernel_caller kernels_;
};

class comparer {
public:
    explicit comparer(const compare_options &options) : original_(options.original), other_(options.other) {}

    std::vector<comparison> run() {
        refuse_extra_tensors();
        uint64_t total = 0;
        for (const tensor_info &tensor : original_.file().tensors()) {
            total += byte_size(tensor);
        }
        progress bar(total);
        std::vector<comparison> results;
        for (size_t i = 0; i < original_.file().tensors().size(); ++i) {
            if (!is_parameter(original_.file(), i)) {
                for_tensor(original_.file(), i, [&] { results.push_back(compare(i, counterpart(i))); });
            }
            bar.advance(byte_size(original_.tensor(i)));
        }
        return results;
    }

private:
    std::string other_path() const { return other_.file().files().front().string(); }

    void refuse_extra_tensors() const {
        for (size_t i = 0; i < other_.file().tensors().size(); ++i) {
            const std::string &name = other_.tensor(i).name;
            if (!is_parameter(other_.file(), i) && !original_.file().find(name)) {
                throw failure(other_path() + ": " + printable(name) + " is not in " +
                              original_.file().files().front().string());
            }
        }
    }

    size_t counterpart(size_t index) const {
        const tensor_info &tensor = original_.tensor(index);
        std::optional<size_t> found = other_.file().find(tensor.name);
        if (!found) {
            throw failure("it is not in " + other_path());
        }
        if (other_.tensor(*found).shape != tensor.shape) {
            throw failure("its shape in " + other_path() + " is " + shape_text(other_.tensor(*found).shape));
        }
        return *found;
    }

    comparison compare(size_t index, size_t other) {
        const tensor_info &tensor = original_.tensor(index);
        comparison result;
        result.name = tensor.name;
        result.shape = tensor.shape;
        result.bytes_before = original_.bytes(index);
        result.bytes_after = other_.bytes(other);
        bool same_kind = tensor.type == other_.tensor(other).type && !find_quantized(original_.file(), index) &&
                         !find_quantized(other_.file(), other);
        if (same_kind && std::ranges::equal(original_.raw(index), other_.raw(other))) {
            return result;
        }
        if (!original_.is_comparable(index) || !other_.is_comparable(other)) {
            throw failure("it differs from that in " + other_path() + ", and only float tensors can be compared");
        }
        result.unchanged = false;
        std::span<const float> a = original_.values(index), b = other_.values(other);
        add_values(result, a, b);
        if (other_.quantized()) {
            add_steps(result, a, b, *other_.quantized());
        }
        return result;
    }

    side original_, other_;
};

comparison total_of(const std::vector<comparison> &all) {
    comparison total;
    total.name = "total";
    for (const comparison &each : all) {
        total.bytes_before += each.bytes_before;
        total.bytes_after += each.bytes_after;
        total.unchanged = total.unchanged && each.unchanged;
        total.signal += each.signal;
        total.noise += each.noise;
        keep_worst(total.max_error, each.max_error);
        if (each.max_steps) {
            double worst = total.max_steps.value_or(0);
            keep_worst(worst, *each.max_steps);
            total.max_steps = worst;
            total.clipped = total.clipped.value_or(0) + *each.clipped;
        }
    }
    return total;
}

std::vector<std::string> table_row(const comparison &each, const std::string &shape) {
    return {printable(each.name),
            shape,
            std::to_string(each.bytes_before),
            std::to_string(each.bytes_after),
            each.unchanged ? "-" : fixed(each.sqnr_db(), 2),
            each.max_steps ? fixed(*each.max_steps, 3) : "-",
            each.clipped ? std::to_string(*each.clipped) : "-"};
}

void print_table(const std::vector<comparison> &all) {
    std::vector<std::vector<std::string>> rows = {
        {"tensor", "shape", "bytes before", "bytes after", "SQNR dB", "max error (steps)", "clipped"}};
    size_t unchanged = 0;
    uint64_t unchanged_bytes = 0;
    for (const comparison &each : all) {
        if (each.unchanged) {
            ++unchanged;
            unchanged_bytes += each.bytes_before;
        } else {
            rows.push_back(table_row(each, shape_text(each.shape)));
        }
    }
    if (unchanged != 0) {
        std::string bytes = std::to_string(unchanged_bytes);
        rows.push_back({"(" + std::to_string(unchanged) + " unchanged)", "", bytes, bytes, "-", "-", "-"});
    }
    rows.push_back(table_row(total_of(all), ""));
    std::cout << table(rows, 2);
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

void print_json(const std::vector<comparison> &all) {
    json tensors = json::array();
    for (const comparison &each : all) {
        json entry = to_json(each);
        entry["name"] = each.name;
        entry["shape"] = each.shape;
        tensors.push_back(entry);
    }
    std::cout << json({{"tensors", tensors}, {"total", to_json(total_of(all))}}).dump(2) << "\n";
}

}  // namespace

void run_compare(const compare_options &options) {
    apply(options.target);
    std::vector<comparison> all = comparer(options).run();
    if (options.json) {
        print_json(all);
    } else {
        print_table(all);
    }
}

}  // namespace qdq_cli

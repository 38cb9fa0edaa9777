#include "commands.h"
#include "error.h"
#include "float_values.h"
#include "progress.h"
#include "quantized_tensor.h"
#include "scales.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
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
    std::optional<double> max_steps;  // nothing: the other tensor is not quantized to integers
    std::optional<uint64_t> clipped;  // nothing: it is not quantized

    double sqnr_db() const {  // without noise infinite, even of zeros or of nothing at all
        return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
    }
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

// One of the two files.
class side {
public:
    explicit side(const std::string &path)
        : file_(open_reader(path)), records_(read_records(*file_)), tensors_(logical_tensors(*file_)) {
        for (const logical_tensor &tensor : tensors_) {
            by_name_[tensor.name] = &tensor;
        }
    }

    std::string path() const { return file_->path(); }
    void check_unchanged() const { file_->check_unchanged(); }
    const std::vector<logical_tensor> &tensors() const { return tensors_; }

    const logical_tensor *find(const std::string &name) const {
        auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }

    const dtype &type(const logical_tensor &tensor) const { return *file_->tensors()[tensor.index].type; }
    uint64_t bytes(const logical_tensor &tensor) const { return stored_bytes(*file_, tensor); }
    bool is_comparable(const logical_tensor &tensor) const { return tensor.parts || type(tensor).is_float(); }

    void name_in_failures(const logical_tensor &tensor, const std::function<void()> &work) const {
        for_tensor(*file_, tensor.index, work);
    }

    std::span<const std::byte> raw(const logical_tensor &tensor) {
        std::span<std::byte> bytes = buffers_.stored.take(byte_size(file_->tensors()[tensor.index]));
        file_->read(tensor.index, bytes);
        return bytes;
    }

    // The tensor's values; a quantized tensor's codes are available from quantized() afterwards.
    std::span<const float> values(const logical_tensor &tensor) {
        auto count = static_cast<size_t>(element_count(tensor.shape));
        std::span<std::byte> bytes = values_.take(count * sizeof(float));
        auto *floats = reinterpret_cast<float *>(bytes.data());
        quantized_.reset();
        if (tensor.parts) {
            quantized_ = load_quantized(*file_, tensor, records_, buffers_);
            kernels_.dequantize(quantized_->dequantize_to({&f32_dtype(), tensor.shape, bytes.data()}));
        } else if (&type(tensor) == &f32_dtype()) {
            file_->read(tensor.index, bytes);
        } else {
            widen(*type(tensor).core, raw(tensor).data(), 0, static_cast<int64_t>(count), floats);
        }
        return {floats, count};
    }

    const std::optional<quantized_tensor> &quantized() const { return quantized_; }

private:
    std::unique_ptr<tensor_reader> file_;
    record_map records_;
    std::vector<logical_tensor> tensors_;
    std::map<std::string, const logical_tensor *> by_name_;
    code_buffers buffers_;
    scratch_buffer values_;
    std::optional<quantized_tensor> quantized_;
    kernel_caller kernels_;
};

class comparer {
public:
    explicit comparer(const compare_options &options) : original_(options.original), other_(options.other) {}

    std::vector<comparison> run() {
        refuse_extra_tensors();
        uint64_t total = 0;
        for (const logical_tensor &tensor : original_.tensors()) {
            total += original_.bytes(tensor);
        }
        progress bar(total);
        std::vector<comparison> results;
        for (const logical_tensor &tensor : original_.tensors()) {
            original_.name_in_failures(tensor, [&] { results.push_back(compare(tensor, counterpart(tensor))); });
            bar.advance(original_.bytes(tensor));
        }
        original_.check_unchanged();
        other_.check_unchanged();
        return results;
    }

private:
    void refuse_extra_tensors() const {
        for (const logical_tensor &tensor : other_.tensors()) {
            if (!original_.find(tensor.name)) {
                throw failure(other_.path() + ": " + printable(tensor.name) + " is not in " + original_.path());
            }
        }
    }

    const logical_tensor &counterpart(const logical_tensor &tensor) const {
        const logical_tensor *found = other_.find(tensor.name);
        if (found == nullptr) {
            throw failure("it is not in " + other_.path());
        }
        if (found->shape != tensor.shape) {
            throw failure("its shape in " + other_.path() + " is " + shape_text(found->shape));
        }
        return *found;
    }

    comparison compare(const logical_tensor &tensor, const logical_tensor &other) {
        comparison result;
        result.name = tensor.name;
        result.shape = tensor.shape;
        result.bytes_before = original_.bytes(tensor);
        result.bytes_after = other_.bytes(other);
        bool same_kind = &original_.type(tensor) == &other_.type(other) && !tensor.parts && !other.parts;
        if (same_kind && std::ranges::equal(original_.raw(tensor), other_.raw(other))) {
            return result;
        }
        if (!original_.is_comparable(tensor) || !other_.is_comparable(other)) {
            throw failure("it differs from that in " + other_.path() + ", and only float tensors can be compared");
        }
        result.unchanged = false;
        std::span<const float> a = original_.values(tensor), b = other_.values(other);
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
        }
        if (each.clipped) {
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
    std::cout << "{\"tensors\": [";
    for (size_t i = 0; i < all.size(); ++i) {
        json entry = to_json(all[i]);
        entry["name"] = all[i].name;
        entry["shape"] = all[i].shape;
        std::cout << (i == 0 ? "\n" : ",\n") << entry;
    }
    std::cout << "\n],\n\"total\": " << to_json(total_of(all)) << "}\n";
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

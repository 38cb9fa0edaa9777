#include "files/int4_layers.h"

#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tensors/float_values.h"
#include "tensors/nibbles.h"
#include "tensors/quantized_tensor.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace qdq::model {

namespace {

constexpr std::string_view codes_suffix = ".qweight";
constexpr int64_t in_word = 8;
constexpr uint32_t eight_of_eight = 0x88888888;

// Where a word of AWQ has the code of the output of each index.
constexpr std::array<int, in_word> awq_places = {0, 4, 1, 5, 2, 6, 3, 7};

uint32_t nibble_of(uint32_t word, int64_t place) { return word >> 4 * place & 0xf; }

struct layer {
    std::string name;  // of the weight
    size_t codes = 0, scales = 0, zero_points = 0;
    std::optional<size_t> groups = {};
    int64_t inputs = 0, outputs = 0, group_count = 0;
    int4_layout layout = {};

    // The eight zero points of a word, in order.
    uint32_t zero_points_in(uint32_t word) const {
        if (layout.method == int4_method::awq) {
            uint32_t ordered = 0;
            for (size_t i = 0; i < awq_places.size(); ++i) {
                ordered |= nibble_of(word, awq_places[i]) << 4 * i;
            }
            return ordered;
        }
        constexpr uint32_t one_of_eight = 0x11111111;  // added to each without a carry to the next
        return layout.zero_points_less_one ? ((word & ~eight_of_eight) + one_of_eight) ^ (word & eight_of_eight) : word;
    }
};

// Columns of a matrix, all rows of them.
template<typename T> class columns {
public:
    columns(const tensor_source &files, size_t index, int64_t first, int64_t count)
        : first_(first), count_(count), values_(static_cast<size_t>(files.tensors()[index].shape[0] * count)) {
        int64_t rows = files.tensors()[index].shape[0], width = files.tensors()[index].shape[1];
        for (int64_t row = 0; row < rows; ++row) {
            std::span part = std::span(values_).subspan(static_cast<size_t>(row * count), static_cast<size_t>(count));
            files.read_at(index, static_cast<uint64_t>(row * width + first) * sizeof(T), std::as_writable_bytes(part));
        }
    }
    T at(int64_t row, int64_t column) const { return values_[static_cast<size_t>(row * count_ + column - first_)]; }

private:
    int64_t first_, count_;
    std::vector<T> values_;
};

template<typename T> std::vector<T> read_all(const tensor_source &files, size_t index) {
    std::vector<T> values(static_cast<size_t>(element_count(files.tensors()[index].shape)));
    files.read(index, std::as_writable_bytes(std::span(values)));
    return values;
}

// Makes rows of T, as many at a time as memory is bounded by, and takes of them the bytes from an offset on.
template<typename T, typename Make>
void read_rows(int64_t length, uint64_t offset, std::span<std::byte> bytes, Make &&make) {
    constexpr uint64_t most_bytes = uint64_t{1} << 20;
    uint64_t row_bytes = static_cast<uint64_t>(length) * sizeof(T),
             most = std::max<uint64_t>(most_bytes / row_bytes, 1);
    std::vector<T> rows;
    while (!bytes.empty()) {
        throw_if_interrupted();
        uint64_t first = offset / row_bytes, end = (offset + bytes.size() + row_bytes - 1) / row_bytes;
        uint64_t count = std::min(most, end - first), skipped = offset - first * row_bytes;
        rows.resize(count * static_cast<uint64_t>(length));
        make(static_cast<int64_t>(first), static_cast<int64_t>(count), rows.data());
        std::span<const std::byte> made = std::as_bytes(std::span(rows)).subspan(skipped);
        size_t taken = std::min(made.size(), bytes.size());
        std::copy_n(made.data(), taken, bytes.data());
        bytes = bytes.subspan(taken);
        offset += taken;
    }
}

// The columns of a matrix as rows, of what `convert` makes of each element.
template<typename T, typename Convert = std::identity>
void read_transposed(const tensor_source &files, size_t index, uint64_t offset, std::span<std::byte> bytes,
                     Convert &&convert = {}) {
    int64_t length = files.tensors()[index].shape[0];
    read_rows<T>(length, offset, bytes, [&](int64_t first, int64_t count, T *to) {
        columns<T> from(files, index, first, count);
        for (int64_t i = 0; i < count * length; ++i) {
            to[i] = convert(from.at(i % length, first + i / length));
        }
    });
}

// Visits the eight inputs' codes of consecutive outputs, each eight in a word.
class code_words {
public:
    code_words(const tensor_source &files, const layer &of, int64_t first_output, int64_t count)
        : by_outputs_(of.layout.method == int4_method::awq),
          words_(files, of.codes, by_outputs_ ? first_output / in_word : first_output,
                 by_outputs_ ? (first_output + count - 1) / in_word - first_output / in_word + 1 : count) {}

    uint32_t at(int64_t output, int64_t eight) const {
        if (!by_outputs_) {
            return words_.at(eight, output);
        }
        int place = awq_places[static_cast<size_t>(output % in_word)];
        uint32_t word = 0;
        for (int64_t i = 0; i < in_word; ++i) {
            word |= nibble_of(words_.at(eight * in_word + i, output / in_word), place) << 4 * i;
        }
        return word;
    }

private:
    bool by_outputs_;
    columns<uint32_t> words_;
};

void read_codes(const layer &of, const tensor_source &files, uint64_t offset, std::span<std::byte> bytes) {
    int64_t length = of.inputs / in_word;
    read_rows<uint32_t>(length, offset, bytes, [&](int64_t first, int64_t count, uint32_t *to) {
        code_words words(files, of, first, count);
        for (int64_t i = 0; i < count * length; ++i) {
            to[i] = words.at(first + i / length, i % length);
        }
    });
}

void read_zero_points(const layer &of, const tensor_source &files, uint64_t offset, std::span<std::byte> bytes) {
    read_transposed<uint32_t>(files, of.zero_points, offset, bytes,
                              [&](uint32_t word) { return of.zero_points_in(word); });
}

// The values of a layer by the group of each input.
void read_values(const layer &of, const tensor_source &files, uint64_t offset, std::span<std::byte> bytes) {
    const auto groups = read_all<int32_t>(files, *of.groups);
    const dtype &type = *files.tensors()[of.scales].type;
    const auto zero_points = read_all<uint32_t>(files, of.zero_points);
    std::vector<std::byte> stored(byte_size(files.tensors()[of.scales]));
    files.read(of.scales, stored);
    std::vector<float> scales(static_cast<size_t>(of.group_count * of.outputs));
    widen(*type.core, stored.data(), 0, std::ssize(scales), scales.data());
    read_rows<float>(of.inputs, offset, bytes, [&](int64_t first, int64_t count, float *to) {
        code_words words(files, of, first, count);
        for (int64_t i = 0; i < count * of.inputs; ++i) {
            int64_t output = first + i / of.inputs, input = i % of.inputs, group = groups[static_cast<size_t>(input)];
            uint32_t eight = zero_points[static_cast<size_t>(group * (of.outputs / in_word) + output / in_word)];
            auto code = static_cast<int>(nibble_of(words.at(output, input / in_word), input % in_word));
            auto zero_point = static_cast<int>(nibble_of(of.zero_points_in(eight), output % in_word));
            to[i] = static_cast<float>(code - zero_point) * scales[static_cast<size_t>(group * of.outputs + output)];
        }
    });
}

[[noreturn]] void refuse_part(const tensor_info &part, const std::string &rule) {
    throw failure(shortened(part.name) + " (" + std::string(part.type->name) + " " + shape_text(part.shape) + ") " +
                  rule);
}

size_t find_part(const tensor_list &tensors, const std::string &base, const char *part) {
    std::optional<size_t> found = tensors.find(base + part);
    if (!found) {
        throw failure("there is no " + shortened(base + part) + " beside " + shortened(base) +
                      std::string(codes_suffix));
    }
    return *found;
}

void check_part(const tensor_info &part, bool is_of_type, const char *type, const std::vector<int64_t> &shape) {
    if (!is_of_type || part.shape != shape) {
        refuse_part(part, "is not " + std::string(type) + " " + shape_text(shape));
    }
}

// The parts of the layer of codes x.qweight, as their shapes have to be.
layer layer_of(const tensor_list &tensors, size_t codes, const int4_layout &layout) {
    const std::string base = tensors[codes].name.substr(0, tensors[codes].name.size() - codes_suffix.size());
    layer of = {.name = base + ".weight",
                .codes = codes,
                .scales = find_part(tensors, base, ".scales"),
                .zero_points = find_part(tensors, base, ".qzeros"),
                .groups = tensors.find(base + ".g_idx"),
                .layout = layout};
    const tensor_info &words = tensors[codes], &scales = tensors[of.scales], &zero_points = tensors[of.zero_points];
    const dtype *i32 = &dtype_of(QDQ_I32);
    if (words.type != i32 || words.shape.size() != 2 || element_count(words.shape) == 0) {
        refuse_part(words, "is no matrix of I32");
    }
    if (!scales.type->is_float() || scales.shape.size() != 2 || element_count(scales.shape) == 0) {
        refuse_part(scales, "is no matrix of F16, BF16 or F32");
    }
    of.group_count = scales.shape[0];
    of.outputs = scales.shape[1];
    bool is_awq = layout.method == int4_method::awq;
    if (of.outputs % in_word != 0) {
        refuse_part(scales, "has no whole number of words of eight outputs");
    }
    of.inputs = is_awq ? words.shape[0] : element_count({words.shape[0], in_word});
    if (of.inputs % in_word != 0) {
        refuse_part(words, "has no whole number of eight inputs");
    }
    check_part(words, true, "I32",
               is_awq ? std::vector{of.inputs, of.outputs / in_word} : std::vector{of.inputs / in_word, of.outputs});
    check_part(zero_points, zero_points.type == i32, "I32", {of.group_count, of.outputs / in_word});
    if (of.groups && !is_awq) {
        check_part(tensors[*of.groups], tensors[*of.groups].type == i32, "I32", {of.inputs});
    } else {
        of.groups.reset();
    }
    return of;
}

// Whether each input is in the group that its place says. Throws where one is in none.
bool has_consecutive_groups(const layer &of, const tensor_source &files) {
    bool whole = of.inputs % of.group_count == 0;
    if (!of.groups) {
        if (!whole) {
            refuse_part(files.tensors()[of.scales],
                        "has groups that do not divide " + std::to_string(of.inputs) + " inputs");
        }
        return true;
    }
    std::vector<int32_t> groups = read_all<int32_t>(files, *of.groups);
    bool consecutive = whole;
    for (size_t i = 0; i < groups.size(); ++i) {
        if (groups[i] < 0 || groups[i] >= of.group_count) {
            refuse_part(files.tensors()[*of.groups], "has group " + std::to_string(groups[i]) + " for input " +
                                                         std::to_string(i) + ", of " + std::to_string(of.group_count));
        }
        consecutive = consecutive && groups[i] == static_cast<int64_t>(i) / (of.inputs / of.group_count);
    }
    return consecutive;
}

bool has_zero_points(const layer &of, const tensor_source &files) {
    return std::ranges::any_of(read_all<uint32_t>(files, of.zero_points),
                               [&](uint32_t word) { return of.zero_points_in(word) != eight_of_eight; });
}

// What is read in place of a layer's tensors.
void present_layer(const layer &given, const tensor_source &files, std::vector<presented_tensor> &to) {
    auto of = std::make_shared<const layer>(given);
    const std::vector<int64_t> shape = {of->outputs, of->inputs};
    uint64_t code_bytes = byte_size(files.tensors()[of->codes]);
    if (!has_consecutive_groups(*of, files)) {
        to.push_back({{of->name, &f32_dtype(), shape},
                      of->codes,
                      [of](const auto &source, auto... rest) { read_values(*of, source, rest...); },
                      std::string(dtype_of(QDQ_I4).name),
                      code_bytes});
        return;
    }
    const dtype &scale_type = *files.tensors()[of->scales].type;
    const std::vector<int64_t> scale_shape = {of->outputs, of->group_count};
    to.push_back({{packed_name(of->name), &dtype_of(QDQ_I32), packed_shape(dtype_of(QDQ_I4), shape)},
                  of->codes,
                  [of](const auto &source, auto... rest) { read_codes(*of, source, rest...); }});
    to.push_back({{scale_name(of->name), &scale_type, scale_shape},
                  of->codes,
                  [of, wide = scale_type.bits == 32](const auto &source, auto... rest) {
                      wide ? read_transposed<uint32_t>(source, of->scales, rest...)
                           : read_transposed<uint16_t>(source, of->scales, rest...);
                  }});
    to.push_back({{shape_name(of->name), find_dtype("I64"), {std::ssize(shape)}},
                  of->codes,
                  [shape](const auto &, uint64_t offset, std::span<std::byte> bytes) {
                      std::ranges::copy(std::as_bytes(std::span(shape)).subspan(offset, bytes.size()), bytes.begin());
                  }});
    if (has_zero_points(*of, files)) {
        to.push_back({zero_point_info(zero_point_name(of->name), dtype_of(QDQ_I4), scale_shape, true), of->codes,
                      [of](const auto &source, auto... rest) { read_zero_points(*of, source, rest...); }});
    }
}

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

// A text of an object, in lower case; `otherwise` where there is none.
std::string text_in(const json &object, const char *key, const char *otherwise) {
    const json *found = object.find(key);
    return found != nullptr && found->is_string() ? lower_case(found->get<std::string>()) : otherwise;
}

void check_choice(const char *key, const std::string &given, std::initializer_list<std::string_view> known) {
    if (std::ranges::find(known, given) == known.end()) {
        std::string names;
        for (std::string_view each : known) {
            names += (names.empty() ? "" : ", ") + std::string(each);
        }
        throw failure("its \"" + std::string(key) + "\" is " + shortened(given) + ", of which qdq reads " + names);
    }
}

void check_bits(const json &config, const char *key) {
    const json *bits = config.find(key);
    if (bits == nullptr || !bits->is_number_integer() || bits->get<int64_t>() != 4) {
        throw failure("its \"" + std::string(key) + "\" is " + (bits == nullptr ? "missing" : shortened(bits->dump())) +
                      ", of which qdq reads 4");
    }
}

}  // namespace

std::optional<int4_layout> find_int4_layout(const json &config, const std::vector<json> &other_configs) {
    const json *found = config.find("quantization_config");
    for (const json &other : other_configs) {
        found = found == nullptr && other.is_object() ? &other : found;
    }
    if (found == nullptr || !found->is_object()) {
        return std::nullopt;
    }
    const bool is_old_awq = found->contains("w_bit");
    const std::string method = text_in(*found, "quant_method",
                                       is_old_awq                    ? "awq"
                                       : found->contains("desc_act") ? "gptq"
                                                                     : "");
    if (method != "gptq" && method != "awq") {
        return std::nullopt;
    }
    check_bits(*found, is_old_awq ? "w_bit" : "bits");
    if (method == "awq") {
        check_choice("version", text_in(*found, "version", "gemm"), {"gemm"});
        return int4_layout{int4_method::awq};
    }
    const char *key = found->contains("format") ? "format" : "checkpoint_format";
    std::string format = text_in(*found, key, "gptq");
    check_choice(key, format, {"gptq", "gptq_v2"});
    return int4_layout{int4_method::gptq, format == "gptq"};
}

std::vector<presented_tensor> present_int4_layers(const tensor_source &files, const int4_layout &layout) {
    const tensor_list &tensors = files.tensors();
    std::vector<layer> layers;
    std::vector<bool> is_part(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        throw_if_interrupted();
        if (!tensors[i].name.ends_with(codes_suffix)) {
            continue;
        }
        layers.push_back(layer_of(tensors, i, layout));
        const layer &of = layers.back();
        is_part[of.codes] = is_part[of.scales] = is_part[of.zero_points] = true;
        if (of.groups) {
            is_part[*of.groups] = true;
        }
    }
    std::vector<presented_tensor> all;
    for (const layer &of : layers) {
        throw_if_interrupted();
        present_layer(of, files, all);
    }
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (!is_part[i]) {
            all.push_back({tensors[i], i});
        }
    }
    return all;
}

}  // namespace qdq::model

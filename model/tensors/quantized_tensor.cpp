#include "tensors/quantized_tensor.h"

#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tensors/float_values.h"
#include "tensors/nibbles.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace qdq::model {

namespace {

constexpr std::string_view packed_suffix = "_packed";

tensor_data load(const tensor_source &file, size_t index, std::span<std::byte> bytes) {
    file.read(index, bytes);
    const tensor_info &tensor = file.tensors()[index];
    return {tensor.type, tensor.shape, bytes.data()};
}

tensor_data load(const tensor_source &file, size_t index, std::vector<std::byte> &bytes) {
    bytes.resize(byte_size(file.tensors()[index]));
    return load(file, index, std::span(bytes));
}

bool packs_zero_points(const std::vector<int64_t> &shape) { return shape.size() >= 2; }

bool is_exponent(const dtype &scale) { return scale.core == QDQ_U8 || scale.core == QDQ_E8M0; }

bool can_scale(const dtype &scale, const dtype &codes) {
    bool f8_scale = is_exponent(scale) || (scale.core == QDQ_F8E4M3 && codes.core == QDQ_F4E2M1);
    return scale.is_float() || (f8_scale && !codes.is_integer_code());
}

// The parts of codes of this type, beside which there is a scale for them; or nothing.
std::optional<quantized_parts> find_parts(const tensor_list &tensors, size_t codes, const dtype &type,
                                          const std::string &name) {
    std::optional<size_t> scale = tensors.find(scale_name(name));
    if (!scale) {
        scale = tensors.find(block_scale_name(name));
    }
    if (!type.is_code() || !scale || !can_scale(*tensors[*scale].type, type)) {
        return std::nullopt;
    }
    return quantized_parts{&type, codes, *scale, tensors.find(zero_point_name(name)), std::nullopt, std::nullopt};
}

std::optional<std::string> unpacked_name(const tensor_info &tensor) {
    bool packed = tensor.name.ends_with(packed_suffix) && !tensor.shape.empty() &&
                  (tensor.type->core == QDQ_I32 || tensor.type->core == QDQ_U8);
    return packed ? std::optional(tensor.name.substr(0, tensor.name.size() - packed_suffix.size())) : std::nullopt;
}

std::optional<logical_tensor> find_packed(const tensor_list &tensors, size_t index) {
    const tensor_info &stored = tensors[index];
    std::optional<std::string> name = unpacked_name(stored);
    const dtype &type = dtype_of(stored.type->core == QDQ_I32 ? QDQ_I4 : QDQ_F4E2M1);
    std::optional<quantized_parts> parts = name ? find_parts(tensors, index, type, *name) : std::nullopt;
    if (!parts) {
        return std::nullopt;
    }
    parts->shape = tensors.find(shape_name(*name));
    parts->global_scale = tensors.find(global_scale_name(*name));
    return logical_tensor{*name, {}, index, parts};
}

std::vector<int64_t> read_shape(const tensor_source &file, size_t index) {
    const tensor_info &tensor = file.tensors()[index];
    if (tensor.type != find_dtype("I64") || tensor.shape.size() != 1 || tensor.shape[0] < 1 ||
        tensor.shape[0] > static_cast<int64_t>(max_rank)) {
        throw failure(shortened(tensor.name) + " is " + std::string(tensor.type->name) + " " +
                      shape_text(tensor.shape) + ", not a list of I64");
    }
    std::vector<int64_t> shape(static_cast<size_t>(tensor.shape[0]));
    file.read(index, std::as_writable_bytes(std::span(shape)));
    if (std::ranges::min(shape) < 0) {
        throw failure(shortened(tensor.name) + " is " + shape_text(shape));
    }
    return shape;
}

// The shape of packed codes. Those of e2m1 are two to a byte where none is told.
std::vector<int64_t> unpacked_shape(const tensor_source &file, const logical_tensor &tensor) {
    if (tensor.parts->shape) {
        return read_shape(file, *tensor.parts->shape);
    }
    if (tensor.parts->type->core == QDQ_I4) {
        throw failure("there is no " + shortened(shape_name(tensor.name)) + " beside it");
    }
    std::vector<int64_t> shape = file.tensors()[tensor.index].shape;
    shape.back() = element_count({shape.back(), 2});
    return shape;
}

using recorded_bytes = std::function<bool(const std::string &name)>;

// Whether the I32 of packed codes hold four of 8 bits each. Rows of 4 codes or fewer have one either way.
bool are_bytes(const tensor_info &words, const logical_tensor &tensor, const recorded_bytes &is_recorded) {
    bool bytes = packed_shape(dtype_of(QDQ_I8), tensor.shape) == words.shape;
    bool nibbles = packed_shape(dtype_of(QDQ_I4), tensor.shape) == words.shape;
    return bytes && (!nibbles || is_recorded(tensor.name));
}

void complete_packed(const tensor_source &file, logical_tensor &tensor, const recorded_bytes &is_recorded) {
    const tensor_info &codes = file.tensors()[tensor.index];
    if (std::string groups = groups_name(tensor.name); file.tensors().find(groups)) {
        throw failure("its groups follow " + shortened(groups) + ", which is not supported");
    }
    tensor.shape = unpacked_shape(file, tensor);
    if (codes.type->core == QDQ_I32 && are_bytes(codes, tensor, is_recorded)) {
        tensor.parts->type = &dtype_of(QDQ_I8);
    }
    if (packed_rows packing(*tensor.parts->type, tensor.shape); packing.shape() != codes.shape) {
        throw failure("codes of shape " + shape_text(tensor.shape) + " are packed in shape " +
                      shape_text(packing.shape()));
    }
}

float read_global_scale(const tensor_source &file, size_t index) {
    const tensor_info &info = file.tensors()[index];
    if (info.type != &f32_dtype() || element_count(info.shape) != 1) {
        throw failure("its global scale is " + std::string(info.type->name) + " " + shape_text(info.shape));
    }
    float global = 1;
    file.read(index, std::as_writable_bytes(std::span(&global, 1)));
    return global;
}

float scale_value(const dtype &type, const std::byte *scales, int64_t i) {
    float value = 0;
    if (type.is_float()) {
        widen(*type.core, scales, i, 1, &value);
        return value;
    }
    auto code = std::to_integer<uint8_t>(scales[i]);
    return is_exponent(type) ? float_value<QDQ_E8M0>(code) : float_value<QDQ_F8E4M3>(code);
}

// Scales as f32, which the library takes with any codes.
tensor_data load_wide_scales(const tensor_source &file, const quantized_parts &parts, std::vector<std::byte> &bytes) {
    std::vector<float> values = load_scales(file, parts);
    std::span wide = std::as_bytes(std::span(values));
    bytes.assign(wide.begin(), wide.end());
    return {&f32_dtype(), file.tensors()[parts.scale].shape, bytes.data()};
}

bool is_packed_zero_point(const tensor_list &tensors, const quantized_parts &parts) {
    const tensor_info &zero_point = tensors[*parts.zero_point];
    const std::vector<int64_t> &scale_shape = tensors[parts.scale].shape;
    bool packed_codes = tensors[parts.codes].type != parts.type && parts.type->is_integer_code();
    return packed_codes && zero_point.type->core == QDQ_I32 && packs_zero_points(scale_shape) &&
           zero_point.shape == packed_zero_points_shape(scale_shape, *parts.type);
}

void unpack_zero_point(quantized_tensor &tensor) {
    tensor.zero_point_bytes = unpack_zero_points(tensor.zero_point_bytes, tensor.scale.shape, *tensor.codes.type);
    tensor.zero_point = {&dtype_of(QDQ_I8), tensor.scale.shape, tensor.zero_point_bytes.data()};
}

void check_zero_point(const tensor_list &tensors, const quantized_parts &parts) {
    const tensor_info &zero_point = tensors[*parts.zero_point];
    const std::vector<int64_t> &scale_shape = tensors[parts.scale].shape;
    if (is_packed_zero_point(tensors, parts)) {
        return;
    }
    if (zero_point.type != &zero_point_dtype(*parts.type)) {
        throw failure("its zero point is " + std::string(zero_point.type->name) + " " + shape_text(zero_point.shape));
    }
    if (element_count(zero_point.shape) != 1 && zero_point.shape != scale_shape) {
        throw failure("its zero point has shape " + shape_text(zero_point.shape) + ", its scale " +
                      shape_text(scale_shape));
    }
}

tensor_data load_codes(const tensor_source &file, const logical_tensor &tensor, code_buffers &buffers) {
    const dtype &type = *tensor.parts->type;
    tensor_data codes = load(file, tensor.index, buffers.stored.take(byte_size(file.tensors()[tensor.index])));
    if (codes.type == &type) {
        return codes;
    }
    if (&in_memory(*codes.type) == &type) {
        std::span<std::byte> flat = buffers.flat.take(byte_size({"", &type, tensor.shape}));
        unpack_sixes({codes.data, byte_size(file.tensors()[tensor.index])}, flat);
        return {&type, tensor.shape, flat.data()};
    }
    packed_rows packing(type, tensor.shape);
    std::span<std::byte> flat(codes.data, byte_size({"", &type, tensor.shape}));
    if (packing.is_padded()) {
        std::span<const std::byte> rows(codes.data, byte_size({"", codes.type, codes.shape}));
        flat = buffers.flat.take(flat.size());
        packing.unpad(rows, flat);
    }
    if (type.is_integer_code()) {
        add_offset(flat, type);
    }
    return {&type, tensor.shape, flat.data()};
}

std::vector<bool> find_parts_of_others(const tensor_list &tensors) {
    std::vector<bool> is_part(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        throw_if_interrupted();
        std::vector<size_t> stored = find_logical_tensor(tensors, i).stored();
        std::for_each(stored.begin() + 1, stored.end(), [&](size_t part) { is_part[part] = true; });
    }
    return is_part;
}

}  // namespace

std::string scale_name(const std::string &name) { return name + "_scale"; }
std::string block_scale_name(const std::string &name) { return scale_name(name) + "_inv"; }
std::string zero_point_name(const std::string &name) { return name + "_zero_point"; }
std::string packed_name(const std::string &name) { return name + std::string(packed_suffix); }
std::string shape_name(const std::string &name) { return name + "_shape"; }
std::string global_scale_name(const std::string &name) { return name + "_global_scale"; }
std::string groups_name(const std::string &name) { return name + "_g_idx"; }

std::vector<size_t> logical_tensor::stored() const {
    std::vector<size_t> indices = {index};
    if (parts) {
        for (const std::optional<size_t> &part :
             {std::optional(parts->scale), parts->zero_point, parts->global_scale, parts->shape}) {
            indices.insert(indices.end(), part ? 1 : 0, part.value_or(0));
        }
    }
    return indices;
}

logical_tensor find_logical_tensor(const tensor_list &tensors, size_t index) {
    if (std::optional<logical_tensor> packed = find_packed(tensors, index)) {
        return *packed;
    }
    const tensor_info &stored = tensors[index];
    return {stored.name, stored.shape, index, find_parts(tensors, index, in_memory(*stored.type), stored.name)};
}

std::vector<logical_tensor> find_logical_tensors(const tensor_list &tensors) {
    std::vector<bool> is_part = find_parts_of_others(tensors);
    std::vector<logical_tensor> all;
    for (size_t i = 0; i < tensors.size(); ++i) {
        throw_if_interrupted();
        if (!is_part[i]) {
            all.push_back(find_logical_tensor(tensors, i));
        }
    }
    std::vector<std::string_view> names;
    std::ranges::transform(all, std::back_inserter(names), &logical_tensor::name);
    std::ranges::sort(names);
    if (auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
        std::string name(*twice);
        throw failure("it has both " + shortened(name) + " and " + shortened(packed_name(name)));
    }
    return all;
}

std::vector<logical_tensor> logical_tensors(const tensor_reader &file) {
    std::vector<logical_tensor> all;
    name_in_failures(file.path(), [&] { all = find_logical_tensors(file.tensors()); });
    std::optional<record_map> records;
    auto is_recorded = [&](const std::string &name) {
        if (!records) {
            records = read_records(file);
        }
        auto found = records->find(name);
        return found != records->end() && found->second.packs_bytes;
    };
    for (logical_tensor &tensor : all) {
        if (tensor.parts && tensor.parts->type != &in_memory(*file.tensors()[tensor.index].type)) {
            name_in_failures(file, tensor.index, [&] { complete_packed(file, tensor, is_recorded); });
        }
        if (tensor.parts && tensor.parts->zero_point) {
            name_in_failures(file, tensor.index, [&] { check_zero_point(file.tensors(), *tensor.parts); });
        }
    }
    return all;
}

uint64_t stored_bytes(const tensor_reader &file, const logical_tensor &tensor) {
    uint64_t total = 0;
    for (size_t part : tensor.stored()) {
        total += file.form(part).bytes;
    }
    return total;
}

blocking usual_blocks(const std::vector<int64_t> &shape, const std::vector<int64_t> &scale_shape) {
    constexpr int64_t usual = 128;
    blocking derived = {.scale_shape = scale_shape};
    if (shape.size() < 2 || scale_shape.size() != shape.size()) {
        return derived;
    }
    blocking expected = resolve({.block_size = usual, .block_rows = usual}, shape);
    return expected.scale_shape == scale_shape ? expected : derived;
}

tensor_info zero_point_info(const std::string &name, const dtype &code, const std::vector<int64_t> &shape,
                            bool is_packed) {
    if (is_packed && packs_zero_points(shape)) {
        return {name, &dtype_of(QDQ_I32), packed_zero_points_shape(shape, code)};
    }
    return {name, code.bits >= 8 ? &code : is_packed ? &dtype_of(QDQ_I8) : &zero_point_dtype(code), shape};
}

std::span<std::byte> packed_codes(std::span<std::byte> codes, const dtype &code, const std::vector<int64_t> &shape,
                                  scratch_buffer &rows) {
    if (code.core == QDQ_I4 || code.core == QDQ_I8) {
        add_offset(codes, code);
    }
    packed_rows packing(code, shape);
    if (!packing.is_padded()) {
        return codes;
    }
    std::span<std::byte> padded = rows.take(byte_size({"", &packing.type(), packing.shape()}));
    packing.pad(codes, padded);
    return padded;
}

std::span<std::byte> dense_codes(std::span<std::byte> codes, scratch_buffer &packed) {
    std::span<std::byte> dense = packed.take((codes.size() * 6 + 7) / 8);
    pack_sixes(codes, dense);
    return dense;
}

std::vector<std::byte> stored_zero_points(std::vector<std::byte> values, const dtype &code,
                                          const std::vector<int64_t> &shape) {
    if (code.core == QDQ_U4) {
        for (std::byte &value : values) {
            value = static_cast<std::byte>(std::to_integer<int>(value) - 8);
        }
    }
    return packs_zero_points(shape) ? pack_zero_points(values, shape, code) : values;
}

kernel_arguments quantized_tensor::dequantize_to(const tensor_data &y) const {
    return {codes, scale, zero_point, y, granularity};
}

std::vector<float> load_scales(const tensor_source &file, const quantized_parts &parts) {
    std::vector<std::byte> bytes;
    tensor_data stored = load(file, parts.scale, bytes);
    float global = parts.global_scale ? read_global_scale(file, *parts.global_scale) : 1;
    std::vector<float> values(static_cast<size_t>(element_count(stored.shape)));
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = scale_value(*stored.type, stored.data, static_cast<int64_t>(i)) / global;
    }
    return values;
}

quantized_tensor load_quantized(const tensor_source &file, const logical_tensor &logical, const record_map &records,
                                code_buffers &buffers) {
    const quantized_parts &parts = *logical.parts;
    quantized_tensor tensor;
    tensor.codes = load_codes(file, logical, buffers);
    bool as_stored = file.tensors()[parts.scale].type->is_float() && !parts.global_scale;
    tensor.scale =
        as_stored ? load(file, parts.scale, tensor.scale_bytes) : load_wide_scales(file, parts, tensor.scale_bytes);
    if (parts.zero_point) {
        tensor.zero_point = load(file, *parts.zero_point, tensor.zero_point_bytes);
        if (is_packed_zero_point(file.tensors(), parts)) {
            unpack_zero_point(tensor);
        }
    }
    tensor.granularity.scale_shape = tensor.scale.shape;
    if (auto record = records.find(logical.name); record != records.end()) {
        tensor.granularity.axis = record->second.axis;
        tensor.granularity.block_size = record->second.block_size;
        tensor.granularity.block_rows = record->second.block_rows;
    } else if (file.tensors()[parts.scale].name == block_scale_name(logical.name)) {
        tensor.granularity = usual_blocks(tensor.codes.shape, tensor.scale.shape);
    }
    static_cast<void>(scale_map(tensor.codes.shape, tensor.granularity));  // throws when they do not fit
    return tensor;
}

void name_in_failures(const tensor_reader &file, size_t index, const std::function<void()> &work) {
    try {
        work();
    } catch (const failure &error) {
        const tensor_info &tensor = file.tensors()[index];
        throw failure(file.path() + ": " + shortened(tensor.name) + " (" + std::string(tensor.type->name) + " " +
                      shape_text(tensor.shape) + "): " + error.what());
    }
}

}  // namespace qdq::model

#include "files/gguf.h"

#include "files/file_kinds.h"
#include "files/ggml_blocks.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/parsing.h"
#include "support/text.h"
#include "tensors/nibbles.h"
#include "tensors/quantized_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace qdq::model {

namespace {

// A tensor as the file tells it.
struct gguf_tensor {
    std::string name;
    std::vector<int64_t> shape;
    ggml_type type = {};
    uint64_t offset = 0;  // in the data
};

constexpr int64_t code_block_elements = 32;  // of Q8_0 and Q4_0
constexpr uint32_t q4_0 = 2, q8_0 = 8;

// That of tensors which qdq does not read.
constexpr dtype unread = {"unsupported", "", 0, std::nullopt, 0, 0, 0};

bool has_codes(const ggml_type &type) { return type.number == q4_0 || type.number == q8_0; }

bool is_read(const ggml_type &type) { return type.dtype != nullptr || type.decode != nullptr || has_codes(type); }

// Reads numbers and strings one after another.
class cursor {
public:
    explicit cursor(const input_file &file) : file_(file) {}

    template<typename T> T number() {
        T value;
        std::memcpy(&value, take(sizeof value), sizeof value);
        return value;
    }

    std::string text() {
        auto length = number<uint64_t>();
        check(length);
        std::string bytes(length, '\0');
        file_.read(at_, std::as_writable_bytes(std::span(bytes)));
        at_ += length;
        return bytes;
    }

    void skip(uint64_t count, uint64_t size) {
        uint64_t bytes = 0;
        if (__builtin_mul_overflow(count, size, &bytes)) {
            throw failure(std::to_string(count) + " values of metadata are more than the file has");
        }
        check(bytes);
        at_ += bytes;
    }

    uint64_t at() const { return at_; }

private:
    void check(uint64_t bytes) const {
        if (bytes > file_.size() - at_) {
            throw failure("the file is truncated: " + std::to_string(bytes) + " bytes at byte " + std::to_string(at_) +
                          " are more than its " + std::to_string(file_.size()));
        }
        if (bytes > max_text_bytes - at_) {
            throw failure("its header has more than " + std::to_string(max_text_bytes) + " bytes");
        }
    }

    const std::byte *take(size_t bytes) {
        constexpr uint64_t window = uint64_t{1} << 16;
        check(bytes);
        if (at_ < window_begin_ || at_ + bytes > window_begin_ + window_.size()) {
            window_.resize(std::min(window, file_.size() - at_));
            file_.read(at_, window_);
            window_begin_ = at_;
        }
        const std::byte *found = window_.data() + (at_ - window_begin_);
        at_ += bytes;
        return found;
    }

    const input_file &file_;
    std::vector<std::byte> window_;  // of the file, from window_begin_
    uint64_t at_ = 0, window_begin_ = 0;
};

constexpr uint32_t array_value = 9;

// The bytes of a value of metadata by its type: u8, i8, u16, i16, u32, i32, f32, bool, -, -, u64, i64, f64.
constexpr std::array<uint64_t, 13> value_bytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

void skip_values(cursor &from, uint32_t type, uint64_t count, size_t depth) {
    if (type >= value_bytes.size() || depth > max_levels) {
        throw failure("its metadata have a value of type " + std::to_string(type) +
                      (depth > max_levels ? ", in too many arrays" : ", which there is not"));
    }
    if (value_bytes[type] != 0) {
        from.skip(count, value_bytes[type]);
        return;
    }
    for (uint64_t i = 0; i < count; ++i) {
        throw_if_interrupted();
        if (type == gguf_string) {
            from.skip(from.number<uint64_t>(), 1);
        } else {
            auto element = from.number<uint32_t>();
            auto length = from.number<uint64_t>();
            skip_values(from, element, length, depth + 1);
        }
    }
}

void check_head(const input_file &file, cursor &from) {
    constexpr std::array magic = {'G', 'G', 'U', 'F'};
    if (file.size() < magic.size() || from.number<std::array<char, 4>>() != magic) {
        throw failure("not a GGUF file");
    }
    auto version = from.number<uint32_t>();
    if (version != 2 && version != 3) {
        bool swapped = version == 0x02000000 || version == 0x03000000;
        throw failure(swapped ? "big-endian GGUF files are not supported"
                              : "GGUF version " + std::to_string(version) + " is not supported; 2 and 3 are");
    }
}

// The bytes of a value of metadata, with its key.
struct value_place {
    std::string key;
    uint64_t begin, end;
};

// Skips the metadata, and returns the alignment of the data.
uint64_t read_alignment(cursor &from, uint64_t count, std::vector<value_place> &values) {
    uint64_t alignment = gguf_alignment;
    for (uint64_t i = 0; i < count; ++i) {
        throw_if_interrupted();
        uint64_t begin = from.at();
        std::string key = from.text();
        auto type = from.number<uint32_t>();
        if (key == "general.alignment" && type == gguf_u32) {
            alignment = from.number<uint32_t>();
        } else {
            skip_values(from, type, 1, 0);
        }
        values.push_back({std::move(key), begin, from.at()});
    }
    if (alignment == 0) {
        throw failure("its general.alignment is 0");
    }
    return alignment;
}

// The file has the innermost dimension first.
gguf_tensor read_tensor(cursor &from) {
    gguf_tensor tensor = {.name = utf8_name(from.text()), .shape = {}};
    auto rank = from.number<uint32_t>();
    if (rank > max_rank) {
        throw failure(shortened(tensor.name) + " has " + std::to_string(rank) + " dimensions");
    }
    for (uint32_t i = 0; i < rank; ++i) {
        auto extent = from.number<uint64_t>();
        if (extent > INT64_MAX) {
            throw failure(shortened(tensor.name) + " has a dimension of " + std::to_string(extent));
        }
        tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(extent));
    }
    tensor.type = ggml_type_of(from.number<uint32_t>());
    tensor.offset = from.number<uint64_t>();
    return tensor;
}

std::string type_name(const gguf_tensor &tensor) {
    return tensor.type.name == nullptr ? "type " + std::to_string(tensor.type.number) : tensor.type.name;
}

void refuse_unread(const std::vector<gguf_tensor> &tensors) {
    constexpr size_t most_named = 5;
    std::string names;
    size_t count = 0;
    for (const gguf_tensor &tensor : tensors) {
        throw_if_interrupted();
        if (!is_read(tensor.type) && ++count <= most_named) {
            names += (count == 1 ? "" : ", ") + shortened(tensor.name) + " (" + type_name(tensor) + ")";
        }
    }
    if (count != 0) {
        throw failure("it has tensors of types that are not supported: " + names +
                      (count > most_named ? " and " + std::to_string(count - most_named) + " more" : "") +
                      "; `qdq inspect` lists all");
    }
}

// The blocks of a tensor, whose last dimension is in whole ones.
std::vector<int64_t> block_shape_of(const gguf_tensor &tensor) {
    int64_t elements = tensor.type.block_elements;
    if (elements > 1 && (tensor.shape.empty() || tensor.shape.back() % elements != 0)) {
        throw failure(shortened(tensor.name) + ": rows of " + shape_text(tensor.shape) + " are not in blocks of " +
                      std::to_string(elements));
    }
    std::vector<int64_t> shape = tensor.shape;
    if (elements > 1) {
        shape.back() /= elements;
    }
    return shape;
}

// In the file; 0 for types that it knows and qdq does not.
uint64_t size_of(const gguf_tensor &tensor) {
    static_cast<void>(byte_size({tensor.name, &f32_dtype(), tensor.shape}));  // throws where it is too large
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(element_count(block_shape_of(tensor))),
                               uint64_t{tensor.type.block_bytes}, &bytes)) {
        throw failure("shape " + shape_text(tensor.shape) + " is too large");
    }
    return bytes;
}

void check_layout(std::vector<gguf_tensor> tensors, uint64_t alignment, uint64_t available) {
    // One without elements lies before one that has some, and may be where that is.
    std::ranges::sort(tensors, {}, [](const gguf_tensor &tensor) { return std::pair(tensor.offset, size_of(tensor)); });
    uint64_t end = 0;
    for (const gguf_tensor &tensor : tensors) {
        throw_if_interrupted();
        uint64_t size = size_of(tensor);
        if (tensor.offset % alignment != 0 || tensor.offset < end) {
            throw failure("the data of " + shortened(tensor.name) + ", at " + std::to_string(tensor.offset) +
                          (tensor.offset < end ? ", overlap another tensor"
                                               : ", are not at a multiple of " + std::to_string(alignment)));
        }
        if (tensor.offset > available || size > available - tensor.offset) {
            throw failure("the data of " + shortened(tensor.name) + ", " + std::to_string(size) + " bytes at " +
                          std::to_string(tensor.offset) + ", end after the file's " + std::to_string(available) +
                          " bytes of data");
        }
        end = tensor.offset + size;
    }
}

// What is taken of a block: its scale, its codes, or all of its values.
void take_scale(const std::byte *block, std::byte *to) { std::copy_n(block, block_scale_bytes, to); }

void take_codes(const std::byte *block, std::byte *to) {
    std::copy_n(block + block_scale_bytes, code_block_elements, to);
}

// The bytes of codes of 4 bits as they follow one another, of which the block has the first half in the low nibbles and
// the second in the high ones.
void take_nibbles(const std::byte *block, std::byte *to) {
    constexpr size_t half = code_block_elements / 2;
    const std::byte *codes = block + block_scale_bytes;
    for (size_t i = 0; i < half; i += 2) {
        constexpr std::byte low{0x0f};
        to[i / 2] = (codes[i] & low) | codes[i + 1] << 4;
        to[(half + i) / 2] = codes[i] >> 4 | (codes[i + 1] & ~low);
    }
}

// A GGUF file, version 2 or 3, little-endian. Its tensors of Q8_0 and Q4_0, blocks of 32 codes along the last dimension
// behind an F16 scale, are presented in the conventions of other files: x or x_packed, x_scale and x_shape. Those of
// other types in blocks are read as F32. The layout is that of ggml's docs/gguf.md and ggml-quants.h.
class gguf_reader final : public tensor_reader {
public:
    // Tensors that are listed have a type without a size, and no data.
    explicit gguf_reader(const std::filesystem::path &path, other_types others = other_types::refused);

    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;
    stored_form form(size_t index) const override { return {places_[index].type, places_[index].bytes}; }

    // The metadata, but for what a new file says itself of its types and its layout.
    gguf_values values() const;

private:
    // How much of each block is taken, and by which function.
    struct block_form {
        uint64_t bytes = 0, taken = 0;
        void (*take)(const std::byte *block, std::byte *to) = nullptr;
    };

    // Where a tensor comes from: its blocks, or, without `take`, the file's bytes as they are.
    struct place {
        std::string type;  // in the file
        uint64_t offset = 0, bytes = 0;
        block_form blocks = {};
        std::vector<int64_t> shape = {};  // where it is not empty it is the data
    };

    void load(other_types others);
    void add_tensor(const gguf_tensor &tensor, uint64_t data_begin);
    void add_codes(const gguf_tensor &tensor, const place &from);
    void add(tensor_info info, place from);
    void read_blocks(const place &from, uint64_t offset, std::span<std::byte> bytes) const;

    const input_file &file_;
    std::vector<value_place> values_;
    std::vector<place> places_;  // of each tensor
};

gguf_reader::gguf_reader(const std::filesystem::path &path, other_types others)
    : tensor_reader(gguf_files), file_(open(path)) {
    name_in_failures(path.string(), [&] { load(others); });
}

void gguf_reader::load(other_types others) {
    cursor from(file_);
    check_head(file_, from);
    auto tensor_count = from.number<uint64_t>();
    auto value_count = from.number<uint64_t>();
    uint64_t alignment = read_alignment(from, value_count, values_);
    std::vector<gguf_tensor> tensors;
    for (uint64_t i = 0; i < tensor_count; ++i) {
        throw_if_interrupted();
        tensors.push_back(read_tensor(from));
    }
    if (others == other_types::refused) {
        refuse_unread(tensors);
    }
    uint64_t data_begin = (from.at() + alignment - 1) / alignment * alignment;
    check_layout(tensors, alignment, file_.size() - std::min(file_.size(), data_begin));
    for (const gguf_tensor &tensor : tensors) {
        throw_if_interrupted();
        add_tensor(tensor, data_begin);
    }
}

gguf_values gguf_reader::values() const {
    constexpr std::array own = {"general.alignment", "general.file_type", "general.quantization_version"};
    gguf_values kept;
    for (const value_place &each : values_) {
        throw_if_interrupted();
        if (std::ranges::find(own, each.key) == own.end()) {
            size_t size = kept.bytes.size();
            kept.bytes.resize(size + (each.end - each.begin));
            file_.read(each.begin, std::span(kept.bytes).subspan(size));
            ++kept.count;
        }
    }
    return kept;
}

void gguf_reader::add(tensor_info info, place from) {
    tensors_.add(std::move(info));
    places_.push_back(std::move(from));
}

void gguf_reader::add_tensor(const gguf_tensor &tensor, uint64_t data_begin) {
    const ggml_type &type = tensor.type;
    place from = {.type = type_name(tensor), .offset = data_begin + tensor.offset, .bytes = size_of(tensor)};
    if (has_codes(type)) {
        add_codes(tensor, from);
    } else if (type.decode != nullptr) {
        from.blocks = {type.block_bytes, type.block_elements * sizeof(float), type.decode};
        add({tensor.name, &f32_dtype(), tensor.shape}, std::move(from));
    } else {
        add({tensor.name, type.dtype == nullptr ? &unread : find_dtype(type.dtype), tensor.shape}, std::move(from));
    }
}

void gguf_reader::add_codes(const gguf_tensor &tensor, const place &from) {
    uint64_t block_bytes = tensor.type.block_bytes;
    auto add_part = [&](tensor_info info, const block_form &blocks, std::vector<int64_t> shape = {}) {
        uint64_t bytes = byte_size(info);
        std::string type(info.type->name);
        add(std::move(info), {type, from.offset, bytes, blocks, std::move(shape)});
    };
    if (tensor.type.number == q8_0) {
        add_part({tensor.name, &dtype_of(QDQ_I8), tensor.shape},
                 {block_bytes, block_bytes - block_scale_bytes, take_codes});
    } else {
        packed_rows packing(dtype_of(QDQ_I4), tensor.shape);
        add_part({packed_name(tensor.name), &packing.type(), packing.shape()},
                 {block_bytes, block_bytes - block_scale_bytes, take_nibbles});
        add_part({shape_name(tensor.name), find_dtype("I64"), {std::ssize(tensor.shape)}}, {}, tensor.shape);
    }
    add_part({scale_name(tensor.name), &dtype_of(QDQ_F16), block_shape_of(tensor)},
             {block_bytes, block_scale_bytes, take_scale});
}

void gguf_reader::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    const place &from = places_[index];
    if (!from.shape.empty()) {
        std::ranges::copy(std::as_bytes(std::span(from.shape)).subspan(offset, bytes.size()), bytes.begin());
    } else if (from.blocks.take == nullptr) {
        file_.read(from.offset + offset, bytes);
    } else {
        read_blocks(from, offset, bytes);
    }
}

void gguf_reader::read_blocks(const place &from, uint64_t offset, std::span<std::byte> bytes) const {
    constexpr uint64_t most_blocks = 4096;
    const auto &[block_bytes, wanted, take] = from.blocks;
    std::vector<std::byte> blocks(std::min(most_blocks, bytes.size() / wanted + 2) * block_bytes), part(wanted);
    while (!bytes.empty()) {
        uint64_t first = offset / wanted, end = (offset + bytes.size() + wanted - 1) / wanted;
        uint64_t count = std::min(most_blocks, end - first);
        file_.read(from.offset + first * block_bytes, std::span(blocks).first(count * block_bytes));
        for (uint64_t i = 0; i < count; ++i) {
            take(blocks.data() + i * block_bytes, part.data());
            uint64_t skipped = offset % wanted, taken = std::min<uint64_t>(wanted - skipped, bytes.size());
            std::copy_n(part.data() + skipped, taken, bytes.data());
            bytes = bytes.subspan(taken);
            offset += taken;
        }
    }
}

// Those of another file, of the input, or the least that there is to say.
gguf_values values_for(const output_options &output, const tensor_reader &input) {
    if (!output.metadata.empty()) {
        return gguf_reader(output.metadata, other_types::listed).values();
    }
    if (&input.kind() == &gguf_files) {
        return static_cast<const gguf_reader &>(input).values();
    }
    gguf_values values;
    values.add("general.architecture", "unknown");
    return values;
}

}  // namespace

const file_kind gguf_files = {
    .name = "GGUF",
    .extension = ".gguf",
    .open = [](const std::filesystem::path &path, other_types others) -> std::unique_ptr<tensor_reader> {
        return std::make_unique<gguf_reader>(path, others);
    },
    .create = [](const output_options &output, const tensor_reader &input, const tensor_list &tensors,
                 const metadata_map &) { return create_gguf(output, values_for(output, input), tensors); },
    .holds_blocks = true,
    .has_signed_scales = true,  // Q4_0: the value farthest from 0, divided by -8
};

}  // namespace qdq::model

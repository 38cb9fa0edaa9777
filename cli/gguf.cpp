#include "gguf.h"

#include "error.h"
#include "interrupt.h"
#include "nibbles.h"
#include "parsing.h"
#include "quantized_tensor.h"
#include "text.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

namespace qdq_cli {

// A tensor as the file tells it.
struct gguf_tensor {
    std::string name;
    std::vector<int64_t> shape;
    uint32_t type = 0;
    uint64_t offset = 0;  // in the data
};

namespace {

constexpr int64_t block_elements = 32;
constexpr uint64_t scale_bytes = 2;
constexpr uint32_t q4_0 = 2, q8_0 = 8;

struct gguf_type {
    uint32_t number;
    const char *name;
    const char *dtype;  // what it is elsewhere; null: blocks, or nothing that qdq reads
};

constexpr gguf_type gguf_types[] = {
    {0, "F32", "F32"},        {1, "F16", "F16"},       {q4_0, "Q4_0", nullptr},  {3, "Q4_1", nullptr},
    {6, "Q5_0", nullptr},     {7, "Q5_1", nullptr},    {q8_0, "Q8_0", nullptr},  {9, "Q8_1", nullptr},
    {10, "Q2_K", nullptr},    {11, "Q3_K", nullptr},   {12, "Q4_K", nullptr},    {13, "Q5_K", nullptr},
    {14, "Q6_K", nullptr},    {15, "Q8_K", nullptr},   {16, "IQ2_XXS", nullptr}, {17, "IQ2_XS", nullptr},
    {18, "IQ3_XXS", nullptr}, {19, "IQ1_S", nullptr},  {20, "IQ4_NL", nullptr},  {21, "IQ3_S", nullptr},
    {22, "IQ2_S", nullptr},   {23, "IQ4_XS", nullptr}, {24, "I8", "I8"},         {25, "I16", "I16"},
    {26, "I32", "I32"},       {27, "I64", "I64"},      {28, "F64", "F64"},       {29, "IQ1_M", nullptr},
    {30, "BF16", "BF16"},     {34, "TQ1_0", nullptr},  {35, "TQ2_0", nullptr},   {39, "MXFP4", nullptr},
    {40, "NVFP4", nullptr},
};

const gguf_type *find_type(uint32_t number) {
    const auto *found = std::ranges::find(gguf_types, number, &gguf_type::number);
    return found == std::end(gguf_types) ? nullptr : found;
}

bool is_read(uint32_t number) {
    const gguf_type *type = find_type(number);
    return type != nullptr && (type->dtype != nullptr || number == q4_0 || number == q8_0);
}

std::string type_name(uint32_t number) {
    const gguf_type *type = find_type(number);
    return type == nullptr ? "number " + std::to_string(number) : type->name;
}

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

constexpr uint32_t u32_value = 4, string_value = 8, array_value = 9;

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
        if (type == string_value) {
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

// Skips the metadata, and returns the alignment of the data.
uint64_t read_alignment(cursor &from, uint64_t count) {
    uint64_t alignment = 32;
    for (uint64_t i = 0; i < count; ++i) {
        throw_if_interrupted();
        std::string key = from.text();
        auto type = from.number<uint32_t>();
        if (key == "general.alignment" && type == u32_value) {
            alignment = from.number<uint32_t>();
        } else {
            skip_values(from, type, 1, 0);
        }
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
    tensor.type = from.number<uint32_t>();
    tensor.offset = from.number<uint64_t>();
    return tensor;
}

void refuse_other_types(const std::vector<gguf_tensor> &tensors) {
    std::map<std::string, size_t> counts;
    for (const gguf_tensor &tensor : tensors) {
        throw_if_interrupted();
        if (!is_read(tensor.type)) {
            ++counts[type_name(tensor.type)];
        }
    }
    std::string text;
    for (const auto &[name, count] : counts) {
        text += (text.empty() ? "" : ", ") + name + " (" + std::to_string(count) + " tensors)";
    }
    if (!text.empty()) {
        throw failure("it has tensors of types that are not supported: " + text +
                      "; Q8_0, Q4_0, F32, F16, BF16, F64 and integers are");
    }
}

uint64_t block_bytes_of(uint32_t type) { return scale_bytes + (type == q8_0 ? block_elements : block_elements / 2); }

std::vector<int64_t> scale_shape_of(const gguf_tensor &tensor) {
    if (tensor.shape.empty() || tensor.shape.back() % block_elements != 0) {
        throw failure(shortened(tensor.name) + ": rows of " + shape_text(tensor.shape) + " are not in blocks of " +
                      std::to_string(block_elements));
    }
    std::vector<int64_t> shape = tensor.shape;
    shape.back() /= block_elements;
    return shape;
}

uint64_t size_of(const gguf_tensor &tensor) {
    if (const char *name = find_type(tensor.type)->dtype) {
        return byte_size({tensor.name, find_dtype(name), tensor.shape});
    }
    std::vector<int64_t> blocks = scale_shape_of(tensor);
    static_cast<void>(byte_size({tensor.name, &f32_dtype(), tensor.shape}));  // throws where it is too large
    return static_cast<uint64_t>(element_count(blocks)) * block_bytes_of(tensor.type);
}

void check_layout(std::vector<gguf_tensor> tensors, uint64_t alignment, uint64_t available) {
    std::ranges::sort(tensors, {}, &gguf_tensor::offset);
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

// The bytes of a block's codes: those of 4 bits as they follow one another, of which the block has the first half in
// the low nibbles and the second in the high ones.
void take_nibbles(const std::byte *codes, std::byte *to) {
    constexpr size_t half = block_elements / 2;
    for (size_t i = 0; i < half; i += 2) {
        constexpr std::byte low{0x0f};
        to[i / 2] = (codes[i] & low) | codes[i + 1] << 4;
        to[(half + i) / 2] = codes[i] >> 4 | (codes[i + 1] & ~low);
    }
}

}  // namespace

gguf_reader::gguf_reader(const std::filesystem::path &path) : file_(open(path)) {
    in_file(path.string(), [&] { load(); });
}

void gguf_reader::load() {
    cursor from(file_);
    check_head(file_, from);
    auto tensor_count = from.number<uint64_t>();
    auto value_count = from.number<uint64_t>();
    uint64_t alignment = read_alignment(from, value_count);
    std::vector<gguf_tensor> tensors;
    for (uint64_t i = 0; i < tensor_count; ++i) {
        throw_if_interrupted();
        tensors.push_back(read_tensor(from));
    }
    refuse_other_types(tensors);
    uint64_t data_begin = (from.at() + alignment - 1) / alignment * alignment;
    check_layout(tensors, alignment, file_.size() - std::min(file_.size(), data_begin));
    for (const gguf_tensor &tensor : tensors) {
        throw_if_interrupted();
        add_tensor(tensor, data_begin);
    }
}

void gguf_reader::add(tensor_info info, place from) {
    tensors_.add(std::move(info));
    places_.push_back(std::move(from));
}

void gguf_reader::add_tensor(const gguf_tensor &tensor, uint64_t data_begin) {
    uint64_t offset = data_begin + tensor.offset;
    if (const char *name = find_type(tensor.type)->dtype) {
        add({tensor.name, find_dtype(name), tensor.shape}, {content::as_is, offset, 0, {}});
        return;
    }
    uint64_t block_bytes = block_bytes_of(tensor.type);
    if (tensor.type == q8_0) {
        add({tensor.name, &dtype_of(QDQ_I8), tensor.shape}, {content::codes, offset, block_bytes, {}});
    } else {
        packed_rows packing(QDQ_I4, tensor.shape);
        add({packed_name(tensor.name), &packing.type(), packing.shape()}, {content::nibbles, offset, block_bytes, {}});
        add({shape_name(tensor.name), find_dtype("I64"), {std::ssize(tensor.shape)}},
            {content::shape, 0, 0, tensor.shape});
    }
    add({scale_name(tensor.name), &dtype_of(QDQ_F16), scale_shape_of(tensor)},
        {content::scales, offset, block_bytes, {}});
}

void gguf_reader::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    const place &from = places_[index];
    if (from.of == content::shape) {
        std::ranges::copy(std::as_bytes(std::span(from.shape)).subspan(offset, bytes.size()), bytes.begin());
    } else if (from.of == content::as_is) {
        file_.read(from.offset + offset, bytes);
    } else {
        read_blocks(from, offset, bytes);
    }
}

void gguf_reader::read_blocks(const place &from, uint64_t offset, std::span<std::byte> bytes) const {
    constexpr uint64_t most_blocks = 4096;
    uint64_t wanted = from.of == content::scales ? scale_bytes : from.block_bytes - scale_bytes;  // of each block
    std::vector<std::byte> blocks(std::min(most_blocks, bytes.size() / wanted + 2) * from.block_bytes);
    std::array<std::byte, block_elements> part = {};
    while (!bytes.empty()) {
        uint64_t first = offset / wanted, end = (offset + bytes.size() + wanted - 1) / wanted;
        uint64_t count = std::min(most_blocks, end - first);
        file_.read(from.offset + first * from.block_bytes, std::span(blocks).first(count * from.block_bytes));
        for (uint64_t i = 0; i < count; ++i) {
            const std::byte *block = blocks.data() + i * from.block_bytes;
            if (from.of == content::nibbles) {
                take_nibbles(block + scale_bytes, part.data());
            } else {
                std::copy_n(block + (from.of == content::codes ? scale_bytes : 0), wanted, part.data());
            }
            uint64_t skipped = offset % wanted, taken = std::min<uint64_t>(wanted - skipped, bytes.size());
            std::copy_n(part.data() + skipped, taken, bytes.data());
            bytes = bytes.subspan(taken);
            offset += taken;
        }
    }
}

}  // namespace qdq_cli

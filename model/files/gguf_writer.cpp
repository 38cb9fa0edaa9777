#include "files/gguf.h"

#include "files/ggml_blocks.h"
#include "support/atomic_file.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/text.h"
#include "tensors/quantized_tensor.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>

namespace qdq::model {

namespace {

constexpr int64_t code_block = 32;

template<typename T> void put(std::vector<std::byte> &to, T number) {
    const auto *bytes = reinterpret_cast<const std::byte *>(&number);
    to.insert(to.end(), bytes, bytes + sizeof number);
}

void put_text(std::vector<std::byte> &to, std::string_view text) {
    put(to, uint64_t{text.size()});
    std::ranges::transform(text, std::back_inserter(to), [](char c) { return static_cast<std::byte>(c); });
}

uint64_t aligned(uint64_t size) { return (size + gguf_alignment - 1) / gguf_alignment * gguf_alignment; }

// What llama.cpp calls a file by the type of most of its weights; it has no number for others.
std::optional<uint32_t> file_type_of(uint32_t type) {
    constexpr std::pair<uint32_t, uint32_t> known[] = {{0, 0}, {1, 1}, {2, 2},   {3, 3},   {8, 7},
                                                       {6, 8}, {7, 9}, {20, 25}, {30, 32}, {39, 38}};
    const auto *found = std::ranges::find(known, type, &std::pair<uint32_t, uint32_t>::first);
    return found == std::end(known) ? std::nullopt : std::optional(found->second);
}

// A tensor in the file.
struct written_tensor {
    std::string name;
    std::vector<int64_t> shape;
    const ggml_type *type;
    uint64_t bytes = 0, offset = 0;  // in the data
    // Of one whose codes and scales come one after the other: its blocks until all are there, and what is missing.
    std::vector<std::byte> blocks = {};
    uint64_t missing = 0;
};

enum class part { whole, codes, nibbles, scales, nothing };

class gguf_writer final : public tensor_writer {
public:
    gguf_writer(const output_options &output, gguf_values values, const tensor_list &tensors);
    void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) override;
    void commit() override { file_.publish(); }

private:
    struct place {
        size_t tensor = 0;
        part what = part::nothing;
    };

    void plan(const tensor_list &tensors);
    void add(const tensor_list &tensors, const logical_tensor &logical);
    void add_blocks(const tensor_list &tensors, const logical_tensor &logical);
    void add(const std::string &name, const std::vector<int64_t> &shape, const ggml_type &type);
    void check_read_as() const;
    uint32_t most_frequent_type() const;
    void write_head(gguf_values values);

    atomic_file file_;
    std::vector<written_tensor> tensors_;
    std::vector<place> places_;  // of each tensor that is given
    uint64_t data_begin_ = 0;
};

gguf_writer::gguf_writer(const output_options &output, gguf_values values, const tensor_list &tensors)
    : file_(output.path, output.replace), places_(tensors.size()) {
    name_in_failures(output.path.string(), [&] { plan(tensors); });
    write_head(std::move(values));
}

void gguf_writer::plan(const tensor_list &tensors) {
    uint64_t end = 0;
    for (const logical_tensor &logical : find_logical_tensors(tensors)) {
        throw_if_interrupted();
        add(tensors, logical);
        written_tensor &made = tensors_.back();
        made.bytes =
            static_cast<uint64_t>(element_count(made.shape)) / made.type->block_elements * made.type->block_bytes;
        made.offset = end;
        end = aligned(end + made.bytes);
    }
    check_read_as();
}

// What a reader makes of a tensor: x, and of blocks with one scale each x or x_packed with what belongs to it.
std::vector<tensor_info> as_read(const written_tensor &tensor) {
    const std::string &name = tensor.name;
    if (tensor.type->dtype != nullptr || tensor.type->decode != nullptr) {
        return {{name, tensor.type->dtype != nullptr ? find_dtype(tensor.type->dtype) : &f32_dtype(), tensor.shape}};
    }
    tensor_info scale = {scale_name(name), &dtype_of(QDQ_F16), tensor.shape};
    if (tensor.type->block_bytes == code_block + block_scale_bytes) {
        return {{name, &dtype_of(QDQ_I8), tensor.shape}, scale};
    }
    return {{packed_name(name), &dtype_of(QDQ_I32), tensor.shape},
            scale,
            {shape_name(name), find_dtype("I64"), {std::ssize(tensor.shape)}}};
}

// Names may make a tensor a part of another one: a_scale beside a, which has become Q8_0.
void gguf_writer::check_read_as() const {
    tensor_list all;
    std::vector<std::pair<std::string, size_t>> wanted;
    for (const written_tensor &each : tensors_) {
        std::vector<tensor_info> parts = as_read(each);
        wanted.emplace_back(each.name, parts.size());
        for (tensor_info &part : parts) {
            all.add(std::move(part));
        }
    }
    auto same = [&](const std::pair<std::string, size_t> &a, const logical_tensor &b) {
        return a.first == b.name && a.second == b.stored().size() && !(b.parts && all.find(groups_name(b.name)));
    };
    std::vector<logical_tensor> found = find_logical_tensors(all);
    if (auto [first, other] = std::ranges::mismatch(wanted, found, same);
        first != wanted.end() || other != found.end()) {
        throw failure("the names of its tensors would make them parts of others: " +
                      shortened(first != wanted.end() ? first->first : other->name));
    }
}

void gguf_writer::add(const std::string &name, const std::vector<int64_t> &shape, const ggml_type &type) {
    constexpr size_t most_dimensions = 4, most_bytes = 63;  // ggml's
    if (shape.size() > most_dimensions || name.size() > most_bytes) {
        throw failure(shortened(name) + " " + shape_text(shape) +
                      ": ggml has names of at most 63 bytes, and 4 dimensions");
    }
    tensors_.push_back({name, shape, &type});
}

void gguf_writer::add(const tensor_list &tensors, const logical_tensor &logical) {
    if (logical.parts) {
        add_blocks(tensors, logical);
        return;
    }
    const tensor_info &tensor = tensors[logical.index];
    const ggml_type *type = ggml_type_of(*tensor.type);
    if (type == nullptr) {
        throw failure(shortened(tensor.name) + " is of type " + std::string(tensor.type->name) +
                      ", which ggml has not");
    }
    places_[logical.index] = {tensors_.size(), part::whole};
    add(tensor.name, tensor.shape, *type);
}

void gguf_writer::add_blocks(const tensor_list &tensors, const logical_tensor &logical) {
    const quantized_parts &parts = *logical.parts;
    const tensor_info &codes = tensors[parts.codes], &scale = tensors[parts.scale];
    bool is_packed = codes.type != parts.type;
    std::vector<int64_t> shape = codes.shape, blocks = scale.shape;
    shape.back() *= is_packed ? 8 : 1;
    if (!blocks.empty()) {
        blocks.back() *= code_block;
    }
    bool fits = parts.type->core == (is_packed ? QDQ_I4 : QDQ_I8) && scale.type->core == QDQ_F16 && blocks == shape;
    if (!fits || parts.zero_point || parts.global_scale) {
        throw failure(shortened(logical.name) +
                      ": of codes ggml has those of 8 and 4 bits in blocks of 32 along the last axis, " +
                      "with scales of F16 and no zero points");
    }
    places_[parts.codes] = {tensors_.size(), is_packed ? part::nibbles : part::codes};
    places_[parts.scale] = {tensors_.size(), part::scales};
    add(logical.name, shape, *ggml_type_of(block_dtype(is_packed ? "q4_0" : "q8_0")));
    tensors_.back().missing = byte_size(codes) + byte_size(scale);
}

uint32_t gguf_writer::most_frequent_type() const {
    std::map<uint32_t, int64_t> elements;
    for (const written_tensor &each : tensors_) {
        elements[each.type->number] += element_count(each.shape);
    }
    auto most = std::ranges::max_element(elements, {}, &std::pair<const uint32_t, int64_t>::second);
    return most == elements.end() ? 0 : most->first;
}

void gguf_writer::write_head(gguf_values values) {
    constexpr uint32_t version = 3, quantization_version = 2;
    if (std::optional<uint32_t> type = file_type_of(most_frequent_type())) {
        values.add("general.file_type", *type);
    }
    values.add("general.quantization_version", quantization_version);
    std::vector<std::byte> head;
    for (char c : {'G', 'G', 'U', 'F'}) {
        put(head, c);
    }
    put(head, version);
    put(head, uint64_t{tensors_.size()});
    put(head, values.count);
    head.insert(head.end(), values.bytes.begin(), values.bytes.end());
    for (const written_tensor &each : tensors_) {
        put_text(head, each.name);
        put(head, static_cast<uint32_t>(each.shape.size()));
        std::for_each(each.shape.rbegin(), each.shape.rend(), [&](int64_t extent) { put(head, extent); });
        put(head, each.type->number);
        put(head, each.offset);
    }
    head.resize(aligned(head.size()));
    data_begin_ = head.size();
    file_.write(0, head);
    for (const written_tensor &each : tensors_) {  // up to where the next begins, or would
        uint64_t end = each.offset + each.bytes;
        file_.write(data_begin_ + end, std::vector<std::byte>(aligned(end) - end));
    }
}

// The codes of 4 bits that byte `i` of dense ones has: a block has its first 16 in low nibbles, the others in high
// ones.
void put_nibbles(std::vector<std::byte> &blocks, uint64_t i, std::byte both) {
    constexpr uint64_t block_bytes = block_scale_bytes + code_block / 2;
    std::byte *codes = &blocks[2 * i / code_block * block_bytes + block_scale_bytes];
    for (uint64_t code = 2 * i % code_block; code < 2 * i % code_block + 2; ++code, both >>= 4) {
        codes[code % 16] |= (both & std::byte{15}) << (code / 16 * 4);
    }
}

void gguf_writer::write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) {
    const place &at = places_[index];
    written_tensor &of = tensors_[at.tensor];
    if (at.what == part::nothing) {  // the shape of packed codes
        return;
    }
    if (at.what == part::whole) {
        file_.write(data_begin_ + of.offset + offset, bytes);
        return;
    }
    of.blocks.resize(of.bytes);
    for (uint64_t i = 0; i < bytes.size(); ++i) {
        uint64_t byte = offset + i, block_bytes = of.type->block_bytes;
        if (at.what == part::nibbles) {
            put_nibbles(of.blocks, byte, bytes[i]);
        } else {
            bool is_scale = at.what == part::scales;
            uint64_t in_block = is_scale ? block_scale_bytes : code_block;
            of.blocks[byte / in_block * block_bytes + (is_scale ? 0 : block_scale_bytes) + byte % in_block] = bytes[i];
        }
    }
    of.missing -= bytes.size();
    if (of.missing == 0) {
        file_.write(data_begin_ + of.offset, of.blocks);
        of.blocks = {};
    }
}

}  // namespace

void gguf_values::add(std::string_view key, uint32_t value) {
    put_text(bytes, key);
    put(bytes, gguf_u32);
    put(bytes, value);
    ++count;
}

void gguf_values::add(std::string_view key, std::string_view value) {
    put_text(bytes, key);
    put(bytes, gguf_string);
    put_text(bytes, value);
    ++count;
}

std::unique_ptr<tensor_writer> create_gguf(const output_options &output, gguf_values values,
                                           const tensor_list &tensors) {
    return std::make_unique<gguf_writer>(output, std::move(values), tensors);
}

}  // namespace qdq::model

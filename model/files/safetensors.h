#pragma once

#include "support/atomic_file.h"
#include "support/input_file.h"
#include "tensors/tensor_file.h"

namespace qdq::model {

// A safetensors file: an 8-byte little-endian header length, a JSON header, the tensors' bytes without gaps.
class safetensors_reader : public tensor_reader {
public:
    explicit safetensors_reader(const std::filesystem::path &path);
    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;

private:
    void load();
    void check_layout() const;

    const input_file &file_;
    uint64_t data_begin_ = 0;
    std::vector<uint64_t> offsets_;  // of each tensor, from data_begin_
};

class safetensors_writer : public tensor_writer {
public:
    safetensors_writer(const output_options &output, const tensor_list &tensors, const metadata_map &metadata);
    safetensors_writer(const folder &inside, const std::string &name, const tensor_list &tensors,
                       const metadata_map &metadata);  // replaces a file
    void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) override;
    void commit() override;

private:
    void begin(const std::string &path, const tensor_list &tensors, const metadata_map &metadata);
    uint64_t write_header(const tensor_list &tensors, const metadata_map &metadata);

    atomic_file file_;
    std::vector<uint64_t> offsets_;  // of each tensor, from the start of the file
};

}  // namespace qdq::model

#pragma once

#include "atomic_file.h"
#include "input_file.h"
#include "tensor_file.h"

#include <array>

namespace qdq_cli {

// The files of one array: x.npy, and of a quantized one also x.scale.npy and x.zero_point.npy beside it.
std::array<std::filesystem::path, 3> npy_files(const std::filesystem::path &path);

// The header of an .npy file, versions 1 to 3.
struct npy_header {
    std::string descr;
    bool fortran_order;
    std::vector<int64_t> shape;
};
npy_header parse_npy_header(const std::string &text);

// Presents the files as the tensors "array", "array_scale" and "array_zero_point". A column-major array is turned
// row-major while it is read.
class npy_reader : public tensor_reader {
public:
    explicit npy_reader(const std::filesystem::path &path);
    void read(size_t index, std::span<std::byte> bytes) const override;
    size_t lowest_quantized_rank() const override { return 0; }
    bool has_metadata() const override { return false; }

private:
    void open(const std::filesystem::path &path, const std::string &name);

    struct array_file {
        std::unique_ptr<input_file> file;
        uint64_t data_begin;
        bool fortran_order;
    };
    std::vector<array_file> arrays_;
};

class npy_writer : public tensor_writer {
public:
    npy_writer(const std::filesystem::path &path, const std::vector<tensor_info> &tensors);
    void write(size_t index, std::span<const std::byte> bytes) override;
    void commit() override;

private:
    struct output {
        std::unique_ptr<atomic_file> file;
        uint64_t data_begin;
    };
    std::vector<output> outputs_;                 // one for each tensor
    std::vector<std::filesystem::path> obsolete_;  // of an earlier run, and wrong beside the new array
};

}  // namespace qdq_cli

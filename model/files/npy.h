#pragma once

#include "support/atomic_file.h"
#include "support/input_file.h"
#include "tensors/tensor_file.h"

namespace qdq_cli {

// The header of an .npy file, versions 1 to 3.
struct npy_header {
    std::string descr;
    bool fortran_order;
    std::vector<int64_t> shape;
};
npy_header parse_npy_header(const std::string &text);

// Presents the arrays as the tensors "array", "array_scale" and "array_zero_point": one after the other in the file, as
// numpy.save leaves them in a file that stays open and numpy.load reads them again. Those of a file with codes alone
// may also be x.scale.npy and x.zero_point.npy beside x.npy. A column-major array is transposed while it is read.
class npy_reader : public tensor_reader {
public:
    explicit npy_reader(const std::filesystem::path &path);
    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;
    size_t lowest_quantized_rank() const override { return 0; }
    bool has_metadata() const override { return false; }

private:
    struct array {
        const input_file *file;
        uint64_t begin;  // of its data
        bool fortran_order;
    };

    void add_file(const std::filesystem::path &path, size_t part, size_t end_part);
    uint64_t add_array(const input_file &file, uint64_t begin, size_t part);

    std::vector<array> arrays_;
};

// Writes all arrays to one file: several could not be replaced as one.
class npy_writer : public tensor_writer {
public:
    npy_writer(const output_options &output, const tensor_list &tensors);
    void write_at(size_t index, uint64_t offset, std::span<const std::byte> bytes) override;
    void commit() override;

private:
    atomic_file file_;
    std::vector<uint64_t> offsets_;  // of the data of each tensor
};

}  // namespace qdq_cli

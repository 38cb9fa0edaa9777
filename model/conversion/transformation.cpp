#include "conversion/transformation.h"

#include <algorithm>

namespace qdq::model {

uint64_t input_bytes(const tensor_reader &input, size_t shard) {
    uint64_t total = 0;
    for (size_t i = 0; i < input.tensors().size(); ++i) {
        total += input.shard_of(i) == shard ? byte_size(input.tensors()[i]) : 0;
    }
    return total;
}

void copy_tensor(const tensor_source &input, size_t from, tensor_writer &output, size_t to,
                 const progress_function &advance) {
    constexpr uint64_t piece = uint64_t{4} << 20;
    uint64_t size = byte_size(input.tensors()[from]);
    std::vector<std::byte> buffer(std::min(size, piece));
    for (uint64_t done = 0; done < size; done += piece) {
        std::span<std::byte> bytes = std::span(buffer).first(std::min(piece, size - done));
        input.read_at(from, done, bytes);
        output.write_at(to, done, bytes);
        advance(bytes.size());
    }
}

}  // namespace qdq::model

#include "conversion/transformation.h"

#include "support/scratch_buffer.h"

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
    constexpr uint64_t most = uint64_t{4} << 20;
    for_each_piece(byte_size(input.tensors()[from]), most, [&](uint64_t offset, std::span<std::byte> bytes) {
        input.read_at(from, offset, bytes);
        output.write_at(to, offset, bytes);
        advance(bytes.size());
    });
}

}  // namespace qdq::model

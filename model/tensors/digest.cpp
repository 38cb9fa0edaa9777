#include "tensors/digest.h"

#include "support/scratch_buffer.h"

#define XXH_INLINE_ALL  // the library is its header, for any processor
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

namespace qdq::model {

namespace {

using read_function = std::function<void(uint64_t offset, std::span<std::byte> bytes)>;

std::string digest_of_pieces(uint64_t size, const read_function &read) {
    digest found;
    for_each_piece(size, uint64_t{1} << 20, [&](uint64_t offset, std::span<std::byte> bytes) {
        read(offset, bytes);
        found.add(bytes);
    });
    return found.text();
}

}  // namespace

struct digest::state {
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> xxh{XXH3_createState(), XXH3_freeState};
};

digest::digest() : state_(std::make_unique<state>()) { XXH3_128bits_reset(state_->xxh.get()); }

digest::~digest() = default;
digest::digest(digest &&) noexcept = default;
digest &digest::operator=(digest &&) noexcept = default;

void digest::add(std::span<const std::byte> bytes) {
    XXH3_128bits_update(state_->xxh.get(), bytes.data(), bytes.size());
}

std::string digest::text() const {
    XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh.get());
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return digits;
}

std::string digest_of(std::string_view text) {
    digest found;
    found.add(std::as_bytes(std::span(text)));
    return found.text();
}

std::string digest_of_file(const input_file &file) {
    return digest_of_pieces(file.size(),
                            [&](uint64_t offset, std::span<std::byte> bytes) { file.read(offset, bytes); });
}

std::string digest_of_tensor(const tensor_source &source, size_t index) {
    return digest_of_pieces(byte_size(source.tensors()[index]),
                            [&](uint64_t offset, std::span<std::byte> bytes) { source.read_at(index, offset, bytes); });
}

void digesting_source::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    from_.read_at(index, offset, bytes);
    progress &of_tensor = read_[index];
    if (offset == 0) {
        of_tensor = {};
    }
    if (offset == of_tensor.done) {
        of_tensor.of_bytes.add(bytes);
        of_tensor.done += bytes.size();
    }
}

std::map<std::string, std::string> digesting_source::digests() const {
    std::map<std::string, std::string> found;
    for (const auto &[index, each] : read_) {
        const tensor_info &tensor = tensors()[index];
        found[tensor.name] = each.done == byte_size(tensor) ? each.of_bytes.text() : "";
    }
    return found;
}

}  // namespace qdq::model

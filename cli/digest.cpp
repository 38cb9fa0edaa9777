#include "digest.h"

#include "input_file.h"

#define XXH_INLINE_ALL  // the library is its header, for any processor
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

namespace qdq_cli {

namespace {

std::string text_of(XXH128_hash_t hash) {
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return digits;
}

}  // namespace

std::string digest_of(std::string_view text) { return text_of(XXH3_128bits(text.data(), text.size())); }

std::string digest_of_file(const std::filesystem::path &path) {
    constexpr uint64_t piece = uint64_t{1} << 20;
    input_file file(path);
    std::vector<std::byte> buffer(piece);
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> state(XXH3_createState(), XXH3_freeState);
    XXH3_128bits_reset(state.get());
    for (uint64_t done = 0; done < file.size(); done += piece) {
        std::span<std::byte> bytes = std::span(buffer).first(std::min(piece, file.size() - done));
        file.read(done, bytes);
        XXH3_128bits_update(state.get(), bytes.data(), bytes.size());
    }
    return text_of(XXH3_128bits_digest(state.get()));
}

}  // namespace qdq_cli

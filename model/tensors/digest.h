#pragma once

#include "support/input_file.h"
#include "tensors/tensor_file.h"

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace qdq::model {

// XXH3 of 128 bits, in hexadecimal digits: it finds damage, not forgery.
class digest {
public:
    digest();
    ~digest();
    digest(digest &&) noexcept;
    digest &operator=(digest &&) noexcept;

    void add(std::span<const std::byte> bytes);
    std::string text() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

std::string digest_of(std::string_view text);
std::string digest_of_file(const input_file &file);
std::string digest_of_tensor(const tensor_source &source, size_t index);

// Passes tensors on, and takes the digest of each while it is read, from its first byte to its last, in order.
class digesting_source final : public tensor_source {
public:
    explicit digesting_source(const tensor_source &from) : from_(from) {}

    const tensor_list &tensors() const override { return from_.tensors(); }
    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;

    // Of the tensors that were read, by name. It is empty for one that was not read whole, or not in order.
    std::map<std::string, std::string> digests() const;

private:
    struct progress {
        digest of_bytes;
        uint64_t done = 0;
    };

    const tensor_source &from_;
    mutable std::map<size_t, progress> read_;
};

}  // namespace qdq::model

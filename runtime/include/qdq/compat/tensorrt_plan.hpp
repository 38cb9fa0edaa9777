// The bytes of a plan of tensorrt.hpp: how numbers, texts and weights are written and read. What they mean is there.
#pragma once

#include <qdq/qdq.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace qdq::tensorrt::detail {

// Every plan begins so; the last byte is the format's version.
inline constexpr char plan_mark[8] = {'q', 'd', 'q', 'p', 'l', 'a', 'n', 1};

// Writes, or where there is no memory counts, bytes.
class plan_writer {
public:
    explicit plan_writer(std::byte *to = nullptr) : to_(to) {}

    void bytes(const void *from, std::size_t count) {
        if (to_ != nullptr && count > 0) {
            std::memcpy(to_ + size_, from, count);
        }
        size_ += count;
    }
    template<typename Number> void number(Number value) { bytes(&value, sizeof value); }
    // With the NUL at its end; a length of 0 is no text.
    void text(const char *given) {
        const std::size_t length = given != nullptr ? std::strlen(given) + 1 : 0;
        number(static_cast<std::uint64_t>(length));
        bytes(given, length);
    }
    std::size_t size() const { return size_; }

private:
    std::byte *to_;
    std::size_t size_ = 0;
};

// Reads bytes that anybody may have written: nothing past their end. After the first that is not there, all is 0.
class plan_reader {
public:
    explicit plan_reader(std::span<const std::byte> from) : rest_(from) {}

    // `count` bytes where they are; nullptr where there are fewer.
    const std::byte *bytes(std::uint64_t count) {
        if (failed_ || count > rest_.size()) {
            failed_ = true;
            return nullptr;
        }
        const std::byte *const at = rest_.data();
        rest_ = rest_.subspan(static_cast<std::size_t>(count));
        return at;
    }
    template<typename Number> Number number() {
        Number value{};
        if (const std::byte *const at = bytes(sizeof value)) {
            std::memcpy(&value, at, sizeof value);
        }
        return value;
    }
    // nullptr for none. A text without a NUL at its end, or with another before it, is as bytes that are not there.
    const char *text() {
        const auto length = number<std::uint64_t>();
        const auto *const at = reinterpret_cast<const char *>(bytes(length));
        if (at == nullptr || length == 0) {
            return nullptr;
        }
        failed_ = std::memchr(at, 0, static_cast<std::size_t>(length)) != at + length - 1;
        return failed_ ? nullptr : at;
    }
    // What was read makes no sense.
    void fail() { failed_ = true; }
    bool failed() const { return failed_; }
    std::size_t left() const { return rest_.size(); }

private:
    std::span<const std::byte> rest_;
    bool failed_ = false;
};

}  // namespace qdq::tensorrt::detail

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace qdq_cli {

// A regular file opened for reading. It is read rather than mapped: a file that shrinks meanwhile is then an error
// message and not a SIGBUS, and the memory in use is what the caller asked for.
class input_file {
public:
    explicit input_file(std::string path);
    ~input_file();
    input_file(const input_file &) = delete;
    input_file &operator=(const input_file &) = delete;

    const std::string &path() const { return path_; }
    uint64_t size() const { return size_; }

    // Fills `bytes` from `offset`, or throws.
    void read(uint64_t offset, std::span<std::byte> bytes) const;

private:
    std::string path_;
    int descriptor_;
    uint64_t size_ = 0;
};

}  // namespace qdq_cli

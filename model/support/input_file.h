#pragma once

#include "support/folder.h"

#include <sys/stat.h>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace qdq::model {

// A regular file opened for reading. It is read rather than mapped: a file that shrinks meanwhile is then an error
// message and not a SIGBUS, and the memory in use is what the caller asked for.
class input_file {
public:
    explicit input_file(const std::filesystem::path &path);
    input_file(const folder &inside, const std::string &name);      // itself, not what a link leads to
    input_file(int descriptor, const std::filesystem::path &path);  // which is the file's from here on
    ~input_file();
    input_file(const input_file &) = delete;
    input_file &operator=(const input_file &) = delete;

    const std::filesystem::path &path() const { return path_; }
    uint64_t size() const { return static_cast<uint64_t>(status_.st_size); }

    // Fills `bytes` from `offset`, or throws.
    void read(uint64_t offset, std::span<std::byte> bytes) const;

    std::string text() const;  // all of it

    // Whether `path` leads to this file, by whatever names and links.
    bool is_at(const std::filesystem::path &path) const;

    // Throws when the file has another size or time of modification than when it was opened: what was read of it may
    // then belong to two versions of it.
    void check_unchanged() const;

private:
    std::filesystem::path path_;
    int descriptor_;
    struct stat status_;
};

}  // namespace qdq::model

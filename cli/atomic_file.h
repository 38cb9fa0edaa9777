#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace qdq_cli {

// A file that appears under its name complete, or not at all: it is written to a temporary file in the same directory
// and renamed by publish(). Without that the destructor removes the temporary file, and where there was no time for it,
// the next atomic_file in the directory does. A symbolic link stays one, and the file it names is written; a file that
// is replaced leaves its permissions to the new one.
class atomic_file {
public:
    // Throws when the name is taken by anything but a regular file, or by one without `replace`.
    atomic_file(const std::filesystem::path &path, bool replace);
    ~atomic_file();
    atomic_file(const atomic_file &) = delete;
    atomic_file &operator=(const atomic_file &) = delete;

    void write(uint64_t offset, std::span<const std::byte> bytes);
    void publish();

private:
    void create_temporary(const std::filesystem::path &directory, unsigned mode);

    std::filesystem::path path_, temporary_;
    bool replace_;
    int descriptor_ = -1;
};

}  // namespace qdq_cli

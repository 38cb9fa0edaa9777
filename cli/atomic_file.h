#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace qdq_cli {

// A file that appears under its name complete, or not at all: it is written to a temporary file in the same directory
// and renamed by publish(). Without that the destructor removes the temporary file.
class atomic_file {
public:
    explicit atomic_file(std::filesystem::path path);
    ~atomic_file();
    atomic_file(const atomic_file &) = delete;
    atomic_file &operator=(const atomic_file &) = delete;

    void write(uint64_t offset, std::span<const std::byte> bytes);

    // Everything that can fail late, such as a full disk, so that files which belong together are all finished before
    // the first of them is published.
    void finish();
    void publish();

private:
    void create_temporary();

    std::filesystem::path path_, temporary_;
    int descriptor_ = -1;
};

}  // namespace qdq_cli

#pragma once

#include "support/folder.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace qdq::model {

// A file that appears under its name complete, or not at all: it is written to a temporary file in the same directory
// and renamed by publish(). Without that the destructor removes the temporary file, and where there was no time for it,
// the next atomic_file in the directory does. A file that is replaced leaves its permissions to the new one.
class atomic_file {
public:
    // Throws when the name is taken by anything but a regular file, or by one without `replace`. A symbolic link stays
    // one, and the file it names is written; one of another user is refused. A new file has the permissions of the one
    // it succeeds, if that is there.
    atomic_file(const std::filesystem::path &path, bool replace, const std::filesystem::path &succeeds = {});

    // A file of an open folder. A link of that name is refused.
    atomic_file(const folder &inside, const std::string &name, bool replace,
                const std::filesystem::path &succeeds = {});
    ~atomic_file();
    atomic_file(const atomic_file &) = delete;
    atomic_file &operator=(const atomic_file &) = delete;

    void write(uint64_t offset, std::span<const std::byte> bytes);
    void publish();

private:
    struct followed {};
    atomic_file(const std::filesystem::path &path, bool replace, const std::filesystem::path &succeeds, followed);
    std::filesystem::path path() const { return folder_.path() / name_; }
    void create_temporary(unsigned mode);

    folder folder_;
    std::string name_, temporary_;
    bool replace_;
    int descriptor_ = -1;
};

// Whether a name is one that such temporary files have.
bool is_temporary_name(std::string_view name);

}  // namespace qdq::model

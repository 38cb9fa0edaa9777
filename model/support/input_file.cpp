#include "support/input_file.h"

#include "support/error.h"
#include "support/interrupt.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>

namespace qdq::model {

namespace {

constexpr int open_flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // O_NONBLOCK: a FIFO must not hang here

}  // namespace

input_file::input_file(const std::filesystem::path &path) : input_file(open(path.c_str(), open_flags), path) {}

input_file::input_file(const folder &inside, const std::string &name)
    : input_file(openat(inside.descriptor(), name.c_str(), open_flags | O_NOFOLLOW), inside.path() / name) {}

input_file::input_file(int descriptor, const std::filesystem::path &path) : path_(path), descriptor_(descriptor) {
    if (descriptor_ < 0) {
        throw system_failure(path_.string(), "cannot open");
    }
    if (fstat(descriptor_, &status_) != 0 || !S_ISREG(status_.st_mode)) {
        close(descriptor_);
        throw failure(path_.string() + ": not a regular file");
    }
}

input_file::~input_file() { close(descriptor_); }

void input_file::read(uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
        throw_if_interrupted();
        ssize_t got = pread(descriptor_, bytes.data(), std::min(bytes.size(), piece_bytes), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw system_failure(path_.string(), "cannot read");
        }
        if (got == 0) {
            throw failure(path_.string() + ": the file ends early, at byte " + std::to_string(offset));
        }
        bytes = bytes.subspan(static_cast<size_t>(got));
        offset += static_cast<uint64_t>(got);
    }
}

std::string input_file::text() const {
    std::string bytes(size(), '\0');
    read(0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

bool input_file::is_at(const std::filesystem::path &path) const {
    struct stat other;
    return stat(path.c_str(), &other) == 0 && other.st_dev == status_.st_dev && other.st_ino == status_.st_ino;
}

void input_file::check_unchanged() const {
    struct stat now;
    if (fstat(descriptor_, &now) != 0 || now.st_size != status_.st_size ||
        now.st_mtim.tv_sec != status_.st_mtim.tv_sec || now.st_mtim.tv_nsec != status_.st_mtim.tv_nsec) {
        throw failure(path_.string() + ": it changed while it was read");
    }
}

}  // namespace qdq::model

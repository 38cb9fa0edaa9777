#include "atomic_file.h"

#include "error.h"
#include "interrupt.h"

#include <algorithm>
#include <fcntl.h>
#include <random>
#include <unistd.h>
#include <utility>

namespace qdq_cli {

namespace fs = std::filesystem;

namespace {

constexpr size_t piece = size_t{16} << 20;  // an interrupt is noticed within one of them

// Renaming onto a device such as /dev/null would replace the device itself; a symbolic link keeps pointing where it did
// and the file behind it is replaced.
fs::path destination(const fs::path &path) {
    std::error_code error;
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
        throw failure(path.string() + ": exists and is not a regular file");
    }
    fs::path resolved = fs::weakly_canonical(path, error);
    return error ? path : resolved;
}

}  // namespace

atomic_file::atomic_file(fs::path path) : path_(destination(path)) { create_temporary(); }

void atomic_file::create_temporary() {
    std::random_device random;
    fs::path directory = path_.has_parent_path() ? path_.parent_path() : ".";
    do {  // the name does not include that of the file, which may already be as long as names can be
        temporary_ = directory / (".qdq-" + std::to_string(getpid()) + "-" + std::to_string(random()) + ".tmp");
        descriptor_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (descriptor_ < 0 && errno == EEXIST);
    if (descriptor_ < 0) {
        throw system_failure(path_.string(), "cannot create a file in this directory");
    }
}

atomic_file::~atomic_file() {
    if (descriptor_ >= 0) {
        close(descriptor_);
        unlink(temporary_.c_str());
    }
}

void atomic_file::write(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        throw_if_interrupted();
        size_t count = std::min(bytes.size(), piece);
        ssize_t put = pwrite(descriptor_, bytes.data(), count, static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            throw system_failure(path_.string(), "cannot write");
        }
        bytes = bytes.subspan(static_cast<size_t>(put));
        offset += static_cast<uint64_t>(put);
    }
}

void atomic_file::finish() {
    // Without the sync a power cut soon after the rename could leave the name on an empty file.
    if (fsync(descriptor_) != 0) {
        throw system_failure(path_.string(), "cannot write");
    }
    throw_if_interrupted();
}

void atomic_file::publish() {
    if (rename(temporary_.c_str(), path_.c_str()) != 0) {
        throw system_failure(path_.string(), "cannot rename the finished file to this name");
    }
    close(std::exchange(descriptor_, -1));
}

}  // namespace qdq_cli

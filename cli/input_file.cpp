#include "input_file.h"

#include "error.h"
#include "interrupt.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace qdq_cli {

namespace {

// Reads go in pieces, so that an interrupt is noticed within one of them.
constexpr size_t piece = size_t{16} << 20;

}  // namespace

input_file::input_file(std::string path) : path_(std::move(path)) {
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // O_NONBLOCK: a FIFO must not hang here
    if (descriptor_ < 0) {
        throw system_failure(path_, "cannot open");
    }
    struct stat status;
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor_);
        throw failure(path_ + ": not a regular file");
    }
    size_ = static_cast<uint64_t>(status.st_size);
}

input_file::~input_file() { close(descriptor_); }

void input_file::read(uint64_t offset, std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
        throw_if_interrupted();
        ssize_t got = pread(descriptor_, bytes.data(), std::min(bytes.size(), piece), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            throw system_failure(path_, "cannot read");
        }
        if (got == 0) {
            throw failure(path_ + ": the file ends early, at byte " + std::to_string(offset));
        }
        bytes = bytes.subspan(static_cast<size_t>(got));
        offset += static_cast<uint64_t>(got);
    }
}

}  // namespace qdq_cli

#include "support/atomic_file.h"

#include "support/error.h"
#include "support/interrupt.h"
#include "support/renaming.h"
#include "support/words.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view temporary_prefix = ".qdq-", temporary_suffix = ".tmp";
constexpr size_t temporary_digits = 16;

// The file that open() would find or create. In a folder that others write to, too, anybody may have put a link where a
// file is replaced: one of another user decides nothing, as Linux has it for open() in folders such as /tmp.
fs::path follow_links(fs::path path) {
    constexpr int most = 40;  // as the kernel has it
    struct stat status;
    for (int links = 0; lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode); ++links) {
        if (links == most) {
            errno = ELOOP;
            throw system_failure(path.string(), "cannot write");
        }
        if (status.st_uid != geteuid() && status.st_uid != 0) {
            throw failure(path.string() + ": it is a symbolic link of another user, which is not followed");
        }
        path = path.parent_path() / fs::read_symlink(path);
    }
    return path;
}

failure taken(const fs::path &path) {
    return failure(path.string() + ": exists already; " + replacing_option() + " replaces it");
}

// The file that would be replaced, if there is one. Renaming onto a device such as /dev/null would replace the device
// itself.
std::optional<struct stat> replaceable(const folder &inside, const std::string &name, bool replace) {
    std::optional<struct stat> status = inside.status_of(name);
    if (status && !S_ISREG(status->st_mode)) {
        throw failure((inside.path() / name).string() + ": exists and is not a regular file");
    }
    if (status && !replace) {
        throw taken(inside.path() / name);
    }
    return status;
}

// It does not include the name of the file, which may already be as long as names can be.
std::string random_name() {
    std::array<unsigned char, temporary_digits> random;
    if (getentropy(random.data(), random.size()) != 0) {  // of the system: /dev is not in every root
        throw system_failure("a temporary file's name", "cannot draw");
    }
    std::string name(temporary_prefix);
    for (const unsigned char drawn : random) {
        name += "0123456789abcdef"[drawn % 16];
    }
    return name + std::string(temporary_suffix);
}

bool is_named(int descriptor, const folder &inside, const std::string &name) {
    struct stat opened;
    std::optional<struct stat> named = inside.status_of(name);
    return fstat(descriptor, &opened) == 0 && named && opened.st_dev == named->st_dev && opened.st_ino == named->st_ino;
}

// Each run keeps its temporary file locked; a lock goes with its process, however that ends. Only one that has the lock
// of a file and finds it under its name may remove it, so that none removes what another has just created or renamed.
bool lock(int descriptor) { return flock(descriptor, LOCK_EX | LOCK_NB) == 0; }

void remove_if_abandoned(const folder &inside, const std::string &name) {
    int descriptor = openat(inside.descriptor(), name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) {
        return;
    }
    struct stat status;
    bool ours = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (ours && lock(descriptor) && is_named(descriptor, inside, name)) {
        unlinkat(inside.descriptor(), name.c_str(), 0);
    }
    close(descriptor);
}

std::vector<std::string> names_in(const folder &directory) {
    try {
        return directory.names();
    } catch (const failure &) {
        return {};  // a directory that may be written to, but not read
    }
}

void remove_abandoned_in(const folder &directory) {
    for (const std::string &name : names_in(directory)) {
        if (is_temporary_name(name)) {
            remove_if_abandoned(directory, name);
        }
    }
}

// Where the group cannot be given, no group has access; what else fails leaves the file to its owner alone.
void give_permissions(int descriptor, const struct stat &old) {
    bool given =
        fchown(descriptor, old.st_uid, old.st_gid) == 0 || fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) == 0;
    fchmod(descriptor, old.st_mode & (given ? 0777 : 0707));
}

}  // namespace

bool is_temporary_name(std::string_view name) {
    if (name.size() != temporary_prefix.size() + temporary_digits + temporary_suffix.size() ||
        !name.starts_with(temporary_prefix) || !name.ends_with(temporary_suffix)) {
        return false;
    }
    std::string_view digits = name.substr(temporary_prefix.size(), temporary_digits);
    return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

atomic_file::atomic_file(const fs::path &path, bool replace, const fs::path &succeeds)
    : atomic_file(follow_links(path), replace, succeeds, followed{}) {}

atomic_file::atomic_file(const fs::path &path, bool replace, const fs::path &succeeds, followed)
    : atomic_file(folder(path.parent_path()), path.filename().string(), replace, succeeds) {}

atomic_file::atomic_file(const folder &inside, const std::string &name, bool replace, const fs::path &succeeds)
    : folder_(inside), name_(name), replace_(replace) {
    std::optional<struct stat> old = replaceable(folder_, name_, replace_);
    if (struct stat other; !old && stat(succeeds.c_str(), &other) == 0) {
        old = other;
    }
    remove_abandoned_in(folder_);
    create_temporary(old ? 0600 : 0666);
    if (old) {
        give_permissions(descriptor_, *old);
    }
}

// Another run may take the file for abandoned in the instant before it is locked here; then it has no name, or the lock
// is taken. Where files cannot be locked at all, none is ever removed.
void atomic_file::create_temporary(unsigned mode) {
    for (bool lost = true; lost;) {
        temporary_ = random_name();
        descriptor_ = openat(folder_.descriptor(), temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor_ < 0) {
            throw system_failure(path().string(), "cannot create a file in this directory");
        }
        lost = (!lock(descriptor_) && errno == EWOULDBLOCK) || !is_named(descriptor_, folder_, temporary_);
        if (lost) {
            close(descriptor_);
        }
    }
}

atomic_file::~atomic_file() {
    if (descriptor_ >= 0) {
        unlinkat(folder_.descriptor(), temporary_.c_str(), 0);
        close(descriptor_);
    }
}

void atomic_file::write(uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        throw_if_interrupted();
        size_t count = std::min(bytes.size(), piece_bytes);
        ssize_t put = pwrite(descriptor_, bytes.data(), count, static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            throw system_failure(path().string(), "cannot write");
        }
        bytes = bytes.subspan(static_cast<size_t>(put));
        offset += static_cast<uint64_t>(put);
    }
}

void atomic_file::publish() {
    // Without the sync a power cut soon after the rename could leave the name on an empty file.
    if (fsync(descriptor_) != 0) {
        throw system_failure(path().string(), "cannot write");
    }
    throw_if_interrupted();
    // A file of this name may have appeared since it was found to be free.
    int directory = folder_.descriptor();
    int result = rename_from(directory, temporary_.c_str(), directory, name_.c_str(),
                             replace_ ? renaming::replaces : renaming::keeps);
    if (result != 0 && errno == EINVAL) {  // a file system that has no such renaming, as NFS
        replaceable(folder_, name_, replace_);
        result = renameat(directory, temporary_.c_str(), directory, name_.c_str());
    }
    if (result != 0 && errno == EEXIST) {
        throw taken(path());
    }
    if (result != 0) {
        throw system_failure(path().string(), "cannot rename the finished file to this name");
    }
    close(std::exchange(descriptor_, -1));
}

}  // namespace qdq::model

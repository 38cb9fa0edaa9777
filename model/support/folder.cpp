#include "support/folder.h"

#include "support/error.h"
#include "support/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <functional>
#include <memory>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

// Whoever may write to a folder, but not read it, may still create files there: a descriptor for that alone does.
int open_folder(int parent, const char *name, int flags = 0) {
    constexpr int common = O_DIRECTORY | O_CLOEXEC;
    int descriptor = openat(parent, name, O_RDONLY | common | flags);
    return descriptor >= 0 || errno != EACCES ? descriptor : openat(parent, name, O_PATH | common | flags);
}

int open_inside(const folder &parent, const std::string &name) {
    int descriptor = open_folder(parent.descriptor(), name.c_str(), O_NOFOLLOW);
    std::optional<struct stat> status = descriptor < 0 ? parent.status_of(name) : std::nullopt;
    if (status && S_ISLNK(status->st_mode)) {
        throw failure((parent.path() / name).string() + ": it is a symbolic link, where a folder must be");
    }
    return descriptor;
}

void for_each_folder(const folder &top, const std::string &prefix,
                     const std::function<void(const folder &, const std::string &prefix)> &visit) {
    for (const std::string &name : top.names()) {
        if (top.has_folder(name)) {
            for_each_folder(folder(top, name), prefix + name + "/", visit);
        }
    }
    visit(top, prefix);
}

}  // namespace

folder::folder(int descriptor, fs::path path) : path_(std::move(path)), descriptor_(descriptor) {
    if (descriptor_ < 0) {
        throw system_failure(path_.empty() ? "." : path_.string(), "cannot open the folder");
    }
}

folder::folder(const fs::path &path) : folder(open_folder(AT_FDCWD, path.empty() ? "." : path.c_str()), path) {}

folder::folder(const folder &parent, const std::string &name)
    : folder(open_inside(parent, name), parent.path() / name) {}

folder::folder(const folder &other) : folder(open_folder(other.descriptor_, "."), other.path_) {}

folder::~folder() { close(descriptor_); }

folder folder::create(const folder &parent, const std::string &name, mode_t mode) {
    if (mkdirat(parent.descriptor(), name.c_str(), mode) != 0 && errno != EEXIST) {
        throw system_failure((parent.path() / name).string(), "cannot create the folder");
    }
    return {parent, name};
}

struct stat folder::status() const {
    struct stat found;
    if (fstat(descriptor_, &found) != 0) {
        throw system_failure(path_.string(), "cannot read the folder");
    }
    return found;
}

std::optional<struct stat> folder::status_of(const std::string &name) const {
    struct stat found;
    if (fstatat(descriptor_, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
        return found;
    }
    if (errno != ENOENT) {
        throw system_failure((path_ / name).string(), "cannot read");
    }
    return std::nullopt;
}

bool folder::has_folder(const std::string &name) const {
    std::optional<struct stat> found = status_of(name);
    return found && S_ISDIR(found->st_mode);
}

std::vector<std::string> folder::names() const {
    int descriptor = openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::unique_ptr<DIR, int (*)(DIR *)> stream(descriptor < 0 ? nullptr : fdopendir(descriptor), closedir);
    if (!stream) {
        throw system_failure(path_.string(), "cannot read the folder");
    }
    std::vector<std::string> found;
    for (errno = 0; const dirent *entry = readdir(stream.get()); errno = 0) {
        std::string name = entry->d_name;
        if (name != "." && name != "..") {
            found.push_back(std::move(name));
        }
    }
    if (errno != 0) {
        throw system_failure(path_.string(), "cannot read the folder");
    }
    std::ranges::sort(found);
    return found;
}

bool folder::is_at(const folder &parent, const std::string &name) const {
    std::optional<struct stat> named = parent.status_of(name);
    struct stat opened = status();
    return named && named->st_dev == opened.st_dev && named->st_ino == opened.st_ino;
}

void folder::remove_file(const std::string &name) const {
    if (unlinkat(descriptor_, name.c_str(), 0) != 0 && errno != ENOENT) {
        throw system_failure((path_ / name).string(), "cannot remove");
    }
}

bool folder::remove_empty_folder(const std::string &name) const {
    return unlinkat(descriptor_, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
}

void folder::sync() const { fsync(descriptor_); }

std::set<std::string> files_below(const folder &top) {
    std::set<std::string> files;
    for_each_folder(top, "", [&](const folder &each, const std::string &prefix) {
        for (const std::string &name : each.names()) {
            if (!each.has_folder(name)) {
                files.insert(prefix + name);
            }
        }
    });
    return files;
}

void remove_files(const folder &top, const std::set<std::string> &files) {
    for_each_folder(top, "", [&](const folder &each, const std::string &prefix) {
        for (const std::string &name : each.names()) {
            if (each.has_folder(name)) {
                each.remove_empty_folder(name);
            } else if (files.contains(prefix + name)) {
                each.remove_file(name);
            }
        }
    });
}

void sync_all(const folder &top) {
    for_each_folder(top, "", [](const folder &each, const std::string &) { each.sync(); });
}

}  // namespace qdq::model

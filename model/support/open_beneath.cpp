#include "support/open_beneath.h"

#include "support/error.h"
#include "support/text.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

class descriptor {
public:
    explicit descriptor(int number) : number_(number) {}
    ~descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    descriptor(descriptor &&other) noexcept : number_(other.release()) {}
    descriptor &operator=(descriptor &&) = delete;

    int number() const { return number_; }
    int release() { return std::exchange(number_, -1); }

private:
    int number_;
};

// Of a link; nothing where it is none, and errno is as it was.
std::optional<fs::path> link_target(const descriptor &folder, const std::string &name) {
    char target[PATH_MAX];
    int error = errno;
    ssize_t length = readlinkat(folder.number(), name.c_str(), target, sizeof target);
    errno = error;
    return length < 0 ? std::nullopt : std::optional<fs::path>(std::string(target, static_cast<size_t>(length)));
}

// Puts the parts of a path before those that are still to be opened, the next of which is the last.
void push_parts(std::vector<std::string> &parts, const fs::path &path) {
    size_t before = parts.size();
    for (const fs::path &part : path) {
        if (!part.empty() && part != ".") {
            parts.push_back(part.string());
        }
    }
    std::reverse(parts.begin() + static_cast<std::ptrdiff_t>(before), parts.end());
}

}  // namespace

int open_file_beneath(const fs::path &folder, const fs::path &path) {
    constexpr int most_links = 40;  // as many as the kernel follows
    std::string shown = (folder / shortened(path.string())).string(), last_link;
    std::vector<descriptor> opened;  // the folder, and those down to where the path has led
    opened.emplace_back(open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    std::vector<std::string> parts;
    push_parts(parts, path);
    for (int links = 0; !parts.empty();) {
        std::string part = std::exchange(parts.back(), {});
        parts.pop_back();
        if (part == ".." && opened.size() > 1) {
            opened.pop_back();
            continue;
        }
        bool leads_out = part == ".." || fs::path(part).is_absolute();
        if (leads_out || links > most_links) {
            shown.append(": ").append(last_link).append(leads_out ? ", leads out of the folder" : ", is in a circle");
            throw failure(shown);
        }
        int flags = parts.empty() ? O_RDONLY | O_NONBLOCK : O_PATH | O_DIRECTORY;  // a FIFO must not hang here
        descriptor next(openat(opened.back().number(), part.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
        if (next.number() >= 0) {
            opened.push_back(std::move(next));
            continue;
        }
        std::optional<fs::path> target = link_target(opened.back(), part);
        if (!target) {
            throw system_failure(shown, "cannot open");
        }
        ++links;
        last_link = "the link " + shortened(part) + ", to " + shortened(target->string());
        push_parts(parts, *target);
    }
    return opened.back().release();
}

}  // namespace qdq::model

#include "files/onnx_output.h"

#include "files/onnx_model.h"
#include "support/error.h"
#include "support/text.h"
#include "tensors/digest.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view data_suffix = ".data";

// The name of the model may be as long as names can be.
fs::path lock_path(const fs::path &model) {
    return model.parent_path() / (".qdq-" + digest_of(model.filename().string()).substr(0, 16) + ".onnx");
}

bool is_named(int descriptor, const fs::path &path) {
    struct stat opened, named;
    return fstat(descriptor, &opened) == 0 && lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

// The files that a model names for its data, none where there is no model; nothing where it is none that qdq reads.
std::optional<std::set<std::string>> locations_of(const fs::path &model) {
    struct stat status;
    if (stat(model.c_str(), &status) != 0 && errno == ENOENT) {
        return std::set<std::string>();
    }
    try {
        return data_locations(input_file(model));
    } catch (const failure &) {
        return std::nullopt;
    }
}

bool is_file(const fs::path &path) {
    struct stat status;
    return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

// A run may remove the file between its opening and its locking here; then it has no name.
onnx_lock::onnx_lock(const fs::path &model) : path_(lock_path(model)) {
    while (descriptor_ < 0) {
        descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (descriptor_ < 0) {
            throw system_failure(path_.string(), "cannot create a file in this directory");
        }
        is_locked_ = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
        bool by_another = !is_locked_ && errno == EWOULDBLOCK;
        if (by_another || !is_named(descriptor_, path_)) {
            close(std::exchange(descriptor_, -1));
        }
        if (by_another) {
            throw failure(model.string() + ": another process is writing it");
        }
    }
}

onnx_lock::~onnx_lock() {
    if (is_named(descriptor_, path_)) {
        unlink(path_.c_str());
    }
    close(descriptor_);
}

void onnx_lock::list(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) {
        text += name + "\n";
    }
    if (pwrite(descriptor_, text.data(), text.size(), 0) != std::ssize(text) ||
        ftruncate(descriptor_, std::ssize(text)) != 0) {
        throw system_failure(path_.string(), "cannot write");
    }
}

// Only what a run of this user has listed, which is no more.
std::vector<std::string> onnx_lock::listed() const {
    constexpr size_t most = size_t{1} << 20;
    std::vector<std::string> names;
    struct stat status;
    bool ours = fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (!ours || !is_locked_) {
        return names;
    }
    std::string text(most, '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(pread(descriptor_, text.data(), text.size(), 0), 0)));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line) && !lines.eof();) {  // one without an end is cut off
        names.push_back(line);
    }
    return names;
}

onnx_output::onnx_output(const output_options &output, const tensor_reader *input)
    : path_(output.path), folder_(path_.parent_path()), input_(input), model_(path_, output.replace), lock_(path_) {
    std::optional<std::set<std::string>> named = locations_of(path_);
    if (named) {
        std::vector<std::string> left = lock_.listed();  // by a run that was killed
        std::erase_if(left, [&](const std::string &name) { return named->contains(name) || !is_removable(name); });
        remove(left);
        std::ranges::copy_if(*named, std::back_inserter(old_data_),
                             [&](const std::string &name) { return is_removable(name); });
    }
    data_name_ = free_data_name();
}

onnx_output::~onnx_output() { remove(doomed_); }

// Whether it is a name that runs give to data of this model, and of a file that the input does not read.
bool onnx_output::is_removable(const std::string &name) const {
    std::string model = path_.filename().string();
    if (!name.starts_with(model) || !name.ends_with(data_suffix) || name.size() < model.size() + data_suffix.size()) {
        return false;
    }
    std::string_view number =
        std::string_view(name).substr(model.size(), name.size() - model.size() - data_suffix.size());
    bool ours = number.empty() || (number.front() == '.' && number.size() > 1 &&
                                   number.find_first_not_of("0123456789", 1) == std::string_view::npos);
    return ours && is_file(folder_ / name) && (input_ == nullptr || !input_->reads(folder_ / name));
}

std::string onnx_output::free_data_name() const {
    std::string model = path_.filename().string(), name = model + std::string(data_suffix);
    struct stat status;
    for (int i = 1; lstat((folder_ / name).c_str(), &status) == 0; ++i) {
        name = model + "." + std::to_string(i) + std::string(data_suffix);
    }
    return name;
}

void onnx_output::remove(const std::vector<std::string> &names) const {
    for (const std::string &name : names) {
        unlink((folder_ / name).c_str());
    }
}

void onnx_output::create_data() {
    fs::path old = old_data_.empty() ? path_ : folder_ / old_data_.front();
    data_.emplace(folder_ / data_name_, false, old);
}

void onnx_output::commit() {
    std::vector<std::string> names = old_data_;
    names.insert(names.end(), data_ ? 1 : 0, data_name_);
    lock_.list(names);
    if (data_) {
        data_->publish();
        doomed_ = {data_name_};
    }
    model_.publish();
    doomed_ = old_data_;
}

}  // namespace qdq::model

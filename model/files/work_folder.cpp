#include "files/work_folder.h"

#include "support/atomic_file.h"
#include "support/error.h"
#include "support/input_file.h"
#include "support/interrupt.h"
#include "support/parsing.h"
#include "support/text.h"

#include <sys/file.h>
#include <unistd.h>
#include <algorithm>
#include <utility>

namespace qdq::model {

namespace fs = std::filesystem;
namespace {

constexpr const char *notes_name = "digests", *announced_name = "files.json";

std::string working_name(const std::string &output) { return "." + output + ".qdq-partial"; }

void check_ours(const folder &each) {
    struct stat status = each.status();
    if (status.st_uid != geteuid()) {
        throw failure(each.path().string() + ": the folder belongs to another user (" + std::to_string(status.st_uid) +
                      "); name another output, or remove it");
    }
    if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        throw failure(each.path().string() + ": others may write to the folder; name another output, or remove it");
    }
}

bool is_temporary(const std::string &file) { return is_temporary_name(fs::path(file).filename().string()); }

void check_known(const folder &top, const std::set<std::string> &known) {
    std::vector<std::string> foreign;
    std::ranges::copy_if(files_below(top), std::back_inserter(foreign),
                         [&](const std::string &file) { return !known.contains(file) && !is_temporary(file); });
    if (!foreign.empty()) {
        throw failure(top.path().string() + ": the folder is for what qdq has not finished, and holds " +
                      some_of(foreign) + ", which qdq has not written; move that away, or name another output");
    }
}

std::set<std::string> note_names(const std::set<std::string> &files) {
    std::set<std::string> names;
    std::ranges::transform(files, std::inserter(names, names.end()), note_name);
    return names;
}

// What is there of a folder inside is removed but for `kept`.
void remove_all_but(const folder &top, const std::set<std::string> &kept) {
    std::set<std::string> found = files_below(top);
    std::erase_if(found, [&](const std::string &file) { return kept.contains(file); });
    remove_files(top, found);
}

std::vector<fs::path> missing_above(const fs::path &path) {
    std::vector<fs::path> missing;
    std::error_code error;
    for (fs::path above = path.parent_path(); !above.empty() && !fs::exists(above, error);
         above = above.parent_path()) {
        missing.push_back(above);
    }
    return missing;
}

}  // namespace

std::string note_name(const std::string &shard) { return shard + ".json"; }

work_folder::work_folder(const fs::path &output)
    : parent_(output.parent_path()), output_name_(output.filename().string()) {
    self_ = std::make_unique<folder>(parent_, working_name(output_name_));
    check_ours(*self_);
    model_ = std::make_unique<folder>(*self_, model_name);
    notes_ = std::make_unique<folder>(*self_, notes_name);
}

work_folder::work_folder(const fs::path &output, create_tag)
    : parent_(output.parent_path()), output_name_(output.filename().string()) {
    lock();
    for (const std::string &name : self_->names()) {
        bool ours = name == model_name || name == notes_name || name == announced_name || is_temporary_name(name);
        if (!ours || self_->has_folder(name) != (name == model_name || name == notes_name)) {
            throw failure(self_->path().string() + ": the folder is for what qdq has not finished, and holds " +
                          shortened(name) + ", which qdq has not written; move that away, or name another output");
        }
    }
    model_ = std::make_unique<folder>(folder::create(*self_, model_name));
    notes_ = std::make_unique<folder>(folder::create(*self_, notes_name));
    std::set<std::string> known = announced();
    check_known(*model_, known);
    check_known(*notes_, note_names(known));
}

work_folder work_folder::create(const fs::path &output) {
    std::vector<fs::path> made = missing_above(output);
    std::error_code error;
    if (fs::create_directories(output.parent_path(), error); error && output.has_parent_path()) {
        throw failure(output.parent_path().string() + ": cannot create the folder: " + error.message());
    }
    work_folder created(output, create_tag{});
    created.made_ = std::move(made);
    return created;
}

work_folder::work_folder(work_folder &&) noexcept = default;
work_folder::~work_folder() = default;

// The process that has the lock may end, and remove the folder, in the instant before the lock is taken here.
void work_folder::lock() {
    std::string name = working_name(output_name_);
    do {
        throw_if_interrupted();
        self_ = std::make_unique<folder>(folder::create(parent_, name, S_IRWXU));
        check_ours(*self_);
        if (flock(self_->descriptor(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            throw failure((parent_.path() / output_name_).string() + ": another process is writing it");
        }
    } while (!self_->is_at(parent_, name));
}

std::set<std::string> work_folder::announced() const {
    if (!self_->status_of(announced_name)) {
        return {};
    }
    json names;
    name_in_failures((self_->path() / announced_name).string(),
                     [&] { names = parse_json(input_file(*self_, announced_name).text()); });
    std::set<std::string> files;
    for (const json &name : names.is_array() ? names : json::array()) {
        files.insert(name.is_string() ? name.get<std::string>() : "");
    }
    return files;
}

void work_folder::write_announced(const std::set<std::string> &files) const {
    std::string text = json(files).dump(-1, json::bytes::replaced);
    atomic_file file(*self_, announced_name, true);
    file.write(0, std::as_bytes(std::span(text)));
    file.publish();
}

void work_folder::announce(const std::set<std::string> &files) const {
    remove_all_but(*model_, files);
    remove_all_but(*notes_, note_names(files));
    write_announced(files);
}

void work_folder::announce_more(std::set<std::string> files) const {
    files.merge(announced());
    write_announced(files);
}

void work_folder::remove() const {
    std::set<std::string> known = announced();
    for (const char *name : {model_name, notes_name}) {
        if (self_->has_folder(name)) {
            folder inside(*self_, name);
            std::set<std::string> found = files_below(inside);
            std::erase_if(found, [&](const std::string &file) {
                return name == std::string(model_name) && !known.contains(file) && !is_temporary(file);
            });
            remove_files(inside, found);
            self_->remove_empty_folder(name);
        }
    }
    if (self_->has_folder(model_name)) {
        throw failure(self_->path().string() + ": files were put into the folder meanwhile, and stay there");
    }
    self_->remove_file(announced_name);
    parent_.remove_empty_folder(working_name(output_name_));
    for (const fs::path &empty : made_) {  // not those that the output is in
        rmdir(empty.c_str());
    }
}

}  // namespace qdq::model

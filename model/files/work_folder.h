#pragma once

#include "support/folder.h"

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace qdq::model {

// Where a run keeps what it has finished of a folder OUT: .OUT.qdq-partial beside it.
//
//   model/       becomes OUT at the end
//   digests/     has a note for each finished shard
//   files.json   names what qdq may remove of model/: all that it has written there, or is about to
//
// In a folder that others write to, anybody may have prepared one. So it must be this user's own and nobody else's to
// write to, and hold nothing else; it is opened through no link and kept open. What files.json does not name stays.
class work_folder {
public:
    // Creates it or finds it, and locks it. Throws failure where another process has the lock, and where it is not as
    // above.
    static work_folder create(const std::filesystem::path &output);

    // Finds that of another process, which has the lock.
    explicit work_folder(const std::filesystem::path &output);
    work_folder(work_folder &&) noexcept;
    ~work_folder();

    const folder &parent() const { return parent_; }
    const folder &self() const { return *self_; }
    const folder &model() const { return *model_; }
    const folder &notes() const { return *notes_; }

    // Says what will be in model/, before it is. What an earlier run has left there and is not among it is removed.
    void announce(const std::set<std::string> &files) const;

    // Says that these may come into model/, too.
    void announce_more(std::set<std::string> files) const;

    // Removes it, with all that files.json names.
    void remove() const;

private:
    struct create_tag {};
    work_folder(const std::filesystem::path &output, create_tag);
    void lock();
    std::set<std::string> announced() const;
    void write_announced(const std::set<std::string> &files) const;

    std::vector<std::filesystem::path> made_;  // the folders around it that there were not, the innermost first
    folder parent_;
    std::string output_name_;
    std::unique_ptr<folder> self_, model_, notes_;
};

// The file in digests/ that is about a shard.
std::string note_name(const std::string &shard);

constexpr const char *model_name = "model";

}  // namespace qdq::model

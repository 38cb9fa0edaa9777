#pragma once

#include <sys/stat.h>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace qdq::model {

// A folder held open by a descriptor. What is done inside goes to this folder, whatever becomes of its name meanwhile,
// and through no symbolic link. Names are of one component. What fails is thrown as a failure that names the path.
class folder {
public:
    explicit folder(const std::filesystem::path &path);  // its links are followed; "" is the current one
    folder(const folder &parent, const std::string &name);
    folder(const folder &other);  // the same folder, with a descriptor of its own
    ~folder();
    folder &operator=(const folder &) = delete;

    // Opens a folder inside, which is created where there is none.
    static folder create(const folder &parent, const std::string &name, mode_t mode = 0777);

    int descriptor() const { return descriptor_; }
    const std::filesystem::path &path() const { return path_; }  // by which it was opened
    struct stat status() const;

    // What a name stands for, itself where it is a link; nothing where there is none.
    std::optional<struct stat> status_of(const std::string &name) const;
    bool has_folder(const std::string &name) const;
    std::vector<std::string> names() const;  // sorted

    // Whether `name` in `parent` is this folder.
    bool is_at(const folder &parent, const std::string &name) const;

    void remove_file(const std::string &name) const;          // or a link; nothing where there is none
    bool remove_empty_folder(const std::string &name) const;  // whether it is gone

    // Without it a power cut may take back the names in a folder.
    void sync() const;

private:
    folder(int descriptor, std::filesystem::path path);

    std::filesystem::path path_;
    int descriptor_;
};

// What a folder and those inside have that is no folder, by paths relative to it. A link is an entry, and not followed.
std::set<std::string> files_below(const folder &top);

// Removes such files, and folders that are empty then. What else is there stays.
void remove_files(const folder &top, const std::set<std::string> &files);

void sync_all(const folder &top);

}  // namespace qdq::model

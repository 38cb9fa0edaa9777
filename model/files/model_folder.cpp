#include "files/model_folder.h"

#include "files/file_kinds.h"
#include "files/safetensors.h"
#include "support/atomic_file.h"
#include "support/error.h"
#include "support/folder.h"
#include "support/interrupt.h"
#include "support/parsing.h"
#include "support/text.h"
#include "tensors/layers.h"

#include <sys/stat.h>
#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace qdq::model {

namespace fs = std::filesystem;

namespace {

constexpr const char *single_name = "model.safetensors";

json object_in(const fs::path &path) {
    if (!fs::exists(path)) {
        return nullptr;
    }
    json content = read_json(path);
    if (!content.is_object()) {
        throw failure(path.string() + ": it is not a JSON object");
    }
    return content;
}

const json &weight_map(const json &index) {
    const json *found = index.find("weight_map");
    bool valid = found != nullptr && found->is_object() && !found->empty() &&
                 std::ranges::all_of(found->items(), [](const auto &field) { return field.second.is_string(); });
    if (!valid) {
        throw failure("its \"weight_map\" is not a map from tensors to files");
    }
    return *found;
}

std::set<std::string> files_of(const json &index) {
    std::set<std::string> files;
    for (const auto &[tensor, file] : weight_map(index).items()) {
        auto name = file.get<std::string>();
        bool named = !name.empty() && name.find('\0') == std::string::npos;  // "a\0b" would open a
        if (!named || fs::path(name).filename() != name || name.starts_with('.')) {
            throw failure("it names " + shortened(name) + ", which is not a file of the folder");
        }
        files.insert(name);
    }
    return files;
}

bool is_below(const fs::path &path, const fs::path &folder) {
    return std::ranges::mismatch(folder, path).in1 == folder.end();
}

// Visits the files of a folder and those below, in the order of their names, and what links lead to. Each folder is
// visited once: links could make a small tree endless, or exponential.
class file_walk {
public:
    file_walk(fs::path top, const std::function<void(const fs::path &)> &visit) : top_(std::move(top)), visit_(visit) {}

    void walk(const fs::path &name) {
        throw_if_interrupted();
        struct stat status;
        if (stat((top_ / name).c_str(), &status) != 0) {
            throw system_failure((top_ / name).string(), "cannot read");
        }
        if (S_ISDIR(status.st_mode)) {
            walk_folder(name, {status.st_dev, status.st_ino});
        } else if (S_ISREG(status.st_mode)) {
            visit_(name);
        } else {
            throw failure((top_ / name).string() + ": it is neither a file nor a folder");
        }
    }

private:
    void walk_folder(const fs::path &name, std::pair<dev_t, ino_t> identity) {
        if (!visited_.insert(identity).second) {
            throw failure((top_ / name).string() + ": it leads to a folder that belongs to the model already");
        }
        for (const std::string &each : folder(top_ / name).names()) {
            if (!each.starts_with('.') || !fs::is_directory(top_ / name / each)) {
                walk(name / each);
            }
        }
    }

    fs::path top_;
    const std::function<void(const fs::path &)> &visit_;
    std::set<std::pair<dev_t, ino_t>> visited_;
};

void for_each_file(const fs::path &top, const std::function<void(const fs::path &)> &visit) {
    file_walk(top, visit).walk("");
}

}  // namespace

model_folder::model_folder(const fs::path &path) : tensor_reader(model_folders), path_(path) {
    config_ = object_in(path_ / config_name);
    index_ = object_in(path_ / index_name);
    metadata_.clear();
    open_shards();
    present();
}

void model_folder::open_shards() {
    if (index_.is_null()) {
        if (!fs::exists(path_ / single_name)) {
            throw failure(path_.string() + ": it has neither " + index_name + " nor " + single_name);
        }
        open_shard(single_name);
        return;
    }
    name_in_failures((path_ / index_name).string(), [&] {
        for (const std::string &name : files_of(index_)) {
            open_shard(name);
        }
        check_index();
    });
}

void model_folder::open_shard(const std::string &name) {
    shards_.readers.push_back(std::make_unique<safetensors_reader>(path_ / name));
    shards_.names.push_back(name);
    const tensor_reader &shard = *shards_.readers.back();
    metadata_.push_back(shard.metadata(0));
    for (size_t i = 0; i < shard.tensors().size(); ++i) {
        name_in_failures(name, [&] { shards_.all.add(shard.tensors()[i]); });
        shards_.places.push_back({shards_.readers.size() - 1, i});
    }
}

void model_folder::present() {
    name_in_failures(path_.string(), [&] {
        std::vector<json> others;
        for (const char *name : int4_config_names) {
            others.push_back(object_in(path_ / name));
        }
        std::optional<int4_layout> layout = find_int4_layout(config_, others);
        has_int4_config_ = layout.has_value();
        if (layout) {
            presented_ = present_int4_layers(shards_, *layout);
        } else {
            for (size_t i = 0; i < shards_.all.size(); ++i) {
                presented_.push_back({shards_.all[i], i});
            }
        }
        for (const presented_tensor &each : presented_) {
            tensors_.add(each.info);
        }
    });
}

stored_form model_folder::form(size_t index) const {
    const presented_tensor &each = presented_[index];
    return each.stored_type.empty() ? tensor_reader::form(index) : stored_form{each.stored_type, each.stored_bytes};
}

void model_folder::check_index() const {
    for (const auto &[tensor, file] : weight_map(index_).items()) {
        std::optional<size_t> found = shards_.all.find(tensor);
        if (!found || shard_name(shards_.places[*found].shard) != file.get<std::string>()) {
            throw failure(shortened(tensor) + " is not in " + file.get<std::string>());
        }
    }
    if (json metadata = index_.value("metadata", json()); !metadata.is_object() && !metadata.is_null()) {
        throw failure("its \"metadata\" is not an object");  // total_size goes there
    }
    if (shards_.all.size() != weight_map(index_).size()) {
        throw failure("the files have " + std::to_string(shards_.all.size()) + " tensors, its \"weight_map\" " +
                      std::to_string(weight_map(index_).size()));
    }
}

void model_folder::read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const {
    const presented_tensor &each = presented_[index];
    each.read ? each.read(shards_, offset, bytes) : shards_.read_at(each.from, offset, bytes);
}

bool model_folder::reads(const fs::path &path) const {
    return std::ranges::any_of(shards_.readers, [&](const auto &shard) { return shard->reads(path); });
}

void model_folder::check_unchanged() const {
    for (const auto &shard : shards_.readers) {
        shard->check_unchanged();
    }
}

// Not the temporary files of a run that was killed, of which the next one to write in their folder removes any.
std::vector<fs::path> model_folder::other_files() const {
    std::set<fs::path> ours = {config_name, index_name};
    ours.insert(shards_.names.begin(), shards_.names.end());
    if (has_int4_config_) {
        ours.insert(std::begin(int4_config_names), std::end(int4_config_names));
    }
    std::vector<fs::path> found;
    for_each_file(path_, [&](const fs::path &name) {
        if (!ours.contains(name) && !is_temporary_name(name.filename().string())) {
            found.push_back(name);
        }
    });
    return found;
}

std::vector<std::string> model_folder::links_out() const {
    fs::path inside = fs::canonical(path_);
    // hub/models--NAME/snapshots/COMMIT, whose files are links to hub/models--NAME/blobs
    bool is_cached = inside.parent_path().filename() == "snapshots";
    fs::path blobs = inside.parent_path().parent_path() / "blobs";
    std::vector<std::string> found;
    for_each_file(path_, [&](const fs::path &name) {
        fs::path target = fs::canonical(path_ / name);
        if (!is_below(target, inside) && !(is_cached && is_below(target, blobs))) {
            found.push_back(path() + ": a link leads out of the folder: " + name.string() + " -> " + target.string());
        }
    });
    return found;
}

bool model_folder::is_weight(const tensor_info &tensor) const { return is_linear_weight(tensor, vocabulary()); }

// The rows of the embeddings by config.json; 0: not known.
int64_t model_folder::vocabulary() const {
    if (config_.is_null()) {
        return 0;
    }
    const json *text_config = config_.find("text_config");
    for (const json *config : {&config_, text_config != nullptr ? text_config : &config_}) {
        if (const json *size = config->find("vocab_size"); size != nullptr && size->is_number_integer()) {
            return size->get<int64_t>();
        }
    }
    return 0;
}

const model_folder *folder_of(const tensor_reader &input) {
    return input.kind().holds == holding::model ? static_cast<const model_folder *>(&input) : nullptr;
}

const file_kind model_folders = {
    .name = "model",
    .extension = "",
    .open = [](const fs::path &path, other_types) -> std::unique_ptr<tensor_reader> {
        return std::make_unique<model_folder>(path);
    },
    .holds = holding::model,
};

}  // namespace qdq::model

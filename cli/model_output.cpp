#include "model_output.h"

#include "atomic_file.h"
#include "digest.h"
#include "error.h"
#include "interrupt.h"
#include "parallel.h"
#include "safetensors.h"
#include "version.h"

#include <qdq/qdq.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

namespace qdq_cli {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// "OUT/" as "OUT".
fs::path without_slash(const fs::path &path) {
    fs::path normal = path.lexically_normal();
    return normal.has_filename() ? normal : normal.parent_path();
}

bool is_inside(const fs::path &path, const fs::path &folder) {
    fs::path inner = fs::weakly_canonical(path), outer = fs::weakly_canonical(folder);
    return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

// A folder that may be replaced: nobody loses more than a model by it.
bool is_replaceable(const fs::path &path) {
    return fs::is_directory(path) && (fs::is_empty(path) || fs::exists(path / config_name));
}

void write_file(const fs::path &path, std::string_view text) {
    atomic_file file(path, true);
    file.write(0, std::as_bytes(std::span(text)));
    file.publish();
}

void copy_whole(const fs::path &from, const fs::path &to) {
    constexpr uint64_t piece = uint64_t{1} << 20;
    fs::create_directories(to.parent_path());
    input_file source(from);
    atomic_file target(to, true);
    std::vector<std::byte> buffer(std::min(source.size(), piece));
    for (uint64_t done = 0; done < source.size(); done += piece) {
        std::span<std::byte> bytes = std::span(buffer).first(std::min(piece, source.size() - done));
        source.read(done, bytes);
        target.write(done, bytes);
    }
    source.check_unchanged();
    target.publish();
}

// Without it a power cut may take back the names in a folder.
void sync_folder(const fs::path &path) {
    int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        fsync(descriptor);
        close(descriptor);
    }
}

void sync_folders(const fs::path &path) {
    sync_folder(path);
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(path)) {
        if (entry.is_directory()) {
            sync_folder(entry.path());
        }
    }
}

failure taken(const fs::path &path) { return failure(path.string() + ": exists already; --force replaces it"); }

uint64_t total_bytes(const tensor_list &tensors) {
    uint64_t total = 0;
    for (const tensor_info &tensor : tensors) {
        total += byte_size(tensor);
    }
    return total;
}

}  // namespace

// What is noted of a finished shard.
struct model_output::note {
    std::string version, input, conversion, digest;

    bool is_same_work(const note &other) const {
        return version == other.version && input == other.input && conversion == other.conversion;
    }
};

model_output::model_output(const conversion &what, const model_folder &input, const output_options &output)
    : what_(what),
      input_(input),
      path_(without_slash(output.path)),
      partial_(path_.parent_path() / ("." + path_.filename().string() + ".qdq-partial")),
      folder_(partial_ / "model"),
      notes_(partial_ / "digests"),
      replace_(output.replace),
      config_(input.config()),
      description_(digest_of(what.description())) {
    check_place();
    if (config_.is_null()) {
        throw failure(input.path() + ": it has no " + config_name);
    }
    in_file(input.path(), [&] { what.configure(config_); });
}

model_output::~model_output() {
    if (lock_ >= 0) {
        remove_if_empty();
        close(lock_);
    }
}

void model_output::check_place() const {
    if (is_inside(path_, input_.path()) || is_inside(input_.path(), path_)) {
        throw usage_error(path_.string() + ": the output and the input " + input_.path() +
                          " would be one inside the other");
    }
    if (!fs::exists(fs::symlink_status(path_))) {
        return;
    }
    if (!replace_) {
        throw taken(path_);
    }
    if (!is_replaceable(path_)) {
        throw failure(path_.string() + ": exists, and is neither a model nor an empty folder");
    }
}

void model_output::begin() {
    std::error_code error;
    for (const fs::path &path : {folder_, notes_}) {
        if (fs::create_directories(path, error); error) {
            throw failure(path_.string() + ": cannot create a folder beside it: " + error.message());
        }
    }
    lock_ = open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0 || (flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)) {
        close(std::exchange(lock_, -1));
        throw failure(path_.string() + ": another process is writing it");
    }
}

fs::path model_output::shard_path(size_t shard) const { return folder_ / input_.shard_name(shard); }

fs::path model_output::note_path(size_t shard) const { return notes_ / (input_.shard_name(shard) + ".json"); }

model_output::note model_output::expected_note() const {
    std::string versions;  // of all shards: a tensor's scale may be in another one
    for (size_t i = 0; i < input_.shard_count(); ++i) {
        versions += input_.shard_version(i);
    }
    return {std::string(qdq_version()) + " " + commit, versions, description_, ""};
}

model_output::note model_output::read_note(size_t shard) const {
    std::ifstream file(note_path(shard));
    json text = json::parse(file, nullptr, false);
    auto field = [&](const char *key) {
        return text.is_object() && text.contains(key) && text[key].is_string() ? text[key].get<std::string>() : "";
    };
    return {field("version"), field("input"), field("conversion"), field("digest")};
}

bool model_output::is_finished(size_t shard) const {
    note found = read_note(shard);
    return found.is_same_work(expected_note()) && fs::exists(shard_path(shard)) &&
           digest_of_file(shard_path(shard)) == found.digest;
}

kernel_figures model_output::write_shard(size_t shard, const progress_function &advance) const {
    fs::remove(note_path(shard));
    safetensors_writer writer({shard_path(shard), true}, what_.outputs(shard), what_.metadata(shard));
    kernel_figures figures = what_.write(shard, writer, advance);
    writer.commit();
    note done = expected_note();
    json text = {{"version", done.version},
                 {"input", done.input},
                 {"conversion", done.conversion},
                 {"digest", digest_of_file(shard_path(shard))}};
    write_file(note_path(shard), text.dump());
    return figures;
}

void model_output::write_index() const {
    json index = input_.index();
    uint64_t total = 0;
    json map = json::object();
    for (size_t shard = 0; shard < input_.shard_count(); ++shard) {
        tensor_list tensors = what_.outputs(shard);
        total += total_bytes(tensors);
        for (const tensor_info &tensor : tensors) {
            map[tensor.name] = input_.shard_name(shard);
        }
    }
    index["weight_map"] = map;
    index["metadata"]["total_size"] = total;
    write_file(folder_ / index_name, index.dump(2) + "\n");
}

void model_output::finish() {
    std::set<fs::path> expected = {config_name};
    for (size_t shard = 0; shard < input_.shard_count(); ++shard) {
        if (!read_note(shard).is_same_work(expected_note()) || !fs::exists(shard_path(shard))) {
            throw failure(path_.string() + ": " + input_.shard_name(shard) + " is not written yet");
        }
        expected.insert(input_.shard_name(shard));
    }
    if (!input_.index().is_null()) {
        write_index();
        expected.insert(index_name);
    }
    write_file(folder_ / config_name, config_.dump(2) + "\n");
    for (const fs::path &name : input_.other_files()) {
        copy_whole(fs::path(input_.path()) / name, folder_ / name);
        expected.insert(name);
    }
    std::vector<fs::path> stale;  // of an earlier run, of another input
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder_)) {
        if (!entry.is_directory() && !expected.contains(entry.path().lexically_relative(folder_))) {
            stale.push_back(entry.path());
        }
    }
    std::ranges::for_each(stale, [](const fs::path &path) { fs::remove(path); });
    sync_folders(folder_);
    publish();
}

// The old folder, if there is one, takes the place of the new one, and is removed with it.
void model_output::publish() {
    throw_if_interrupted();
    int result = renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
    if (result != 0 && errno == EINVAL && !fs::exists(path_)) {  // a file system that has no such renaming
        result = rename(folder_.c_str(), path_.c_str());
    }
    if (result != 0 && errno == EEXIST && replace_ && is_replaceable(path_)) {
        result = renameat2(AT_FDCWD, folder_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE);
    }
    if (result != 0) {
        throw errno == EEXIST ? taken(path_) : system_failure(path_.string(), "cannot rename the finished folder");
    }
    sync_folder(path_.has_parent_path() ? path_.parent_path() : ".");
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
}

// After a run that has finished no shard nothing is worth keeping.
void model_output::remove_if_empty() const {
    std::error_code error;
    if (fs::exists(notes_, error) && fs::is_empty(notes_, error)) {
        fs::remove_all(partial_, error);
    }
}

kernel_figures write_model(model_output &output, const conversion &what, int threads,
                           const progress_function &advance) {
    size_t shards = what.input().shard_count();
    size_t processors = threads > 0 ? static_cast<size_t>(threads) : std::max(std::thread::hardware_concurrency(), 1u);
    size_t workers = std::min(processors, shards);
    qdq_set_num_threads(static_cast<int32_t>(std::max<size_t>(processors / workers, 1)));
    std::atomic<bool> stopped = false;
    std::mutex mutex;
    kernel_figures figures;
    output.begin();
    auto advance_or_stop = [&](uint64_t bytes) {
        if (stopped) {
            throw failure("stopped");  // another thread's failure is the one that is told
        }
        advance(bytes);
    };
    auto write_shard = [&](size_t shard) {
        if (output.is_finished(shard)) {
            advance(input_bytes(what.input(), shard));
            return;
        }
        kernel_figures of_shard = output.write_shard(shard, advance_or_stop);
        std::lock_guard lock(mutex);
        figures.add(of_shard);
    };
    run_in_parallel(workers, shards, write_shard, [&] { stopped = true; });
    output.finish();
    return figures;
}

}  // namespace qdq_cli

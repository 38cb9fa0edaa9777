#include "conversion/model_output.h"

#include "files/file_kinds.h"
#include "files/model_folder.h"
#include "files/safetensors.h"
#include "files/work_folder.h"
#include "support/atomic_file.h"
#include "support/error.h"
#include "support/interrupt.h"
#include "support/parallel.h"
#include "support/parsing.h"
#include "support/renaming.h"
#include "support/scratch_buffer.h"
#include "support/text.h"
#include "support/version.h"
#include "support/words.h"
#include "tensors/digest.h"

#include <qdq/qdq.h>

#include <fcntl.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
#include <thread>

namespace qdq::model {

namespace fs = std::filesystem;

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

// What a model's folder has beside its weights, at its top or in a folder of a part.
constexpr std::string_view model_files[] = {
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "model.safetensors",
    "model.safetensors.index.json",
};

// "model-00001-of-00004.safetensors"
bool is_shard_name(std::string_view name) {
    auto digits = [&] {
        size_t count = std::min(name.find_first_not_of("0123456789"), name.size());
        name.remove_prefix(count);
        return count != 0;
    };
    auto text = [&](std::string_view wanted) {
        bool found = name.starts_with(wanted);
        name.remove_prefix(found ? wanted.size() : 0);
        return found;
    };
    return text("model-") && digits() && text("-of-") && digits() && text(".safetensors") && name.empty();
}

bool is_model_file(const std::string &path) {
    std::string name = fs::path(path).filename().string();
    return std::ranges::find(model_files, name) != std::end(model_files) || is_shard_name(name);
}

void write_file(const folder &inside, const std::string &name, std::string_view text) {
    atomic_file file(inside, name, true);
    file.write(0, std::as_bytes(std::span(text)));
    file.publish();
}

// Copies a file to a path in a folder.
void copy_whole(const fs::path &from, const folder &to, const fs::path &path) {
    if (std::ranges::distance(path) > 1) {
        folder inside = folder::create(to, path.begin()->string());
        return copy_whole(from, inside, path.lexically_relative(*path.begin()));
    }
    input_file source(from);
    atomic_file target(to, path.string(), true);
    for_each_piece(source.size(), uint64_t{1} << 20, [&](uint64_t offset, std::span<std::byte> bytes) {
        source.read(offset, bytes);
        target.write(offset, bytes);
    });
    source.check_unchanged();
    target.publish();
}

std::string text_of(const tensor_list &tensors) {
    std::string text;
    for (const tensor_info &tensor : tensors) {
        text += std::to_string(tensor.name.size()) + " " + tensor.name + " " + std::string(tensor.type->name) + " " +
                shape_text(tensor.shape) + "\n";
    }
    return text;
}

void refuse_losses(const fs::path &path, const std::vector<std::string> &lost) {
    if (!lost.empty()) {
        throw failure(path.string() + ": exists, and " + replacing_option() +
                      " would lose what no model has: " + some_of(lost));
    }
}

failure taken(const fs::path &path) {
    return failure(path.string() + ": exists already; " + replacing_option() + " replaces it");
}

}  // namespace

// What is noted of a finished shard: what it was made by and of, and the digest of its file.
struct model_output::note {
    std::string version, input, conversion, digest;
    std::map<std::string, std::string> tensors;  // the digests of those that were read

    bool is_same_work(const note &other) const {
        return version == other.version && input == other.input && conversion == other.conversion;
    }
};

model_output::model_output(const transformation &what, const output_options &output)
    : what_(what),
      input_(*folder_of(what.input())),
      path_(without_slash(output.path)),
      replace_(output.replace),
      config_(input_.config()),
      other_files_(input_.other_files()),
      input_digest_(digest_of(text_of(input_.tensors()))) {
    check_place();
    if (config_.is_null()) {
        throw failure(input_.path() + ": it has no " + config_name);
    }
    name_in_failures(input_.path(), [&] { what.configure(config_); });
}

// After a run that has finished no shard nothing is worth keeping.
model_output::~model_output() {
    try {
        if (work_ && work_->notes().names().empty()) {
            work_->remove();
        }
    } catch (const failure &) {
        work_.reset();  // it stays for the next run
    }
}

std::set<std::string> model_output::expected_files() const {
    std::set<std::string> files = {config_name};
    for (size_t shard = 0; shard < input_.shard_count(); ++shard) {
        files.insert(input_.shard_name(shard));
    }
    if (!input_.index().is_null()) {
        files.insert(index_name);
    }
    for (const fs::path &name : other_files_) {
        files.insert(name.string());
    }
    return files;
}

// The files of a folder that replacing it would lose.
std::vector<std::string> model_output::losses(const folder &old) const {
    std::set<std::string> expected = expected_files();
    std::vector<std::string> lost;
    std::ranges::copy_if(files_below(old), std::back_inserter(lost),
                         [&](const std::string &file) { return !expected.contains(file) && !is_model_file(file); });
    return lost;
}

void model_output::check_place() const {
    if (is_inside(path_, input_.path()) || is_inside(input_.path(), path_)) {
        throw usage_error(path_.string() + ": the output and the input " + input_.path() +
                          " would be one inside the other");
    }
    fs::file_status status = fs::symlink_status(path_);
    if (!fs::exists(status)) {
        return;
    }
    if (!replace_) {
        throw taken(path_);
    }
    if (!fs::is_directory(status)) {
        throw failure(path_.string() + ": exists, and is no folder" +
                      (fs::is_symlink(status) ? " but a symbolic link; name what it leads to" : ""));
    }
    refuse_losses(path_, losses(folder(path_)));
}

void model_output::begin() {
    work_ = std::make_unique<work_folder>(work_folder::create(path_));
    work_->announce(expected_files());
}

model_output::note model_output::expected_note(size_t shard) const {
    std::string results = what_.description() + "\n" + text_of(what_.outputs(shard));
    for (const auto &[key, value] : what_.metadata(shard)) {
        results.append(std::to_string(key.size())).append(" ").append(key).append(" ").append(value).append("\n");
    }
    return {std::string(qdq_version()) + " " + commit, input_digest_, digest_of(results), "", {}};
}

model_output::note model_output::read_note(const work_folder &work, size_t shard) const {
    std::string name = note_name(input_.shard_name(shard));
    if (!work.notes().status_of(name)) {
        return {};
    }
    try {
        json text = parse_json(input_file(work.notes(), name).text());
        auto field = [&](const char *key) { return text.at(key).get<std::string>(); };
        return {field("version"), field("input"), field("conversion"), field("digest"),
                text.at("tensors").get<std::map<std::string, std::string>>()};
    } catch (const json_error &) {
        return {};  // not a note
    } catch (const failure &) {
        return {};
    }
}

void model_output::write_note(const work_folder &work, size_t shard, const note &done) const {
    json text = {{"version", done.version},
                 {"input", done.input},
                 {"conversion", done.conversion},
                 {"digest", done.digest},
                 {"tensors", done.tensors}};
    write_file(work.notes(), note_name(input_.shard_name(shard)), text.dump());
}

// Whether tensors of the input still have these digests.
bool model_output::has_digests(const std::map<std::string, std::string> &tensors) const {
    return std::ranges::all_of(tensors, [&](const auto &each) {
        std::optional<size_t> index = input_.find(each.first);
        return index && digest_of_tensor(input_, *index) == each.second;
    });
}

bool model_output::is_finished(size_t shard) const {
    std::optional<work_folder> others;
    const work_folder &work = work_ ? *work_ : others.emplace(path_);
    note found = read_note(work, shard);
    const std::string &name = input_.shard_name(shard);
    return found.is_same_work(expected_note(shard)) && work.model().status_of(name) &&
           digest_of_file(input_file(work.model(), name)) == found.digest && has_digests(found.tensors);
}

kernel_figures model_output::write_shard(size_t shard, const progress_function &advance) const {
    std::optional<work_folder> others;
    const work_folder &work = work_ ? *work_ : others.emplace(path_);
    const std::string &name = input_.shard_name(shard);
    work.notes().remove_file(note_name(name));
    safetensors_writer writer(work.model(), name, what_.outputs(shard), what_.metadata(shard));
    digesting_source source(input_);
    kernel_figures figures = what_.write(shard, source, writer, advance);
    writer.commit();
    note done = expected_note(shard);
    done.digest = digest_of_file(input_file(work.model(), name));
    done.tensors = source.digests();
    write_note(work, shard, done);
    return figures;
}

void model_output::write_index() const {
    json index = input_.index();
    uint64_t total = 0;
    json map = json::object();
    for (size_t shard = 0; shard < input_.shard_count(); ++shard) {
        tensor_list tensors = what_.outputs(shard);
        total += byte_size(tensors);
        for (const tensor_info &tensor : tensors) {
            map[tensor.name] = input_.shard_name(shard);
        }
    }
    index["weight_map"] = map;
    index["metadata"]["total_size"] = total;
    write_file(work_->model(), index_name, index.dump(2) + "\n");
}

void model_output::finish() {
    for (size_t shard = 0; shard < input_.shard_count(); ++shard) {
        const std::string &name = input_.shard_name(shard);
        if (!read_note(*work_, shard).is_same_work(expected_note(shard)) || !work_->model().status_of(name)) {
            throw failure(path_.string() + ": " + shortened(name) + " is not written yet");
        }
    }
    if (!input_.index().is_null()) {
        write_index();
    }
    write_file(work_->model(), config_name, config_.dump(2) + "\n");
    for (const fs::path &name : other_files_) {
        copy_whole(fs::path(input_.path()) / name, work_->model(), name);
    }
    sync_all(work_->model());
    publish();
}

void model_output::publish() {
    throw_if_interrupted();
    int from = work_->self().descriptor(), to = work_->parent().descriptor();
    std::string name = path_.filename().string();
    int result = rename_from(from, model_name, to, name.c_str(), renaming::keeps);
    if (result != 0 && errno == EINVAL && !work_->parent().status_of(name)) {  // a file system without such renaming
        result = renameat(from, model_name, to, name.c_str());
    }
    if (result != 0 && errno == EEXIST && replace_) {
        replace();
    } else if (result != 0) {
        throw errno == EEXIST ? taken(path_) : system_failure(path_.string(), "cannot rename the finished folder");
    }
    work_->parent().sync();
    work_->remove();
}

// The old folder takes the place of the new one, from where it is removed. What is removed is what was looked at: the
// names are told before, and in the working folder nobody else exchanges it for something else.
void model_output::replace() {
    std::string name = path_.filename().string();
    folder old(work_->parent(), name);
    refuse_losses(path_, losses(old));
    work_->announce_more(files_below(old));
    auto exchange = [&] {
        return rename_from(work_->self().descriptor(), model_name, work_->parent().descriptor(), name.c_str(),
                           renaming::exchanges);
    };
    if (exchange() != 0) {
        throw system_failure(path_.string(), "cannot rename the finished folder");
    }
    if (!old.is_at(work_->self(), model_name)) {
        exchange();
        throw failure(path_.string() + ": it has changed meanwhile");
    }
}

void write_model(model_output &output, const transformation &what, int threads, const progress_function &advance,
                 finished_shards &finished) {
    size_t shards = what.input().shard_count();
    size_t processors = threads > 0 ? static_cast<size_t>(threads) : std::max(std::thread::hardware_concurrency(), 1u);
    size_t workers = std::min(processors, shards);
    qdq_set_num_threads(static_cast<int32_t>(std::max<size_t>(processors / workers, 1)));
    std::atomic<bool> stopped = false;
    std::mutex mutex;
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
            std::lock_guard lock(mutex);
            ++finished.count;
            ++finished.taken_over;
            return;
        }
        kernel_figures of_shard = output.write_shard(shard, advance_or_stop);
        std::lock_guard lock(mutex);
        ++finished.count;
        finished.figures.add(of_shard);
    };
    run_in_parallel(workers, shards, write_shard, [&] { stopped = true; });
    output.finish();
}

void write_output(const transformation &what, const output_options &output, int threads,
                  const progress_function &advance, finished_shards &finished) {
    if (what.input().kind().holds == holding::model && kind_named(output.path).holds != holding::graph) {
        model_output model(what, output);
        write_model(model, what, threads, advance, finished);
        return;
    }
    std::unique_ptr<tensor_writer> writer = create_writer(output, what.input(), what.outputs(0), what.metadata(0));
    finished.figures = what.write(0, what.input(), *writer, advance);
    writer->commit();
}

void check_writable(const transformation &what) {
    if (const model_folder *folder = folder_of(what.input())) {
        json config;
        what.configure(config);
        static_cast<void>(folder->other_files());
    }
}

}  // namespace qdq::model

#pragma once

#include "conversion/transformation.h"

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace qdq::model {

class folder;
class model_folder;
class work_folder;

// A folder that is there whole or not at all: it is made in a work_folder beside its place, and renamed at the end.
// What a run that was killed has finished of it is kept, and found by the next run that would write the same: shards
// whose bytes have the digest that was noted with them, of an input whose tensors have theirs, of this transformation
// and version of the program.
//
// A run is begin(), write_shard() for each shard, and finish(). Shards may be written by other processes, with the same
// arguments, between begin() and finish() of one.
class model_output {
public:
    // Of a folder. Throws failure where the place is taken, and where a file of the input can't be copied; usage_error
    // where the folder would be inside the input or around it. With `replace` a folder there is replaced, if it has
    // nothing but what a model has.
    model_output(const transformation &what, const output_options &output);
    ~model_output();
    model_output(const model_output &) = delete;
    model_output &operator=(const model_output &) = delete;

    // Makes the working folder, or finds it, and locks it. Throws failure where another process has the lock, and where
    // it is not this user's.
    void begin();

    // Whether an earlier run has left this shard whole. Reads all of it, and what it was made of.
    bool is_finished(size_t shard) const;
    kernel_figures write_shard(size_t shard, const progress_function &advance) const;

    // Writes config.json, the index and the other files, and gives the folder its name. Throws failure where a shard is
    // missing.
    void finish();

    const std::filesystem::path &path() const { return path_; }

private:
    struct note;
    note expected_note(size_t shard) const;
    note read_note(const work_folder &work, size_t shard) const;
    void write_note(const work_folder &work, size_t shard, const note &done) const;
    bool has_digests(const std::map<std::string, std::string> &tensors) const;
    std::set<std::string> expected_files() const;
    std::vector<std::string> losses(const folder &old) const;
    void check_place() const;
    void write_index() const;
    void publish();
    void replace();

    const transformation &what_;
    const model_folder &input_;
    std::filesystem::path path_;
    bool replace_;
    json config_;
    std::vector<std::filesystem::path> other_files_;
    std::string input_digest_;  // of the names, types and shapes of its tensors
    std::unique_ptr<work_folder> work_;
};

// What a run has done of a folder.
struct finished_shards {
    kernel_figures figures;
    size_t count = 0, taken_over = 0;  // of `count` those that an earlier run has left whole
};

// Writes all shards on `threads` threads (0: one for each processor), of which those without a shard help with tensors,
// and what else the folder has. Where it throws, `finished` is what is kept.
void write_model(model_output &output, const transformation &what, int threads, const progress_function &advance,
                 finished_shards &finished);

// Writes what a transformation makes of its input, a file to a file and a folder to a folder, or an .onnx file.
void write_output(const transformation &what, const output_options &output, int threads,
                  const progress_function &advance, finished_shards &finished);

// Throws what writing it would beside the tensors of a folder: for its config.json and its other files.
void check_writable(const transformation &what);

}  // namespace qdq::model

#pragma once

#include "support/atomic_file.h"
#include "tensors/tensor_file.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qdq::model {

// The run that writes a model, while it holds a file .qdq-*.onnx beside it locked; the file goes with it. For the time
// after a run that was killed it lists the files of data that the model may not name in the end.
class onnx_lock {
public:
    // Throws failure where another process has the lock.
    explicit onnx_lock(const std::filesystem::path &model);
    ~onnx_lock();
    onnx_lock(const onnx_lock &) = delete;
    onnx_lock &operator=(const onnx_lock &) = delete;

    void list(const std::vector<std::string> &names);
    std::vector<std::string> listed() const;

private:
    std::filesystem::path path_;
    int descriptor_ = -1;
    bool is_locked_ = false;  // some file systems lock no files
};

// The files of an ONNX model that is written: the model, and beside it the one that its external data are in. Whenever
// a run ends, a model is there with its own data, the new one or that before: data get a name that no file has, then
// the model is renamed, then the data of the model that it replaces are removed.
class onnx_output {
public:
    onnx_output(const output_options &output, const tensor_reader *input);
    ~onnx_output();
    onnx_output(const onnx_output &) = delete;
    onnx_output &operator=(const onnx_output &) = delete;

    // The name of the data's file beside the model, which is only there if it is created.
    const std::string &data_name() const { return data_name_; }
    void create_data();

    void write(uint64_t offset, std::span<const std::byte> bytes) { model_.write(offset, bytes); }
    void write_data(uint64_t offset, std::span<const std::byte> bytes) { data_->write(offset, bytes); }
    void commit();

private:
    bool is_removable(const std::string &name) const;
    std::string free_data_name() const;
    void remove(const std::vector<std::string> &names) const;

    std::filesystem::path path_, folder_;
    const tensor_reader *input_;
    atomic_file model_;
    onnx_lock lock_;
    std::vector<std::string> old_data_;  // of the model that is there
    std::string data_name_;
    std::optional<atomic_file> data_;
    std::vector<std::string> doomed_;  // files of data that are removed in the end
};

}  // namespace qdq::model

#pragma once

#include "files/int4_layers.h"
#include "support/json.h"
#include "tensors/tensor_file.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace qdq::model {

// A model as Hugging Face's libraries keep it: config.json, the weights in model.safetensors or in the shards that
// model.safetensors.index.json names, and other files, as those of a tokenizer. All of its tensors are read as one
// list, each shard's in a row; layers of GPTQ and AWQ as int4_layers.h says.
class model_folder final : public tensor_reader {
public:
    // Throws failure where a file is missing, is no safetensors file, or is not as the index says.
    explicit model_folder(const std::filesystem::path &path);

    void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override;
    bool is_weight(const tensor_info &tensor) const override;
    std::string path() const override { return path_.string(); }
    bool reads(const std::filesystem::path &path) const override;
    void check_unchanged() const override;
    size_t shard_count() const override { return shards_.readers.size(); }
    size_t shard_of(size_t index) const override { return shards_.places[presented_[index].from].shard; }
    stored_form form(size_t index) const override;

    const std::string &shard_name(size_t shard) const { return shards_.names[shard]; }

    // config.json; null where there is none.
    const json &config() const { return config_; }

    // model.safetensors.index.json; null where there is none, and one file.
    const json &index() const { return index_; }

    // The files that are neither of these nor shards, nor say how layers are kept that are read as others, by their
    // paths in the folder. Those of hidden folders are not among them; those of folders that links lead to are. Throws
    // failure where a link leads nowhere, or to a folder that is among them already, and at what is neither a file nor
    // a folder.
    std::vector<std::filesystem::path> other_files() const;

    // Of the shards and other files those that links lead to out of the folder, a sentence for each. Those in the cache
    // of Hugging Face's hub, where all files are links, are not among them.
    std::vector<std::string> links_out() const;

private:
    // What the files have.
    struct shard_list final : tensor_source {
        struct place {
            size_t shard, index;
        };

        const tensor_list &tensors() const override { return all; }
        void read_at(size_t index, uint64_t offset, std::span<std::byte> bytes) const override {
            readers[places[index].shard]->read_at(places[index].index, offset, bytes);
        }

        std::vector<std::string> names;
        std::vector<std::unique_ptr<tensor_reader>> readers;
        tensor_list all;
        std::vector<place> places;  // of each tensor
    };

    int64_t vocabulary() const;
    void open_shards();
    void open_shard(const std::string &name);
    void check_index() const;
    void present();

    std::filesystem::path path_;
    json config_, index_;
    shard_list shards_;
    std::vector<presented_tensor> presented_;
    bool has_int4_config_ = false;
};

// The folder that is read; null: it is a file.
const model_folder *folder_of(const tensor_reader &input);

constexpr const char *config_name = "config.json", *index_name = "model.safetensors.index.json";

}  // namespace qdq::model

#include "parameters.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>

namespace qdq {

parameters read_parameters(const std::string &target_name) {
    const std::string path = std::string(QDQ_TUNED_DIR) + "/" + target_name + ".json";
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    const nlohmann::json json = nlohmann::json::parse(file);
    return {
        .vector = json.at("vector"),
        .stored_vector = json.at("stored_vector"),
        .narrowing_vector = json.at("narrowing_vector"),
        .decoding_vector = json.at("decoding_vector"),
        .transpose_rows = json.at("transpose_rows"),
    };
}

}  // namespace qdq

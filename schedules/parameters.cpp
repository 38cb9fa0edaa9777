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
        .quantize_vector = json.at("quantize").at("vector"),
        .dequantize_vector = json.at("dequantize").at("vector"),
        .dequantize_unroll = json.at("dequantize").at("unroll"),
    };
}

}  // namespace qdq

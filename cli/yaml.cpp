#include "yaml.h"

#include "error.h"
#include "text.h"

#include <charconv>
#include <fstream>
#include <utility>

#if QDQ_YAML
#include <yaml-cpp/yaml.h>
#endif

namespace qdq_cli {

using nlohmann::json;

bool is_yaml(const std::filesystem::path &path) { return path.extension() == ".yaml" || path.extension() == ".yml"; }

#if QDQ_YAML

namespace {

class converter {
public:
    json value(const YAML::Node &node, int depth = 0) {
        constexpr int deepest = 20;
        constexpr size_t most = 100'000;
        if (depth > deepest || ++count_ > most) {
            throw failure("it has more than " + std::to_string(most) + " values, or " + std::to_string(deepest) +
                          " levels");
        }
        switch (node.Type()) {
        case YAML::NodeType::Scalar: return scalar(node);
        case YAML::NodeType::Sequence: {
            json list = json::array();
            for (const YAML::Node &each : node) {
                list.push_back(value(each, depth + 1));
            }
            return list;
        }
        case YAML::NodeType::Map: {
            json map = json::object();
            for (const auto &each : node) {
                std::string name = utf8_name(each.first.Scalar());
                if (!map.emplace(name, value(each.second, depth + 1)).second) {
                    throw failure("it has \"" + printable(name) + "\" twice");
                }
            }
            return map;
        }
        default: return nullptr;
        }
    }

private:
    // yaml-cpp's tag of what is quoted is "!", and of what is not "?".
    static json scalar(const YAML::Node &node) {
        std::string text = utf8_name(node.Scalar());
        if (node.Tag() == "!" || (node.Tag() == "?" && text.empty())) {
            return text;
        }
        if (node.Tag() != "?") {
            throw failure("it has the tag " + printable(node.Tag()) + ", which is not supported");
        }
        if (text == "true" || text == "false") {
            return text == "true";
        }
        int64_t number = 0;
        auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        bool is_number = error == std::errc() && rest == text.data() + text.size();
        return is_number ? json(number) : json(std::move(text));
    }

    size_t count_ = 0;
};

}  // namespace

json read_yaml(const std::filesystem::path &path) {
    std::ifstream file(path);
    if (!file) {
        throw system_failure(path.string(), "cannot open");
    }
    json content;
    in_file(path.string(), [&] {
        try {
            content = converter().value(YAML::Load(file));
        } catch (const YAML::Exception &error) {
            throw failure("it is not valid YAML, in its line " + std::to_string(error.mark.line + 1) + ": " +
                          error.msg);
        }
    });
    return content;
}

#else

json read_yaml(const std::filesystem::path &path) {
    throw failure(path.string() + ": this build of qdq reads recipes in JSON alone");
}

#endif

}  // namespace qdq_cli

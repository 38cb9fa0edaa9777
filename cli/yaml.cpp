#include "yaml.h"

#include "support/error.h"
#include "support/parsing.h"
#include "support/text.h"

#include <charconv>
#include <utility>

#if QDQ_YAML
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>
#endif

namespace qdq::cli {

using namespace qdq::model;

bool is_yaml(const std::filesystem::path &path) { return path.extension() == ".yaml" || path.extension() == ".yml"; }

#if QDQ_YAML

namespace {

class converter {
public:
    json value(const YAML::Node &node, size_t depth = 0) {
        take(1);
        if (node.IsSequence() || node.IsMap()) {
            check_level(depth);
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
                if (!each.first.IsScalar()) {
                    throw failure("it has a key that is no text");
                }
                std::string name = text_of(each.first);
                if (!map.emplace(name, value(each.second, depth + 1))) {
                    throw failure("it has \"" + shortened(name) + "\" twice");
                }
            }
            return map;
        }
        default: return nullptr;
        }
    }

private:
    // What a few aliases can make of a small file.
    void take(size_t bytes) {
        bytes_ += bytes;
        if (bytes_ > max_yaml_bytes) {
            throw failure("its values, with aliases written out, have more than " + std::to_string(max_yaml_bytes) +
                          " bytes");
        }
    }

    std::string text_of(const YAML::Node &scalar) {
        take(scalar.Scalar().size());
        return utf8_name(scalar.Scalar());
    }

    // yaml-cpp's tag of what is quoted is "!", and of what is not "?".
    json scalar(const YAML::Node &node) {
        std::string text = text_of(node);
        if (node.Tag() == "!" || (node.Tag() == "?" && text.empty())) {
            return text;
        }
        if (node.Tag() != "?") {
            throw failure("it has the tag " + shortened(node.Tag()) + ", which is not supported");
        }
        if (text == "true" || text == "false") {
            return text == "true";
        }
        if (int64_t number = 0; is_whole<int64_t>(text, number)) {
            return number;
        }
        const bool is_decimal = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
        double number = 0;
        return is_decimal && is_whole<double>(text, number) ? json(number) : json(std::move(text));
    }

    template<typename T> static bool is_whole(const std::string &text, T &number) {
        auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        return error == std::errc() && rest == text.data() + text.size();
    }

    size_t bytes_ = 0;
};

}  // namespace

json read_yaml(const std::filesystem::path &path) {
    std::string text = read_text(path, max_yaml_bytes);
    json content;
    name_in_failures(path.string(), [&] {
        try {
            content = converter().value(YAML::Load(text));
        } catch (const YAML::DeepRecursion &) {  // of 500 levels
            check_level(max_levels);
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

}  // namespace qdq::cli

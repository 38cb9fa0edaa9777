#pragma once

#include "support/json.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace qdq::model {

// The bounds of all that is parsed. Without them a file could nest its values so deep that a call for each level
// exhausts the stack, or that the indentation of what is written is quadratic in what was read.

// The bytes of a header, and of a file in JSON: the limit of safetensors' own library. The largest
// model.safetensors.index.json of today has some 20 MB.
constexpr uint64_t max_text_bytes = 100'000'000;

// The bytes of a file in YAML, and of its values with aliases written out: yaml-cpp takes up to 500 times the memory.
constexpr uint64_t max_yaml_bytes = 1'000'000;

// Lists and objects in one another. A config.json that is itself quantized has seven.
constexpr size_t max_levels = 20;

// Throws failure where there are already as many around a further one. `what` begins its message.
void check_level(size_t levels_around, const std::string &what = "it");

// The whole of a file, which may be a pipe. Throws failure where it cannot be read, or has more bytes.
std::string read_text(const std::filesystem::path &path, uint64_t most = max_text_bytes);

// What comes while JSON is parsed, all that is read.
class json_events {
public:
    virtual ~json_events() = default;

    // Throws failures, `interrupted`, and what the events throw.
    void parse(const std::string &text, bool with_comments = false);

protected:
    // `what` is parsed, by the messages of failures.
    explicit json_events(std::string what = "it") : what_(std::move(what)) {}

    // The lists and objects around what comes.
    size_t depth() const { return depth_; }

    virtual void name(std::string &key) = 0;
    virtual void value(json scalar) = 0;
    virtual void begin(json empty) = 0;  // a list or an object
    virtual void end() = 0;

private:
    friend class parser_events;

    std::string what_;
    size_t depth_ = 0;
};

// The value of a text in JSON; of a key that comes twice the last. Throws failure.
json parse_json(const std::string &text, bool with_comments = false);

// That of a regular file: what lies in somebody's folder may be a FIFO, which would never end.
json read_json(const std::filesystem::path &path);

}  // namespace qdq::model

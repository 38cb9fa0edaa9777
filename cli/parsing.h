#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace qdq_cli {

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

// The events of nlohmann's parser, to which all JSON comes that is read. It throws failures, and `interrupted`.
class json_events : public nlohmann::json_sax<nlohmann::json> {
public:
    bool null() final { return scalar(nullptr); }
    bool boolean(bool value) final { return scalar(value); }
    bool number_integer(number_integer_t value) final { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) final { return scalar(value); }
    bool number_float(number_float_t value, const string_t &) final { return scalar(value); }
    bool string(string_t &value) final { return scalar(std::move(value)); }
    bool binary(binary_t &) final { return false; }  // JSON has none
    bool key(string_t &name) final;
    bool start_object(size_t) final { return start(nlohmann::json::object()); }
    bool start_array(size_t) final { return start(nlohmann::json::array()); }
    bool end_object() final { return finish(); }
    bool end_array() final { return finish(); }
    bool parse_error(size_t position, const std::string &token, const nlohmann::json::exception &error) final;

protected:
    // `what` is parsed, by the messages of failures.
    explicit json_events(std::string what = "it") : what_(std::move(what)) {}

    // The lists and objects around what comes.
    size_t depth() const { return depth_; }

    virtual void name(std::string &key) = 0;
    virtual void value(nlohmann::json scalar) = 0;
    virtual void begin(nlohmann::json empty) = 0;  // a list or an object
    virtual void end() = 0;

private:
    bool scalar(nlohmann::json value);
    bool start(nlohmann::json empty);
    bool finish();

    std::string what_;
    size_t depth_ = 0;
};

// The value of a text in JSON; of a key that comes twice the last. Throws failure.
nlohmann::json parse_json(const std::string &text, bool with_comments = false);

// That of a regular file: what lies in somebody's folder may be a FIFO, which would never end.
nlohmann::json read_json(const std::filesystem::path &path);

}  // namespace qdq_cli

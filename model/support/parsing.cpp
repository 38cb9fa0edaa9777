#include "support/parsing.h"

#include "support/error.h"
#include "support/input_file.h"
#include "support/interrupt.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace qdq::model {

namespace {

void check_size(const std::filesystem::path &path, uint64_t bytes, uint64_t most) {
    if (bytes > most) {
        throw failure(path.string() + ": it has more than " + std::to_string(most) + " bytes");
    }
}

class json_builder : public json_events {
public:
    json result;

private:
    void name(std::string &key) override { key_ = std::move(key); }
    void value(json scalar) override { next() = std::move(scalar); }
    void begin(json empty) override {
        json &place = next();
        place = std::move(empty);
        open_.push_back(&place);
    }
    void end() override { open_.pop_back(); }

    json &next() {
        if (open_.empty()) {
            return result;
        }
        json &parent = *open_.back();
        return parent.is_object() ? parent[key_] : parent.push_back({});
    }

    std::vector<json *> open_;  // nothing is added to a list or an object while one in it is open
    std::string key_;
};

}  // namespace

void check_level(size_t levels_around, const std::string &what) {
    if (levels_around >= max_levels) {
        throw failure(what + " has more than " + std::to_string(max_levels) + " levels of lists and objects");
    }
}

std::string read_text(const std::filesystem::path &path, uint64_t most) {
    constexpr size_t piece = size_t{1} << 20;
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw system_failure(path.string(), "cannot open");
    }
    std::string text;
    while (file) {
        throw_if_interrupted();
        size_t size = text.size();
        text.resize(size + piece);
        file.read(text.data() + size, piece);
        text.resize(size + static_cast<size_t>(file.gcount()));
        check_size(path, text.size(), most);
    }
    if (file.bad()) {
        throw system_failure(path.string(), "cannot read");
    }
    return text;
}

// Those of nlohmann's parser.
class parser_events final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit parser_events(json_events &told) : told_(told) {}

    bool null() override { return scalar(nullptr); }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t &) override { return scalar(value); }
    bool string(string_t &value) override { return scalar(std::move(value)); }
    bool binary(binary_t &) override { return false; }  // JSON has none
    bool key(string_t &name) override {
        throw_if_interrupted();
        told_.name(name);
        return true;
    }
    bool start_object(size_t) override { return start(json::object()); }
    bool start_array(size_t) override { return start(json::array()); }
    bool end_object() override { return finish(); }
    bool end_array() override { return finish(); }

    // The parser's own message may quote the file, whatever bytes are there.
    bool parse_error(size_t position, const std::string &, const nlohmann::json::exception &) override {
        throw failure(told_.what_ + " is not valid JSON, at its byte " + std::to_string(position));
    }

private:
    bool scalar(json value) {
        told_.value(std::move(value));
        return true;
    }

    bool start(json empty) {
        throw_if_interrupted();
        check_level(told_.depth_, told_.what_);
        told_.begin(std::move(empty));
        ++told_.depth_;
        return true;
    }

    bool finish() {
        --told_.depth_;
        told_.end();
        return true;
    }

    json_events &told_;
};

void json_events::parse(const std::string &text, bool with_comments) {
    parser_events events(*this);
    nlohmann::json::sax_parse(text, &events, nlohmann::json::input_format_t::json, true, with_comments);
}

json parse_json(const std::string &text, bool with_comments) {
    json_builder builder;
    builder.parse(text, with_comments);
    return std::move(builder.result);
}

json read_json(const std::filesystem::path &path) {
    input_file file(path);
    check_size(path, file.size(), max_text_bytes);
    std::string text(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    json content;
    name_in_failures(path.string(), [&] { content = parse_json(text); });
    return content;
}

}  // namespace qdq::model

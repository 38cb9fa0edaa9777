#include "json_entries.h"

#include "error.h"
#include "interrupt.h"
#include "text.h"

#include <utility>

namespace qdq_cli {

using nlohmann::json;

namespace {

// The events of nlohmann's parser, which calls them for the whole nesting. The object of all entries is at depth 1, an
// entry at depth 2, a list in it at depth 3.
class event_handler : public nlohmann::json_sax<json> {
public:
    event_handler(size_t max_list, entry_visitor &visitor) : max_list_(max_list), visitor_(visitor) {}

    bool null() override { return scalar(nullptr); }
    bool boolean(bool value) override { return scalar(value); }
    bool number_integer(number_integer_t value) override { return scalar(value); }
    bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
    bool number_float(number_float_t value, const string_t &) override { return scalar(value); }
    bool string(string_t &value) override { return scalar(std::move(value)); }
    bool binary(binary_t &) override { return false; }  // JSON has none
    bool start_object(size_t) override { return start(json::object()); }
    bool start_array(size_t) override { return start(json::array()); }
    bool end_object() override { return finish(); }
    bool end_array() override { return finish(); }

    bool key(string_t &name) override {
        throw_if_interrupted();
        if (depth_ == 1) {
            entry_ = std::move(name);
        } else if (depth_ == 2) {
            key_ = std::move(name);
        }
        return true;
    }

    // The parser's own message may quote the file, whatever bytes are there.
    bool parse_error(size_t position, const std::string &, const json::exception &) override {
        throw failure("the header is not valid JSON, at its byte " + std::to_string(position));
    }

private:
    bool scalar(json value) {
        if (depth_ == 0) {
            throw failure("the header is not a JSON object");
        }
        if (depth_ == 1) {
            visitor_.begin(entry_, false);
            visitor_.end();
        } else if (depth_ == 2 && in_object_) {
            visitor_.field(key_, std::move(value));
        } else if (depth_ == 3) {
            add_to_list(std::move(value));
        }
        return true;
    }

    bool start(json empty) {
        if (depth_ == 0 && !empty.is_object()) {
            throw failure("the header is not a JSON object");
        }
        if (depth_ == 1) {
            in_object_ = empty.is_object();
            visitor_.begin(entry_, in_object_);
        } else if (depth_ == 2) {
            value_ = std::move(empty);
        } else if (depth_ == 3) {
            add_to_list(nullptr);
        }
        ++depth_;
        return true;
    }

    bool finish() {
        --depth_;
        if (depth_ == 1) {
            visitor_.end();
        } else if (depth_ == 2 && in_object_) {
            visitor_.field(key_, std::move(value_));
        }
        return true;
    }

    void add_to_list(json value) {
        if (!value_.is_array() || !in_object_) {
            return;
        }
        if (value_.size() == max_list_) {
            throw failure("the header has more than " + std::to_string(max_list_) + " values in the \"" +
                          printable(key_) + "\" of " + printable(entry_));
        }
        value_.push_back(std::move(value));
    }

    size_t max_list_;
    entry_visitor &visitor_;
    size_t depth_ = 0;
    bool in_object_ = false;
    std::string entry_, key_;
    json value_;  // the list or object of a field
};

}  // namespace

void visit_entries(const std::string &header, size_t max_list, entry_visitor &visitor) {
    event_handler handler(max_list, visitor);
    json::sax_parse(header, &handler);
}

}  // namespace qdq_cli

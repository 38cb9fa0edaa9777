#include "support/json_entries.h"

#include "support/error.h"
#include "support/parsing.h"
#include "support/text.h"

#include <utility>

namespace qdq::model {

namespace {

// The object of all entries is at depth 1, an entry at depth 2, a list in it at depth 3.
class event_handler : public json_events {
public:
    event_handler(size_t max_list, entry_visitor &visitor)
        : json_events("the header"), max_list_(max_list), visitor_(visitor) {}

private:
    void name(std::string &key) override {
        if (depth() == 1) {
            entry_ = std::move(key);
        } else if (depth() == 2) {
            key_ = std::move(key);
        }
    }

    void value(json scalar) override {
        if (depth() == 0) {
            throw failure("the header is not a JSON object");
        }
        if (depth() == 1) {
            visitor_.begin(entry_, false);
            visitor_.end();
        } else if (depth() == 2 && in_object_) {
            visitor_.field(key_, std::move(scalar));
        } else if (depth() == 3) {
            add_to_list(std::move(scalar));
        }
    }

    void begin(json empty) override {
        if (depth() == 0 && !empty.is_object()) {
            throw failure("the header is not a JSON object");
        }
        if (depth() == 1) {
            in_object_ = empty.is_object();
            visitor_.begin(entry_, in_object_);
        } else if (depth() == 2) {
            value_ = std::move(empty);
        } else if (depth() == 3) {
            add_to_list(nullptr);
        }
    }

    void end() override {
        if (depth() == 1) {
            visitor_.end();
        } else if (depth() == 2 && in_object_) {
            visitor_.field(key_, std::move(value_));
        }
    }

    void add_to_list(json value) {
        if (!value_.is_array() || !in_object_) {
            return;
        }
        if (value_.size() == max_list_) {
            throw failure("the header has more than " + std::to_string(max_list_) + " values in the \"" +
                          shortened(key_) + "\" of " + shortened(entry_));
        }
        value_.push_back(std::move(value));
    }

    size_t max_list_;
    entry_visitor &visitor_;
    bool in_object_ = false;
    std::string entry_, key_;
    json value_;  // the list or object of a field
};

}  // namespace

void visit_entries(const std::string &header, size_t max_list, entry_visitor &visitor) {
    event_handler handler(max_list, visitor);
    handler.parse(header);
}

}  // namespace qdq::model

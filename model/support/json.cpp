#include "support/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace qdq::model {

// Makes what nlohmann's library writes of a value.
class json_writer {
public:
    nlohmann::json operator()(const boxed<std::string> &text) const { return *text; }
    nlohmann::json operator()(const boxed<json::list> &values) const {
        nlohmann::json array = nlohmann::json::array();
        for (const json &value : *values) {
            array.push_back(written(value));
        }
        return array;
    }
    nlohmann::json operator()(const boxed<json::fields> &values) const {
        nlohmann::json object = nlohmann::json::object();
        for (const auto &[key, value] : *values) {
            object[key] = written(value);
        }
        return object;
    }
    nlohmann::json operator()(const auto &scalar) const { return scalar; }

    static nlohmann::json written(const json &value) { return std::visit(json_writer(), value.value_); }
};

json::json(std::initializer_list<json> values) : json() {
    auto is_field = [](const json &value) { return value.is_array() && value.size() == 2 && value[0].is_string(); };
    if (!std::ranges::all_of(values, is_field)) {
        value_ = boxed(list(values));
        return;
    }
    value_ = boxed(fields());
    for (const json &field : values) {
        emplace(field[0].get<std::string>(), field[1]);
    }
}

json &json::operator=(json other) noexcept {
    value_.swap(other.value_);
    return *this;
}

template<typename T> const T &json::held() const {
    const T *value = std::get_if<T>(&value_);
    if (value == nullptr) {
        throw json_error("a value of JSON is of another type");
    }
    return *value;
}

bool json::is_number_integer() const {
    return holds<int64_t>() || (is_number_unsigned() && held<uint64_t>() <= INT64_MAX);
}

template<> bool json::get() const { return held<bool>(); }

template<> int64_t json::get() const {
    bool is_natural = is_number_unsigned() && is_number_integer();
    return is_natural ? static_cast<int64_t>(held<uint64_t>()) : held<int64_t>();
}

template<> double json::get() const {
    if (is_number_unsigned()) {
        return static_cast<double>(held<uint64_t>());
    }
    return holds<int64_t>() ? static_cast<double>(held<int64_t>()) : held<double>();
}

template<> std::string json::get() const { return *held<boxed<std::string>>(); }

template<> std::vector<int64_t> json::get() const {
    std::vector<int64_t> values;
    for (const json &each : *held<boxed<list>>()) {
        values.push_back(each.get<int64_t>());
    }
    return values;
}

template<> std::map<std::string, std::string> json::get() const {
    std::map<std::string, std::string> texts;
    for (const auto &[key, value] : items()) {
        texts.emplace(key, value.get<std::string>());
    }
    return texts;
}

size_t json::size() const { return is_object() ? items().size() : is_array() ? (*held<boxed<list>>()).size() : 0; }

const json *json::begin() const { return is_null() ? nullptr : (*held<boxed<list>>()).data(); }

const json::fields &json::items() const { return *held<boxed<fields>>(); }

json::list &json::own_list() {
    if (is_null()) {
        value_ = boxed(list());
    }
    return *held<boxed<list>>();
}

json::fields &json::own_fields() {
    if (is_null()) {
        value_ = boxed(fields());
    }
    return *held<boxed<fields>>();
}

json &json::push_back(json value) { return own_list().emplace_back(std::move(value)); }

const json *json::find(std::string_view key) const {
    if (!is_object()) {
        return nullptr;
    }
    auto found = items().find(key);
    return found == items().end() ? nullptr : &found->second;
}

const json &json::at(std::string_view key) const {
    const json *found = find(key);
    if (found == nullptr) {
        throw json_error("a value of JSON has no \"" + std::string(key) + "\"");
    }
    return *found;
}

json json::value(std::string_view key, const json &otherwise) const {
    const json *found = find(key);
    return found != nullptr ? *found : otherwise;
}

json &json::operator[](const std::string &key) { return own_fields()[key]; }

bool json::emplace(std::string key, json value) {
    return own_fields().emplace(std::move(key), std::move(value)).second;
}

void json::update(const json &other) {
    for (const auto &[key, value] : other.items()) {
        own_fields()[key] = value;
    }
}

void json::erase(const std::string &key) { own_fields().erase(key); }

std::string json::dump(int indent, bytes of_text) const {
    using handler = nlohmann::json::error_handler_t;
    try {
        return json_writer::written(*this).dump(indent, ' ', of_text == bytes::ascii,
                                                of_text == bytes::replaced ? handler::replace : handler::strict);
    } catch (const nlohmann::json::exception &error) {
        throw json_error(error.what());
    }
}

}  // namespace qdq::model

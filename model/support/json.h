#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace qdq::model {

// A value is of another kind than it is asked for, has no such field, or cannot be written: its text is no UTF-8.
class json_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A T elsewhere, copied with what holds it: a list of 50 million numbers has 16 bytes for each, not 56.
template<typename T> class boxed {
public:
    explicit boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
    boxed(const boxed &other) : boxed(T(*other.value_)) {}
    boxed(boxed &&) noexcept = default;
    boxed &operator=(const boxed &) = delete;
    boxed &operator=(boxed &&) noexcept = default;
    ~boxed() = default;

    T &operator*() const { return *value_; }

private:
    std::unique_ptr<T> value_;
};

// A value of JSON, built, asked and changed as nlohmann's, which parses and writes it: its headers take four seconds to
// compile, and stay in two files, json.cpp and parsing.cpp.
class json {
public:
    using list = std::vector<json>;
    using fields = std::map<std::string, json, std::less<>>;  // written in this order

    // The bytes of a text: as they are; beyond ASCII as \u00e4; or with U+FFFD for what is no UTF-8.
    enum class bytes { utf8, ascii, replaced };

    json(std::nullptr_t = nullptr) noexcept : value_(nullptr) {}
    json(std::same_as<bool> auto value) : value_(value) {}
    json(std::signed_integral auto value) : value_(int64_t{value}) {}
    json(std::unsigned_integral auto value)
        requires(!std::same_as<decltype(value), bool>)
        : value_(uint64_t{value}) {}
    json(double value) : value_(value) {}
    json(std::string text) : value_(boxed(std::move(text))) {}
    json(std::string_view text) : json(std::string(text)) {}
    json(const char *text) : json(std::string(text)) {}
    json(list values) : value_(boxed(std::move(values))) {}
    json(fields values) : value_(boxed(std::move(values))) {}
    json(const std::vector<int64_t> &values) : json(list(values.begin(), values.end())) {}
    json(const std::vector<std::string> &texts) : json(list(texts.begin(), texts.end())) {}
    json(const std::set<std::string> &texts) : json(list(texts.begin(), texts.end())) {}
    json(const std::map<std::string, std::string> &texts) : json(fields(texts.begin(), texts.end())) {}

    // A list; where each is a list of a text and a value, the object with these fields.
    json(std::initializer_list<json> values);

    json(const json &) = default;
    json(json &&other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
    json &operator=(json other) noexcept;
    ~json() = default;

    static json array() { return list(); }
    static json object() { return fields(); }

    bool is_null() const { return holds<std::nullptr_t>(); }
    bool is_string() const { return holds<boxed<std::string>>(); }
    bool is_array() const { return holds<boxed<list>>(); }
    bool is_object() const { return holds<boxed<fields>>(); }
    bool is_number() const { return holds<int64_t>() || is_number_unsigned() || holds<double>(); }
    bool is_number_unsigned() const { return holds<uint64_t>(); }

    // Whether get<int64_t>() gives it.
    bool is_number_integer() const;

    // Of another kind it throws json_error. T: bool, int64_t, double, std::string, std::vector<int64_t>, or
    // std::map<std::string, std::string>.
    template<typename T> T get() const;

    // Of a list, and an object; of all others 0.
    size_t size() const;
    bool empty() const { return size() == 0; }

    // The values of a list, in which null is an empty one.
    const json *begin() const;
    const json *end() const { return begin() + size(); }
    const json &operator[](size_t index) const { return begin()[index]; }
    json &push_back(json value);

    // The fields of an object. One that is changed may be null before.
    const fields &items() const;
    const json *find(std::string_view key) const;  // null: there is none, or it is no object
    bool contains(std::string_view key) const { return find(key) != nullptr; }
    const json &at(std::string_view key) const;
    json value(std::string_view key, const json &otherwise) const;
    json &operator[](const std::string &key);
    bool emplace(std::string key, json value);  // false: there is one already, which stays
    void update(const json &other);
    void erase(const std::string &key);

    // On one line, or with `indent` spaces for each level.
    std::string dump(int indent = -1, bytes of_text = bytes::utf8) const;

private:
    template<typename T> bool holds() const { return std::holds_alternative<T>(value_); }
    template<typename T> const T &held() const;
    list &own_list();
    fields &own_fields();

    friend class json_writer;
    std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, boxed<std::string>, boxed<list>, boxed<fields>>
        value_;
};

template<> bool json::get() const;
template<> int64_t json::get() const;
template<> double json::get() const;
template<> std::string json::get() const;
template<> std::vector<int64_t> json::get() const;
template<> std::map<std::string, std::string> json::get() const;

}  // namespace qdq::model

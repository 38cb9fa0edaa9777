#include "files/npy_header.h"
#include "support/error.h"
#include "tensors/tensor_file.h"

#include <optional>

namespace qdq::model {

namespace {

// Reads the Python dictionary literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
class header_parser {
public:
    explicit header_parser(const std::string &text) : text_(text) {}

    npy_header parse() {
        expect('{');
        while (!accept('}')) {
            parse_item();
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (position_ != text_.size() || !descr_ || !fortran_order_ || !shape_) {
            fail();
        }
        return {*descr_, *fortran_order_, *shape_};
    }

private:
    [[noreturn]] static void fail() { throw failure("the .npy header is corrupt"); }

    char next() const { return position_ < text_.size() ? text_[position_] : '\0'; }

    void skip_space() {
        while (next() == ' ' || next() == '\n') {
            ++position_;
        }
    }

    bool accept(char c) {
        skip_space();
        bool found = next() == c;
        position_ += found;
        return found;
    }

    void expect(char c) {
        if (!accept(c)) {
            fail();
        }
    }

    void parse_item() {
        std::string key = parse_string();
        expect(':');
        if (key == "descr" && !descr_) {
            descr_ = parse_string();
        } else if (key == "fortran_order" && !fortran_order_) {
            fortran_order_ = parse_bool();
        } else if (key == "shape" && !shape_) {
            shape_ = parse_shape();
        } else {
            fail();
        }
    }

    std::string parse_string() {
        skip_space();
        char quote = next();
        if (quote == '[') {
            throw failure("structured arrays are not supported");
        }
        size_t end = text_.find(quote, position_ + 1);
        if ((quote != '\'' && quote != '"') || end == std::string::npos) {
            fail();
        }
        std::string value = text_.substr(position_ + 1, end - position_ - 1);
        position_ = end + 1;
        return value;
    }

    bool parse_bool() {
        skip_space();
        for (const char *word : {"True", "False"}) {
            if (text_.compare(position_, std::char_traits<char>::length(word), word) == 0) {
                position_ += std::char_traits<char>::length(word);
                return word[0] == 'T';
            }
        }
        fail();
    }

    std::vector<int64_t> parse_shape() {
        std::vector<int64_t> shape;
        expect('(');
        while (!accept(')')) {
            if (shape.size() == max_rank) {
                throw failure("the .npy header tells more than " + std::to_string(max_rank) + " dimensions");
            }
            shape.push_back(parse_natural());
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return shape;
    }

    int64_t parse_natural() {
        skip_space();
        size_t begin = position_;
        int64_t value = 0;
        for (; next() >= '0' && next() <= '9'; ++position_) {
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, next() - '0', &value)) {
                fail();
            }
        }
        if (position_ == begin) {
            fail();
        }
        return value;
    }

    const std::string &text_;
    size_t position_ = 0;
    std::optional<std::string> descr_;
    std::optional<bool> fortran_order_;
    std::optional<std::vector<int64_t>> shape_;
};

}  // namespace

npy_header parse_npy_header(const std::string &text) { return header_parser(text).parse(); }

}  // namespace qdq::model

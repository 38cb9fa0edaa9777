#include "parser.h"

#include <cctype>

namespace ptx {

namespace {

struct token {
    std::string text;
    int line = 0;
};

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '%';
}

std::vector<token> tokens_of(std::string_view text) {
    std::vector<token> all;
    int line = 1;
    for (size_t i = 0; i < text.size();) {
        const char c = text[i];
        if (c == '\n') {
            ++line;
            ++i;
        } else if (std::isspace(static_cast<unsigned char>(c))) {
            ++i;
        } else if (text.substr(i, 2) == "//") {
            i = std::min(text.find('\n', i), text.size());
        } else if (is_word(c) ||
                   (c == '-' && i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1])))) {
            const size_t begin = i++;
            while (i < text.size() && is_word(text[i])) {
                ++i;
            }
            all.push_back({std::string(text.substr(begin, i - begin)), line});
        } else if (std::string_view("(){}[]<>,;:@!+=").find(c) != std::string_view::npos) {
            all.push_back({std::string(1, c), line});
            ++i;
        } else {
            throw unreadable(line, std::string("the character '") + c + "'");
        }
    }
    return all;
}

int bits_of(const token &type) {
    static const std::map<std::string, int> bits = {
        {".pred", 1}, {".b8", 8},   {".u8", 8},   {".b16", 16}, {".u16", 16}, {".s16", 16}, {".f16", 16},
        {".b32", 32}, {".u32", 32}, {".s32", 32}, {".f32", 32}, {".b64", 64}, {".u64", 64}, {".s64", 64}};
    const auto found = bits.find(type.text);
    if (found == bits.end()) {
        throw unreadable(type.line, "the type " + type.text);
    }
    return found->second;
}

bool is_number(const std::string &s) { return std::isdigit(static_cast<unsigned char>(s[s[0] == '-' ? 1 : 0])) != 0; }

uint64_t number(const token &t) {
    std::string s = t.text;
    size_t used = 0;
    uint64_t value = 0;
    try {
        if (s.starts_with("0f") || s.starts_with("0F")) {  // the bits of an f32
            value = std::stoull(s.substr(2), &used, 16);
            used = s.size() == 10 && used == 8 ? s.size() : 0;
        } else {
            if (s.ends_with("U")) {
                s.pop_back();
            }
            value = s[0] == '-' ? static_cast<uint64_t>(std::stoll(s, &used, 0)) : std::stoull(s, &used, 0);
        }
    } catch (const std::exception &) {
        used = 0;
    }
    if (used != s.size()) {
        throw unreadable(t.line, "the number " + t.text);
    }
    return value;
}

class parser {
public:
    explicit parser(std::string_view module) : tokens_(tokens_of(module)) {}

    std::vector<kernel_text> parse() {
        std::vector<kernel_text> all;
        while (at_ < tokens_.size()) {
            const token t = next();
            if (t.text == ".version" || t.text == ".target" || t.text == ".address_size") {
                if (const token value = next(); t.text == ".address_size" && value.text != "64") {
                    throw unreadable(value.line, "addresses of " + value.text + " bits");
                }
            } else if (t.text == ".visible") {
                expect(".entry");
                kernel_ = {};
                header();
                body("");
                all.push_back(std::move(kernel_));
            } else {
                throw unreadable(t.line, t.text + " outside a kernel");
            }
        }
        if (all.empty()) {
            throw unreadable(1, "no kernel");
        }
        return all;
    }

private:
    const token &peek() const {
        if (at_ == tokens_.size()) {
            throw unreadable(tokens_.empty() ? 1 : tokens_.back().line, "the text ends here");
        }
        return tokens_[at_];
    }
    token next() {
        token t = peek();
        ++at_;
        return t;
    }
    bool skip(const char *text) {
        if (peek().text != text) {
            return false;
        }
        ++at_;
        return true;
    }
    void expect(const char *text) {
        if (!skip(text)) {
            throw unreadable(peek().line, "\"" + peek().text + "\" where \"" + text + "\" belongs");
        }
    }

    void header() {
        kernel_.name = next().text;
        expect("(");
        int bytes = 0;
        while (!skip(")")) {
            expect(".param");
            const int size = bits_of(next()) / 8;
            if (skip(".ptr")) {
                expect(".align");
                next();
            }
            bytes = (bytes + size - 1) / size * size;
            const token name = next();
            if (!kernel_.parameter_named.emplace(name.text, kernel_.parameters.size()).second) {
                throw unreadable(name.line, name.text + " is declared twice");
            }
            kernel_.parameters.push_back({size, bytes});
            bytes += size;
            skip(",");
        }
        expect("{");
    }

    // Until its closing brace. What a block within declares is its own: `scope` is what its names get at the end.
    void body(const std::string &scope) {
        while (!skip("}")) {
            if (skip("{")) {
                body("#" + std::to_string(at_));
            } else if (skip(".reg")) {
                registers(scope);
            } else if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == ":") {
                const token name = next();
                expect(":");
                if (!kernel_.labels.emplace(name.text, kernel_.statements.size()).second) {
                    throw unreadable(name.line, name.text + " is there twice");
                }
            } else {
                instruction(scope);
            }
        }
    }

    void registers(const std::string &scope) {
        const int bits = bits_of(next());
        do {
            const token name = next();
            if (skip("<")) {
                const uint64_t count = number(next());
                expect(">");
                for (uint64_t i = 0; i < count; ++i) {
                    declare(name, name.text + std::to_string(i), bits);
                }
            } else {
                declare(name, name.text + scope, bits);
            }
        } while (skip(","));
        expect(";");
    }
    void declare(const token &where, const std::string &name, int bits) {
        if (!kernel_.register_bits.emplace(name, bits).second) {
            throw unreadable(where.line, name + " is declared twice");
        }
    }

    void instruction(const std::string &scope) {
        statement s;
        s.line = peek().line;
        if (skip("@")) {
            s.unless = skip("!");
            s.predicate = scoped(next().text, scope);
        }
        const token opcode = next();
        if (!std::islower(static_cast<unsigned char>(opcode.text[0]))) {
            throw unreadable(s.line, "\"" + opcode.text + "\" where an instruction belongs");
        }
        s.opcode = opcode.text;
        while (!skip(";")) {
            s.operands.push_back(read_operand(scope));
            if (peek().text != ";") {
                expect(",");
            }
        }
        kernel_.statements.push_back(std::move(s));
    }

    std::string scoped(const std::string &name, const std::string &scope) const {
        return kernel_.register_bits.count(name + scope) != 0 ? name + scope : name;
    }

    operand read_operand(const std::string &scope) {
        operand o;
        if (skip("{")) {
            o.is = operand::kind::list;
            do {
                o.names.push_back(scoped(next().text, scope));
            } while (skip(","));
            expect("}");
        } else if (skip("[")) {
            o.is = operand::kind::address;
            o.name = scoped(next().text, scope);
            if (skip("+")) {
                o.value = number(next());
            }
            expect("]");
        } else {
            const token t = next();
            if (t.text == "true" || t.text == "false") {
                o.value = t.text == "true";
            } else if (is_number(t.text)) {
                o.value = number(t);
            } else {
                o.is = operand::kind::name;
                o.name = scoped(t.text, scope);
            }
        }
        return o;
    }

    std::vector<token> tokens_;
    size_t at_ = 0;
    kernel_text kernel_;
};

}  // namespace

std::vector<kernel_text> parse(std::string_view module) { return parser(module).parse(); }

}  // namespace ptx

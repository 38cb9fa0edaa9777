#include "operations.h"
#include "program.h"

#include <sstream>

namespace ptx {

namespace {

constexpr const char *special_names[] = {"%tid.x", "%ctaid.x", "%ntid.x", "%nctaid.x"};

class decoder {
public:
    explicit decoder(const kernel_text &text) : text_(text) {
        made_.name = text.name;
        made_.parameters = text.parameters;
        for (const parameter &p : text.parameters) {
            made_.parameter_bytes = p.offset + p.bytes;
        }
    }

    program decode() {
        for (const statement &s : text_.statements) {
            made_.code.push_back(decode(s));
        }
        if (made_.code.empty() || made_.code.back().then == flow::next || made_.code.back().predicate >= 0) {
            throw unreadable(text_.statements.empty() ? 1 : text_.statements.back().line, "no end");
        }
        return std::move(made_);
    }

private:
    [[noreturn]] void refuse(const statement &s, const std::string &why) {
        throw unreadable(s.line, s.opcode + ": " + why);
    }

    int32_t place(int bits) {
        const int32_t at = made_.register_bytes;
        made_.register_bytes += lanes * (bits == 64 ? 8 : 4);
        return at;
    }

    int32_t register_named(const statement &s, const std::string &name, int &bits) {
        const auto declared = text_.register_bits.find(name);
        if (declared == text_.register_bits.end()) {
            refuse(s, "no register " + name);
        }
        bits = declared->second;
        const auto [known, is_new] = registers_.try_emplace(name, 0);
        if (is_new) {
            known->second = place(bits);
        }
        return known->second;
    }

    // A register of so many bits; or, where `wider` says so, of more bits that are kept in as much memory.
    int32_t register_of(const statement &s, const std::string &name, int wanted, bool wider = false) {
        int bits = 0;
        const int32_t at = register_named(s, name, bits);
        if (bits != wanted && !(wider && bits > wanted && (bits == 64) == (wanted == 64))) {
            refuse(s, name + " has " + std::to_string(bits) + " bits");
        }
        return at;
    }

    // A register, a number, or one of the thread's numbers.
    int32_t source(const statement &s, const operand &o, int bits, bool wider) {
        if (o.is == operand::kind::constant) {
            const auto [known, is_new] = constants_.try_emplace({o.value, bits == 64}, 0);
            if (is_new) {
                known->second = place(bits);
                made_.constants.push_back({known->second, bits == 64, o.value});
            }
            return known->second;
        }
        if (o.is != operand::kind::name) {
            refuse(s, "another kind of operand");
        }
        for (const char *name : special_names) {
            if (o.name == name) {
                const auto [known, is_new] = registers_.try_emplace(name, 0);
                if (is_new) {
                    known->second = place(32);
                    made_.specials.push_back({known->second, name});
                }
                return known->second;
            }
        }
        return register_of(s, o.name, bits, wider);
    }

    void count(const statement &s, size_t wanted) {
        if (s.operands.size() != wanted) {
            refuse(s, std::to_string(s.operands.size()) + " operands");
        }
    }

    // Of a vector access; what is stored may be a number.
    void elements(const statement &s, const operand &o, const opcode &op, instruction &i) {
        if (op.is == shape::store && o.is == operand::kind::constant && op.elements == 1) {
            i.list[0] = source(s, o, op.bits[0], false);
            return;
        }
        const std::vector<std::string> names = o.is == operand::kind::list ? o.names : std::vector{o.name};
        if (names.size() != static_cast<size_t>(op.elements) || o.is == operand::kind::address) {
            refuse(s, std::to_string(names.size()) + " elements");
        }
        for (size_t n = 0; n < names.size(); ++n) {
            i.list[n] = register_of(s, names[n], op.bits[0], op.wider_source);
        }
    }

    void address(const statement &s, const operand &o, instruction &i) {
        if (o.is != operand::kind::address) {
            refuse(s, "no address");
        }
        i.offset = o.value;
        i.a = register_of(s, o.name, 64);
    }

    instruction decode(const statement &s) {
        const auto found = opcode_table().find(s.opcode);
        if (found == opcode_table().end()) {
            refuse(s, "an unknown opcode");
        }
        const opcode *op = &found->second;
        instruction i;
        i.line = s.line;
        i.opcode = found->first.c_str();
        i.unless = s.unless;
        if (!s.predicate.empty()) {
            i.predicate = register_of(s, s.predicate, 1);
        }
        i.all = op->all;
        i.some = op->some;
        switch (op->is) {
        case shape::load_parameter: parameter_operands(s, *op, i); break;
        case shape::load:
            count(s, 2);
            elements(s, s.operands[0], *op, i);
            address(s, s.operands[1], i);
            break;
        case shape::store:
            count(s, 2);
            address(s, s.operands[0], i);
            elements(s, s.operands[1], *op, i);
            break;
        case shape::branch: {
            count(s, 1);
            const auto label = text_.labels.find(s.operands[0].name);
            if (label == text_.labels.end() || label->second >= text_.statements.size()) {
                refuse(s, "no label " + s.operands[0].name);
            }
            i.then = flow::branch;
            i.target = static_cast<int32_t>(label->second);
            break;
        }
        case shape::barrier:
            count(s, 1);
            if (s.operands[0].is != operand::kind::constant || s.operands[0].value != 0) {
                refuse(s, "another barrier than the block's first");
            }
            i.then = flow::meet;
            made_.has_barriers = true;
            break;
        case shape::finish:
            count(s, 0);
            i.then = flow::finish;
            break;
        case shape::plain: plain_operands(s, *op, i);
        }
        return i;
    }

    void parameter_operands(const statement &s, const opcode &op, instruction &i) {
        count(s, 2);
        const operand &from = s.operands[1];
        const auto named = text_.parameter_named.find(from.name);
        if (from.is != operand::kind::address || named == text_.parameter_named.end()) {
            refuse(s, "no parameter " + from.name);
        }
        const parameter &p = text_.parameters[named->second];
        const int bytes = s.opcode.ends_with("8") ? 1 : op.bits[0] / 8;
        if (from.value + static_cast<uint64_t>(bytes) > static_cast<uint64_t>(p.bytes)) {
            refuse(s, from.name + " is shorter");
        }
        i.offset = static_cast<uint64_t>(p.offset) + from.value;
        i.d = register_of(s, s.operands[0].name, op.bits[0], true);
    }

    void plain_operands(const statement &s, const opcode &op, instruction &i) {
        if (!s.operands.empty() && s.operands[0].is == operand::kind::list) {
            const opcode parts = s.opcode == "mov.b64" ? unpack_64() : unpack_32();
            if ((s.opcode != "mov.b64" && s.opcode != "mov.b32") || s.operands[0].names.size() != 2) {
                refuse(s, "parts");
            }
            count(s, 2);
            for (int n = 0; n < 2; ++n) {
                i.list[n] = register_of(s, s.operands[0].names[static_cast<size_t>(n)], parts.bits[0]);
            }
            i.all = parts.all;
            i.some = parts.some;
            i.a = source(s, s.operands[1], parts.bits[1], false);
            return;
        }
        if (s.operands.size() == 2 && s.operands[1].is == operand::kind::list) {
            const opcode whole = pack_64();
            if (s.opcode != "mov.b64" || s.operands[1].names.size() != 2) {
                refuse(s, "parts");
            }
            i.d = register_of(s, s.operands[0].name, whole.bits[0]);
            for (int n = 0; n < 2; ++n) {
                i.list[n] = register_of(s, s.operands[1].names[static_cast<size_t>(n)], whole.bits[1]);
            }
            i.all = whole.all;
            i.some = whole.some;
            return;
        }
        count(s, op.bits.size());
        i.d = register_of(s, s.operands[0].name, op.bits[0]);
        int32_t *const places[] = {&i.a, &i.b, &i.c};
        for (size_t n = 1; n < op.bits.size(); ++n) {
            int bits = 0;
            const operand &o = s.operands[n];
            if (op.all_of_64 != nullptr && op.bits[n] != 64 && text_.register_bits.count(o.name) != 0) {
                const int32_t at = register_named(s, o.name, bits);
                if (bits == 64) {
                    i.all = op.all_of_64;
                    i.some = op.some_of_64;
                    *places[n - 1] = at;
                    continue;
                }
            }
            *places[n - 1] = source(s, o, op.bits[n], op.wider_source);
        }
    }

    const kernel_text &text_;
    program made_;
    std::map<std::string, int32_t> registers_;
    std::map<std::pair<uint64_t, bool>, int32_t> constants_;
};

}  // namespace

std::vector<program> decode(std::string_view module) {
    std::istringstream lines_of{std::string(module)};
    std::vector<std::string> lines{""};  // they count from 1
    for (std::string line; std::getline(lines_of, line);) {
        lines.push_back(line);
    }
    std::vector<program> all;
    size_t instructions = 0;
    for (const kernel_text &text : parse(module)) {
        program made = decoder(text).decode();
        made.text = lines;
        made.before = instructions;
        instructions += made.code.size();
        all.push_back(std::move(made));
    }
    return all;
}

std::vector<std::string> opcodes() {
    std::vector<std::string> all;
    for (const auto &[name, op] : opcode_table()) {
        all.push_back(name);
    }
    return all;
}

}  // namespace ptx

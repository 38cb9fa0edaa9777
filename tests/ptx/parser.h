// The text of a PTX module, read: a kernel's parameters, registers, labels and instructions. What an instruction does,
// and whether it may have these operands, is for decode.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

// The text is not PTX, or has what this reader does not know.
struct unreadable : std::runtime_error {
    unreadable(int line, const std::string &why) : std::runtime_error("line " + std::to_string(line) + ": " + why) {}
};

struct operand {
    enum class kind {
        name,
        constant,
        address,
        list
    };  // a register, label or parameter; ...; [name+offset]; {name, ...}
    kind is = kind::constant;
    std::string name;
    uint64_t value = 0;  // of a constant, or what is added to an address
    std::vector<std::string> names;
};

struct statement {
    int line = 0;
    std::string opcode;     // with its types: "add.rn.f32"
    std::string predicate;  // or ""
    bool unless = false;    // the predicate is negated
    std::vector<operand> operands;
};

struct parameter {
    int bytes = 0, offset = 0;
};

struct kernel_text {
    std::string name;
    std::vector<parameter> parameters;                      // in order
    std::map<std::string, size_t> parameter_named;          // index in them
    std::map<std::string, int, std::less<>> register_bits;  // by name: 1 for predicates, 16, 32 or 64
    std::map<std::string, size_t> labels;                   // the statement that follows
    std::vector<statement> statements;
};

// The kernels of a module, at least one.
std::vector<kernel_text> parse(std::string_view module);

}  // namespace ptx

// A kernel in the form in which it runs. Registers lie in one piece of memory, each with a value for each of the 32
// lanes of a warp: 8 bytes a lane for registers of 64 bits, 4 for all others. Constants are registers that no one
// writes.
#pragma once

#include "parser.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

constexpr int lanes = 32;

struct warp;
struct instruction;
using action = void (*)(warp &, const instruction &);

enum class flow : uint8_t { next, branch, meet, finish };  // meet: at a barrier of the block

struct instruction {
    action all = nullptr;   // for 32 lanes
    action some = nullptr;  // for those of the warp's mask
    flow then = flow::next;
    bool unless = false;
    int32_t predicate = -1;              // where a register begins, as the next
    int32_t d = 0, a = 0, b = 0, c = 0;  // the result and what it is made of
    int32_t list[4] = {};                // of vector accesses, and of a move of parts
    uint64_t offset = 0;                 // added to an address; of a parameter
    int32_t target = 0;                  // of a branch
    int32_t line = 0;                    // of the text
    const char *opcode = "";
};

struct program {
    std::string name;
    std::vector<parameter> parameters;
    int parameter_bytes = 0;
    std::vector<instruction> code;
    int register_bytes = 0;
    struct constant {
        int32_t at;
        bool wide;
        uint64_t value;
    };
    std::vector<constant> constants;
    struct special {  // one of a thread's or a block's numbers
        int32_t at;
        std::string name;
    };
    std::vector<special> specials;
    std::vector<std::string> text;  // for messages
    bool has_barriers = false;
    size_t before = 0;  // instructions of the module's kernels before this one
};

// Throws unreadable where an opcode is unknown, or an operand is not what its opcode takes.
std::vector<program> decode(std::string_view module);

// Every opcode that is known.
std::vector<std::string> opcodes();

}  // namespace ptx

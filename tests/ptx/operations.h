// The opcodes: what each does for the lanes of a warp, and the registers that it takes.
#pragma once

#include "program.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ptx {

enum class shape { plain, load_parameter, load, store, branch, barrier, finish };

struct opcode {
    shape is = shape::plain;
    action all = nullptr, some = nullptr;
    std::vector<int> bits;      // of the registers: the result's, then the operands'; of memory, that of each element
    bool wider_source = false;  // the operand, or what is loaded or stored, may be in a wider register
    action all_of_64 = nullptr, some_of_64 = nullptr;  // from a register of 64 bits, where the type has less
    int elements = 1;                                  // of a vector access
};

const std::map<std::string, opcode, std::less<>> &opcode_table();

// mov.b64 {low, high}, whole; mov.b32 {low, high}, whole
opcode unpack_64();
opcode unpack_32();
// mov.b64 whole, {low, high}
opcode pack_64();

}  // namespace ptx

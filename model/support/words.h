#pragma once

#include <string>
#include <string_view>

namespace qdq::model {

// Who asked for what a message refuses. Each has words of its own for an option: --block-size of the command line,
// block_size of Python's arguments and of a recipe's keys.
enum class asker { command_line, python, recipe };

// Who asks in this process: the command line, until Python's module says that it does.
void set_asker(asker who);
asker who_asks();

// "--block-size" or "block_size" of "block-size".
std::string option_text(std::string_view name, asker who = who_asks());

// "--force" or "replace=True", and what has compressed-tensors' formats leave a tensor alone.
std::string replacing_option();
std::string excluding_option();

}  // namespace qdq::model

#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace qdq::cli {

// Prints the manual page of a command line ("man"), or completions for "bash", "zsh" or "fish".
void run_generate(const std::string &what, const CLI::App &app);

}  // namespace qdq::cli

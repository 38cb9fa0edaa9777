#pragma once

#include "commands.h"

namespace qdq::cli {

// Writes what a plan makes of its input, under a progress bar.
kernel_figures run_under_bar(const transformation &plan, const output_options &output, const target_options &target,
                             const console_options &console);

// Prints warnings on standard error, a line each, where not only errors are asked for.
void warn(const std::vector<std::string> &warnings, const console_options &console);

// Says on standard error which files of a model are links to elsewhere, for those who did not put them there: what
// they lead to is copied, and may be nobody else's business.
void tell_links_out(const transformation &plan, const console_options &console);

// Says, after a run was interrupted, which shards of a folder it has finished, if any, and how to go on.
void tell_kept(const std::filesystem::path &output, size_t finished, size_t shards);

// A table for standard output, with its first `left` columns to the left: where that is a terminal, and NO_COLOR is not
// set, the first row is in bold.
std::string terminal_table(const std::vector<std::vector<std::string>> &rows, size_t left);

// A table of what a plan makes.
void print_outputs(const transformation &plan);

}  // namespace qdq::cli

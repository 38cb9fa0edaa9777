#pragma once

#include "commands.h"
#include "conversion/conversion.h"

namespace qdq_cli {

// Writes what a conversion makes of its input, a file to a file and a folder to a folder, or an
// .onnx file, under a progress bar.
kernel_figures run_conversion(const conversion &what, const output_options &output, const target_options &target,
                              const console_options &console);

// Prints warnings on standard error, a line each, where not only errors are asked for.
void warn(const std::vector<std::string> &warnings, const console_options &console);

// The same texts for --json, escaped as they are printed.
json escaped(const std::vector<std::string> &texts);

// Says on standard error which files of the model are links to elsewhere, for those who did not put them there: what
// they lead to is copied, and may be nobody else's business.
void tell_links_out(const class model_folder &folder);

// Says, after a run was interrupted, which shards of a folder it has finished, if any, and how to go on.
void tell_kept(const std::filesystem::path &output, size_t finished, size_t shards);

// A table of what a conversion makes.
void print_outputs(const conversion &what, const output_options &output);

}  // namespace qdq_cli

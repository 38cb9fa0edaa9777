// Whole commands of the command line in this process, on files in memory, and what has to hold of each, whatever the
// files are: it ends soon, with a documented exit code, prints no control characters, and changes nothing beside its
// output. What does not hold ends the process.
#pragma once

#include "support/choices.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace qdq_fuzz {

using arguments = std::vector<std::string>;

arguments operator+(arguments a, const arguments &b);

// A folder of this process, emptied by begin(). Commands are to work on files in `work`; `outside` holds what only
// links and paths with .. lead to.
struct sandbox {
    std::filesystem::path root, work, outside;

    std::string operator/(const std::string &name) const { return work / name; }
};

const sandbox &scratch();

// Empties `work`, and fills `outside` anew.
void begin();

// Nothing where it is no file.
std::string read(const std::filesystem::path &path);

// Makes the folders that the path needs, too. Where the path cannot be, or is taken, nothing happens.
void write(const std::filesystem::path &path, std::string_view content);
void link(const std::filesystem::path &path, const std::string &target);

// Runs `qdq` with these arguments; its exit code, 0, 1 or 2. What it may change is what -o and --report name, and
// the partial folder and the data that belong to it: nothing at all where it fails, but for that partial folder.
int run(const arguments &line);

// The same, and what it wrote to standard output.
int run(const arguments &line, std::string &output);

// A command that must succeed, as one on qdq's own output.
void run_well(const arguments &line);

// Ends the process, with the reason, and what the last command was.
[[noreturn]] void broken(const std::string &why);

// The folder's files, their contents and where its links lead, as text: equal folders have equal texts.
std::string contents_of(const std::filesystem::path &folder);

// So many bytes, the first possibility where none are left.
std::string draw_bytes(test_support::choices &from, int64_t count);

// A number that a reader may not expect.
uint64_t draw_extreme(test_support::choices &from);

// Changes, removes, doubles or inserts a few bytes; most texts stay as they are.
void damage(test_support::choices &from, std::string &text);

// What is at the place of an output before it is written, and whether it is to be replaced: more arguments.
arguments draw_place(test_support::choices &from, const std::string &output);

// The values of a tensor, so many bytes of them: numbers that suit floats, or any.
std::string draw_data(test_support::choices &from, size_t size);

// Options of `quantize` that choose types and scales.
arguments draw_quantize_options(test_support::choices &from);

}  // namespace qdq_fuzz

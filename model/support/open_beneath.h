#pragma once

#include <filesystem>

namespace qdq::model {

// Opens a file for reading by its path from a folder, and follows links that stay in the folder. Throws failure where
// one would lead out of it, also one that is put there meanwhile: each part of the path is opened in the folder of the
// part before, and never followed by the kernel.
int open_file_beneath(const std::filesystem::path &folder, const std::filesystem::path &path);

}  // namespace qdq::model

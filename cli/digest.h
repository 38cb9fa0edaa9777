#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace qdq_cli {

// XXH3 of 128 bits, in hexadecimal digits: it finds damage, not forgery.
std::string digest_of(std::string_view text);
std::string digest_of_file(const std::filesystem::path &path);

}  // namespace qdq_cli

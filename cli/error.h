#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace qdq_cli {

// The work could not be done: exit code 1.
struct failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The command line asks for something meaningless: exit code 2.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// "path: what: reason", the reason taken from errno.
inline failure system_failure(const std::string &path, const std::string &what) {
    return failure(path + ": " + what + ": " + std::strerror(errno));
}

// Runs `work`; a failure in it then says in which file.
template<typename Work> void in_file(const std::string &path, Work work) {
    try {
        work();
    } catch (const failure &error) {
        throw failure(path + ": " + error.what());
    }
}

}  // namespace qdq_cli

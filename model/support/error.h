#pragma once

#include "support/text.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace qdq::model {

// The messages of both may quote names and files. They are escaped here, once and for whoever shows them, and may hold
// a zero before.

// The work could not be done: exit code 1.
struct failure : std::runtime_error {
    explicit failure(const std::string &message) : std::runtime_error(one_line(message)) {}
};

// The command line asks for something meaningless: exit code 2.
struct usage_error : std::runtime_error {
    explicit usage_error(const std::string &message) : std::runtime_error(one_line(message)) {}
};

// "path: what: reason", the reason taken from errno.
inline failure system_failure(const std::string &path, const std::string &what) {
    return failure(path + ": " + what + ": " + std::strerror(errno));
}

// Runs `work`; a failure in it then begins with the name of what was worked on.
template<typename Work> void name_in_failures(const std::string &name, Work work) {
    try {
        work();
    } catch (const failure &error) {
        throw failure(name + ": " + error.what());
    }
}

}  // namespace qdq::model

#pragma once

#include <cstddef>

namespace qdq::model {

// Thrown once a terminating signal has arrived, so that the ordinary unwinding removes temporary files.
struct interrupted {
    int signal;
};

// From here on SIGINT, SIGTERM and SIGHUP only leave a note for throw_if_interrupted(), and a write past the file size
// limit is an error instead of a SIGXFSZ.
void install_signal_handlers();

void throw_if_interrupted();

// Files are read and written by pieces of so many bytes at most: an interrupt is noticed within one of them.
inline constexpr std::size_t piece_bytes = std::size_t{16} << 20;

// Ends the process by the signal itself, so that a shell sees what happened.
[[noreturn]] void die_of(interrupted reason);

}  // namespace qdq::model

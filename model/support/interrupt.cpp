#include "support/interrupt.h"

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace qdq::model {

namespace {

std::atomic<int> pending_signal = 0;  // the signal may arrive on any thread

void note_signal(int signal) { pending_signal = signal; }

}  // namespace

void install_signal_handlers() {
    struct sigaction action = {};
    action.sa_handler = note_signal;  // without SA_RESTART: a blocked write returns and sees the note
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction old = {};
        sigaction(signal, nullptr, &old);
        if (old.sa_handler != SIG_IGN) {  // nohup and background shells ignore some of them on purpose
            sigaction(signal, &action, nullptr);
        }
    }
    std::signal(SIGXFSZ, SIG_IGN);
}

void throw_if_interrupted() {
    if (int signal = pending_signal; signal != 0) {
        throw interrupted{signal};
    }
}

void die_of(interrupted reason) {
    std::signal(reason.signal, SIG_DFL);
    std::raise(reason.signal);
    std::_Exit(128 + reason.signal);
}

}  // namespace qdq::model

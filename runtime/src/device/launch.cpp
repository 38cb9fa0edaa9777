#include "device/launch.h"

#include "support/once.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace qdq::runtime {

namespace {

thread_local device_launch *this_threads_launch = nullptr;
halide_error_handler_t previous_handler = nullptr;

void keep_error(void *user_context, const char *message) {
    device_launch *launch = current_launch(user_context);
    if (!launch) {
        previous_handler(user_context, message);
    } else if (!launch->message[0]) {
        launch->keep_message("%.*s", static_cast<int>(std::strcspn(message, "\n")), message);
    }
}

void install_handler_once() {
    made_once<[] { return previous_handler = halide_set_error_handler(keep_error); }>();
}

}  // namespace

void device_launch::keep_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
}

launch_scope::launch_scope(device_launch &launch) {
    install_handler_once();
    this_threads_launch = &launch;
}

launch_scope::~launch_scope() { this_threads_launch = nullptr; }

device_launch *this_thread_launch() { return this_threads_launch; }

device_launch *current_launch(void *user_context) {
    return user_context && user_context == this_threads_launch ? this_threads_launch : nullptr;
}

}  // namespace qdq::runtime

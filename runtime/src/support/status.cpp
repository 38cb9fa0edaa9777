#include "support/status.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {

constexpr int longest_message = 512;
thread_local char last_error[longest_message] = "no error";

}  // namespace

namespace qdq::runtime {

qdq_status fail(qdq_status status, const char *format, ...) {
    char message[longest_message];  // the last one may be among the arguments: as a name that nothing has
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    std::memcpy(last_error, message, std::strlen(message) + 1);
    return status;
}

}  // namespace qdq::runtime

const char *qdq_last_error() { return last_error; }

const char *qdq_status_string(qdq_status status) {
    switch (status) {
    case QDQ_OK: return "QDQ_OK";
    case QDQ_INVALID_ARGUMENT: return "QDQ_INVALID_ARGUMENT";
    case QDQ_UNSUPPORTED: return "QDQ_UNSUPPORTED";
    case QDQ_DEVICE_ERROR: return "QDQ_DEVICE_ERROR";
    case QDQ_OUT_OF_MEMORY: return "QDQ_OUT_OF_MEMORY";
    }
    return "unknown qdq_status";
}

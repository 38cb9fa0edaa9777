// How a failure reaches the caller: a status, and a message kept for this thread.
#pragma once

#include "qdq/qdq.h"

namespace qdq::runtime {

// Formats the message as printf does, keeps it for qdq_last_error and returns the status.
[[gnu::format(printf, 2, 3)]] qdq_status fail(qdq_status status, const char *format, ...);

}  // namespace qdq::runtime

// What aclGetRecentErrMsg says.
#pragma once

#include <cstdint>

namespace qdq::compat {

// Keeps the message, as printf shows it, until the thread's next failure, and returns the status.
[[gnu::format(printf, 2, 3)]] int32_t fail_with(int32_t status, const char *format, ...);

}  // namespace qdq::compat

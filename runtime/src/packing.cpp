#include "packing.h"

#include "kernel_call.h"

#include <cstring>

namespace qdq {

namespace {

constexpr int64_t bytes_at_once = 64;  // what one step of the kernels takes or gives

}  // namespace

void pack(const target &on, qdq_packing packing, uint8_t *codes, int64_t count, uint8_t *bytes) {
    bytes_kernel *const kernel = on.pack[packing];
    const int64_t total = (count + 1) / 2, whole = total / bytes_at_once * bytes_at_once;
    if (count % 2 != 0) {
        codes[count] = 0;
    }
    if (whole > 0) {
        call_bytes(kernel, codes, bytes, 2 * whole, whole);
    }
    if (whole < total) {
        uint8_t last[bytes_at_once];
        call_bytes(kernel, codes + 2 * whole, last, 2 * bytes_at_once, bytes_at_once);
        std::memcpy(bytes + whole, last, total - whole);
    }
}

void unpack(const target &on, qdq_packing packing, bool is_signed, const uint8_t *bytes, int64_t count,
            uint8_t *codes) {
    bytes_kernel *const kernel = is_signed ? on.unpack_signed[packing] : on.unpack[packing];
    const int64_t total = (count + 1) / 2, whole = total / bytes_at_once * bytes_at_once;
    if (whole > 0) {
        call_bytes(kernel, bytes, codes, whole, 2 * whole);
    }
    if (whole < total) {
        uint8_t last[bytes_at_once];
        std::memcpy(last, bytes + whole, total - whole);
        call_bytes(kernel, last, codes + 2 * whole, bytes_at_once, 2 * bytes_at_once);
    }
}

}  // namespace qdq

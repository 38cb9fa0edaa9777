// The contract's arithmetic rounds to nearest even and keeps subnormals, whatever mode the caller's thread is in.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace qdq {

// Default floating-point modes while it lives; the caller's come back at the end.
class default_float_environment {
public:
#if defined(__x86_64__)
    default_float_environment() : saved(_mm_getcsr()), changed((saved & modes) != defaults) {
        if (changed) {
            _mm_setcsr(defaults);
        }
    }
    ~default_float_environment() {
        if (changed) {
            _mm_setcsr(saved);
        }
    }

private:
    static constexpr unsigned modes = 0xffc0;     // all but the sticky exception flags
    static constexpr unsigned defaults = 0x1f80;  // every exception masked, nearest even, no FTZ, no DAZ
    unsigned saved;
    bool changed;
#else
#error "default_float_environment: not written for this processor"
#endif
};

}  // namespace qdq

// What peers.py times C functions by: a loop here costs a nanosecond for each call, one in Python some hundred.
#include <cstdint>

// Any function whose arguments are integers and pointers: the C ABIs of x86-64 and AArch64 let a caller pass more of
// them than are taken.
using any_function = void (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

extern "C" void qdq_bench_repeat(any_function call, const uint64_t *a, int64_t times) {
    for (int64_t i = 0; i < times; i++) {
        call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    }
}

#pragma once

#include <cstdint>
#include <string>

namespace qdq::model {

// Which of the library's kernels all calls use, on how many threads.
struct target_options {
    std::string target;  // empty: the best usable one
    int threads = 0;     // 0: one for each processor
};

void apply(const target_options &options);

// The time and the bytes of calls of the library alone.
struct kernel_figures {
    double seconds = 0;
    uint64_t bytes = 0;

    void add(const kernel_figures &more);

    // "4.1 ms in kernels, 27.3 GB/s, target x86_avx2"
    std::string text() const;
};

}  // namespace qdq::model

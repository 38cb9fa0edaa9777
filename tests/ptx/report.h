// What has run, appended to the file that QDQ_PTX_REPORT names when the process ends: tests/ptx/executed_test.py reads
// it.
#pragma once

#include "interpreter.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace ptx {

uint32_t crc32(std::string_view text);

class report {
public:
    ~report();
    // Of a kernel in a text that has so many instructions, in all of its kernels.
    void add(const program &kernel, uint32_t text_crc, size_t instructions, const counts &done,
             const std::vector<uint8_t> &executed);

private:
    struct row {
        uint64_t launches = 0;
        counts done;
        std::vector<uint8_t> executed;
        std::vector<std::string> opcodes;
    };
    std::mutex lock_;
    std::map<uint32_t, row> rows_;
};

}  // namespace ptx

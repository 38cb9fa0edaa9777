#include "report.h"

#include <cstdio>
#include <cstdlib>
#include <set>

namespace ptx {

uint32_t crc32(std::string_view text) {
    uint32_t crc = ~uint32_t{0};
    for (const char c : text) {
        crc ^= static_cast<uint8_t>(c);
        for (int bit = 0; bit < 8; ++bit) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

void report::add(const program &kernel, uint32_t text_crc, size_t instructions, const counts &done,
                 const std::vector<uint8_t> &executed) {
    const std::lock_guard hold(lock_);
    row &r = rows_[text_crc];
    ++r.launches;
    r.done += done;
    r.executed.resize(instructions);
    r.opcodes.resize(instructions);
    for (size_t i = 0; i < executed.size(); ++i) {
        r.executed[kernel.before + i] |= executed[i];
        r.opcodes[kernel.before + i] = kernel.code[i].opcode;
    }
}

report::~report() {
    const char *const path = std::getenv("QDQ_PTX_REPORT");
    std::FILE *const file = path != nullptr ? std::fopen(path, "a") : nullptr;
    if (file == nullptr) {
        return;
    }
    std::string text;
    for (const auto &[crc, r] : rows_) {
        std::set<std::string> opcodes;
        size_t executed = 0;
        for (size_t i = 0; i < r.executed.size(); ++i) {
            if (r.executed[i] != 0) {
                ++executed;
                opcodes.insert(r.opcodes[i]);
            }
        }
        for (const uint64_t n : {uint64_t{crc}, r.launches, r.done.threads, r.done.instructions, r.done.sectors,
                                 r.done.bytes, uint64_t{executed}, uint64_t{r.executed.size()}}) {
            text += std::to_string(n) + " ";
        }
        for (const std::string &opcode : opcodes) {
            text += opcode + ",";
        }
        text += "\n";
    }
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
}

}  // namespace ptx

#include "progress.h"

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <string>

namespace qdq_cli {

namespace {

constexpr auto interval = std::chrono::milliseconds(100);

}  // namespace

progress::progress(uint64_t total)
    : total_(std::max<uint64_t>(total, 1)),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_draw_(std::chrono::steady_clock::now() + interval) {}

progress::~progress() {
    if (drawn_) {
        std::fputs("\r\033[K", stderr);
    }
}

void progress::advance(uint64_t amount) {
    done_ = std::min(done_ + amount, total_);
    auto now = std::chrono::steady_clock::now();
    if (terminal_ && now >= next_draw_) {
        next_draw_ = now + interval;
        drawn_ = true;
        draw();
    }
}

void progress::draw() const {
    constexpr size_t width = 40;
    double part = static_cast<double>(done_) / static_cast<double>(total_);
    std::string bar(static_cast<size_t>(part * width), '#');
    bar.resize(width, '.');
    std::fprintf(stderr, "\r[%s] %3d%%", bar.c_str(), static_cast<int>(part * 100));
    std::fflush(stderr);
}

}  // namespace qdq_cli

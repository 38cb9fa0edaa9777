#include "progress.h"

#include "support/text.h"

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <string>

namespace qdq::cli {

using namespace qdq::model;

namespace {

constexpr auto interval = std::chrono::milliseconds(100);

}  // namespace

progress::progress(uint64_t total, unit of, bool quiet)
    : total_(std::max<uint64_t>(total, 1)),
      unit_(of),
      shown_(!quiet && isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()),
      next_draw_(begin_ + interval) {}

progress::~progress() {
    if (drawn_) {
        std::fputs("\r\033[K", stderr);
    }
}

void progress::advance(uint64_t amount) {
    std::lock_guard lock(mutex_);
    done_ = std::min(done_ + amount, total_);
    auto now = std::chrono::steady_clock::now();
    if (shown_ && now >= next_draw_) {
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
    std::string rate = unit_ == unit::bytes ? rate_text() : "";
    std::fprintf(stderr, "\r[%s] %3d%%%s\033[K", bar.c_str(), static_cast<int>(part * 100), rate.c_str());
    std::fflush(stderr);
}

std::string progress::rate_text() const {
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    double rate = std::max(static_cast<double>(done_) / seconds, 1.0);
    double left = static_cast<double>(total_ - done_) / rate;
    return "  " + bytes_text(done_) + " of " + bytes_text(total_) + "  " + bytes_text(static_cast<uint64_t>(rate)) +
           "/s  " + fixed(left, 0) + " s left";
}

}  // namespace qdq::cli

#include "plain_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace bench {

namespace {

dimensions byte_strides(const layout &of) {
    dimensions strides = strides_of(of);
    for (int64_t &each : strides) {
        each *= type_of(of.type).bytes();
    }
    return strides;
}

// Of x, or of y. Elements of ggml's blocks take a byte each.
layout elements_of(const call &c, bool of_x) {
    const layout &values = c.quantizes ? c.x : c.y;
    return c.format && of_x != c.quantizes ? layout{QDQ_U8, values.shape, {}} : of_x ? c.x : c.y;
}

// Compilers make vectors of those that are contiguous.
template<typename X, typename Y, bool x_is_contiguous, bool y_is_contiguous, typename Loop>
void copy_elements(const char *__restrict x, char *__restrict y, const Loop &row) {
    const int64_t x_step = x_is_contiguous ? int64_t{sizeof(X)} : row.x,
                  y_step = y_is_contiguous ? int64_t{sizeof(Y)} : row.y;
    for (int64_t i = 0, extent = row.extent; i < extent; i++) {
        X value;
        std::memcpy(&value, x + i * x_step, sizeof(X));
        const auto copied = static_cast<Y>(value);
        std::memcpy(y + i * y_step, &copied, sizeof(Y));
    }
}

template<typename X, typename Y, typename Loop> auto *copy_of(const Loop &row) {
    const bool x = row.x == int64_t{sizeof(X)}, y = row.y == int64_t{sizeof(Y)};
    return x && y ? copy_elements<X, Y, true, true, Loop>
           : x    ? copy_elements<X, Y, true, false, Loop>
           : y    ? copy_elements<X, Y, false, true, Loop>
                  : copy_elements<X, Y, false, false, Loop>;
}

template<typename X, typename Loop> auto *copy_of(int64_t y_bytes, const Loop &row) {
    return y_bytes == 1   ? copy_of<X, uint8_t>(row)
           : y_bytes == 2 ? copy_of<X, uint16_t>(row)
                          : copy_of<X, uint32_t>(row);
}

}  // namespace

plain_copy::memory plain_copy::memory_of(const layout &of) {
    const dimensions strides = byte_strides(of);
    int64_t below = 0, above = type_of(of.type).bytes();
    for (size_t d = 0; d < strides.size(); d++) {
        const int64_t far = (of.shape[d] - 1) * strides[d];
        (far < 0 ? below : above) += far;
    }
    return {std::vector<char>(static_cast<size_t>(above - below), 1), -below};
}

plain_copy::plain_copy(const call &c, order by) {
    const layout of_x = elements_of(c, true), of_y = elements_of(c, false);
    x = memory_of(of_x);
    y = memory_of(of_y);
    const dimensions x_strides = byte_strides(of_x), y_strides = byte_strides(of_y);
    for (size_t d = 0; d < of_x.shape.size(); d++) {
        if (of_x.shape[d] > 1) {
            loops.push_back({of_x.shape[d], x_strides[d], y_strides[d]});
        }
    }
    const int64_t x_bytes = type_of(of_x.type).bytes(), y_bytes = type_of(of_y.type).bytes();
    if (loops.empty()) {
        loops.push_back({1, x_bytes, y_bytes});
    }
    std::stable_sort(loops.begin(), loops.end(), [=](const loop &a, const loop &b) {
        return by == order::of_x ? std::abs(a.x) < std::abs(b.x) : std::abs(a.y) < std::abs(b.y);
    });
    size_t kept = 0;
    for (size_t i = 1; i < loops.size(); i++) {
        loop &last = loops[kept];
        if (loops[i].x == last.x * last.extent && loops[i].y == last.y * last.extent) {
            last.extent *= loops[i].extent;
        } else {
            loops[++kept] = loops[i];
        }
    }
    loops.resize(kept + 1);
    copy_row = x_bytes == 1   ? copy_of<uint8_t>(y_bytes, loops[0])
               : x_bytes == 2 ? copy_of<uint16_t>(y_bytes, loops[0])
                              : copy_of<uint32_t>(y_bytes, loops[0]);
}

void plain_copy::run() const {
    const char *from = x.bytes.data() + x.first;
    char *to = y.bytes.data() + y.first;
    dimensions done(loops.size(), 0);
    for (size_t d = 0; d < loops.size();) {
        copy_row(from, to, loops[0]);
        for (d = 1; d < loops.size(); d++) {
            from += loops[d].x;
            to += loops[d].y;
            if (++done[d] < loops[d].extent) {
                break;
            }
            from -= loops[d].x * loops[d].extent;
            to -= loops[d].y * loops[d].extent;
            done[d] = 0;
        }
    }
}

}  // namespace bench

// What the C++ examples share: a matrix on the screen, or why there is none.
#pragma once

#include <qdq/compat/common.hpp>

#include <cstdio>

inline void print_element(float value) { std::printf("%9.4f", static_cast<double>(value)); }
inline void print_element(int value) { std::printf("%5d", value); }

template<typename T> void print(const char *title, std::span<const T> values, std::int64_t columns) {
    std::printf("%s\n", title);
    for (std::size_t i = 0; i < values.size(); i++) {
        print_element(values[i]);
        if ((i + 1) % static_cast<std::size_t>(columns) == 0) {
            std::printf("\n");
        }
    }
}

// 0 where there is a tensor, 1 where there is none, as a program returns it.
template<typename T> int print(const char *title, const qdq::compat::expected<qdq::compat::owned_tensor> &y) {
    if (!y) {
        std::fprintf(stderr, "%s: %s\n", title, y.message());
        return 1;
    }
    print(title, *y->values<T>(), y->shape().back());
    return 0;
}

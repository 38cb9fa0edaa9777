// Shapes, strides and granularities: how scales and zero points meet x, and how x and y lie in memory.
#pragma once

#include "operand.h"

#include <qdq/qdq.h>

#include <vector>

namespace kernel_test {

struct layout {
    const char *name;
    dimensions shape;
    dimensions scale_shape{};
    int32_t axis = 0;
    int64_t block_size = 0;
    dimensions x_strides{};  // empty: dense
    dimensions y_strides{};
    dimensions scale_strides{};  // also the zero point's
};

inline const std::vector<layout> &layouts() {
    static const std::vector<layout> all{
        {.name = "scalar", .shape = {}},
        {.name = "one element", .shape = {1}, .scale_shape = {1}},
        {.name = "per tensor, odd length", .shape = {3, 5, 71}},
        {.name = "per tensor, whole groups of 64", .shape = {3, 128}},
        {.name = "per tensor, one-element scale of x's rank", .shape = {2, 200}, .scale_shape = {1, 1}},
        {.name = "channel on a middle axis", .shape = {3, 5, 77}, .scale_shape = {5}, .axis = 1},
        {.name = "channel on the first axis", .shape = {6, 130}, .scale_shape = {6}, .axis = 0},
        {.name = "channel on the last axis", .shape = {7, 131}, .scale_shape = {131}, .axis = -1},
        {.name = "channel on the last axis, whole groups", .shape = {7, 136}, .scale_shape = {136}, .axis = 1},
        {.name = "channel on the last axis, short rows", .shape = {150, 3}, .scale_shape = {3}, .axis = 1},
        {.name = "channel on a 1-D x", .shape = {200}, .scale_shape = {200}},
        {.name = "channel as a scale of x's rank", .shape = {4, 3, 65}, .scale_shape = {1, 3, 1}},
        {.name = "last-axis channel as a scale of x's rank", .shape = {4, 3, 65}, .scale_shape = {1, 1, 65}},
        {.name = "one scale each", .shape = {3, 67}, .scale_shape = {3, 67}},
        {.name = "blocks of 16", .shape = {3, 192}, .scale_shape = {3, 12}, .axis = 1, .block_size = 16},
        {.name = "blocks of 32", .shape = {3, 192}, .scale_shape = {3, 6}, .axis = 1, .block_size = 32},
        {.name = "blocks of 32, ragged", .shape = {3, 200}, .scale_shape = {3, 7}, .axis = 1, .block_size = 32},
        {.name = "many blocks of 16", .shape = {2, 1056}, .scale_shape = {2, 66}, .axis = 1, .block_size = 16},
        {.name = "blocks of 16, ragged", .shape = {5, 81}, .scale_shape = {5, 6}, .axis = -1, .block_size = 16},
        {.name = "blocks of 5", .shape = {2, 130}, .scale_shape = {2, 26}, .axis = 1, .block_size = 5},
        {.name = "blocks of 128", .shape = {2, 384}, .scale_shape = {2, 3}, .axis = 1, .block_size = 128},
        {.name = "blocks of 2", .shape = {3, 96}, .scale_shape = {3, 48}, .axis = 1, .block_size = 2},
        {.name = "blocks of 40", .shape = {2, 320}, .scale_shape = {2, 8}, .axis = 1, .block_size = 40},
        {.name = "blocks of 48", .shape = {2, 288}, .scale_shape = {2, 6}, .axis = 1, .block_size = 48},
        {.name = "blocks of 96, ragged", .shape = {2, 704}, .scale_shape = {2, 8}, .axis = 1, .block_size = 96},
        {.name = "many blocks of 32", .shape = {2, 1120}, .scale_shape = {2, 35}, .axis = 1, .block_size = 32},
        {.name = "blocks of 64", .shape = {3, 256}, .scale_shape = {3, 4}, .axis = 1, .block_size = 64},
        {.name = "channels of 49", .shape = {5, 1, 7, 7}, .scale_shape = {5}},
        {.name = "channels of 301", .shape = {3, 301}, .scale_shape = {3}},
        {.name = "channels of 320", .shape = {3, 320}, .scale_shape = {3}},
        {.name = "more channels than one load of operands", .shape = {2800, 3}, .scale_shape = {2800}},
        {.name = "more last-axis channels than one load", .shape = {2, 8200}, .scale_shape = {8200}, .axis = 1},
        {.name = "blocks longer than the axis", .shape = {4, 70}, .scale_shape = {4, 1}, .axis = 1, .block_size = 99},
        {.name = "blocks on the first axis", .shape = {9, 70}, .scale_shape = {3, 70}, .axis = 0, .block_size = 4},
        {.name = "blocks of 3 rows, whole groups",
         .shape = {9, 72},
         .scale_shape = {3, 72},
         .axis = 0,
         .block_size = 3},
        {.name = "blocks of 4 rows, whole groups",
         .shape = {11, 72},
         .scale_shape = {3, 72},
         .axis = 0,
         .block_size = 4,
         .scale_strides = {80, 1}},
        {.name = "blocks of 4 rows, scales by an odd pitch",
         .shape = {11, 72},
         .scale_shape = {3, 72},
         .axis = 0,
         .block_size = 4,
         .scale_strides = {75, 1}},
        {.name = "blocks on a middle axis", .shape = {2, 7, 66}, .scale_shape = {2, 4, 66}, .axis = 1, .block_size = 2},
        {.name = "blocks on a 1-D x", .shape = {500}, .scale_shape = {8}, .axis = 0, .block_size = 64},
        {.name = "derived blocks in three dimensions", .shape = {4, 9, 20}, .scale_shape = {2, 3, 4}},
        {.name = "derived blocks, all ragged", .shape = {5, 10, 71}, .scale_shape = {2, 4, 3}},
        {.name = "2-D tiles of 128", .shape = {130, 260}, .scale_shape = {2, 3}, .axis = 1, .block_size = 128},
        {.name = "eight dimensions", .shape = {2, 1, 3, 2, 1, 2, 3, 5}, .scale_shape = {1, 1, 3, 1, 1, 2, 1, 5}},
        {.name = "a shared scale by stride 0", .shape = {5, 70}, .scale_shape = {5}, .scale_strides = {0}},
        {.name = "scales by stride -2", .shape = {5, 70}, .scale_shape = {70}, .axis = 1, .scale_strides = {-2}},
        {.name = "x transposed", .shape = {65, 67}, .scale_shape = {65}, .x_strides = {1, 65}},
        {.name = "x transposed, channel on the last axis",
         .shape = {65, 67},
         .scale_shape = {67},
         .axis = 1,
         .x_strides = {1, 65}},
        {.name = "y transposed", .shape = {65, 67}, .scale_shape = {65}, .y_strides = {1, 65}},
        {.name = "x and y transposed",
         .shape = {33, 130},
         .scale_shape = {130},
         .axis = 1,
         .x_strides = {1, 33},
         .y_strides = {1, 33}},
        {.name = "x permuted", .shape = {6, 10, 70}, .scale_shape = {10}, .axis = 1, .x_strides = {70, 420, 1}},
        {.name = "x reversed", .shape = {3, 100}, .scale_shape = {3}, .x_strides = {-100, -1}},
        {.name = "x rows repeated", .shape = {4, 90}, .scale_shape = {4}, .x_strides = {0, 1}},
        {.name = "x one value repeated", .shape = {4, 90}, .scale_shape = {90}, .axis = 1, .x_strides = {0, 0}},
        {.name = "x every third", .shape = {4, 90}, .x_strides = {270, 3}},
        {.name = "x and y rows padded", .shape = {4, 90}, .x_strides = {101, 1}, .y_strides = {97, 1}},
        {.name = "x and y rows padded by whole groups",
         .shape = {6, 72},
         .scale_shape = {72},
         .axis = 1,
         .x_strides = {96, 1},
         .y_strides = {80, 1}},
        {.name = "rows padded by whole groups, blocks of 24",
         .shape = {6, 72},
         .scale_shape = {6, 3},
         .axis = 1,
         .block_size = 24,
         .x_strides = {96, 1},
         .y_strides = {80, 1}},
        {.name = "y every second", .shape = {4, 90}, .scale_shape = {4}, .y_strides = {180, 2}},
        {.name = "y reversed", .shape = {4, 90}, .scale_shape = {90}, .axis = 1, .y_strides = {-90, -1}},
        {.name = "ragged blocks of a transposed x",
         .shape = {10, 75},
         .scale_shape = {10, 5},
         .axis = 1,
         .block_size = 16,
         .x_strides = {1, 10}},
    };
    return all;
}

// Few elements, which are one kernel call where they are as many as whole groups.
inline const std::vector<dimensions> few_short_rows{{8, 8}, {32, 2}, {64, 4}, {3, 64}, {9, 7}};

inline operand scales_of_rows(const dimensions &shape) {
    return operand::by_place(QDQ_F32, {shape[0]}, [](int64_t i) { return 0.3 + static_cast<double>(i); });
}

// By turns 0.3, and one for the general variants: they have columns alone, and so an operand for each element.
inline operand least_and_ordinary_scales(const dimensions &shape) {
    return operand::by_place(QDQ_F32, shape, [](int64_t i) { return i % 2 == 0 ? 0x1p-149 : 0.3; });
}

}  // namespace kernel_test

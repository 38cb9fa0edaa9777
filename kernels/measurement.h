// What a kernel that measures codes counts, of all the elements that it is given.
#pragma once

namespace qdq::kernels {

enum class measured {
    nan,
    infinite,
    clipped,
    flushed,
};
constexpr int measured_count = 4;

constexpr int measured_step = 16;  // elements that are measured at once: as many of each row can be read

}  // namespace qdq::kernels

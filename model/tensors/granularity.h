#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace qdq::model {

// What the command line asks for. Neither an axis nor a block size: one scale for each index of axis 0.
struct granularity {
    bool per_tensor = false;
    std::optional<int64_t> axis = {};  // negative: from the last dimension
    int64_t block_size = 0;            // of the blocks along the axis, by default the last one; 0: per channel
    int64_t block_rows = 0;            // of blocks of the last two dimensions, block_rows x block_size; 0: of one row

    bool operator==(const granularity &) const = default;
};

// How a scale covers a tensor. `axis` and `block_size` are those of qdq_options: a block size of 0 is derived from the
// shapes. With `block_rows` the axis is the last one, and the dimension before it is cut into blocks, too.
struct blocking {
    std::vector<int64_t> scale_shape;
    int64_t axis = 0;
    int64_t block_size = 0;
    int64_t block_rows = 0;

    // The blocks' extents in the dimensions of a tensor, 0 where the shapes tell.
    std::vector<int64_t> block_shape(size_t rank) const;
};

// Throws when the axis is out of range. [out, in] gets scales of [out, 1], [out, blocks], [row blocks, blocks] or, per
// tensor, [1].
blocking resolve(const granularity &asked, const std::vector<int64_t> &shape);

// Whether the shapes alone tell the block size: not for 10 elements in blocks of 8, which look like blocks of 5.
bool is_derivable(const std::vector<int64_t> &shape, const blocking &scale);

// Consecutive elements with one scale (step 0) or with consecutive scales (step 1).
struct run {
    int64_t first_element, count, first_scale, step;
};

// Tells which scale belongs to each element of a dense row-major tensor, by the rule of qdq.h.
class scale_map {
public:
    // Throws when the scale's shape does not fit the tensor's.
    scale_map(const std::vector<int64_t> &shape, const blocking &scale);

    int64_t scale_count() const { return scale_count_; }

    // Covers every element once, in order.
    void for_each_run(const std::function<void(const run &)> &visit) const;

private:
    void visit_last_dimension(int64_t first_element, int64_t first_scale,
                              const std::function<void(const run &)> &visit) const;

    // The dimensions before those that share all their scales; the latter are one run.
    std::vector<int64_t> shape_, scale_shape_, block_;
    int64_t shared_ = 1;
    int64_t scale_count_ = 1;
};

}  // namespace qdq::model

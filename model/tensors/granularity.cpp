#include "tensors/granularity.h"

#include "support/error.h"
#include "support/text.h"
#include "tensors/tensor_file.h"

#include <algorithm>

namespace qdq::model {

namespace {

int64_t blocks(int64_t extent, int64_t block_size) { return extent / block_size + (extent % block_size != 0); }

int64_t checked_axis(int64_t axis, const std::vector<int64_t> &shape) {
    auto rank = static_cast<int64_t>(shape.size());
    if (axis < -rank || axis >= rank) {
        throw failure("axis " + std::to_string(axis) + " is out of range for shape " + shape_text(shape));
    }
    return axis < 0 ? axis + rank : axis;
}

// The scale's shape with the rank of the tensor.
std::vector<int64_t> expanded(const std::vector<int64_t> &shape, const blocking &scale) {
    if (element_count(scale.scale_shape) == 1) {
        return std::vector<int64_t>(shape.size(), 1);
    }
    if (scale.scale_shape.size() == 1 && shape.size() > 1) {
        std::vector<int64_t> result(shape.size(), 1);
        result[static_cast<size_t>(checked_axis(scale.axis, shape))] = scale.scale_shape[0];
        return result;
    }
    return scale.scale_shape;
}

}  // namespace

blocking resolve(const granularity &asked, const std::vector<int64_t> &shape) {
    bool single = asked.per_tensor || (!asked.axis && !asked.block_size && shape.size() < 2);
    if (single || element_count(shape) == 0) {  // an empty tensor needs no scale, but its readers expect one
        return {.scale_shape = {1}};
    }
    int64_t axis = checked_axis(asked.axis.value_or(asked.block_size ? -1 : 0), shape);
    int64_t extent = shape[static_cast<size_t>(axis)];
    blocking result = {.scale_shape = shape, .axis = axis, .block_size = std::min(asked.block_size, extent)};
    if (asked.block_rows != 0) {
        if (shape.size() < 2 || axis + 1 != std::ssize(shape)) {
            throw failure("blocks of rows and columns need the last two dimensions, the shape is " + shape_text(shape));
        }
        int64_t &rows = result.scale_shape[shape.size() - 2];
        result.block_rows = std::min(asked.block_rows, rows);
        rows = blocks(rows, result.block_rows);
    }
    if (asked.block_size == 0) {
        std::fill(result.scale_shape.begin(), result.scale_shape.end(), 1);
    }
    result.scale_shape[static_cast<size_t>(axis)] = asked.block_size ? blocks(extent, asked.block_size) : extent;
    return result;
}

bool is_derivable(const std::vector<int64_t> &shape, const blocking &scale) {
    const std::vector<int64_t> extents = scale.block_shape(shape.size());
    for (size_t d = 0; d < shape.size(); ++d) {
        if (extents[d] > 0 && blocks(shape[d], scale.scale_shape[d]) != extents[d]) {
            return false;
        }
    }
    return true;
}

std::vector<int64_t> blocking::block_shape(size_t rank) const {
    std::vector<int64_t> extents(rank, 0);
    if (block_size > 0 && static_cast<size_t>(axis) < rank) {
        extents[static_cast<size_t>(axis)] = block_size;
    }
    if (block_rows > 0 && rank >= 2) {
        extents[rank - 2] = block_rows;
    }
    return extents;
}

scale_map::scale_map(const std::vector<int64_t> &shape, const blocking &scale)
    : shape_(shape), scale_shape_(expanded(shape, scale)), scale_count_(element_count(scale.scale_shape)) {
    bool axis_exists = scale.block_size == 0 || scale.axis < static_cast<int64_t>(shape.size());
    bool fits = axis_exists && scale_shape_.size() == shape.size();
    std::vector<int64_t> given = scale.block_shape(shape.size());
    for (size_t d = 0; fits && d < shape.size(); ++d) {
        int64_t count = scale_shape_[d];
        block_.push_back(given[d] > 0 ? given[d] : std::max<int64_t>(1, count > 0 ? blocks(shape[d], count) : 1));
        fits = blocks(shape[d], block_[d]) == count || (shape[d] == 0 && count == 1);
    }
    if (!fits) {
        throw failure("a scale of shape " + shape_text(scale.scale_shape) + " does not fit shape " + shape_text(shape));
    }
    if (element_count(shape) == 0) {  // the product of its other extents may be of any size
        shared_ = 0;
        return;
    }
    while (!shape_.empty() && scale_shape_.back() == 1) {
        shared_ *= shape_.back();
        shape_.pop_back();
        scale_shape_.pop_back();
    }
}

void scale_map::visit_last_dimension(int64_t first_element, int64_t first_scale,
                                     const std::function<void(const run &)> &visit) const {
    int64_t extent = shape_.back(), block = block_[shape_.size() - 1];
    if (block == 1) {
        visit({first_element, extent, first_scale, 1});
        return;
    }
    for (int64_t begin = 0; begin < extent; begin += block) {
        visit({first_element + begin, std::min(block, extent - begin), first_scale + begin / block, 0});
    }
}

void scale_map::for_each_run(const std::function<void(const run &)> &visit) const {
    if (shared_ == 0) {
        return;
    }
    bool in_rows = shared_ == 1 && !shape_.empty();
    std::vector<int64_t> outer(shape_.begin(), shape_.end() - in_rows);
    int64_t length = in_rows ? shape_.back() : shared_;
    for (int64_t i = 0, rows = element_count(outer); i < rows; ++i) {
        int64_t scale = 0, stride = in_rows ? scale_shape_.back() : 1;
        for (int64_t d = static_cast<int64_t>(outer.size()) - 1, rest = i; d >= 0; --d) {
            auto dim = static_cast<size_t>(d);
            scale += rest % outer[dim] / block_[dim] * stride;
            stride *= scale_shape_[dim];
            rest /= outer[dim];
        }
        if (in_rows) {
            visit_last_dimension(i * length, scale, visit);
        } else {
            visit({i * length, length, scale, 0});
        }
    }
}

}  // namespace qdq::model

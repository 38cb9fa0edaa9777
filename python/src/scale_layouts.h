// arrange_scales and restore_scales, and what layouts are called.
#pragma once

#include <nanobind/nanobind.h>
#include <qdq/qdq.h>

#include <cstdint>
#include <span>

namespace qdq::python {

qdq_scale_layout layout_of(const char *function, const char *name, nanobind::handle given);

// Of all matrices of a scale tensor's shape.
std::int64_t arranged_bytes(const char *function, qdq_scale_layout layout, std::span<const std::int64_t> shape);

void define_scale_layouts(nanobind::module_ &m);

}  // namespace qdq::python

// arrange_scales and restore_scales.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

void define_scale_layouts(nanobind::module_ &m);

}  // namespace qdq::python

// qdq.quantize_dynamic and qdq.compute_scales.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

void define_dynamic(nanobind::module_ &m);

}  // namespace qdq::python

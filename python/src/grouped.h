// qdq.quantize_grouped, qdq.dequantize_grouped and qdq.quantize_dynamic_grouped.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

void define_grouped(nanobind::module_ &m);
void define_dynamic_grouped(nanobind::module_ &m);

}  // namespace qdq::python

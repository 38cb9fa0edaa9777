// quantize_blocks and dequantize_blocks.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

void define_blocks(nanobind::module_ &m);

}  // namespace qdq::python

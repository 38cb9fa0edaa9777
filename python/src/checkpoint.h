#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

void define_checkpoint(nanobind::module_ &m);

}  // namespace qdq::python

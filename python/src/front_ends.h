// The C++ front ends of qdq/compat for Python's modules of qdq.compat.
#pragma once

#include <nanobind/nanobind.h>

namespace qdq::python {

void define_functions(nanobind::module_ &m);  // pypto, torch_npu, nvtripy
void define_tensorrt(nanobind::module_ &m);
void define_aclnn(nanobind::module_ &m);

}  // namespace qdq::python

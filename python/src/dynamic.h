// qdq.quantize_dynamic and qdq.compute_scales, and how they read a tensor's own scale.
#pragma once

#include <nanobind/nanobind.h>
#include <qdq/qdq.h>

namespace qdq::python {

qdq_global_sense sense_of(const char *function, nanobind::handle given);
float number(const char *function, const char *name, nanobind::handle given);

void define_dynamic(nanobind::module_ &m);

}  // namespace qdq::python

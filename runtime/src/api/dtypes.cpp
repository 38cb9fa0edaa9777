// What the interface says of element types.
#include "support/types.h"

namespace {

// NULL for a value that is none of the enumerators.
const qdq::kernels::element_type *find(const qdq_dtype &dtype) {
    const int value = qdq::runtime::stored_value(dtype);
    return value >= 0 && value < qdq::runtime::dtype_count ? &qdq::kernels::element_types[value] : nullptr;
}

}  // namespace

const char *qdq_dtype_name(qdq_dtype dtype) {
    const qdq::kernels::element_type *type = find(dtype);
    return type ? type->name : nullptr;
}

int32_t qdq_dtype_bits(qdq_dtype dtype) {
    const qdq::kernels::element_type *type = find(dtype);
    return type ? type->bits : 0;
}

#include "targets/kernel_table.h"

namespace qdq::runtime {

namespace {

template<typename Row> const Row *find(const Row *rows, int count, qdq_dtype float_type, qdq_dtype stored) {
    for (int i = 0; i < count; i++) {
        if (rows[i].float_type == float_type && rows[i].stored_type == stored) {
            return &rows[i];
        }
    }
    return nullptr;
}

}  // namespace

const kernel_row<quantize_kernel> *find_quantize(const target &t, qdq_dtype from, qdq_dtype to) {
    return find(t.quantize, t.quantize_count, from, to);
}

const kernel_row<dequantize_kernel> *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to) {
    return find(t.dequantize, t.dequantize_count, to, from);
}

const device_row *find_device_row(const target &t, qdq_dtype float_type, qdq_dtype stored_type) {
    return find(t.device_rows, t.device_count, float_type, stored_type);
}

}  // namespace qdq::runtime

// Scales in the order in which tensor cores and their kernels read them. In objects of their own, as few programs need
// them.
#include "plan/arrangement.h"
#include "plan/draft.h"
#include "plan/memory.h"
#include "support/status.h"
#include "support/types.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

constexpr int64_t word = arrangement::word;

// A valid call's scales: matrices, one after another.
struct scale_matrices {
    int64_t rows, columns, count;
    int64_t strides[most_dimensions];
};

// The first byte of a matrix.
const uint8_t *find_matrix(const qdq_tensor &scale, const int64_t *strides, int64_t number) {
    const uint8_t *at = static_cast<const uint8_t *>(scale.data);
    for (int d = scale.rank - 3; d >= 0; d--) {
        at += number % scale.shape[d] * strides[d];
        number /= scale.shape[d];
    }
    return at;
}

qdq_status check_scale_tensor(const char *function, const qdq_tensor *scale) {
    if (!scale) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: NULL", function);
    }
    const int dtype = stored_value(scale->dtype);
    if (dtype != QDQ_E8M0 && dtype != QDQ_F8E4M3) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: its type is neither e8m0 nor f8e4m3", function);
    }
    if (scale->rank < 2 || scale->rank > most_dimensions) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: rank %d is not in 2..%d: its last dimensions are a matrix",
                    function, scale->rank, most_dimensions);
    }
    if (!scale->shape) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: shape is NULL", function);
    }
    for (int d = 0; d < scale->rank; d++) {
        if (scale->shape[d] < 0) {
            return fail(QDQ_INVALID_ARGUMENT, "%s: scale: shape[%d] is %" PRId64 ", below 0", function, d,
                        scale->shape[d]);
        }
    }
    if (stored_value(scale->device.kind) != QDQ_DEVICE_HOST) {
        return fail(QDQ_UNSUPPORTED, "%s: scale: it is on a device, and scales are arranged on the host alone",
                    function);
    }
    return QDQ_OK;
}

// `writes_scale`: they are what the call writes.
qdq_status check_arranged(const char *function, const qdq_tensor *scale, qdq_scale_layout layout, const void *arranged,
                          int64_t bytes, bool writes_scale, scale_matrices &m) {
    if (const qdq_status status = check_scale_tensor(function, scale)) {
        return status;
    }
    if (!is_layout(layout)) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: layout: %d is no qdq_scale_layout", function, stored_value(layout));
    }
    element_strides(*scale, m.strides);
    span touched_bytes;
    m.rows = scale->shape[scale->rank - 2];
    m.columns = scale->shape[scale->rank - 1];
    m.count = 1;
    for (int d = 0; d < scale->rank - 2; d++) {
        m.count = product(m.count, scale->shape[d]);
    }
    const int64_t each = arrangement(layout, m.rows, m.columns).bytes();
    const bool is_empty = m.count == 0 || m.rows == 0 || m.columns == 0;
    if (!is_empty && !touched(*scale, m.strides, touched_bytes)) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: shape and strides reach past the address space", function);
    }
    if (const int64_t all = product(each, m.count); bytes != all) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: arranged: %" PRId64 " bytes, and the scales take %" PRId64, function,
                    bytes, all);
    }
    if (is_empty) {
        return QDQ_OK;
    }
    if (!scale->data || !arranged) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s NULL", function, arranged ? "scale: data is" : "arranged:");
    }
    if (writes_scale && !elements_are_distinct(*scale, m.strides)) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: its strides make elements overlap one another", function);
    }
    const auto first = reinterpret_cast<uintptr_t>(arranged),
               from = reinterpret_cast<uintptr_t>(scale->data) + static_cast<uintptr_t>(touched_bytes.first),
               to = reinterpret_cast<uintptr_t>(scale->data) + static_cast<uintptr_t>(touched_bytes.end);
    if (from < first + static_cast<uintptr_t>(bytes) && first < to) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: scale: it overlaps arranged", function);
    }
    return QDQ_OK;
}

// Calls copy(a word of arranged scales, the first scale, their stride, how many) for each word of each row.
template<typename Copy>
void for_each_word(const qdq_tensor &scale, const scale_matrices &m, qdq_scale_layout layout, Copy copy) {
    const arrangement each(layout, m.rows, m.columns);
    const int64_t row_stride = m.strides[scale.rank - 2], stride = m.strides[scale.rank - 1];
    for (int64_t number = 0; number < m.count; number++) {
        const uint8_t *const matrix = find_matrix(scale, m.strides, number);
        for (int64_t row = 0; row < m.rows; row++) {
            for (int64_t column = 0; column < m.columns; column += word) {
                copy(number * each.bytes() + each.place(row, column / word),
                     matrix + row * row_stride + column * stride, stride, std::min(word, m.columns - column));
            }
        }
    }
}

}  // namespace

}  // namespace qdq::runtime

int64_t qdq_arranged_bytes(qdq_scale_layout layout, int64_t rows, int64_t columns) {
    return runtime::is_layout(layout) && rows >= 0 && columns >= 0 ? runtime::arrangement(layout, rows, columns).bytes()
                                                                   : 0;
}

qdq_status qdq_arrange_scales(const qdq_tensor *scale, qdq_scale_layout layout, void *arranged, int64_t bytes) {
    runtime::scale_matrices m{};
    if (const qdq_status status =
            runtime::check_arranged("qdq_arrange_scales", scale, layout, arranged, bytes, false, m)) {
        return status;
    }
    if (bytes > 0) {
        std::memset(arranged, 0, static_cast<size_t>(bytes));
    }
    uint8_t *const to = static_cast<uint8_t *>(arranged);
    runtime::for_each_word(*scale, m, layout, [=](int64_t place, const uint8_t *from, int64_t stride, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
            to[place + i] = from[i * stride];
        }
    });
    return QDQ_OK;
}

qdq_status qdq_restore_scales(const void *arranged, int64_t bytes, qdq_scale_layout layout, const qdq_tensor *scale) {
    runtime::scale_matrices m{};
    if (const qdq_status status =
            runtime::check_arranged("qdq_restore_scales", scale, layout, arranged, bytes, true, m)) {
        return status;
    }
    const uint8_t *const from = static_cast<const uint8_t *>(arranged);
    runtime::for_each_word(*scale, m, layout, [=](int64_t place, const uint8_t *to, int64_t stride, int64_t count) {
        for (int64_t i = 0; i < count; i++) {
            const_cast<uint8_t *>(to)[i * stride] = from[place + i];
        }
    });
    return QDQ_OK;
}

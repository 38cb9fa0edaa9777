#include "targets/kernel_table.h"

#include "support/types.h"

#include <algorithm>
#include <array>

namespace qdq::runtime {

namespace {

// Of the types that have a role, the number of those before one.
template<bool roles::*role> int ordinal(qdq_dtype dtype) {
    static constexpr auto ordinals = [] {
        std::array<int, dtype_count + 1> before{};
        for (int i = 0; i < dtype_count; i++) {
            before[i + 1] = before[i] + element_types[i].roles.*role;
        }
        return before;
    }();
    return ordinals[dtype];
}

// Where every pair has its row, in the manifest's order, its place is known: to search 48 rows is to read as many cache
// lines.
template<typename Row> const Row *find(const Row *rows, int count, qdq_dtype float_type, qdq_dtype stored) {
    auto is_wanted = [=](const Row &row) { return row.float_type == float_type && row.stored_type == stored; };
    static constexpr int stored_types = std::count_if(std::begin(element_types), std::end(element_types),
                                                      [](const element_type &t) { return t.roles.stored; });
    const int place = ordinal<&roles::floats>(float_type) * stored_types + ordinal<&roles::stored>(stored);
    if (place < count && is_wanted(rows[place])) {
        return &rows[place];
    }
    for (int i = 0; i < count; i++) {
        if (is_wanted(rows[i])) {
            return &rows[i];
        }
    }
    return nullptr;
}

}  // namespace

const quantize_row *find_quantize(const target &t, qdq_dtype from, qdq_dtype to) {
    return find(t.quantize, t.quantize_count, from, to);
}

const dequantize_row *find_dequantize(const target &t, qdq_dtype from, qdq_dtype to) {
    return find(t.dequantize, t.dequantize_count, to, from);
}

const device_row *find_device_row(const target &t, operation op, qdq_dtype float_type, qdq_dtype stored_type) {
    return op == operation::quantize ? find(t.device_quantize, t.quantize_count, float_type, stored_type)
                                     : find(t.device_dequantize, t.dequantize_count, float_type, stored_type);
}

}  // namespace qdq::runtime

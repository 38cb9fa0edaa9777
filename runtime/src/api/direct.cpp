// The functions behind the headers of qdq/direct: one row's kernels on contiguous elements with one scale.
#include "qdq/direct/direct.h"

#include "cpu/float_environment.h"
#include "cpu/kernel_buffer.h"
#include "cpu/kernel_call.h"
#include "support/once.h"
#include "support/status.h"
#include "targets/cpu_features.h"
#include "variants.h"

#include <algorithm>
#include <cstring>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

// One scale as kernels read it: the general variants, which are in the column form alone, a group at a time, and what
// vectors read past that.
struct one_scale {
    alignas(64) float scale[group + spare_operands], inverse[group + spare_operands];
    alignas(64) int32_t zero_point[group + spare_operands] = {};

    explicit one_scale(float value) {
        std::fill(std::begin(scale), std::end(scale), value);
        std::fill(std::begin(inverse), std::end(inverse), 1 / value);
    }
};

// Calls kernels of one row with one scale.
template<typename Row> class row_caller {
public:
    row_caller(const Row &row, float scale) : operands(scale), row(row) {
        call what{};
        what.op = quantizes ? operation::quantize : operation::dequantize;
        what.x_type = x.dtype;
        what.y_type = y.dtype;
        abilities = abilities_of(what, &scale, 1);
    }

    void run(const void *from, void *to, int64_t count) const {
        const flushing_float_environment environment(abilities.flushes);
        const char *source = static_cast<const char *>(from);
        char *result = static_cast<char *>(to);
        int64_t done = 0;
        for (int64_t whole = count / group * group; done < whole;) {
            const int64_t some = std::min(reach, whole - done);
            run_groups(source + done * x.bits / 8, result + done * y.bits / 8, some);
            done += some;
        }
        if (done < count) {
            run_rest(source + done * x.bits / 8, result + done * y.bits / 8, count - done);
        }
    }

private:
    static constexpr bool quantizes = std::is_same_v<Row, quantize_row>;

    const one_scale operands;  // first, for what its alignment leaves
    const Row &row;
    const element_type &x = type_of(quantizes ? row.float_type : row.stored_type);
    const element_type &y = type_of(quantizes ? row.stored_type : row.float_type);
    scale_abilities abilities;

    // Less than a group, through memory that has room for one.
    void run_rest(const char *from, char *to, int64_t count) const {
        alignas(64) char source[group * sizeof(float)] = {}, result[group * sizeof(float)];
        std::memcpy(source, from, bytes_of(x, count));
        run_groups(source, result, group);
        const int64_t bytes = bytes_of(y, count);
        std::memcpy(to, result, bytes);
        if (const int64_t used = count * y.bits % 8; used != 0) {
            to[bytes - 1] = static_cast<char>(to[bytes - 1] & ((1 << used) - 1));
        }
    }

    static int64_t bytes_of(const element_type &type, int64_t count) { return (count * type.bits + 7) / 8; }

    void run_groups(const char *from, char *to, int64_t count) const {
        const bool fast = abilities.fast;
        const int64_t columns = fast ? count : group;
        const int32_t rows = int32_t(count / columns), operand_count = fast ? 1 : int32_t(group);
        const halide_dimension_t x_shape[2] = {shape_of(x, columns), {0, rows, buffer_extent(x.bits, columns)}};
        const halide_dimension_t y_shape[2] = {shape_of(y, columns), {0, rows, buffer_extent(y.bits, columns)}};
        const halide_dimension_t operand_shape[1] = {{0, operand_count, 1}};
        halide_buffer_t source, scale, inverse, zero_point, result;
        set_buffer(source, from, halide_type(x.dtype), 2, x_shape);
        set_buffer(scale, operands.scale, scale_type, 1, operand_shape);
        set_buffer(inverse, operands.inverse, scale_type, 1, operand_shape);
        set_buffer(zero_point, operands.zero_point, zero_point_type, 1, operand_shape);
        set_buffer(result, to, halide_type(y.dtype), 2, y_shape);
        const auto kernel = row.forms[int(fast ? kernel_form::row : kernel_form::column)];
        if constexpr (quantizes) {
            const quantize_variant variant = fast ? quantize_variant::divide : quantize_variant::general_divide;
            kernel(&source, &scale, &inverse, &zero_point, int32_t(variant), 0, QDQ_NEAREST_EVEN, int32_t(y.lowest()),
                   int32_t(y.highest()), 0, &result);
        } else {
            const dequantize_variant variant = fast ? dequantize_variant::plain : dequantize_variant::general;
            kernel(&source, &scale, &zero_point, int32_t(variant), -1, &result);
        }
    }

    static halide_dimension_t shape_of(const element_type &type, int64_t columns) {
        return {0, buffer_extent(type.bits, columns), 1};
    }
};

template<typename Row>
qdq_status run_row(const char *function, const Row *row, const void *x, void *y, int64_t count, float scale) {
    if (count < 0) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: count: %lld is below 0", function, static_cast<long long>(count));
    }
    if (count > 0 && (!x || !y)) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: NULL", function, x ? "y" : "x");
    }
    const default_float_environment environment;
    row_caller(*row, scale).run(x, y, count);
    return QDQ_OK;
}

}  // namespace

}  // namespace qdq::runtime

int qdq_direct_can_run(uint32_t features) {
    return (features & ~runtime::made_once<runtime::detect_cpu_features>()) == 0;
}

qdq_status qdq_direct_quantize(const qdq_quantize_row *row, const void *x, void *y, int64_t count, float scale) {
    return runtime::run_row("qdq_direct_quantize", row, x, y, count, scale);
}

qdq_status qdq_direct_dequantize(const qdq_dequantize_row *row, const void *x, void *y, int64_t count, float scale) {
    return runtime::run_row("qdq_direct_dequantize", row, x, y, count, scale);
}

qdq_status qdq_direct_no_target() {
    return runtime::fail(QDQ_UNSUPPORTED, "qdq_direct: this processor can run none of the targets that are linked");
}

// The functions behind the headers of qdq/direct: one row's kernels on contiguous elements with one scale.
#include "qdq/direct/direct.h"

#include "cpu/fast_variants.h"
#include "cpu/float_environment.h"
#include "cpu/kernel_call.h"
#include "cpu/movement.h"
#include "cpu/packing.h"
#include "support/once.h"
#include "support/status.h"
#include "targets/cpu_features.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace runtime = qdq::runtime;

namespace qdq::runtime {

namespace {

// One scale, and a row's kernels by what the default options ask of them. Not by a `call`: to set one up takes 8 ns.
template<typename Row> class row_caller {
public:
    row_caller(const Row &row, float scale)
        : row(row),
          scale(scale),
          x(type_of(quantizes ? row.float_type : row.stored_type)),
          y(type_of(quantizes ? row.stored_type : row.float_type)) {
        const auto bits = std::bit_cast<uint32_t>(scale);
        if constexpr (quantizes) {
            fast = divisors.contains(bits);
            flushes = x.dtype != QDQ_F16 && divisors.contains(bits & 0x7fffffffu) && slow_with_subnormals();
        } else {
            const bit_range factors = factors_of(x.dtype);
            fast = factors.contains(bits) || (x.is_integer() && all_zero_or_within(&scale, 1, factors));
        }
    }

    void run(const void *from, void *to, int64_t count) const {
        const float_environment environment(flushes);
        const char *source = static_cast<const char *>(from);
        char *result = static_cast<char *>(to);
        int64_t done = 0;
        for (const int64_t whole = count - count % group; done < whole;) {
            const int64_t some = std::min(reach, whole - done);
            run_groups(address(source, done, x.bits), address(result, done, y.bits), some);
            done += some;
        }
        if (done < count) {
            run_rest(address(source, done, x.bits), address(result, done, y.bits), count - done);
        }
    }

private:
    static constexpr bool quantizes = std::is_same_v<Row, quantize_row>;

    const Row &row;
    const float scale;
    const element_type &x, &y;
    bool fast;             // by the fast variants
    bool flushes = false;  // as cpu/fast_variants.cpp says

    // Less than a group, through memory that has room for one.
    [[gnu::noinline]] void run_rest(const char *from, char *to, int64_t count) const {
        alignas(64) char source[group * sizeof(float)] = {}, result[group * sizeof(float)];
        std::memcpy(source, from, (count * x.bits + 7) / 8);
        run_groups(source, result, group);
        clear_padding(result, y.bits, count);
        std::memcpy(to, result, (count * y.bits + 7) / 8);
    }

    void run_groups(const char *from, char *to, int64_t count) const {
        const int32_t no_zero_point = 0;
        constexpr int32_t variant = quantizes ? int32_t(quantize_variant::divide) : int32_t(dequantize_variant::plain);
        if (fast) {
            const float inverse = quantizes ? 1 / scale : scale;
            call_by(kernel_form::row, variant, {&scale, &inverse, &no_zero_point}, 1, from, to, count, 1);
        } else {
            run_general(from, to, count);
        }
    }

    // By the general variants, which are in the column form alone: a scale for each column of a group, and what vectors
    // read past those. Out of line for its memory.
    [[gnu::noinline]] void run_general(const char *from, char *to, int64_t count) const {
        float scales[group + spare_operands];
        const int32_t no_zero_points[group + spare_operands] = {};
        std::fill(std::begin(scales), std::end(scales), scale);
        const int32_t variant =
            quantizes ? int32_t(quantize_variant::general_divide) : int32_t(dequantize_variant::general);
        call_by(kernel_form::column, variant, {scales, scales, no_zero_points}, group, from, to, group, count / group);
    }

    void call_by(kernel_form form, int32_t variant, const kernel_operands &with, int64_t operand_count,
                 const char *from, char *to, int64_t columns, int64_t rows) const {
        const int32_t x_extent = buffer_extent(x.bits, columns), y_extent = buffer_extent(y.bits, columns);
        const halide_dimension_t x_shape[2] = {{0, x_extent, 1}, {0, int32_t(rows), x_extent}};
        const halide_dimension_t y_shape[2] = {{0, y_extent, 1}, {0, int32_t(rows), y_extent}};
        const halide_dimension_t operand_shape[1] = {{0, int32_t(operand_count), 1}};
        kernel_buffers all(quantizes, halide_types[x.dtype], halide_types[y.dtype], from, with, to, x_shape,
                           operand_shape, y_shape);
        auto *const kernel = row.forms[int(form)];
        if constexpr (quantizes) {
            kernel(&all.x, &all.scale, &all.inverse, &all.zero_point, variant, false, QDQ_NEAREST_EVEN,
                   int32_t(y.lowest()), int32_t(y.highest()), false, &all.y);
        } else {
            kernel(&all.x, &all.scale, &all.zero_point, variant, -1, &all.y);
        }
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

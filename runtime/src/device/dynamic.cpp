// A dynamic plan on a device: one launch computes the scales, another one the zero points, where there are any, and
// those of the plan of quantize read both. What is one large group is reduced by parts before.
#include "device/buffers.h"
#include "device/launch.h"

#include "device_arguments.h"
#include "plan/dynamic_plan.h"
#include "plan/loops.h"
#include "support/status.h"
#include "support/types.h"
#include "targets/device_scales.h"

#include <algorithm>
#include <cinttypes>

namespace qdq::runtime {

namespace {

template<typename T> using number = T;

int64_t blocks_of(const blocked_dimension &d) { return (d.whole.extent - 1) / d.block + 1; }

// One run of a plan, up to its scales and zero points.
class scales_launcher {
public:
    scales_launcher(const char *function, const device_scales &by, const dynamic_plan &p, const dynamic_tensors &at,
                    device_launch &launch)
        : function(function),
          by(by),
          p(p),
          on(*p.quantize.op.target),
          backend(*on.device),
          launch(launch),
          x(backend, at.x, p.quantize.x_offset),
          y(backend, at.y, p.quantize.y_offset),
          scale(backend, at.scale, p.quantize.scale_offset),
          zero_point(backend, at.zero_point, p.quantize.zero_point_offset),
          has_y(at.y) {
        count =
            merge_dimensions(p.quantize.dimensions, p.quantize.dimension_count, merge_order::of_x_strides, dimensions);
        if (count == 0) {
            dimensions[count++] = {{1, 1, 1, 0, 0}, 1};
        }
    }

    qdq_status check() {
        if (x.is_misaligned(backend, x_bits())) {
            return fail(QDQ_INVALID_ARGUMENT, "%s: x: its elements do not lie at multiples of their size", function);
        }
        if (!x.is_there(backend, launch, {p.quantize.x_first, p.quantize.x_end}) ||
            !scale.is_there(backend, launch, p.scale) ||
            (p.has_zero_point && !zero_point.is_there(backend, launch, p.zero_point))) {
            return fail(QDQ_DEVICE_ERROR, "%s: target %s: %s", function, on.name, launch.message);
        }
        set_elements_of_x();
        return longest <= most ? QDQ_OK
                               : fail(QDQ_UNSUPPORTED,
                                      "%s: x: %" PRId64
                                      " elements along a dimension, in a group or of scales: device "
                                      "kernels count 2^30",
                                      function, longest);
    }

    // What has passed that.
    qdq_status run() {
        set_rule();
        qdq_status s;
        if (splits()) {
            if ((s = reduce_parts()) || (s = put_barrier())) {
                return s;
            }
            set_extremes_in_y();
        }
        in.kind = int32_t(scales_output::scale);
        if ((s = run_for(scale, p.scale, type_of(p.how.scale_type).bits / 8, &dimension::scale)) || !p.has_zero_point) {
            return s;
        }
        in.kind = int32_t(scales_output::zero_point);
        return run_for(zero_point, p.zero_point, type_of(p.how.zero_point_type).bits / 8, &dimension::zero_point);
    }

    qdq_status put_barrier() {
        return backend.put_barrier && backend.put_barrier(launch) != 0
                   ? fail(QDQ_DEVICE_ERROR, "%s: target %s: %s", function, on.name, launch.message)
                   : QDQ_OK;
    }

private:
    static constexpr int64_t most = int64_t{1} << 30;  // kernels count with 31 bits

    // Of a group that is reduced by parts: each is 8 loads for each thread of a block.
    static constexpr int64_t part_bytes = 32768, least_parts = 8, bytes_of_extremes = 8;

    const char *const function;
    const device_scales &by;
    const dynamic_plan &p;
    const target &on;
    const device_backend &backend;
    device_launch &launch;
    const device_memory x, y, scale, zero_point;
    const bool has_y;
    blocked_dimension dimensions[most_dimensions];  // of x, innermost first; a group has a block of each
    int count;
    scales_arguments<number> in{};

    // What the next launch reduces, besides the arguments: numbers of so many bits.
    device_buffer values;
    scales_form form = scales_form::strided;
    int32_t bits = 0;
    int64_t longest = 0;  // of what a launch counts

    int32_t x_bits() const { return type_of(p.how.x_type).bits; }
    const device_scale_kernels &kernels_for(int32_t bits) const { return by.of[bits == 32]; }

    void set_rule() {
        const scale_computation &how = p.how;
        in.x_type = how.x_type;
        in.scale_type = how.scale_type;
        in.rule = how.rule;
        in.clip_ratio = how.clip_ratio;
        in.least_scale = how.least_scale;
        in.largest = how.largest;
        in.largest_exponent = how.largest_exponent;
        in.mantissa_bits = how.mantissa_bits;
        in.lowest = how.lowest;
        in.highest = how.highest;
    }

    void set_elements_of_x() {
        const span touched{p.quantize.x_first, p.quantize.x_end};
        bits = x_bits();
        if (!set_units(x, touched)) {
            const int64_t bytes = bits / 8;
            form = scales_form::strided;
            in.first_x = -x.view_units(backend, touched, bytes, values) / bytes;
            describe(1);
        }
    }

    // Whether so many elements share the one scale that a block of threads would take long, and their parts' extremes
    // have room in y, whose codes are written later. Not where y is x.
    bool splits() const {
        const int64_t bytes = p.quantize.x_end - p.quantize.x_first;
        return form == scales_form::wide && count == 1 && in.groups == 1 && bytes >= least_parts * part_bytes &&
               kernels_for(32)[0] && has_y && dimensions[0].whole.y == 1 && !shares_memory(x, y) &&
               y.from_aligned(backend, 0).bytes % scales_unit_bytes == 0;
    }

    static bool shares_memory(const device_memory &a, const device_memory &b) {
        return a.base == b.base && a.offset == b.offset;
    }

    // Parts come in pairs, of which a unit has the extremes: past the end is the last unit again.
    qdq_status reduce_parts() {
        const int64_t unit = scales_unit_bytes * 8 / x_bits();
        dimensions[0].block = part_bytes * 8 / x_bits();
        describe(unit, 2);
        in.kind = int32_t(scales_output::extremes);
        return run_for(y, {0, in.groups * bytes_of_extremes}, bytes_of_extremes, nullptr);
    }

    void set_extremes_in_y() {
        const int64_t numbers = int64_t{2} * in.groups;
        dimensions[0] = {{numbers, 1, 1, 0, 0}, numbers};
        in.x_type = QDQ_F32;
        bits = 32;
        set_units(y, {0, numbers * 4});
    }

    qdq_status run_for(const device_memory &output, const span &bytes, int64_t bytes_of_one,
                       int64_t dimension::*stride) {
        device_buffer outputs;
        in.output_bytes = static_cast<int32_t>(bytes_of_one);
        in.first_output = -output.view_units(backend, bytes, 1, outputs) / bytes_of_one;
        for (int d = 0; d < count; d++) {
            in.output_step[d] = stride ? dimensions[d].whole.*stride : 1;
        }
        kernel_arguments arguments(launch);
        arguments.add(&values.buffer);
        for_each_argument(in, form, [&](const char *, int, auto &argument) { arguments.add(&argument); });
        arguments.add(&outputs.buffer);
        return call_with_buffers(function, on, launch, {&values, &outputs}, kernels_for(bits)[int(form)], arguments);
    }

    // False where units of 16 bytes do not fit.
    bool set_units(const device_memory &memory, const span &touched) {
        const int64_t unit = scales_unit_bytes * 8 / bits;
        const blocked_dimension &c = dimensions[0];
        bool fits = count <= scales_dimensions_of(scales_form::wide) && c.whole.x == 1 && c.whole.extent % unit == 0 &&
                    c.block % unit == 0;
        for (int d = 1; d < count; d++) {
            fits = fits && dimensions[d].whole.x % unit == 0;
        }
        const auto [base, from_base] = memory.from_aligned(backend, touched.first);
        const int64_t first = static_cast<int64_t>(from_base / scales_unit_bytes);
        const int64_t units = (touched.end - touched.first) / scales_unit_bytes;
        if (!fits || from_base % scales_unit_bytes != 0 || first + units > INT32_MAX) {
            return false;
        }
        values.set_rows(base, 32, scales_unit_bytes / 4, first + units);
        in.first_x = first - touched.first / scales_unit_bytes;
        describe(unit);
        // Short groups are for a few threads each: 512 elements of bf16 are 16 loads for each of four.
        constexpr int32_t most_narrow = 64;
        form = in.units <= most_narrow ? scales_form::narrow : scales_form::wide;
        return true;
    }

    // The dimensions in units of so many elements of the innermost one, whose blocks are a multiple of so many.
    void describe(int64_t unit, int64_t multiple = 1) {
        int64_t groups = 1, units = 1;
        longest = 0;
        for (int d = 0; d < scales_dimensions; d++) {
            const blocked_dimension &of = d < count ? dimensions[d] : blocked_dimension{{1, 0, 0, 0, 0}, 1};
            const int64_t elements = d == 0 ? unit : 1, block = of.block / elements;
            const int64_t blocks = d == 0 ? (blocks_of(of) + multiple - 1) / multiple * multiple : blocks_of(of);
            const invariant_divisor by_block = divisor_of(block), by_blocks = divisor_of(blocks);
            in.extent[d] = static_cast<int32_t>(of.whole.extent / elements);
            in.blocks[d] = static_cast<int32_t>(blocks);
            in.blocks_multiplier[d] = by_blocks.multiplier;
            in.blocks_shift[d] = by_blocks.shift;
            in.block[d] = static_cast<int32_t>(block);
            in.block_multiplier[d] = by_block.multiplier;
            in.block_shift[d] = by_block.shift;
            in.x_step[d] = d == 0 && unit > 1 ? 1 : of.whole.x / unit;
            groups *= blocks;
            units *= block;
            longest = std::max({longest, groups, units, of.whole.extent / elements});
        }
        in.groups = static_cast<int32_t>(groups);
        in.units = static_cast<int32_t>(units);
    }
};

}  // namespace

qdq_status run_dynamic_on_device(const char *function, const device_scales &by, const dynamic_plan &p,
                                 const dynamic_tensors &at, void *stream) {
    if (p.groups == 0) {
        return QDQ_OK;
    }
    device_launch launch{};
    const device_backend &backend = *p.quantize.op.target->device;
    qdq_status s = backend.enter(launch, function, stream, p.quantize.device_id);
    if (s) {
        return s;
    }
    const launch_scope scope(launch);
    scales_launcher scales(function, by, p, at, launch);
    plan quantize = p.quantize;
    quantize.op.scale = at.scale;
    quantize.op.zero_point = p.has_zero_point ? at.zero_point : nullptr;
    if ((s = scales.check()) || (at.y && (s = check_on_device(function, quantize, at.x, at.y, launch))) ||
        (s = scales.run()) || !at.y) {
        return s;
    }
    s = scales.put_barrier();
    return s ? s : launch_on_device(function, quantize, at.x, at.y, launch);
}

}  // namespace qdq::runtime

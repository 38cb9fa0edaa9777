// A plan on a device: cut into launches, each by the kernel that suits its layout.
#include "device/buffers.h"
#include "device/region.h"

#include "HalideRuntime.h"
#include "device_arguments.h"
#include "grids.h"
#include "support/status.h"
#include "support/types.h"

#include <algorithm>

namespace qdq::runtime {

namespace {

template<typename T> using number = T;

zero_point_use use_of_zero_point(const call &op) {
    if (!op.zero_point) {
        return zero_point_use::none;
    }
    return op.adds_as_f32() ? zero_point_use::as_float : zero_point_use::as_integer;
}

// One run of a plan.
class launcher {
public:
    launcher(const char *function, const plan &p, const void *x, void *y, device_launch &launch)
        : function(function),
          p(p),
          op(p.op),
          backend(*p.op.target->device),
          launch(launch),
          x(backend, x, p.x_offset),
          y(backend, y, p.y_offset),
          scale(backend, op.scale, p.scale_offset),
          zero_point(backend, op.zero_point, p.zero_point_offset) {}

    qdq_status check() const {
        const char *name = x.is_misaligned(backend, op.x_bits)   ? "x"
                           : y.is_misaligned(backend, op.y_bits) ? "y"
                                                                 : nullptr;
        if (name) {
            return fail(QDQ_INVALID_ARGUMENT, "%s: %s: its elements do not lie at multiples of their size", function,
                        name);
        }
        if (!has_memory()) {
            return fail(QDQ_DEVICE_ERROR, "%s: target %s: %s", function, op.target->name, launch.message);
        }
        return QDQ_OK;
    }

    qdq_status run() {
        set_constants();
        return for_each_part(
            whole_region(p),
            [](void *self, const region &part) { return static_cast<launcher *>(self)->run_part(part); }, this);
    }

private:
    const char *const function;
    const plan &p;
    const call &op;
    const device_backend &backend;
    device_launch &launch;
    const device_memory x, y, scale, zero_point;
    const device_kernel *const kernels = op.device->forms;
    device_arguments<number> in{};

    int64_t group_of(device_form form) const { return device_group(kernels[int(form)].unit_elements, op.codes().bits); }

    bool has_memory() const {
        auto has = [&](const device_memory &m, const span &bytes) { return m.is_there(backend, launch, bytes); };
        return has(x, {p.x_first, p.x_end}) && has(y, {p.y_first, p.y_end}) &&
               has(scale, touched(&dimension::scale, op.scale_type)) &&
               (!op.zero_point || has(zero_point, touched(&dimension::zero_point, op.zero_point_type)));
    }

    // The bytes of an operand, relative to the first.
    span touched(int64_t dimension::*stride, qdq_dtype type) const {
        const int64_t bytes = type_of(type).bits / 8;
        int64_t lowest = 0, highest = 0;
        for (int d = 0; d < p.dimension_count; d++) {
            const blocked_dimension &dim = p.dimensions[d];
            const int64_t reach = (dim.whole.extent - 1) / dim.block * (dim.whole.*stride);
            (reach < 0 ? lowest : highest) += reach;
        }
        return {lowest * bytes, (highest + 1) * bytes};
    }

    void set_constants() {
        in.packing = op.packing;
        in.scale_type = op.scale_type;
        in.scale_bytes = type_of(op.scale_type).bits / 8;
        in.reciprocal = op.reciprocal;
        in.zero_point_use = int32_t(use_of_zero_point(op));
        in.zero_point_type = op.zero_point_type;
        in.zero_point_bytes = op.zero_point ? type_of(op.zero_point_type).bits / 8 : 1;
        in.multiplies = op.multiply;
        in.rounding = int32_t{op.rounding};
        in.lowest = op.lowest;
        in.highest = op.highest;
        in.no_saturate = op.no_saturate || op.nan_is_zero;
        in.sign = op.adds_zero_point ? 1 : -1;
        in.seed = op.rounds_by_chance() ? p.random.seed : 0;
    }

    // Whole groups by a dense form, if there is one for the layout, and what is left by the strided form.
    qdq_status run_part(const region &r) {
        const int64_t elements = r.elements();
        if (op.packs() && (op.quantizes() ? r.y : r.x) % op.packed_unit() != 0) {
            return fail(QDQ_UNSUPPORTED,
                        "%s: x, y: rows of packed codes that do not begin at whole bytes, in a tensor of %lld "
                        "elements: device kernels take 2^30 at once",
                        function, static_cast<long long>(p.elements));
        }
        for (const device_form form : {device_form::group, device_form::each}) {
            const int64_t group = group_of(form), in_groups = elements - elements % group;
            device_buffer x_words, y_words;
            if (op.packing != QDQ_SPLIT_HALVES && r.has_dense_rows(group) && meets_operands(r, form) &&
                has_random_bits(r, form) &&
                set_words(x, r.x, op.x_bits, reach(r, &dimension::x), group, x_words, in.first_x) &&
                set_words(y, r.y, op.y_bits, reach(r, &dimension::y), group, y_words, in.first_y)) {
                return run_groups(r, form, elements, in_groups, x_words, y_words);
            }
        }
        return run_strided(r, elements);
    }

    // Of the first element, where its random bits follow of it.
    uint64_t number_of(const region &r) const {
        return op.rounds_by_chance() ? p.random.offset + uint64_t(r.number) : 0;
    }

    // Whether a dense form has those that its groups need. One that computes rows side by side would take more
    // registers for them.
    bool has_random_bits(const region &r, device_form form) const {
        const auto group = uint64_t(group_of(form));
        const bool has_groups = form == device_form::group && group <= uint64_t(kernels::random_elements);
        return !op.rounds_by_chance() || (has_groups && number_of(r) % group == 0);
    }

    // How many elements of x, or of y, there are from the beginning of the first of dense rows to the end of the last.
    static int64_t reach(const region &r, int64_t dimension::*stride) {
        const int64_t before = r.count > 1 ? (r.dimensions[1].whole.extent - 1) * (r.dimensions[1].whole.*stride) : 0;
        return before + r.dimensions[0].whole.extent;
    }

    // Whether the groups of a dense form meet the operands as the innermost dimension does.
    bool meets_operands(const region &r, device_form form) const {
        const blocked_dimension &d = r.dimensions[0];
        const bool whole_groups = r.count == 1 || d.whole.extent % group_of(form) == 0;
        if (form == device_form::group) {
            return whole_groups && (!d.whole.varies() || d.block % group_of(form) == 0);
        }
        const blocked_dimension &rows = r.dimensions[1];
        const bool same_operands = r.count == 1 || !rows.whole.varies() || rows.block % rows_of(form) == 0;
        return whole_groups && d.block == 1 && same_operands;
    }

    qdq_status run_groups(const region &r, device_form form, int64_t elements, int64_t in_groups,
                          device_buffer &x_words, device_buffer &y_words) {
        if (in_groups > 0) {
            describe_groups(r, form, in_groups);
            if (qdq_status s = call_kernel(form, r, x_words, y_words)) {
                return s;
            }
        }
        return in_groups < elements ? run_strided(rest_of(r, in_groups), elements - in_groups) : QDQ_OK;
    }

    // False where groups do not begin where words of 16 bytes may.
    bool set_words(const device_memory &of, int64_t first, int32_t bits, int64_t elements, int64_t group_elements,
                   device_buffer &buffer, int64_t &first_group) const {
        const auto group_bits = static_cast<int32_t>(group_elements * bits);
        const auto group_bytes = static_cast<uint64_t>(group_bits / 8);
        const auto [base, bytes] = of.from_aligned(backend, first * bits / 8);
        first_group = static_cast<int64_t>(bytes / group_bytes);
        const int64_t groups = first_group + elements / group_elements;
        const int32_t word_bits = device_word_bits(group_bits);
        buffer.set_rows(base, word_bits, group_bits / word_bits, groups);
        return bytes % group_bytes == 0 && groups <= INT32_MAX;
    }

    void describe_groups(const region &r, device_form form, int64_t elements) {
        const int64_t group_elements = group_of(form), groups = elements / group_elements;
        clear_dimensions();
        const blocked_dimension &c = r.dimensions[0];
        const bool each = form == device_form::each;
        const int64_t columns = std::max<int64_t>(1, c.whole.extent / group_elements), rows = groups / columns;
        describe(0, columns, each ? 1 : std::max<int64_t>(1, c.block / group_elements), c.whole,
                 each ? group_elements : 1);
        if (r.count > 1) {
            describe(1, rows, r.dimensions[1].block, r.dimensions[1].whole, 1);
        }
        in.units = static_cast<int32_t>(columns * ((rows - 1) / rows_of(form) + 1));
        in.first_number = number_of(r) / uint64_t(group_elements);
        in.x_step[0] = in.y_step[0] = 1;
        in.x_step[1] = r.count > 1 ? r.dimensions[1].whole.x / group_elements : 0;
        in.y_step[1] = r.count > 1 ? r.dimensions[1].whole.y / group_elements : 0;
    }

    void clear_dimensions() {
        for (int d = 0; d < device_dimensions; d++) {
            describe(d, 1, 1, {1, 0, 0, 0, 0}, 1);
        }
    }

    void describe(int d, int64_t extent, int64_t block, const dimension &strides, int64_t operands) {
        const invariant_divisor by_extent = divisor_of(extent), by_block = divisor_of(block);
        in.extent[d] = static_cast<int32_t>(extent);
        in.extent_multiplier[d] = by_extent.multiplier;
        in.extent_shift[d] = by_extent.shift;
        in.block_multiplier[d] = by_block.multiplier;
        in.block_shift[d] = by_block.shift;
        in.x_step[d] = strides.x;
        in.y_step[d] = strides.y;
        in.scale_step[d] = strides.scale * operands;
        in.zero_point_step[d] = strides.zero_point * operands;
    }

    qdq_status run_strided(const region &r, int64_t elements) {
        in.elements = static_cast<int32_t>(elements);
        in.units = static_cast<int32_t>((elements + op.codes_per_byte() - 1) / op.codes_per_byte());
        in.first_number = number_of(r);
        clear_dimensions();
        in.dimensions = r.count;
        for (int d = 0; d < r.count; d++) {
            describe(d, r.dimensions[d].whole.extent, r.dimensions[d].block, r.dimensions[d].whole, 1);
        }
        device_buffer x_pages, y_pages;
        in.first_x = set_elements(x, {p.x_first, p.x_end}, r.x, op.x_bits, x_pages);
        in.first_y = set_elements(y, {p.y_first, p.y_end}, r.y, op.y_bits, y_pages);
        return call_kernel(device_form::strided, r, x_pages, y_pages);
    }

    // The number of an element (of packed codes, a byte) from the beginning of the buffer.
    int64_t set_elements(const device_memory &of, const span &touched, int64_t element, int32_t bits,
                         device_buffer &buffer) const {
        const int64_t bytes = std::max(bits / 8, 1);
        return element * bits / (8 * bytes) - of.view_units(backend, touched, bytes, buffer) / bytes;
    }

    // The same for an operand, which is read byte by byte.
    int64_t set_operands(const device_memory &of, const span &touched, int64_t operand, int64_t bytes,
                         device_buffer &buffer) const {
        return operand - of.view_units(backend, touched, 1, buffer) / bytes;
    }

    // Scales of the form each as words, for kernels without a zero point: f32 that lie as a group's elements do, from a
    // multiple of 16 bytes on. Otherwise of extent 0.
    void set_scale_words(const region &r, const span &of_scale, device_buffer &buffer) const {
        const int64_t group = group_of(device_form::each), rows = r.count > 1 ? r.dimensions[1].whole.scale : 0;
        const bool as_elements = op.scale_type == QDQ_F32 && r.dimensions[0].whole.scale == 1 && rows >= 0 &&
                                 rows % group == 0 && !op.zero_point;
        int64_t first_group;
        if (!as_elements || !set_words(scale, r.scale, 32, of_scale.end / 4 - r.scale, group, buffer, first_group) ||
            first_group != 0) {
            buffer.set_rows(scale.base, 32, static_cast<int32_t>(group), 0);
        }
    }

    qdq_status call_kernel(device_form form, const region &r, device_buffer &x_buffer, device_buffer &y_buffer) {
        device_buffer scales, zero_points, scale_words;
        const span of_scale = touched(&dimension::scale, op.scale_type);
        in.first_scale = set_operands(scale, of_scale, r.scale, in.scale_bytes, scales);
        // Without a zero point, kernels read a byte of the scale, and no more than that.
        in.first_zero_point = op.zero_point
                                  ? set_operands(zero_point, touched(&dimension::zero_point, op.zero_point_type),
                                                 r.zero_point, in.zero_point_bytes, zero_points)
                                  : set_operands(scale, of_scale, 0, 1, zero_points);
        kernel_arguments arguments(launch);
        for (device_buffer *buffer : {&x_buffer, &scales, &zero_points}) {
            arguments.add(&buffer->buffer);
        }
        if (form == device_form::each) {
            set_scale_words(r, of_scale, scale_words);
            arguments.add(&scale_words.buffer);
        }
        for_each_argument(in, form, [&](const char *, int, auto &argument) { arguments.add(&argument); });
        arguments.add(&y_buffer.buffer);
        auto call_with = [&](std::initializer_list<device_buffer *> buffers) {
            return call_with_buffers(function, *op.target, launch, buffers, kernels[int(form)].run, arguments);
        };
        return form == device_form::each ? call_with({&x_buffer, &scales, &zero_points, &scale_words, &y_buffer})
                                         : call_with({&x_buffer, &scales, &zero_points, &y_buffer});
    }
};

}  // namespace

qdq_status check_on_device(const char *function, const plan &p, const void *x, void *y, device_launch &launch) {
    return launcher(function, p, x, y, launch).check();
}

qdq_status launch_on_device(const char *function, const plan &p, const void *x, void *y, device_launch &launch) {
    return launcher(function, p, x, y, launch).run();
}

qdq_status run_on_device(const char *function, const plan &p, const void *x, void *y, void *stream) {
    device_launch launch{};
    if (const qdq_status s = p.op.target->device->enter(launch, function, stream, p.device_id)) {
        return s;
    }
    const launch_scope scope(launch);
    const qdq_status s = check_on_device(function, p, x, y, launch);
    return s ? s : launch_on_device(function, p, x, y, launch);
}

}  // namespace qdq::runtime

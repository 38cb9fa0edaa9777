// A plan on a device: cut into launches, each by the kernel that suits its layout.
#include "device/launch.h"
#include "device/region.h"

#include "HalideRuntime.h"
#include "device_arguments.h"
#include "support/status.h"
#include "support/types.h"

#include <algorithm>
#include <cstring>

namespace qdq::runtime {

namespace {

template<typename T> using number = T;

// A buffer of the device's memory for one call.
struct device_buffer {
    halide_buffer_t buffer{};
    halide_dimension_t shape[2];
    uint64_t data;

    // Rows of words that lie end to end, of groups [0, groups).
    void set_words(uint64_t memory, int32_t bits_of_group, int64_t groups) {
        const int32_t bits = device_word_bits(bits_of_group), words = bits_of_group / bits;
        set(memory, bits);
        shape[0] = {0, words, 1};
        shape[1] = {0, static_cast<int32_t>(groups), words};
    }

    // Elements [0, end), by pages. Halide takes the last page's size for all pages', and the sum for the buffer's.
    void set_pages(uint64_t memory, int bits, int64_t end) {
        const int64_t page = int64_t{1} << page_bits, pages = (end - 1) / page + 1;
        set(memory, bits);
        shape[0] = {0, static_cast<int32_t>(end - (pages - 1) * page), 1};
        shape[1] = {0, static_cast<int32_t>(pages), static_cast<int32_t>(page)};
    }

private:
    void set(uint64_t memory, int bits) {
        data = memory;
        buffer.type = {halide_type_uint, static_cast<uint8_t>(bits), 1};
        buffer.dimensions = 2;
        buffer.dim = shape;
    }
};

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
          x(memory_of(x, p.x_offset)),
          y(memory_of(y, p.y_offset)),
          scale(memory_of(op.scale, p.scale_offset)),
          zero_point(memory_of(op.zero_point, p.zero_point_offset)) {}

    qdq_status run() {
        if (const char *name = misaligned()) {
            return fail(QDQ_INVALID_ARGUMENT, "%s: %s: its elements do not lie at multiples of their size", function,
                        name);
        }
        if (!has_memory()) {
            return fail(QDQ_DEVICE_ERROR, "%s: target %s: %s", function, op.target->name, launch.message);
        }
        set_constants();
        return for_each_part(
            whole_region(p),
            [](void *self, const region &part) { return static_cast<launcher *>(self)->run_part(part); }, this);
    }

private:
    // A tensor's memory: an address, or a handle and an offset in bytes.
    struct memory {
        uint64_t base;
        int64_t offset;
    };

    struct span {
        int64_t first, end;  // bytes relative to the first element
    };

    const char *const function;
    const plan &p;
    const call &op;
    const device_backend &backend;
    device_launch &launch;
    const memory x, y, scale, zero_point;
    const device_kernel *const kernels = op.device->forms;
    device_arguments<number> in{};

    int64_t group_of(device_form form) const { return device_group(kernels[int(form)].unit_elements, op.codes().bits); }

    memory memory_of(const void *data, int64_t offset) const {
        const uint64_t base = reinterpret_cast<uintptr_t>(data);
        return backend.has_addresses ? memory{base + offset, 0} : memory{base, offset};
    }

    // Which of x and y begins between two elements' places, or NULL. Offsets in memory objects have been checked.
    const char *misaligned() const {
        auto is_off = [&](const memory &m, int32_t bits) {
            return backend.has_addresses && m.base % static_cast<uint64_t>(std::max(bits / 8, 1)) != 0;
        };
        return is_off(x, op.x_bits) ? "x" : is_off(y, op.y_bits) ? "y" : nullptr;
    }

    bool has_memory() const {
        auto has = [&](const memory &m, const span &bytes) {
            return backend.has_memory(launch, m.base, m.offset + bytes.first, m.offset + bytes.end);
        };
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
        in.rounding = op.rounding;
        in.lowest = op.lowest;
        in.highest = op.highest;
        in.no_saturate = op.no_saturate || op.nan_is_zero;
        in.sign = op.adds_zero_point ? 1 : -1;
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
                set_words(x, r.x, op.x_bits, reach(r, &dimension::x), group, x_words, in.first_x) &&
                set_words(y, r.y, op.y_bits, reach(r, &dimension::y), group, y_words, in.first_y)) {
                return run_groups(r, form, elements, in_groups, x_words, y_words);
            }
        }
        return run_strided(r, elements);
    }

    // The elements of x or y from the first to the last of dense rows, or what is between them.
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
    bool set_words(const memory &of, int64_t first, int32_t bits, int64_t elements, int64_t group_elements,
                   device_buffer &buffer, int64_t &first_group) const {
        constexpr uint64_t alignment = 16;
        const uint64_t group_bytes = group_elements * bits / 8;
        uint64_t base = of.base, bytes = of.offset + first * bits / 8;
        if (backend.has_addresses) {
            bytes += base;
            base = bytes / alignment * alignment;
            bytes -= base;
        }
        first_group = static_cast<int64_t>(bytes / group_bytes);
        const int64_t groups = first_group + elements / group_elements;
        buffer.set_words(base, static_cast<int32_t>(group_elements * bits), groups);
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

    // Views the memory that a tensor touches as units of some bytes. Where the view begins, in bytes from the tensor's
    // first element: memory objects are viewed from their own beginning.
    int64_t view_units(const memory &of, const span &touched, int64_t bytes, device_buffer &buffer) const {
        const int64_t begin = backend.has_addresses ? touched.first : -of.offset;
        buffer.set_pages(of.base + (backend.has_addresses ? begin : 0), int(8 * bytes), (touched.end - begin) / bytes);
        return begin;
    }

    // The number of an element (of packed codes, a byte) from the beginning of the buffer.
    int64_t set_elements(const memory &of, const span &touched, int64_t element, int32_t bits,
                         device_buffer &buffer) const {
        const int64_t bytes = std::max(bits / 8, 1);
        return element * bits / (8 * bytes) - view_units(of, touched, bytes, buffer) / bytes;
    }

    // The same for an operand, which is read byte by byte.
    int64_t set_operands(const memory &of, const span &touched, int64_t operand, int64_t bytes,
                         device_buffer &buffer) const {
        return operand - view_units(of, touched, 1, buffer) / bytes;
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
            buffer.set_words(scale.base, static_cast<int32_t>(32 * group), 0);
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
        device_buffer *all[5];
        int count = 0, wrapped = 0, error = 0;
        for (device_buffer *each : {&x_buffer, &scales, &zero_points}) {
            all[count++] = each;
        }
        if (form == device_form::each) {
            set_scale_words(r, of_scale, scale_words);
            all[count++] = &scale_words;
        }
        all[count++] = &y_buffer;
        while (wrapped < count && error == 0) {
            error = backend.wrap(launch, all[wrapped]->buffer, all[wrapped]->data);
            wrapped += error == 0;
        }
        if (error == 0) {
            error = call_with(form, all, count);
        }
        while (wrapped > 0) {
            backend.unwrap(launch, all[--wrapped]->buffer);
        }
        return error == 0 ? QDQ_OK : failure(error);
    }

    // Of the buffers the last is y's.
    int call_with(device_form form, device_buffer *const *buffers, int buffer_count) {
        constexpr int most_arguments = 128;
        void *arguments[most_arguments];
        void *user_context = &launch;
        int count = 0;
        arguments[count++] = &user_context;
        for (int i = 0; i + 1 < buffer_count; i++) {
            arguments[count++] = &buffers[i]->buffer;
        }
        for_each_argument(in, form, [&](const char *, int, auto &argument) { arguments[count++] = &argument; });
        arguments[count++] = &buffers[buffer_count - 1]->buffer;
        return kernels[int(form)].run(arguments);
    }

    qdq_status failure(int error) const {
        const bool memory = error == halide_error_code_out_of_memory || std::strstr(launch.message, "OUT_OF_MEMORY") ||
                            std::strstr(launch.message, "OUT_OF_HOST_MEMORY") ||
                            std::strstr(launch.message, "MEM_OBJECT_ALLOCATION_FAILURE");
        return fail(memory ? QDQ_OUT_OF_MEMORY : QDQ_DEVICE_ERROR, "%s: target %s: %s", function, op.target->name,
                    launch.message[0] ? launch.message : "the kernel failed and did not say why");
    }
};

}  // namespace

qdq_status run_on_device(const char *function, const plan &p, const void *x, void *y, void *stream) {
    device_launch launch{};
    if (const qdq_status s = p.op.target->device->enter(launch, function, stream, p.device_id)) {
        return s;
    }
    const launch_scope scope(launch);
    return launcher(function, p, x, y, launch).run();
}

}  // namespace qdq::runtime

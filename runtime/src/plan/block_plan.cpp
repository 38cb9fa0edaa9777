#include "plan/block_plan.h"

#include "plan/arrangement.h"
#include "plan/draft.h"
#include "plan/memory.h"
#include "targets/target.h"

#include <algorithm>
#include <cinttypes>

namespace qdq::runtime {

namespace {

using kernels::block_elements;
using kernels::block_format;

// A call while it is checked.
struct block_draft {
    const block_arguments &given;
    const block_format &format;
    int64_t float_strides[most_dimensions], block_strides[most_dimensions];

    const qdq_tensor &floats() const { return given.quantizes ? *given.x : *given.y; }
    const qdq_tensor &blocks() const { return given.quantizes ? *given.y : *given.x; }
    const char *name_of_floats() const { return given.quantizes ? "x" : "y"; }
    const char *name_of_blocks() const { return given.quantizes ? "y" : "x"; }

    template<typename... Values> qdq_status invalid(const char *format, Values... values) const {
        return fail(QDQ_INVALID_ARGUMENT, format, given.function, values...);
    }
};

qdq_status check_tensor(const block_draft &d, const char *name, const qdq_tensor &t) {
    if (t.rank < 1 || t.rank > most_dimensions) {
        return d.invalid("%s: %s: rank %d is not in 1..%d: blocks lie along the last dimension", name, int(t.rank),
                         most_dimensions);
    }
    if (!t.shape) {
        return d.invalid("%s: %s: shape is NULL", name);
    }
    for (int i = 0; i < t.rank; i++) {
        if (t.shape[i] < 0) {
            return d.invalid("%s: %s: shape[%d] is %" PRId64 ", below 0", name, i, t.shape[i]);
        }
    }
    if (stored_value(t.device.kind) != QDQ_DEVICE_HOST) {
        return fail(QDQ_UNSUPPORTED, "%s: %s: it is on a device, and blocks are made on the host alone",
                    d.given.function, name);
    }
    return QDQ_OK;
}

qdq_status check_types(const block_draft &d) {
    const int floats = stored_value(d.floats().dtype), blocks = stored_value(d.blocks().dtype);
    if (floats != QDQ_F32 && floats != QDQ_F16 && floats != QDQ_BF16) {
        return d.invalid("%s: %s: its type is none of f32, f16 and bf16", d.name_of_floats());
    }
    if (blocks != QDQ_U8) {
        return d.invalid("%s: %s: its type is not u8, of the bytes of blocks", d.name_of_blocks());
    }
    return QDQ_OK;
}

qdq_status check_shapes(const block_draft &d) {
    const qdq_tensor &floats = d.floats(), &blocks = d.blocks();
    if (blocks.rank != floats.rank) {
        return d.invalid("%s: y: rank %d is not x's, %d", int(d.given.y->rank), int(d.given.x->rank));
    }
    const int last = floats.rank - 1;
    if (floats.shape[last] % block_elements != 0) {
        return d.invalid("%s: %s: shape[%d] is %" PRId64 ", no multiple of %d, the elements of a block",
                         d.name_of_floats(), last, floats.shape[last], block_elements);
    }
    for (int i = 0; i < floats.rank; i++) {
        const int64_t wanted = i < last ? floats.shape[i] : product(floats.shape[i] / block_elements, d.format.bytes());
        if (blocks.shape[i] != wanted) {
            return d.invalid("%s: %s: shape[%d] is %" PRId64 ", and %" PRId64 " is what %s's %" PRId64 " asks for",
                             d.name_of_blocks(), i, blocks.shape[i], wanted, d.name_of_floats(), floats.shape[i]);
        }
    }
    return QDQ_OK;
}

qdq_status check_memory(const block_draft &d, const target &on) {
    const block_arguments &given = d.given;
    const int64_t *const x_strides = given.quantizes ? d.float_strides : d.block_strides;
    const int64_t *const y_strides = given.quantizes ? d.block_strides : d.float_strides;
    place of_x, of_y;
    qdq_status s;
    if ((s = find(given.function, on, "x", *given.x, x_strides, of_x)) ||
        (s = find(given.function, on, "y", *given.y, y_strides, of_y))) {
        return s;
    }
    if (!elements_are_distinct(*given.y, y_strides)) {
        return d.invalid("%s: y: its strides make elements overlap one another");
    }
    return of_x.overlaps(of_y) ? d.invalid("%s: y: it overlaps x") : QDQ_OK;
}

// Loops over blocks, innermost first, of which those that continue one another are one.
void set_loops(const block_draft &d, block_plan &p) {
    const int last = d.floats().rank - 1;
    p.element_stride = d.float_strides[last];
    p.byte_stride = d.block_strides[last];
    p.loop_count = 0;
    p.count = 1;
    for (int i = last; i >= 0; i--) {
        const bool is_last = i == last;
        const block_loop loop = {d.floats().shape[i] / (is_last ? block_elements : 1),
                                 d.float_strides[i] * (is_last ? block_elements : 1),
                                 d.block_strides[i] * (is_last ? p.block_bytes : 1)};
        p.count *= loop.extent;
        block_loop *const inner = p.loop_count > 0 ? &p.loops[p.loop_count - 1] : nullptr;
        if (inner && (inner->extent == 1 || loop.extent == 1)) {
            *inner = inner->extent == 1 ? loop : *inner;
        } else if (inner && loop.floats == inner->floats * inner->extent &&
                   loop.blocks == inner->blocks * inner->extent) {
            inner->extent *= loop.extent;
        } else {
            p.loops[p.loop_count++] = loop;
        }
    }
}

qdq_status find_kernel(const block_draft &d, block_plan &p) {
    p.on = current_target();
    if (!p.on) {
        return QDQ_UNSUPPORTED;
    }
    if (p.on->device) {
        return fail(QDQ_UNSUPPORTED, "%s: x: it is on the host, but target %s has been forced", d.given.function,
                    p.on->name);
    }
    const block_kernels &all = find_block_kernels(*p.on);
    p.tuned = &all.tuned;
    p.kernel = (p.quantizes ? all.quantize : all.dequantize)[p.float_type][&d.format - kernels::block_formats];
    return p.kernel ? QDQ_OK
                    : fail(QDQ_UNSUPPORTED, "%s: %s: this library is built without kernels of %s", d.given.function,
                           d.name_of_floats(), type_of(p.float_type).name);
}

}  // namespace

qdq_status make_block_plan(const block_arguments &given, block_plan &result) {
    const int format = stored_value(given.format);
    if (!given.x || !given.y) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: NULL", given.function, given.x ? "y" : "x");
    }
    if (format < 0 || format >= int(std::size(kernels::block_formats))) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: format: %d is no qdq_block_format", given.function, format);
    }
    block_draft d{given, kernels::block_formats[format], {}, {}};
    qdq_status s;
    if ((s = check_tensor(d, "x", *given.x)) || (s = check_tensor(d, "y", *given.y)) || (s = check_types(d)) ||
        (s = check_shapes(d))) {
        return s;
    }
    element_strides(d.floats(), d.float_strides);
    element_strides(d.blocks(), d.block_strides);
    result.quantizes = given.quantizes;
    result.block_bytes = d.format.bytes();
    result.float_type = d.floats().dtype;
    result.count = 0;
    if ((s = find_kernel(d, result)) || is_empty(*given.x) || (s = check_memory(d, *result.on))) {
        return s;
    }
    set_loops(d, result);
    return QDQ_OK;
}

}  // namespace qdq::runtime

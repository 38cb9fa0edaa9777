#include "plan/draft.h"
#include "targets/target.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace qdq::runtime {

namespace {

qdq_status check_types(const draft &d) {
    const arguments &given = d.given;
    const bool quantizes = d.op.quantizes();
    if (const element_type &type = type_of(d.floats().dtype); !type.roles.floats) {
        return d.invalid("%s: %s: dtype %s is not one of f32, f16, bf16", quantizes ? "x" : "y", type.name);
    }
    if (const element_type &type = d.code_type(); !type.roles.stored) {
        return d.invalid("%s: %s: dtype %s is not a quantized type", quantizes ? "y" : "x", type.name);
    }
    if (const element_type &type = type_of(given.scale->dtype); !type.roles.scale) {
        return d.invalid("%s: scale: dtype %s is not a scale type", type.name);
    }
    if (given.zero_point && !type_of(given.zero_point->dtype).roles.zero_point) {
        return d.invalid("%s: zero_point: dtype %s is not a zero-point type", type_of(given.zero_point->dtype).name);
    }
    return QDQ_OK;
}

qdq_status check_device(const draft &d, const char *name, const qdq_tensor &t) {
    const qdq_device &device = t.device, &where = d.given.x->device;
    if (const int kind = stored_value(device.kind); kind < 0 || kind > QDQ_DEVICE_OPENCL) {
        return d.invalid("%s: %s: device kind %d is not a qdq_device_kind", name, kind);
    }
    if (device.kind != where.kind || device.id != where.id) {
        return d.invalid(
            "%s: x, %s: they live on two devices, kind %d, id %d, and kind %d, id %d; nothing is moved silently", name,
            int(where.kind), int(where.id), int(device.kind), int(device.id));
    }
    if (device.kind != QDQ_DEVICE_OPENCL && device.offset != 0) {
        return d.invalid("%s: %s: device offset %" PRId64 " is for OpenCL's memory objects alone", name, device.offset);
    }
    if (device.offset < 0) {
        return d.invalid("%s: %s: device offset %" PRId64 " is below 0", name, device.offset);
    }
    const int64_t bytes = type_of(t.dtype).bytes();
    if (device.offset % bytes != 0) {
        return d.invalid("%s: %s: device offset %" PRId64 " is not a multiple of its elements' %" PRId64 " bytes", name,
                         device.offset, bytes);
    }
    return QDQ_OK;
}

// All tensors live in one place, the host or one device.
qdq_status check_devices(draft &d) {
    const arguments &given = d.given;
    qdq_status s;
    if ((s = check_device(d, "x", *given.x)) || (s = check_device(d, "scale", *given.scale)) ||
        (given.zero_point && (s = check_device(d, "zero_point", *given.zero_point))) ||
        (s = check_device(d, "y", *given.y))) {
        return s;
    }
    const qdq_device &where = given.x->device;
    if (where.kind == QDQ_DEVICE_HOST) {
        return where.id == 0 ? QDQ_OK : d.invalid("%s: x: device id %d of the host", int(where.id));
    }
    d.result.path = execution_path::device;
    d.result.device_id = where.id;
    d.result.x_offset = given.x->device.offset;
    d.result.y_offset = given.y->device.offset;
    d.result.scale_offset = given.scale->device.offset;
    d.result.zero_point_offset = given.zero_point ? given.zero_point->device.offset : 0;
    return QDQ_OK;
}

uint64_t device_bits(const qdq_tensor &t) {
    uint64_t words[2];
    static_assert(sizeof(words) == sizeof(t.device));
    std::memcpy(words, &t.device, sizeof(words));
    return words[0] | words[1];
}

// Whether anything says that a tensor is not the host's: what a call on host tensors pays for devices.
bool names_device(const arguments &given) {
    const uint64_t set = device_bits(*given.x) | device_bits(*given.scale) | device_bits(*given.y);
    return (set | (given.zero_point ? device_bits(*given.zero_point) : 0)) != 0;
}

qdq_status no_kernel(const draft &d) {
    const char *x = type_of(d.given.x->dtype).name, *y = type_of(d.given.y->dtype).name;
    const char *op = d.op.quantizes() ? "quantize" : "dequantize";
    return fail(QDQ_UNSUPPORTED, "%s: x, y: target %s has no kernel from %s to %s: %s_%s_%s was not picked; %s adds it",
                d.given.function, d.op.target->name, x, y, op, x, y, qdq_linked_by);
}

qdq_status find_device_kernels(draft &d) {
    if (qdq_status s = check_devices(d)) {
        return s;
    }
    call &op = d.op;
    op.target = device_target(d.given.function, d.given.x->device.kind);
    if (!op.target) {
        return QDQ_UNSUPPORTED;
    }
    op.device = find_device_row(*op.target, op.kind, d.floats().dtype, d.codes().dtype);
    if (d.code_type().roles.host) {
        return fail(QDQ_UNSUPPORTED, "%s: %s: devices have no kernels of %s", d.given.function,
                    op.quantizes() ? "y" : "x", d.code_type().name);
    }
    return op.device ? QDQ_OK : no_kernel(d);
}

qdq_status find_host_kernels(draft &d) {
    call &op = d.op;
    op.target = current_target();
    if (!op.target) {
        return QDQ_UNSUPPORTED;
    }
    if (d.is_on_device()) {
        return fail(QDQ_UNSUPPORTED, "%s: x: it is on the host, but target %s has been forced", d.given.function,
                    op.target->name);
    }
    const qdq_dtype x = d.given.x->dtype, y = d.given.y->dtype;
    if (op.quantizes()) {
        op.quantize = find_quantize(*op.target, x, y);
        op.tuned = op.quantize ? &op.quantize->tuned : nullptr;
    } else {
        op.dequantize = find_dequantize(*op.target, x, y);
        op.tuned = op.dequantize ? &op.dequantize->tuned : nullptr;
    }
    return op.tuned ? QDQ_OK : no_kernel(d);
}

}  // namespace

qdq_status choose_kernels(draft &d) {
    if (qdq_status s = check_types(d)) {
        return s;
    }
    return names_device(d.given) ? find_device_kernels(d) : find_host_kernels(d);
}

}  // namespace qdq::runtime

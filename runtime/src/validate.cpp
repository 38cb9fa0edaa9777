#include "validate.h"

#include "device.h"
#include "dtype.h"
#include "execute.h"
#include "loops.h"
#include "nest_runner.h"
#include "operands.h"
#include "packing.h"
#include "status.h"
#include "target.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace qdq::runtime {

namespace {

constexpr qdq_status ok = QDQ_OK;

struct span {
    int64_t first = 0, end = 0;  // bytes relative to data
};

// A tensor's elements, or -1 where the product overflows.
int64_t count_elements(const qdq_tensor &t) {
    int64_t product = 1;
    bool is_empty = false, overflows = false;
    for (int d = 0; d < t.rank; d++) {
        is_empty |= t.shape[d] == 0;
        overflows |= __builtin_mul_overflow(product, t.shape[d], &product);
    }
    return is_empty ? 0 : overflows ? -1 : product;
}

qdq_status check_tensor(const char *function, const char *name, const qdq_tensor *t, int64_t &elements) {
    if (!t) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: NULL", function, name);
    }
    if (const int dtype = stored_value(t->dtype); dtype < 0 || dtype >= dtype_count) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: dtype %d is not a qdq_dtype", function, name, dtype);
    }
    if (t->rank < 0 || t->rank > most_dimensions) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: rank %d is not in 0..%d", function, name, int(t->rank),
                    most_dimensions);
    }
    if (t->rank > 0 && !t->shape) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: shape is NULL and rank is %d", function, name, int(t->rank));
    }
    for (int d = 0; d < t->rank; d++) {
        if (t->shape[d] < 0) {
            return fail(QDQ_INVALID_ARGUMENT, "%s: %s: shape[%d] is %" PRId64 ", below 0", function, name, d,
                        t->shape[d]);
        }
    }
    elements = count_elements(*t);
    if (elements < 0) {
        return fail(QDQ_INVALID_ARGUMENT, "%s: %s: the shape has more than 2^63 - 1 elements", function, name);
    }
    return ok;
}

// Row-major strides where the caller gave none. Those of a tensor without elements may pass the range of int64_t, and
// lead nowhere.
void element_strides(const qdq_tensor &t, int64_t *strides) {
    int64_t dense = 1;
    for (int d = t.rank - 1; d >= 0; d--) {
        strides[d] = t.strides && !is_packed(t.dtype) ? t.strides[d] : dense;
        static_cast<void>(__builtin_mul_overflow(dense, t.shape[d], &dense));
    }
}

int64_t divide_up(int64_t extent, int64_t block) { return extent / block + (extent % block != 0); }

// The bytes a non-empty tensor touches; false where an address computation overflows.
bool touched(const qdq_tensor &t, const int64_t *strides, span &bytes) {
    int64_t lowest = 0, highest = 0;
    for (int d = 0; d < t.rank; d++) {
        int64_t reach;
        if (__builtin_mul_overflow(t.shape[d] - 1, strides[d], &reach) ||
            __builtin_add_overflow(reach < 0 ? lowest : highest, reach, reach < 0 ? &lowest : &highest)) {
            return false;
        }
    }
    const int64_t bits = info(t.dtype).bits;
    int64_t elements, last_bit;
    if (__builtin_mul_overflow(lowest, bits, &bytes.first) || __builtin_add_overflow(highest, 1, &elements) ||
        __builtin_mul_overflow(elements, bits, &last_bit)) {
        return false;
    }
    bytes.first /= 8;
    bytes.end = static_cast<int64_t>((static_cast<uint64_t>(last_bit) + 7) / 8);
    return true;
}

bool same_shape(const qdq_tensor &a, const qdq_tensor &b) {
    return a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape);
}

// Whether distinct indices are distinct elements: each stride steps over all that the smaller ones reach. Of strides
// within the address space.
bool elements_are_distinct(const qdq_tensor &t, const int64_t *strides) {
    struct step {
        int64_t stride, extent;
    } steps[most_dimensions]{};
    int count = 0;
    for (int d = 0; d < t.rank; d++) {
        if (t.shape[d] > 1) {
            steps[count++] = {strides[d] < 0 ? -strides[d] : strides[d], t.shape[d]};
        }
    }
    for (int i = 1; i < count; i++) {
        for (int j = i; j > 0 && steps[j].stride < steps[j - 1].stride; j--) {
            std::swap(steps[j], steps[j - 1]);
        }
    }
    int64_t reach = 0;
    for (int i = 0; i < count; i++) {
        if (steps[i].stride <= reach) {
            return false;
        }
        reach += steps[i].stride * (steps[i].extent - 1);
    }
    return true;
}

// Where a tensor lies: in the address space, or in a memory object, whose handle is no address.
struct place {
    const void *object = nullptr;  // NULL for the address space
    uint64_t first = 0, end = 0;

    bool overlaps(const place &other) const { return object == other.object && first < other.end && other.first < end; }
};

bool has_addresses(const target &on) { return !on.device || on.device->has_addresses; }

// False where its bytes, of which the first element's are some, pass the end of that or reach below its beginning.
bool locate(const target &on, const void *data, const span &bytes, int64_t offset, place &at) {
    const bool is_address = has_addresses(on);
    const uint64_t begin = is_address ? reinterpret_cast<uintptr_t>(data) : static_cast<uint64_t>(offset);
    const uint64_t most = is_address ? UINT64_MAX : INT64_MAX;  // offsets are signed
    at = {is_address ? nullptr : data, begin + static_cast<uint64_t>(bytes.first),
          begin + static_cast<uint64_t>(bytes.end)};
    return at.first <= begin && begin <= at.end && at.end <= most;
}

qdq_status out_of_reach(const char *function, const target &on, const char *name) {
    return fail(
        QDQ_INVALID_ARGUMENT, "%s: %s: its elements reach %s", function, name,
        has_addresses(on) ? "past the address space" : "below the beginning of a memory object, or 2^63 bytes past it");
}

bool is_in_place(const plan &p, const void *x, const void *y) {
    return x == y && p.same_layout && p.x_offset == p.y_offset;
}

qdq_status partial_overlap(const char *function) {
    return fail(QDQ_INVALID_ARGUMENT,
                "%s: y: it overlaps x; y may only be x itself, with the same strides and element size", function);
}

class checker {
public:
    checker(const arguments &given, plan &result) : given(given), result(result), what(result.what) {}

    qdq_status run() {
        qdq_status s;
        result.made = plan_mark;
        result.x_offset = result.y_offset = result.scale_offset = result.zero_point_offset = 0;
        result.how = walk::nest;
        if ((s = check_tensors()) || (s = check_types()) || (s = check_options()) || (s = check_granularity())) {
            return s;
        }
        if (x_elements == 0) {
            result.nest.count = 0;
            result.elements = 0;
            result.direct.possible = false;
            return ok;
        }
        if ((s = check_memory()) || (s = check_zero_point_values())) {
            return s;
        }
        reduce();
        return ok;
    }

private:
    const arguments &given;
    plan &result;
    call &what;
    qdq_options options{};
    int64_t x_elements = 0, scale_elements = 0, zero_point_elements = 0;
    int64_t x_strides[most_dimensions]{}, y_strides[most_dimensions]{};
    int64_t scale_strides[most_dimensions]{}, zero_point_strides[most_dimensions]{};
    int axis = 0;

    template<typename... Values>
    qdq_status invalid(const char *format, Values... values) {
        return fail(QDQ_INVALID_ARGUMENT, format, given.function, values...);
    }

    qdq_status check_tensors() {
        int64_t y_elements;
        qdq_status s;
        if ((s = check_tensor(given.function, "x", given.x, x_elements)) ||
            (s = check_tensor(given.function, "scale", given.scale, scale_elements)) ||
            (s = check_tensor(given.function, "y", given.y, y_elements))) {
            return s;
        }
        if (given.zero_point &&
            (s = check_tensor(given.function, "zero_point", given.zero_point, zero_point_elements))) {
            return s;
        }
        if (given.x->rank != given.y->rank) {
            return invalid("%s: y: rank %d is not x's, %d", int(given.y->rank), int(given.x->rank));
        }
        for (int d = 0; d < given.x->rank; d++) {
            if (given.x->shape[d] != given.y->shape[d]) {
                return invalid("%s: y: shape[%d] is %" PRId64 ", x's is %" PRId64, d, given.y->shape[d],
                               given.x->shape[d]);
            }
        }
        return x_elements == 0 ? ok : check_data();
    }

    qdq_status check_data() {
        if (given.needs_data && !given.x->data) {
            return invalid("%s: x: data is NULL");
        }
        if (given.needs_data && !given.y->data) {
            return invalid("%s: y: data is NULL");
        }
        if (!given.scale->data) {
            return invalid("%s: scale: data is NULL");
        }
        if (given.zero_point && !given.zero_point->data) {
            return invalid("%s: zero_point: data is NULL");
        }
        return ok;
    }

    qdq_status check_types() {
        const bool quantizes = given.op == operation::quantize;
        const qdq_tensor &of_floats = quantizes ? *given.x : *given.y, &of_codes = quantizes ? *given.y : *given.x;
        const char *floats_name = quantizes ? "x" : "y", *codes_name = quantizes ? "y" : "x";
        if (!info(of_floats.dtype).is_float_side) {
            return invalid("%s: %s: dtype %s is not one of f32, f16, bf16", floats_name, info(of_floats.dtype).name);
        }
        if (!info(of_codes.dtype).is_stored) {
            return invalid("%s: %s: dtype %s is not a quantized type", codes_name, info(of_codes.dtype).name);
        }
        if (!info(given.scale->dtype).is_scale) {
            return invalid("%s: scale: dtype %s is not a scale type", info(given.scale->dtype).name);
        }
        if (given.zero_point && !info(given.zero_point->dtype).is_zero_point) {
            return invalid("%s: zero_point: dtype %s is not a zero-point type", info(given.zero_point->dtype).name);
        }
        return find_kernels();
    }

    // All tensors live in one place, the host or one device.
    qdq_status check_devices() {
        const qdq_device &where = given.x->device;
        const struct {
            const char *name;
            const qdq_tensor *tensor;
        } all[] = {{"x", given.x}, {"scale", given.scale}, {"zero_point", given.zero_point}, {"y", given.y}};
        for (const auto &[name, tensor] : all) {
            if (!tensor) {
                continue;
            }
            const qdq_device &device = tensor->device;
            if (const int kind = stored_value(device.kind); kind < 0 || kind > QDQ_DEVICE_OPENCL) {
                return invalid("%s: %s: device kind %d is not a qdq_device_kind", name, kind);
            }
            if (device.kind != where.kind || device.id != where.id) {
                return invalid(
                    "%s: x, %s: they live on two devices, kind %d, id %d, and kind %d, id %d; nothing is moved "
                    "silently",
                    name, int(where.kind), int(where.id), int(device.kind), int(device.id));
            }
            if (device.kind != QDQ_DEVICE_OPENCL && device.offset != 0) {
                return invalid("%s: %s: device offset %" PRId64 " is for OpenCL's memory objects alone", name,
                               device.offset);
            }
            const int64_t bytes = std::max(info(tensor->dtype).bits / 8, 1);
            if (device.offset < 0) {
                return invalid("%s: %s: device offset %" PRId64 " is below 0", name, device.offset);
            }
            if (device.offset % bytes != 0) {
                return invalid("%s: %s: device offset %" PRId64 " is not a multiple of its elements' %" PRId64 " bytes",
                               name, device.offset, bytes);
            }
        }
        if (where.kind == QDQ_DEVICE_HOST) {
            return where.id == 0 ? ok : invalid("%s: x: device id %d of the host", int(where.id));
        }
        result.how = walk::device;
        result.device_id = where.id;
        result.x_offset = given.x->device.offset;
        result.y_offset = given.y->device.offset;
        result.scale_offset = given.scale->device.offset;
        result.zero_point_offset = given.zero_point ? given.zero_point->device.offset : 0;
        return ok;
    }

    // Whether anything says that a tensor is not the host's: what a call on host tensors pays for devices.
    bool names_device() const {
        const uint64_t set = device_bits(*given.x) | device_bits(*given.scale) | device_bits(*given.y);
        return (set | (given.zero_point ? device_bits(*given.zero_point) : 0)) != 0;
    }

    static uint64_t device_bits(const qdq_tensor &t) {
        uint64_t words[2];
        static_assert(sizeof(words) == sizeof(t.device));
        std::memcpy(words, &t.device, sizeof(words));
        return words[0] | words[1];
    }

    bool on_device() const { return what.on->device != nullptr; }

    qdq_status find_device_kernels() {
        if (qdq_status s = check_devices()) {
            return s;
        }
        what.on = device_target(given.function, given.x->device.kind);
        if (!what.on) {
            return QDQ_UNSUPPORTED;
        }
        const bool quantizes = given.op == operation::quantize;
        what.device = find_device_row(*what.on, quantizes ? given.x->dtype : given.y->dtype,
                                      quantizes ? given.y->dtype : given.x->dtype);
        return what.device ? ok : no_kernel();
    }

    qdq_status find_kernels() {
        if (names_device()) {
            return find_device_kernels();
        }
        what.on = current_target();
        if (!what.on) {
            return QDQ_UNSUPPORTED;
        }
        if (on_device()) {
            return fail(QDQ_UNSUPPORTED, "%s: x: it is on the host, but target %s has been forced", given.function,
                        what.on->name);
        }
        const bool found =
            given.op == operation::quantize
                ? (what.quantize = find_quantize(*what.on, given.x->dtype, given.y->dtype)) != nullptr
                : (what.dequantize = find_dequantize(*what.on, given.x->dtype, given.y->dtype)) != nullptr;
        return found ? ok : no_kernel();
    }

    qdq_status no_kernel() {
        return fail(QDQ_UNSUPPORTED, "%s: x, y: target %s has no kernel from %s to %s", given.function, what.on->name,
                    info(given.x->dtype).name, info(given.y->dtype).name);
    }

    qdq_status check_options() {
        if (given.options) {
            std::memcpy(&options, given.options, sizeof(options));
        }
        const struct {
            const char *name;
            int value, most;
        } choices[] = {{"scale_mode", stored_value(options.scale_mode), QDQ_RECIPROCAL},
                       {"quantize_zp", stored_value(options.quantize_zp), QDQ_ZP_BEFORE_ROUNDING},
                       {"dequantize_zp", stored_value(options.dequantize_zp), QDQ_ZP_ADD},
                       {"rounding", stored_value(options.rounding), QDQ_UP},
                       {"packing", stored_value(options.packing), QDQ_SPLIT_HALVES}};
        for (const auto &choice : choices) {
            if (choice.value < 0 || choice.value > choice.most) {
                return invalid("%s: options: %s %d is not in 0..%d", choice.name, choice.value, choice.most);
            }
        }
        if (options.stream && !on_device()) {
            return invalid("%s: options: stream: target %s runs on the CPU and takes none", what.on->name);
        }
        if (options.packing == QDQ_SPLIT_HALVES && x_elements % split_group != 0) {
            return invalid("%s: options: packing in split halves needs a multiple of %d elements, not %" PRId64,
                           split_group, x_elements);
        }
        if (options.block_size < 0) {
            return invalid("%s: options: block_size %" PRId64 " is below 0", options.block_size);
        }
        if (qdq_status s = check_block_shape()) {
            return s;
        }
        return check_range();
    }

    qdq_status check_block_shape() {
        if (options.block_shape && options.block_size > 0) {
            return invalid("%s: options: block_size %" PRId64 " and block_shape are both given", options.block_size);
        }
        for (int d = 0; options.block_shape && d < given.x->rank; d++) {
            if (options.block_shape[d] < 0) {
                return invalid("%s: options: block_shape[%d] is %" PRId64 ", below 0", d, options.block_shape[d]);
            }
        }
        return ok;
    }

    // Of the stored type: y's, and x's where one set of options serves both ways.
    qdq_status check_range() {
        const bool quantizes = given.op == operation::quantize;
        const char *name = quantizes ? "y" : "x";
        const qdq_dtype stored = quantizes ? given.y->dtype : given.x->dtype;
        what.lowest = int32_t(info(stored).lowest);
        what.highest = int32_t(info(stored).highest);
        if (options.quant_min != 0 || options.quant_max != 0) {
            if (!is_integer(stored)) {
                return invalid("%s: options: quant_min and quant_max need an integer %s, not %s", name,
                               info(stored).name);
            }
            if (options.quant_min > options.quant_max || options.quant_min < what.lowest ||
                options.quant_max > what.highest) {
                return invalid("%s: options: quant_min %d and quant_max %d are not a range within %s's %d..%d",
                               options.quant_min, options.quant_max, name, what.lowest, what.highest);
            }
            what.lowest = options.quant_min;
            what.highest = options.quant_max;
        }
        if (quantizes && options.rounding != QDQ_NEAREST_EVEN && !is_integer(stored)) {
            return invalid("%s: options: rounding %d needs an integer y, not %s", int(options.rounding),
                           info(stored).name);
        }
        return ok;
    }

    // Fills the blocks and operand strides of every dimension: the one rule of qdq.h.
    qdq_status check_granularity() {
        const qdq_tensor &x = *given.x, &scale = *given.scale;
        result.dimension_count = x.rank;
        if (given.zero_point && zero_point_elements != 1 && !same_shape(*given.zero_point, scale)) {
            return invalid("%s: zero_point: it has %" PRId64 " elements and is not of scale's shape",
                           zero_point_elements);
        }
        if (scale_elements == 0 && x_elements != 0) {
            return invalid("%s: scale: it has no elements");
        }
        element_strides(x, x_strides);
        element_strides(*given.y, y_strides);
        element_strides(scale, scale_strides);
        if (given.zero_point) {
            element_strides(*given.zero_point, zero_point_strides);
        }
        for (int d = 0; d < x.rank; d++) {
            result.dimensions[d] = {{x.shape[d], x_strides[d], y_strides[d], 0, 0}, x.shape[d]};
        }
        const bool is_channels = scale.rank == 1 && x.rank != 1 && scale_elements != 1;
        if (is_channels || options.block_size > 0) {
            axis = options.axis < 0 ? options.axis + x.rank : options.axis;
            if (axis < 0 || axis >= x.rank) {
                return invalid("%s: options: axis %d is not a dimension of x, of rank %d", int(options.axis),
                               int(x.rank));
            }
        }
        if (scale_elements == 1) {
            return check_one_block();
        }
        if (options.block_shape && scale.rank != x.rank) {
            return invalid("%s: options: block_shape needs a scale of x's rank, %d, not %d", int(x.rank),
                           int(scale.rank));
        }
        if (is_channels) {
            return check_blocks(axis, 0, options.block_size ? options.block_size : 1);
        }
        if (scale.rank != x.rank) {
            return invalid("%s: scale: rank %d is neither 0, nor 1, nor x's, %d", int(scale.rank), int(x.rank));
        }
        for (int d = 0; d < x.rank; d++) {
            const int64_t derived = scale.shape[d] > 0 ? divide_up(x.shape[d], scale.shape[d]) : 0;
            const int64_t asked = asked_block(d);
            if (qdq_status s = check_blocks(d, d, asked ? asked : derived)) {
                return s;
            }
        }
        return ok;
    }

    // The elements of a block along dimension d that the options ask for, or 0.
    int64_t asked_block(int d) const {
        return options.block_shape ? options.block_shape[d] : d == axis ? options.block_size : 0;
    }

    // A scale of one element has any shape, and is one block along every dimension.
    qdq_status check_one_block() {
        if (zero_point_elements > 1) {
            return invalid("%s: zero_point: %" PRId64 " elements for one scale", zero_point_elements);
        }
        for (int d = 0; d < given.x->rank; d++) {
            const int64_t extent = given.x->shape[d], block = asked_block(d);
            if (block > 0 && block < extent) {
                return invalid("%s: scale: it has one element, but x's shape[%d], %" PRId64 ", has %" PRId64
                               " blocks of %" PRId64,
                               d, extent, divide_up(extent, block), block);
            }
        }
        return ok;
    }

    // Dimension d of x advances along dimension k of scale once every `block` elements. One without elements may share
    // an operand that is not used.
    qdq_status check_blocks(int d, int k, int64_t block) {
        const int64_t extent = given.x->shape[d], given_blocks = given.scale->shape[k];
        const int64_t blocks = block > 0 ? divide_up(extent, block) : 0;
        if (blocks != given_blocks && !(extent == 0 && given_blocks == 1)) {
            return invalid("%s: scale: shape[%d] is %" PRId64 ", but x's shape[%d], %" PRId64 ", has %" PRId64
                           " blocks of %" PRId64 " (options: axis %d, block_size %" PRId64 ")",
                           k, given_blocks, d, extent, blocks, block, int(options.axis), options.block_size);
        }
        blocked_dimension &dim = result.dimensions[d];
        if (blocks > 1) {
            dim.block = block;
            dim.whole.scale = scale_strides[k];
            dim.whole.zero_point = zero_point_elements > 1 ? zero_point_strides[k] : 0;
        }
        return ok;
    }

    // The bytes that a tensor touches, and where they lie. The data of x and y may come later.
    qdq_status find(const char *name, const qdq_tensor &t, const int64_t *strides, int64_t offset, span &bytes,
                    place &at) {
        if (!touched(t, strides, bytes)) {
            return invalid("%s: %s: shape and strides reach past the address space", name);
        }
        const bool is_placed = t.data || !has_addresses(*what.on);
        return !is_placed || locate(*what.on, t.data, bytes, offset, at) ? ok
                                                                         : out_of_reach(given.function, *what.on, name);
    }

    qdq_status check_memory() {
        span of_x, of_y, of_operand;
        place x, y, operand;
        qdq_status s;
        if ((s = find("x", *given.x, x_strides, result.x_offset, of_x, x)) ||
            (s = find("y", *given.y, y_strides, result.y_offset, of_y, y)) ||
            (s = find("scale", *given.scale, scale_strides, result.scale_offset, of_operand, operand))) {
            return s;
        }
        if (!elements_are_distinct(*given.y, y_strides)) {
            return invalid("%s: y: its strides make elements overlap one another");
        }
        if (given.y->data && y.overlaps(operand)) {
            return invalid("%s: y: it overlaps scale");
        }
        if (given.zero_point) {
            if ((s = find("zero_point", *given.zero_point, zero_point_strides, result.zero_point_offset, of_operand,
                          operand))) {
                return s;
            }
            if (given.y->data && y.overlaps(operand)) {
                return invalid("%s: y: it overlaps zero_point");
            }
        }
        result.x_first = of_x.first;
        result.x_end = of_x.end;
        result.y_first = of_y.first;
        result.y_end = of_y.end;
        result.same_layout = info(given.x->dtype).bits == info(given.y->dtype).bits &&
                             std::equal(x_strides, x_strides + given.x->rank, y_strides);
        const bool overlaps = given.x->data && given.y->data && x.overlaps(y);
        return overlaps && !is_in_place(result, given.x->data, given.y->data) ? partial_overlap(given.function) : ok;
    }

    // A float format has no zero point; one that is all zero is accepted, as peers' interfaces demand one.
    qdq_status check_zero_point_values() {
        const qdq_dtype stored = given.op == operation::quantize ? given.y->dtype : given.x->dtype;
        if (!given.zero_point || is_integer(stored)) {
            return ok;
        }
        if (on_device()) {
            return fail(QDQ_UNSUPPORTED,
                        "%s: zero_point: %s takes none, and whether it is 0 everywhere cannot be seen on a device",
                        given.function, info(stored).name);
        }
        if (const int64_t place = find_nonzero(*given.zero_point, zero_point_strides); place >= 0) {
            return invalid("%s: zero_point: element %" PRId64 " is not 0, and %s takes no zero point", place,
                           info(stored).name);
        }
        zero_point_elements = 0;
        return ok;
    }

    void reduce() {
        const bool quantizes = given.op == operation::quantize;
        what.op = given.op;
        what.multiply = options.scale_mode != QDQ_DIVIDE;
        what.reciprocal = quantizes && options.scale_mode == QDQ_RECIPROCAL;
        what.before = options.quantize_zp == QDQ_ZP_BEFORE_ROUNDING;
        what.add = options.dequantize_zp == QDQ_ZP_ADD;
        what.rounding = options.rounding;
        what.no_saturate = quantizes && !is_integer(given.y->dtype) && options.no_saturate != 0;
        what.narrowed =
            quantizes && (what.lowest != info(given.y->dtype).lowest || what.highest != info(given.y->dtype).highest);
        what.x_type = given.x->dtype;
        what.y_type = given.y->dtype;
        what.x_bits = info(what.x_type).bits;
        what.y_bits = info(what.y_type).bits;
        what.packing = options.packing;
        what.scale_type = given.scale->dtype;
        what.scale = given.scale->data;
        what.zero_point = given.zero_point && zero_point_elements > 0 ? given.zero_point->data : nullptr;
        what.zero_point_type = given.zero_point ? given.zero_point->dtype : QDQ_I32;
        constexpr int64_t streamed_bits = int64_t{128} << 20;  // in and out: past the share of the caches one core has
        what.streams =
            what.on->streams && std::min(x_elements, streamed_bits) * (what.x_bits + what.y_bits) > streamed_bits;
        result.elements = x_elements;
        if (on_device()) {
            result.how = walk::device;
            result.direct.possible = false;
            return;
        }
        choose_walk();
        prepare(result);
    }

    void choose_walk() {
        const bool ragged = std::any_of(result.dimensions, result.dimensions + result.dimension_count,
                                        [](const blocked_dimension &d) { return d.ragged(); });
        if (!ragged) {
            normalize(what, result.dimensions, result.dimension_count, result.nest);
        }
        if (what.packs()) {
            result.how = ragged || !rows_begin_at_bytes() ? walk::windows : walk::nest;
        } else {
            result.how = ragged ? walk::parts : walk::nest;
        }
    }

    // Whether every row of packed codes begins at a whole byte, or at the whole group of bytes that splits its halves.
    bool rows_begin_at_bytes() const {
        const loop_nest &nest = result.nest;
        const int64_t unit = packed_unit(what);
        auto stride = [&](const dimension &d) { return what.quantizes() ? d.y : d.x; };
        const dimension &c = nest.loops[0];
        const bool joined = nest.count > 1 && joins_rows(what, c, nest.loops[1]) && (unit == 2 || c.extent % unit == 0);
        return stride(c) == 1 &&
               std::all_of(nest.loops + (joined ? 2 : 1), nest.loops + std::max(nest.count, joined ? 2 : 1),
                           [&](const dimension &d) { return stride(d) % unit == 0; });
    }
};

}  // namespace

qdq_status make_plan(const arguments &given, plan &result) { return checker(given, result).run(); }

qdq_status check_overlap(const char *function, const plan &p, const void *x, const void *y) {
    const target &on = *p.what.on;
    place of_x, of_y;
    if (!locate(on, x, {p.x_first, p.x_end}, p.x_offset, of_x)) {
        return out_of_reach(function, on, "x");
    }
    if (!locate(on, y, {p.y_first, p.y_end}, p.y_offset, of_y)) {
        return out_of_reach(function, on, "y");
    }
    return of_x.overlaps(of_y) && !is_in_place(p, x, y) ? partial_overlap(function) : ok;
}

}  // namespace qdq::runtime

#include "plan/draft.h"

#include <algorithm>
#include <cinttypes>

namespace qdq::runtime {

namespace {

// A loop over elements: `step` counts them in memory, `places` in row-major order.
struct element_loop {
    int64_t extent, step, places;
};

// The loops that reach every element of a tensor, the innermost first: what a stride of 0 repeats is reached once, and
// loops that continue one another are one.
int distinct_loops(const qdq_tensor &t, const int64_t *strides, element_loop loops[most_dimensions]) {
    int count = 0;
    int64_t places = 1;
    for (int d = t.rank - 1; d >= 0; places *= t.shape[d--]) {
        if (t.shape[d] == 1 || strides[d] == 0) {
            continue;
        }
        element_loop *const inner = count > 0 ? &loops[count - 1] : nullptr;
        if (inner && strides[d] == inner->step * inner->extent && places == inner->places * inner->extent) {
            inner->extent *= t.shape[d];
        } else {
            loops[count++] = {t.shape[d], strides[d], places};
        }
    }
    return count;
}

// How many of `count` contiguous elements, in whole pieces that vector instructions look at, have none of `bits` set.
template<typename Unsigned> int64_t pieces_without(Unsigned bits, const char *from, int64_t count) {
    constexpr int64_t piece = 4096;
    int64_t done = 0;
    for (Unsigned set = 0; count - done >= piece; done += piece) {
        for (int64_t i = 0; i < piece; i++) {
            set |= element<Unsigned>(from, done + i);
        }
        if ((set & bits) != 0) {
            break;
        }
    }
    return done;
}

// The place of the first element that has one of `bits` set, or -1.
template<typename Unsigned> int64_t find_with(Unsigned bits, const char *from, const element_loop *loops, int count) {
    if (count == 0) {
        return (element<Unsigned>(from, 0) & bits) != 0 ? 0 : -1;
    }
    const element_loop &outer = loops[count - 1];
    const bool contiguous = count == 1 && outer.step == 1;
    for (int64_t i = contiguous ? pieces_without(bits, from, outer.extent) : 0; i < outer.extent; i++) {
        const int64_t place = find_with(bits, from + i * outer.step * int64_t{sizeof(Unsigned)}, loops, count - 1);
        if (place >= 0) {
            return i * outer.places + place;
        }
    }
    return -1;
}

// The first place, counted row-major, at which a zero point is not 0, or -1. By bits, as values depend on the caller's
// floating-point environment: with denormals-are-zero a subnormal is 0, and to compare a signalling NaN may trap. Of a
// float the sign does not count.
int64_t find_nonzero(const qdq_tensor &zero_point, const int64_t *strides) {
    element_loop loops[most_dimensions];
    const int count = distinct_loops(zero_point, strides, loops);
    const char *const data = static_cast<const char *>(zero_point.data);
    const int sign = type_of(zero_point.dtype).is_integer() ? 0 : 1;
    switch (type_of(zero_point.dtype).bits) {
    case 8: return find_with<uint8_t>(0xff, data, loops, count);
    case 16: return find_with<uint16_t>(static_cast<uint16_t>(0xffff >> sign), data, loops, count);
    default: return find_with<uint32_t>(0xffffffffu >> sign, data, loops, count);
    }
}

}  // namespace

qdq_status check_zero_point_values(draft &d) {
    const qdq_tensor *const zero_point = d.given.zero_point;
    const element_type &codes = d.code_type();
    if (!zero_point || codes.is_integer()) {
        return QDQ_OK;
    }
    if (d.is_on_device()) {
        return fail(QDQ_UNSUPPORTED,
                    "%s: zero_point: %s takes none, and whether it is 0 everywhere cannot be seen on a device",
                    d.given.function, codes.name);
    }
    if (const int64_t place = find_nonzero(*zero_point, d.zero_point_strides); place >= 0) {
        return d.invalid("%s: zero_point: element %" PRId64 " is not 0, and %s takes no zero point", place, codes.name);
    }
    d.zero_point_elements = 0;
    return QDQ_OK;
}

}  // namespace qdq::runtime

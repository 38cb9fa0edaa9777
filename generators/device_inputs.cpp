#include "device_inputs.h"

namespace qdq {

using namespace Halide;

namespace {

// The value of an operand as one of the types in a role that `wanted` picks, by its dtype.
template<typename Value> Expr by_type(const Expr &dtype, bool (*wanted)(const element_type &), Value &&value) {
    Expr all;
    for (const element_type &t : element_types) {
        if (wanted(t)) {
            all = all.defined() ? select(dtype == int(t.dtype), value(t), all) : value(t);
        }
    }
    return all;
}

// f32 apart: others are decoded by some 20 instructions, which it need not wait for.
Expr float_of(const Expr &bits, const Expr &dtype, bool (*wanted)(const element_type &)) {
    Expr narrow = by_type(dtype, wanted, [&](const element_type &t) { return float_value(instructions{}, t, bits); });
    return lazily(dtype == int(QDQ_F32), reinterpret<float>(bits), narrow);
}

bool is_integer_zero_point(const element_type &t) { return t.roles.zero_point && t.is_integer(); }

}  // namespace

// PTX has an instruction for the high half of twice the product.
Expr quotient(const instructions &on, Expr n, Expr multiplier, Expr shift) {
    if (on.ptx) {
        Expr high = Internal::Call::make(UInt(32), "llvm.nvvm.mulhi.ui", {cast<uint32_t>(n) << 1, multiplier},
                                         Internal::Call::PureExtern);
        return cast<int32_t>(high >> cast<uint32_t>(shift - 31));
    }
    return cast<int32_t>((cast<uint64_t>(cast<uint32_t>(n)) * cast<uint64_t>(multiplier)) >> cast<uint64_t>(shift));
}

Expr rows_before(const instructions &on, const device_inputs &in, Expr unit, int rows) {
    return quotient(on, std::move(unit), *in.extent_multiplier[0], *in.extent_shift[0]) * rows;
}

places places_of(const instructions &on, const device_inputs &in, Expr unit, int dimensions, int rows) {
    // Dense forms count groups, of which there are fewer than 2^31.
    const Type of_elements = dimensions == dense_dimensions ? Int(32) : Int(64);
    auto steps = [&](const Expr &index, const Expr &step) {
        return cast(of_elements, index) * cast(of_elements, step);
    };
    places all{cast(of_elements, Expr(*in.first_x)), cast(of_elements, Expr(*in.first_y)), *in.first_scale,
               *in.first_zero_point};
    Expr rest = unit;
    for (int d = 0; d < dimensions; d++) {
        Expr index = rest;
        if (d + 1 < dimensions) {
            Expr outer = quotient(on, rest, *in.extent_multiplier[d], *in.extent_shift[d]);
            index = rest - outer * Expr(*in.extent[d]);
            rest = outer;
        } else {
            index = rest * rows;
        }
        Expr block = quotient(on, index, *in.block_multiplier[d], *in.block_shift[d]);
        if (on.ptx && d >= few_dimensions) {  // so that a kernel that is specialized for few has no others
            Expr is_few = *in.dimensions <= few_dimensions;
            index = select(is_few, 0, index);
            block = select(is_few, 0, block);
        }
        all.x += steps(index, *in.x_step[d]);
        all.y += steps(index, *in.y_step[d]);
        all.scale += cast<int64_t>(block) * Expr(*in.scale_step[d]);
        all.zero_point += cast<int64_t>(block) * Expr(*in.zero_point_step[d]);
    }
    return all;
}

std::vector<Expr> page_and_place(Expr place, Expr places_in_page, Expr pages, bool has_one_page_kernel, Expr further) {
    Expr within = cast<int32_t>(place & Internal::make_const(Int(64), (int64_t{1} << page_bits) - 1)) + further;
    Expr page = unsafe_promise_clamped(cast<int32_t>(place >> page_bits), 0, pages - 1);
    if (has_one_page_kernel) {
        within = select(pages == 1, cast<int32_t>(place) + further, within);
        page = select(pages == 1, 0, page);
    }
    return {unsafe_promise_clamped(within, 0, places_in_page - 1), page};
}

// The address of the first byte is computed once: four of them were 50 of the 450 instructions of a thread that makes 8
// codes of i8 from f32.
Expr operand_bits(const byte_input &bytes, Expr place, Expr operand_bytes, bool has_one_page_kernel) {
    Expr first = place * operand_bytes, bits = bit_pattern(0), pages = bytes.dim(1).extent();
    for (int i = 0; i < 4; i++) {  // of a shorter operand the last one again, which no one looks at
        Expr further = min(i, operand_bytes - 1);
        std::vector<Expr> at = page_and_place(first, bytes.dim(0).extent(), pages, has_one_page_kernel, further);
        bits = bits | cast<uint32_t>(bytes(at)) << (8 * i);
    }
    return bits;
}

Expr scale_value(Expr bits, Expr dtype) {
    return float_of(bits, dtype, [](const element_type &t) { return t.roles.scale && t.bits < 32; });
}

Expr has_integers(Expr zero_point_type) {
    return by_type(
               zero_point_type, [](const element_type &t) { return bool(t.roles.zero_point); },
               [](const element_type &t) { return Expr(int(t.is_integer())); }) != 0;
}

Expr float_zero_point(Expr bits, Expr dtype) {
    return float_of(bits, dtype,
                    [](const element_type &t) { return t.roles.zero_point && t.is_float() && t.bits < 32; });
}

Expr integer_zero_point(Expr bits, Expr dtype) {
    return by_type(dtype, is_integer_zero_point, [&](const element_type &t) { return integer_value(t, bits); });
}

Expr nearest_integer(Expr z) {
    Expr convertible = select(less(z, 2147483648.0f), select(less(z, -2147483648.0f), -2147483648.0f, z), 0.0f);
    return select(not_a_number(z), 0, less(z, 2147483648.0f), cast<int32_t>(round(convertible)), INT32_MAX);
}

Expr packed_element(int codes_per_byte, Expr byte, Expr place, Expr packing) {
    Expr in_order = codes_per_byte * byte + place;
    if (codes_per_byte != 2) {
        return in_order;
    }
    return select(packing == int(QDQ_SPLIT_HALVES), byte / 16 * 32 + byte % 16 + 16 * place, in_order);
}

}  // namespace qdq

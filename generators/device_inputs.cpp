#include "device_inputs.h"

namespace qdq {

using namespace Halide;

namespace {

Expr quotient(Expr n, Expr multiplier, Expr shift) {
    return cast<int32_t>((cast<uint64_t>(cast<uint32_t>(n)) * cast<uint64_t>(multiplier)) >> cast<uint64_t>(shift));
}

Expr is(Expr code, operand_code wanted) { return code == static_cast<int>(wanted); }

Expr is_integer_code(Expr code) { return code >= static_cast<int>(operand_code::i8); }

Expr float_of(Expr bits, Expr code) {
    Expr byte = bits & 0xff;
    Expr power = select(byte == 0, bit_pattern(0x00400000), byte == 0xff, bit_pattern(0x7fc00000), byte << 23);
    Expr narrow = select(is(code, operand_code::f16), f16_value(instructions::generic, cast<uint16_t>(bits)),
                         is(code, operand_code::bf16), reinterpret<float>(bits << 16), is(code, operand_code::e8m0),
                         reinterpret<float>(power), decode(instructions::generic, format::f8e4m3, byte));
    return lazily(is(code, operand_code::f32), reinterpret<float>(bits), narrow);
}

Expr integer_of(Expr bits, Expr code) {
    Expr byte = cast<int32_t>(bits << 24) >> 24, word = cast<int32_t>(bits << 16) >> 16;
    return select(is(code, operand_code::i8), byte, is(code, operand_code::u8), byte & 0xff,
                  is(code, operand_code::i16), word, is(code, operand_code::u16), word & 0xffff, cast<int32_t>(bits));
}

}  // namespace

places places_of(const place_inputs &in, Expr unit, int dimensions) {
    places all{in.first_x, in.first_y, in.first_scale, in.first_zero_point};
    Expr rest = unit;
    for (int d = 0; d < dimensions; d++) {
        Expr index = rest;
        if (d + 1 < dimensions) {
            Expr outer = quotient(rest, in.extent_multiplier[d], in.extent_shift[d]);
            index = rest - outer * in.extent[d];
            rest = outer;
        }
        Expr block = cast<int64_t>(quotient(index, in.block_multiplier[d], in.block_shift[d]));
        all.x += cast<int64_t>(index) * in.x_step[d];
        all.y += cast<int64_t>(index) * in.y_step[d];
        all.scale += block * in.scale_step[d];
        all.zero_point += block * in.zero_point_step[d];
    }
    return all;
}

std::vector<Expr> page_and_place(Expr place, Expr places_in_page, Expr pages) {
    Expr within = cast<int32_t>(place & Internal::make_const(Int(64), (int64_t{1} << page_bits) - 1));
    Expr page = cast<int32_t>(place >> page_bits);
    return {unsafe_promise_clamped(within, 0, places_in_page - 1), unsafe_promise_clamped(page, 0, pages - 1)};
}

Expr operand_bits(const byte_input &bytes, Expr place, Expr operand_bytes) {
    Expr first = place * operand_bytes, bits = bit_pattern(0);
    for (int i = 0; i < 4; i++) {  // of a shorter operand the last one again, which no one looks at
        Expr at = first + cast<int64_t>(min(i, operand_bytes - 1));
        bits = bits | cast<uint32_t>(bytes(page_and_place(at, bytes.dim(0).extent(), bytes.dim(1).extent())))
                          << (8 * i);
    }
    return bits;
}

Expr operand_as_float(Expr bits, Expr code) {
    return lazily(is_integer_code(code), cast<float>(integer_of(bits, code)), float_of(bits, code));
}

Expr operand_as_integer(Expr bits, Expr code) {
    Expr z = float_of(bits, code);
    Expr convertible = select(less(z, 2147483648.0f), select(less(z, -2147483648.0f), -2147483648.0f, z), 0.0f);
    Expr nearest = select(not_a_number(z), 0, less(z, 2147483648.0f), cast<int32_t>(round(convertible)), INT32_MAX);
    return lazily(is_integer_code(code), integer_of(bits, code), nearest);
}

Expr packed_element(Expr byte, Expr place, Expr packing) {
    return select(packing == 2, byte / 16 * 32 + byte % 16 + 16 * place, 2 * byte + place);
}

}  // namespace qdq

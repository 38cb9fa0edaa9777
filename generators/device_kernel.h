// What both operations' device kernels share: how a thread finds, loads and stores its elements.
#pragma once

#include "device_inputs.h"
#include "schedule.h"

#include <algorithm>
#include <vector>

namespace qdq {

// Of an element of a device kernel's x or y: dense forms see words, the strided form elements.
inline Halide::Type device_buffer_type(device_form form, const element_type &t, int unit_elements, int code_bits) {
    const int group = device_group(unit_elements, code_bits);
    return Halide::UInt(form == device_form::strided ? 8 * t.bytes() : device_word_bits(group * t.bits));
}

struct device_kernel {
    device_form form;
    int x_bits, y_bits;  // of an element
    int unit_elements;
    instructions on;
    bool codes_at_top = false;  // stored codes are in the top bytes of words

    Halide::Var lane{"lane"}, unit{"unit"};
    device_stages stages;
    Halide::Func place{"place"};  // where a unit, or a strided lane, is in x, y, the scale and the zero point

    bool dense() const { return form != device_form::strided; }
    int code_bits() const { return std::min(x_bits, y_bits); }
    int group() const { return device_group(unit_elements, code_bits()); }
    int word_bits(int bits) const { return device_word_bits(group() * bits); }
    int words(int bits) const { return group() * bits / word_bits(bits); }
    // The elements of a unit, and how many of them have operands of their own.
    int lanes() const { return dense() ? group() : std::max(1, 8 / code_bits()); }
    int operand_lanes() const { return form == device_form::group ? 1 : lanes(); }

    // Units of neighbouring rows have the same operands, so that stages of operands count them as one: the number there
    // of a unit.
    Expr sharing(const Expr &of_unit) const { return of_unit / rows_of(form); }

    // The places of a lane, at which `unit` counts as stages of operands do. Those of a dense form's lanes follow one
    // another.
    places place_of(const Expr &l, const device_inputs &in) const {
        Halide::Tuple at = place(dense() ? Expr(0) : l, unit);
        if (form != device_form::each) {
            return {at[0], at[1], at[2], at[3]};
        }
        auto step = [&](const Expr &of_group) { return Halide::cast<int64_t>(l) * (of_group / lanes()); };
        return {at[0], at[1], at[2] + step(*in.scale_step[0]), at[3] + step(*in.zero_point_step[0])};
    }

    // Makes a stage of a value of each lane; of operands, of each lane that has its own.
    void define(Halide::Func &stage, int count, const Expr &e) {
        stage(lane, unit) = e;
        stages.scalars.push_back({stage, count});
    }
    void define_operand(Halide::Func &stage, int count, const Expr &e) {
        stage(lane, unit) = e;
        stages.operands.push_back({stage, count});
    }

    // The operand of a lane, for a stage of operands; and of a unit's lane by its number in those.
    Expr operand(const Halide::Func &stage, const Expr &l) const { return operand(stage, l, unit); }
    Expr operand(const Halide::Func &stage, const Expr &l, const Expr &number) const {
        return stage(operand_lanes() == 1 ? Expr(0) : l, number);
    }

    void define_places(const device_inputs &in) {
        const bool packed = !dense() && lanes() > 1;
        Expr first = packed ? Halide::min(element_of(in, lane, unit), *in.elements - 1) : Expr(unit);
        const places at = places_of(on, in, first, dimensions_of(form), rows_of(form));
        place(lane, unit) = Halide::Tuple(at.x, at.y, at.scale, at.zero_point);
        stages.operands.push_back({place, dense() ? 1 : lanes()});
    }

    // The number of a lane's element; the last byte of packed codes may lack some.
    Expr element_of(const device_inputs &in, const Expr &lane, const Expr &unit) const {
        return packed_element(lanes(), unit, lane, *in.packing);
    }

    // The bits of a lane's element of x; others may stand above them.
    template<typename View> Expr element_bits(View &x, const device_inputs &in) {
        if (!dense()) {
            assume_pages(x);
            Expr at = x_bits < 8 ? *in.first_x + Halide::cast<int64_t>(unit) : place_of(lane, in).x;
            Expr bits = x(page_and_place(at, x.dim(0).extent(), x.dim(1).extent(), has_plain_kernel()));
            return x_bits < 8 ? code_of_byte(bits, lane, in) : bits;
        }
        assume_words(x, words(x_bits));
        Halide::Func loaded("loaded");
        loaded(lane, unit) = x(lane, group_place(x, unit, 0, *in.x_step[1]));
        stages.loads.push_back({loaded, words(x_bits)});
        const int in_word = word_bits(x_bits) / x_bits;
        Expr word = Halide::cast<uint32_t>(loaded(lane / in_word, unit));
        Expr position = lane % in_word;
        if (x_bits == 4) {
            position = position ^ Halide::select(high_first(in), 1, 0);
        }
        return x_bits == 32 ? word : word >> Halide::cast<uint32_t>(position * x_bits);
    }

    // Whether calls of language models' kind are computed apart, by a second kernel in the same text.
    bool has_plain_kernel() const { return on.ptx; }
    // Whether those have ways of their own to compute an element, too.
    bool has_plain_ways() const { return has_plain_kernel() && dense(); }

    // F32 scales, of one page or in words, and no zero point; where x and y are strided, few dimensions of one page
    // each. A specialized kernel has what is compared with a number as that number.
    template<typename X, typename Y> Expr is_plain(const device_inputs &in, X &x, byte_input &scale, Y &y) const {
        Expr plain =
            *in.scale_type == int(QDQ_F32) && *in.scale_bytes == 4 && *in.zero_point_use == int(zero_point_use::none);
        plain = plain && (form == device_form::each ? in.scale_words->dim(1).extent() > 0 : has_one_page(scale));
        if (!dense()) {
            plain = plain && has_one_page(x) && has_one_page(y) && *in.dimensions <= few_dimensions;
        }
        return code_bits() == 4 ? plain && *in.packing == 0 : plain;
    }

    // The scale of a lane. A plain call's with one for each element are loaded as x is: byte by byte an element of bf16
    // to i8 took 109 instructions, and an H100 gave a fifth of a copy's bandwidth.
    Expr scale_of(const device_inputs &in, const byte_input &scale, const Expr &is_plain) {
        const bool by_words = has_plain_kernel() && form == device_form::each;
        Expr bits = operand_bits(scale, place_of(lane, in).scale, *in.scale_bytes, has_plain_kernel() && !by_words);
        Expr any = scale_value(bits, *in.scale_type);
        return by_words ? select(is_plain, Halide::reinterpret<float>(scale_word(in)), any) : any;
    }

    // What a call is like, for autoschedulers.
    template<typename X, typename Y>
    void set_estimates(device_inputs &in, X &x, byte_input &scale, byte_input &zero_point, Y &y) const {
        estimate_view(x, x_bits);
        estimate_view(y, y_bits);
        scale.set_estimates({{0, estimated_page}, {0, 1}});
        zero_point.set_estimates({{0, estimated_page}, {0, 1}});
        in.set_estimates(form);
    }

    template<typename View> void estimate_view(View &view, int bits) const {
        if (dense()) {
            view.set_estimates({{0, words(bits)}, {0, estimated_units}});
        } else {
            view.set_estimates({{0, estimated_page}, {0, 1}});
        }
    }

    // The stored bits of an element, from the function of a lane's value, are the low y_bits of code(lane, unit).
    template<typename View> void store(View &y, const device_inputs &in, Halide::Func &code) {
        const int parts = dense() ? words(y_bits) : y_bits < 8 ? 1 : lanes();
        Halide::RDom out(0, parts, 0, *in.units * rows_of(form), "out");
        if (dense()) {
            assume_words(y, parts);
            define(stages.stored, parts, word_of_codes(code, in));
            if (const int rows = rows_of(form); rows > 1) {
                out.where(rows_before(on, in, sharing(out.y), rows) + out.y % rows < *in.extent[1]);
            }
            y(lane, unit) = Halide::undef(y.type());
            y(out.x, group_place(y, out.y, 1, *in.y_step[1])) = Halide::cast(y.type(), stages.stored(out.x, out.y));
        } else {
            assume_pages(y);
            define(stages.stored, parts, y_bits < 8 ? byte_of_codes(code, in) : code(lane, unit));
            if (x_bits < 8) {
                out.where(element_of(in, out.x, out.y) < *in.elements);
            }
            Expr at = y_bits < 8 ? *in.first_y + Halide::cast<int64_t>(out.y) : place(out.x, out.y)[1];
            y(lane, unit) = Halide::undef(y.type());
            y(page_and_place(at, y.dim(0).extent(), y.dim(1).extent(), has_plain_kernel())) =
                Halide::cast(y.type(), stages.stored(out.x, out.y));
        }
        stages.output = y;
        stages.rows = rows_of(form);
        stages.part = out.x;
        stages.unit = out.y;
        stages.parts = parts;
        stages.whole_words = dense();
    }

private:
    template<typename View> static Expr has_one_page(View &view) { return view.dim(1).extent() == 1; }

    // Where a unit's group lies, in x or in y: element 0 or 1 of `place`.
    template<typename View> Expr group_place(View &view, const Expr &of_unit, int side, const Expr &row_step) const {
        Expr of_first_row = place(0, sharing(of_unit))[side];
        Expr at = of_first_row + of_unit % rows_of(form) * Halide::cast<int32_t>(row_step);
        return Halide::unsafe_promise_clamped(at, 0, view.dim(1).extent() - 1);
    }

    Expr scale_word(const device_inputs &in) {
        word_input &words = *in.scale_words;
        assume_words(words, lanes());
        Expr group = Halide::cast<int32_t>((place_of(0, in).scale - Expr(*in.first_scale)) / lanes());
        Halide::Func loaded("loaded_scales");
        loaded(lane, unit) = words(lane, Halide::unsafe_promise_clamped(group, 0, words.dim(1).extent() - 1));
        stages.operand_loads.push_back({loaded, lanes()});
        return loaded(lane, unit);
    }

    static Expr high_first(const device_inputs &in) { return *in.packing == int(QDQ_HIGH_FIRST); }

    Expr code_of_byte(const Expr &byte, const Expr &lane, const device_inputs &in) const {
        Expr position = lanes() == 2 ? Halide::select(high_first(in), 1 - lane, lane) : lane;
        return Halide::cast<uint32_t>(byte) >> Halide::cast<uint32_t>(x_bits * position);
    }

    Expr word_of_codes(Halide::Func &code, const device_inputs &in) {
        const int in_word = word_bits(y_bits) / y_bits;
        std::vector<Expr> parts;  // the low part_bits of each
        for (int i = 0; i < in_word; i++) {
            parts.push_back(Halide::cast<uint32_t>(code(lane * in_word + i, unit)));
        }
        int part_bits = y_bits;
        if (on.ptx && y_bits == 4) {
            parts =
                in_pairs(parts, [](const Expr &low, const Expr &high) { return (low & bit_pattern(15)) | high << 4; });
            part_bits = 8;
        }
        for (; on.ptx && part_bits >= 8 && parts.size() > 1; part_bits *= 2) {
            parts = in_pairs(parts, [&](const Expr &low, const Expr &high) {
                return bytes_of(low, high, part_bits == 16 ? 0x5410 : codes_at_top ? 0x0073 : 0x0040);
            });
        }
        Expr word = parts[0];
        if (parts.size() > 1) {
            word = bit_pattern(0);
            for (size_t i = 0; i < parts.size(); i++) {
                word = word | (parts[i] & bit_pattern((1u << y_bits) - 1)) << int(i * y_bits);
            }
        }
        Expr swapped = ((word & bit_pattern(0x0f0f0f0f)) << 4) | ((word >> 4) & bit_pattern(0x0f0f0f0f));
        return y_bits == 4 ? Halide::select(high_first(in), swapped, word) : word;
    }

    // Of the bytes of two words the four that the digits of a selector number, the lowest first.
    static Expr bytes_of(const Expr &low, const Expr &high, uint32_t selector) {
        return Halide::Internal::Call::make(Halide::UInt(32), "llvm.nvvm.prmt", {low, high, bit_pattern(selector)},
                                            Halide::Internal::Call::PureExtern);
    }

    template<typename Join> static std::vector<Expr> in_pairs(const std::vector<Expr> &parts, Join &&join) {
        std::vector<Expr> joined;
        for (size_t i = 0; i < parts.size(); i += 2) {
            joined.push_back(join(parts[i], parts[i + 1]));
        }
        return joined;
    }

    Expr byte_of_codes(Halide::Func &code, const device_inputs &in) const {
        // Lanes are in the order of elements, so the first one of a byte is the high nibble where that comes first.
        Expr in_order = bit_pattern(0), reversed = bit_pattern(0);
        for (int l = 0; l < lanes(); l++) {
            Expr beyond = element_of(in, l, unit) >= *in.elements;
            Expr bits = Halide::cast<uint32_t>(code(l, unit)) & bit_pattern((1u << y_bits) - 1);
            Expr own = Halide::select(beyond, bit_pattern(0), bits);
            in_order = in_order | own << (l * y_bits);
            reversed = reversed | own << ((lanes() - 1 - l) * y_bits);
        }
        return lanes() == 2 ? Halide::select(high_first(in), reversed, in_order) : in_order;
    }

    // Words of a group, end to end from an address that is a multiple of 16 bytes.
    template<typename View> static void assume_words(View &view, int words) {
        view.set_host_alignment(16);
        view.dim(0).set_bounds(0, words).set_stride(1);
        view.dim(1).set_min(0).set_stride(words);
    }
};

}  // namespace qdq

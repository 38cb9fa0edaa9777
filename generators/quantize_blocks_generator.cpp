// quantize_blocks: f32, f16 or bf16 to the blocks of one of ggml's formats, by the formulas of qdq/blocks.h.
#include "block_kernel.h"
#include "schedule.h"

#include <string>
#include <vector>

namespace {

using namespace Halide;
using namespace qdq;

constexpr float ln2 = 0.6931472f;

Expr infinity() { return bit_pattern(0x7f800000); }
Expr sign() { return bit_pattern(0x80000000); }
Expr magnitude_bits() { return bit_pattern(0x7fffffff); }
Expr none() { return bit_pattern(0); }
Expr nan() { return reinterpret<float>(bit_pattern(0x7fc00000)); }

class QuantizeBlocks : public Generator<QuantizeBlocks> {
public:
    GeneratorParam<std::string> format_name{"format", "q8_0"};  // of kernels/block_formats.h
    GeneratorParam<std::string> float_name{"float", "f32"};     // of kernels/manifest.cmake
    GeneratorParam<std::string> abilities{"instructions", ""};
    GeneratorParam<std::string> schedule_name{"schedule", "x86_portable"};

    Input<Buffer<void, 2>> x{"x"};   // (i, block), of at most most_blocks
    Output<Buffer<void, 2>> y{"y"};  // (byte, block)

    void configure() {
        x.set_type(buffer_type(floats()));
        y.set_type(UInt(8));
    }

    void generate() {
        x.dim(0).set_bounds(0, block_elements);
        x.dim(1).set_min(0);
        y.dim(0).set_bounds(0, format().bytes());
        y.dim(1).set_min(0);
        y(byte, block) = undef<uint8_t>();
        if (format().has_power) {
            quantize_by_power();
        } else if (format().has_table) {
            quantize_to_table();
        } else if (format().has_minimum) {
            quantize_from_least();
        } else {
            quantize_around_zero();
        }
        x.set_estimates({{0, block_elements}, {0, most_blocks}});
        y.set_estimates({{0, format().bytes()}, {0, most_blocks}});
    }

    void schedule() {
        if (using_autoscheduler()) {
            return;
        }
        quantize_blocks_stages stages;
        stages.output = y;
        stages.stored = stored;
        stages.extremes = extremes;
        stages.sums = sums;
        stages.elements = elements;
        stages.of_blocks = of_blocks;
        stages.codes = codes;
        stages.keeps_codes = format().bits == 5 || format().has_table;
        cpu_schedule_named(schedule_name).quantize_blocks(stages);
    }

private:
    // q8_0, q4_0, q5_0: the scale is that of the element farthest from 0.
    void quantize_around_zero() {
        Func peak = extreme("peak", magnitude(elements), none(), false);
        Expr farthest = peak(block);
        float divisor = 127.0f;
        if (format().bits < 8) {
            divisor = float(-middle());
            Expr is_negative = first_sign("first", magnitude(elements) == peak(block)) && peak(block) != 0;
            farthest = farthest | select(is_negative, sign(), none());
        }
        Expr quotient = divide(reinterpret<float>(farthest), divisor);
        Func scale = of_block("scale", select(peak(block) > infinity(), nan(), quotient));
        Func inverse = of_block("inverse", inverse_of(scale(block)));
        Func kept = kept_unless_special(scale(block));
        Expr t = multiply(reinterpret<float>(bits(i) & kept(block)), inverse(block));
        store_f16(0, scale(block));
        store_codes(format().bits == 8 ? nearest_away(t) : whole_part(add(t, middle() + 0.5f)));
    }

    // iq4_nl: codes are the nearest of the table's values, by the scale that takes the element farthest from 0 to the
    // least of them. The scale that is stored has the least error of these codes, weighted by squares of elements. The
    // order of sums is that of elements.
    void quantize_to_table() {
        Func peak = extreme("peak", magnitude(elements), none(), false);
        Expr is_negative = first_sign("first", magnitude(elements) == peak(block));
        Expr farthest = reinterpret<float>(peak(block) | select(is_negative, sign(), none()));
        Expr is_ordinary = peak(block) < infinity() && peak(block) >= bit_pattern(0x26901d7d);  // 1e-15
        Func kept = of_block("kept", select(is_ordinary, bit_pattern(0xffffffff), none()));
        Func inverse = of_block("inverse", divide(1.0f, divide(farthest, float(table_values[0]))));
        const auto kept_element = [&](const Expr &at) { return reinterpret<float>(bits(at) & kept(block)); };
        const auto quotient = [&](const Expr &at) {
            return multiply(kept_element(at), select(kept(block) != 0, inverse(block), 0.0f));
        };
        Expr code = 0, value = float(table_values[0]);
        for (int k = 1; k < table_size; k++) {
            const float midpoint = float(table_values[k - 1] + table_values[k]) / 2;
            code = select(quotient(i) >= midpoint, k, code);
            value = select(quotient(elements) >= midpoint, float(table_values[k]), value);
        }
        Expr weighted = multiply(multiply(kept_element(elements), kept_element(elements)), value);
        Func product = sum("product", multiply(weighted, kept_element(elements)));
        Func square = sum("square", multiply(weighted, value));
        Expr best = divide(product(block), square(block));
        Expr special =
            select(peak(block) > infinity(), nan(), peak(block) == infinity(), reinterpret<float>(infinity()), 0.0f);
        Func scale = of_block("scale", select(kept(block) == 0, special, not_a_number(best), nan(), best));
        store_f16(0, scale(block));
        store_codes(code);
    }

    // q4_1, q5_1: codes count steps from the least element.
    void quantize_from_least() {
        Func least = extreme("least", in_order(bits(elements)), Int(32).max(), true);
        Func most = extreme("most", in_order(bits(elements)), Int(32).min(), false);
        Expr low = from_order(least(block)), high = from_order(most(block));
        Expr is_negative = first_sign("first", magnitude(elements) == 0);
        Expr has_nan = not_a_number(low) || not_a_number(high);
        Expr scale_value = divide(subtract(high, low), float((1 << format().bits) - 1));
        // Between equal infinities there is no number.
        Expr of_numbers = select(not_a_number(scale_value), reinterpret<float>(infinity()), scale_value);
        Func scale = of_block("scale", select(has_nan, nan(), of_numbers));
        Func inverse = of_block("inverse", inverse_of(scale(block)));
        Expr zero = reinterpret<float>(select(is_negative, sign(), none()));
        Func minimum = of_block(
            "minimum", select(has_nan, nan(), (reinterpret<uint32_t>(low) & magnitude_bits()) == 0, zero, low));
        Func kept = kept_unless_special(scale(block));
        Expr start = reinterpret<uint32_t>(minimum(block)) & kept(block);
        Func first = of_block("start", reinterpret<float>(start));
        Expr steps = subtract(reinterpret<float>(bits(i) & kept(block)), first(block));
        store_f16(0, scale(block));
        store_f16(format().minimum_at(), minimum(block));
        store_codes(whole_part(add(multiply(steps, inverse(block)), 0.5f)));
    }

    // mxfp4: the code is how many midpoints of neighbouring values |x| is beyond, in units of half the scale. Beyond
    // that of an infinite value, as 8 and 12 may be, is infinity alone.
    void quantize_by_power() {
        Func peak = extreme("peak", magnitude(elements), none(), false);
        Func power = of_block("power", power_of(min(peak(block), infinity())));
        Func unit = of_block("unit", half_power(power(block)));
        Expr code = none();
        Expr eight = multiply(unit(block), 8.0f);
        std::vector<Expr> midpoints = {multiply(eight, 0.875f), multiply(unit(block), 10.0f)};
        for (float midpoint : {0.5f, 1.5f, 2.5f, 3.5f, 5.0f}) {
            midpoints.push_back(multiply(unit(block), midpoint));
        }
        for (const Expr &midpoint : midpoints) {
            Expr limit = min(reinterpret<uint32_t>(midpoint), infinity() - 1);
            code = select(magnitude(i) > limit, code + 1, code);
        }
        Expr is_negative = (bits(i) & sign()) != 0 && magnitude(i) <= infinity();
        store(0, {0, 1}, cast<uint8_t>(power(block)));
        store_codes(cast<int32_t>(select(code != 0 && is_negative, code | 8, code)));
    }

    // floor(log2(amax)) + 125 from its bits, at least 0. The logarithm of j steps of 2^-24 below 2^n is n, once rounded
    // to f32, where j / ln 2 of these are at most half of its own last place: j <= ln 2 * 2^floor(log2(m)), for the
    // integer m = n - 1, or m = -n below 0.
    static Expr power_of(const Expr &amax) {
        Expr k = cast<int32_t>(amax >> 23) - 127;
        Expr m = select(k < 0, -1 - k, k);
        Expr binade = reinterpret<float>(reinterpret<uint32_t>(cast<float>(m)) & infinity());
        Expr rounded_up = cast<uint32_t>(cast<int32_t>(multiply(binade, ln2)));
        return max((amax + rounded_up) >> 23, bit_pattern(2)) - 2;
    }

    // The bits of an element as an f32.
    Expr bits(const Expr &at) {
        return reinterpret<uint32_t>(float_value(on(), floats(), reinterpret(UInt(x.type().bits()), x(at, block))));
    }
    Expr magnitude(const Expr &at) { return bits(at) & magnitude_bits(); }

    // An int32 in the order of numbers; -0 is below 0, and NaNs are at the ends. And back.
    static Expr in_order(const Expr &of) {
        Expr s = reinterpret<int32_t>(of);
        return s ^ ((s >> 31) & Int(32).max());
    }
    static Expr from_order(const Expr &s) { return reinterpret<float>(s ^ ((s >> 31) & Int(32).max())); }

    // What an element's bits are masked by, so that it is 0 in a block whose scale is infinite or NaN.
    Func kept_unless_special(const Expr &scale) {
        Expr is_number = (reinterpret<uint32_t>(scale) & infinity()) != infinity();
        return of_block("kept", select(is_number, bit_pattern(0xffffffff), none()));
    }

    static Expr inverse_of(const Expr &scale) {
        Expr inverse = divide(1.0f, scale);
        Expr is_number = (reinterpret<uint32_t>(inverse) & infinity()) != infinity();
        return select(is_number, inverse, 0.0f);
    }

    // Within 2^22. What is just below 1/2 does not make what is just below an integral number that one.
    static Expr nearest_away(const Expr &t) {
        Expr half = bit_pattern(0x3effffff) | (reinterpret<uint32_t>(t) & sign());
        return cast<int32_t>(add(t, reinterpret<float>(half)));
    }
    Expr whole_part(const Expr &t) { return min(cast<int32_t>(t), (1 << format().bits) - 1); }

    int middle() const { return 1 << (format().bits - 1); }

    // The largest, or the least, of the elements of each block.
    Func extreme(const std::string &name, const Expr &of, const Expr &start, bool is_least) {
        Func found(name);
        found(block) = start;
        found(block) = is_least ? min(found(block), of) : max(found(block), of);
        extremes.push_back(found);
        return found;
    }

    // Of the elements of each block, one after another.
    Func sum(const std::string &name, const Expr &of) {
        Func found(name);
        found(block) = 0.0f;
        found(block) = add(found(block), of);
        sums.push_back(found);
        return found;
    }

    // The sign of the first element that a condition is true of.
    Expr first_sign(const std::string &name, const Expr &condition) {
        Expr place = 2 * elements + cast<int32_t>(bits(elements) >> 31);
        return (extreme(name, select(condition, place, 2 * block_elements), 2 * block_elements, true)(block) & 1) != 0;
    }

    Func of_block(const std::string &name, const Expr &value) {
        Func f(name);
        f(block) = value;
        of_blocks.push_back(f);
        return f;
    }

    // Bytes from a place on, by an RDom over them.
    void store(int at, const RDom &range, const Expr &value) {
        y(at + range, block) = value;
        stored.push_back(range);
    }

    void store_f16(int at, const Expr &value) {
        RDom range(0, 2);
        Func half = of_block("half", reinterpret<uint16_t>(nearest_element(on(), type_named("f16"), value)));
        store(at, range, cast<uint8_t>(half(block) >> cast<uint16_t>(8 * range)));
    }

    // Of int32: Halide 21 takes a conversion to 8 bits and then to unsigned ones for one of f32 to unsigned ones.
    void store_codes(const Expr &code) {
        RDom range(0, format().bytes() - format().codes_at());
        if (format().bits == 8) {
            codes(i, block) = saturating_cast<int8_t>(saturating_cast<int16_t>(code));
            store(format().codes_at(), range, reinterpret<uint8_t>(codes(range, block)));
            return;
        }
        codes(i, block) = cast<uint8_t>(code);
        Expr low = codes(range, block) & cast<uint8_t>(15), high = codes(range + block_elements / 2, block);
        store(format().codes_at(), range, low | high << cast<uint8_t>(4));
        if (format().bits == 5) {
            store_fifth_bits();
        }
    }

    void store_fifth_bits() {
        RDom range(0, block_elements / 8);
        Expr bits_of_byte = cast<uint8_t>(0);
        for (int k = 0; k < 8; k++) {
            bits_of_byte = bits_of_byte | (codes(8 * range + k, block) >> cast<uint8_t>(4)) << cast<uint8_t>(k);
        }
        store(format().fifth_bits_at(), range, bits_of_byte);
    }

    const block_format &format() const { return block_format_named(format_name); }
    const element_type &floats() const { return type_named(float_name); }
    instructions on() const { return instructions_named(abilities); }

    Var i{"i"}, block{"block"}, byte{"byte"};
    RDom elements{0, block_elements, "elements"};
    std::vector<RDom> stored;
    std::vector<Func> extremes, sums, of_blocks;
    Func codes{"codes"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(QuantizeBlocks, quantize_blocks)

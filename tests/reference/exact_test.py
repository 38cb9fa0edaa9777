"""The oracle against exact rational arithmetic, where rounding is hardest.

The program `reference.results` (results.cpp) prints the oracle's result for every case; exact_arithmetic.py has its own
for each. Cases are drawn from a fixed seed; the searches below say which are the hardest, and that they are is checked. One
in four is compared, and all with QDQ_TEST_THIN=1.
"""

import argparse
import collections
import itertools
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import time

from exact_arithmetic import (
    ADD, AFTER_ROUNDING, BEFORE_ROUNDING, DIVIDE, DTYPES, F32, FORMATS, INTEGER_BITS, MULTIPLY, NEAREST_EVEN,
    RECIPROCAL, SORTED_TAPERED, SUBTRACT, Call, Fraction, decode, decode_finite, encode, integer_range, is_finite, power, product,
    rounded, rounded_magnitude, shifted, unsigned,
)  # fmt: skip

FLOATS = ["f32", "f16", "bf16"]
STORED_FLOATS = [dtype for dtype in FORMATS if dtype not in FLOATS]
STORED = [*INTEGER_BITS, *STORED_FLOATS]
SCALES = ["f32", "f16", "bf16", "e8m0", "f8e4m3"]
ZERO_POINTS = ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32"]
SIGN = 0x80000000
DIVISORS = 2500

SPECIAL = [0, 1, 2, 0x007FFFFF, 0x00800000, 0x00800001, 0x33800000, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F7FFFFF,
           0x3F800000, 0x3F800001, 0x4AFFFFFF, 0x4B000000, 0x4B7FFFFF, 0x4EFFFFFF, 0x4F000000, 0x4F000001, 0x4F800000,
           0x7E800001, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF]  # fmt: skip
SPECIAL += [code | SIGN for code in SPECIAL]

draw = random.Random(20)


def bits_of(dtype):
    """Of a code."""
    return INTEGER_BITS.get(dtype) or (8 if dtype == "e8m0" else FORMATS[dtype].sign_bit.bit_length())


def can_overflow(dtype):
    return dtype not in INTEGER_BITS and FORMATS[dtype].special != "finite"


def f32_code(fraction):
    return encode("f32", unsigned(Fraction(fraction)))


def is_f32(fraction):
    return fraction <= F32.largest and rounded_magnitude(F32, fraction) == fraction


def odd_part(integer):
    return integer // (integer & -integer)


def neighbours(code, reach=1):
    """A finite f32 and those next to it, of the same sign."""
    sign, magnitude = code & SIGN, code & ~SIGN
    return [sign | near for near in range(max(magnitude - reach, 0), min(magnitude + reach, 0x7F800000) + 1)]


class Cases:
    """What is asked of the oracle: for each call, the codes of x, scale and zero point, and which search found them."""

    def __init__(self):
        self.of_call = collections.defaultdict(list)
        self.closest = collections.defaultdict(lambda: Fraction(1))  # to a midpoint, by search, relative
        self.searched = collections.defaultdict(set)  # divisors and multipliers with a solution, by search

    def add(self, search, call, x, scale, zero_point=0):
        self.of_call[call].append((x, scale, zero_point, search))

    def add_near(self, search, call, x, scale, reach=1):
        for near in neighbours(x, reach):
            self.add(search, call, near, scale)

    def take_one_in(self, n):
        """Of each call's; which of them, changes from call to call."""
        for turn, cases in enumerate(self.of_call.values()):
            cases[:] = cases[turn % n::n]

    def note_distance(self, search, exact, midpoint):
        if exact != midpoint:
            self.closest[search] = min(self.closest[search], abs(exact / midpoint - 1))


def add_every_code(cases):
    """Decoding alone: a code times 1, and 1 times a scale's code."""
    for dtype in STORED:
        for code in range(0, 1 << bits_of(dtype), 1 << max(bits_of(dtype) - 12, 0)):
            cases.add("every code", Call(dtype, "f32"), code, 0x3F800000)
    for scale in ("f16", "bf16", "e8m0", "f8e4m3"):
        for code in range(0, 1 << bits_of(scale), 5 if bits_of(scale) == 16 else 1):
            cases.add("every code", Call("i8", "f32", scale=scale), 1, code)
    for x in ("f16", "bf16"):
        for code in range(0, 1 << 16, 7):
            cases.add("every code", Call(x, "i32"), code, f32_code(power(-15)))
            cases.add("every code", Call(x, "f8e5m2"), code, 0x3F800000)


def unit_above(form, code):
    """From a finite magnitude to the next one up, or to where that would be."""
    return power(max((code >> form.mantissa_bits) - form.bias, form.smallest_exponent) - form.mantissa_bits)


def midpoint_above(form, code):
    return decode_finite(form, code) + unit_above(form, code) / 2


def midpoints(form):
    """Of neighbouring magnitudes of a format, and past the largest, where overflow begins."""
    if form.special == "tapered":
        return [(below + above) / 2 for below, above in itertools.pairwise(SORTED_TAPERED)]
    return [midpoint_above(form, code) for code in range(form.largest_code() + 1)]


def add_ties_of_stored_floats(cases):
    """Every midpoint of a float format, its neighbours, and overflow; by scales that keep them exact."""
    for dtype in STORED_FLOATS:
        for midpoint in midpoints(FORMATS[dtype]):
            for scale_mode in (DIVIDE, MULTIPLY, RECIPROCAL):
                exponent = draw.choice([0, 0, draw.randint(-100, 100), -140 if scale_mode == DIVIDE else 0])
                factor = power(exponent) if scale_mode != MULTIPLY else power(-exponent)
                x = f32_code(midpoint * factor if scale_mode != MULTIPLY else midpoint / factor)
                call = Call("f32", dtype, scale_mode=scale_mode, no_saturate=draw.randint(0, 1) & can_overflow(dtype))
                cases.add_near("ties of codes", call, x | draw.choice([0, SIGN]), f32_code(factor), 2)


def integer_call(y, rounding, **options):
    """One to an integer, sometimes of a narrower range."""
    lowest, highest = integer_range(y)
    if draw.random() < 0.1:
        options.update(quant_min=lowest + 1, quant_max=highest // 2)
    return Call("f32", y, rounding=rounding, **options)


def add_ties_of_integers(cases):
    """n + 1/2 and its neighbours, around 0, every power of two and the ends of the type, in every rounding."""
    for y in INTEGER_BITS:
        wholes = {*range(-20, 20), *integer_range(y)}
        wholes |= {sign * (1 << bits) + near for bits in range(4, 24) for near in (-1, 0, 1) for sign in (-1, 1)}
        for whole in sorted(wholes):
            x = f32_code(Fraction(2 * whole + 1, 2))
            for rounding in range(5):
                for scale_mode in (DIVIDE, MULTIPLY):
                    cases.add_near("ties of codes", integer_call(y, rounding, scale_mode=scale_mode), x, 0x3F800000)


def odd_significands(count):
    """Divisors' significands: full ones, the extremes, and short ones, which are those of subnormals too."""
    chosen = {(1 << 23) + 1, (1 << 24) - 1, (1 << 24) - 3, 3, 5, 7, (1 << 23) - 1, (1 << 22) + 1}
    while len(chosen) < count:
        bits = 24 if draw.random() < 0.8 else draw.randint(2, 23)
        chosen.add(draw.getrandbits(bits) | 1 | 1 << (bits - 1))
    return sorted(chosen)


def solutions(residue, modulus):
    """Numbers of 24 bits that leave this residue."""
    first = residue + max(-(-((1 << 23) - residue) // modulus), 0) * modulus
    return [number for number in range(first, min(first + 3 * modulus, 1 << 24), modulus)]


def numerators_nearest_to_midpoints(divisor, distance):
    """(x, k): the quotient x 2^k / divisor, of 24 bits before the point, lies distance / (2 divisor) from a midpoint of
    f32, so x 2^(k+1) leaves this distance modulo the divisor, which is odd."""
    for k in (divisor.bit_length() - 1, divisor.bit_length()):
        inverse = pow(1 << (k + 1), -1, divisor)
        for x in solutions(distance * inverse % divisor, divisor):
            if (1 << 23) <= Fraction(x << k, divisor) < (1 << 24):
                yield x, k


def exponent_of(significand):
    """A random one with which the significand is a finite f32, often subnormal where it is short."""
    lowest, highest = -149, 128 - significand.bit_length()
    return lowest if significand < (1 << 23) and draw.random() < 0.3 else draw.randint(lowest, highest)


def add_quotients_nearest_to_midpoints(cases):
    """Of f32, where i32 shows every bit of the quotient."""
    search = "quotients nearest to midpoints of f32"
    for divisor in odd_significands(DIVISORS):
        found = [near for distance in (1, -1, 3, -3, 5) for near in numerators_nearest_to_midpoints(divisor, distance)]
        for x, k in found:
            exponent = exponent_of(divisor)
            x_value, scale = x * power(exponent + k + draw.randint(0, 6)), divisor * power(exponent)
            if not is_f32(x_value):
                x_value, scale = Fraction(x << k), Fraction(divisor)
            cases.searched[search].add(divisor)
            cases.note_distance(search, Fraction(x << k, divisor), (x << k) // divisor + Fraction(1, 2))
            cases.add_near(search, Call("f32", "i32", rounding=draw.randrange(5)),
                           f32_code(x_value) | draw.choice([0, SIGN]), f32_code(scale))  # fmt: skip


def convergents(fraction, largest):
    """Numerators and denominators of a continued fraction's convergents, and those between, up to a denominator."""
    n, d = fraction.numerator, fraction.denominator
    (p0, q0), (p1, q1) = (0, 1), (1, 0)
    while d:
        whole, rest = divmod(n, d)
        for steps in sorted({1, (whole + 1) // 2, whole - 1, whole} - {0, -1}):
            p, q = p0 + steps * p1, q0 + steps * q1
            if q <= largest:
                yield p, q
        (p0, q0), (p1, q1) = (p1, q1), (p0 + whole * p1, q0 + whole * q1)
        n, d = d, rest
        if q1 > largest:
            return


def ratios_nearest_to_odd_numbers(divisor, bits):
    """(x, a, odd): x 2^a / divisor is nearest to an odd number of at most so many bits."""
    found = []
    for a in range(divisor.bit_length() - 24, bits + 1):
        for x, odd in convergents(Fraction(divisor) / power(a), (1 << bits) - 1):
            if odd % 2 == 1 and odd > 1 and (1 << 22) <= x < (1 << 24):
                found.append((abs(Fraction(x) * power(a) / (divisor * odd) - 1), x, a, odd))
    return [(x, a, odd) for _, x, a, odd in sorted(found)[:3]]


# Odd numbers of so many bits are twice the midpoints of integers of one bit less.
MIDPOINT_BITS = {"i4": 4, "u4": 5, "i8": 8, "u8": 9, "i16": 16, "u16": 17, "i32": 24}


def add_quotients_nearest_to_codes(cases):
    """To n + 1/2, which the f32 quotient may be while the exact one is not: then the tie decides."""
    search = "quotients nearest to midpoints of integers"
    for divisor in odd_significands(DIVISORS):
        for y, bits in MIDPOINT_BITS.items():
            for x, a, odd in ratios_nearest_to_odd_numbers(divisor, bits):
                exponent = exponent_of(divisor)
                x_value, scale = x * power(exponent + a - 1), divisor * power(exponent)
                if not is_f32(x_value):
                    continue
                cases.searched[search].add(divisor)
                cases.note_distance(search, x_value / scale, Fraction(odd, 2))
                negative = y[0] == "i" and draw.random() < 0.5
                zero_point, quantize_zp = draw.choice([(None, AFTER_ROUNDING), ("i32", AFTER_ROUNDING),
                                                       ("i8", AFTER_ROUNDING), ("i8", BEFORE_ROUNDING)])  # fmt: skip
                call = integer_call(y, draw.randrange(5), zero_point=zero_point, quantize_zp=quantize_zp)
                for near in neighbours(f32_code(x_value) | (SIGN if negative else 0)):
                    cases.add(search, call, near, f32_code(scale), draw.randrange(16))


def distance_from_24_bits(integer):
    """From the nearest number of 24 bits, relative; infinite where it is one."""
    shift = max(integer.bit_length() - 24, 0)
    rest = (integer + (1 << shift >> 1)) % (1 << shift) - (1 << shift >> 1)
    return abs(rest) / integer if rest else math.inf


def add_quotients_nearest_to_stored_floats(cases):
    """To the midpoints of float formats: for each divisor, of all midpoints the one whose product with it is nearest to
    an f32, which is x."""
    search = "quotients nearest to midpoints of float codes"
    divisors = odd_significands(DIVISORS)
    for dtype in STORED_FLOATS:
        by_odd_part = collections.defaultdict(list)
        for midpoint in midpoints(FORMATS[dtype]):
            by_odd_part[odd_part(midpoint.numerator)].append(midpoint)
        for divisor in divisors:
            odd = min(by_odd_part, key=lambda odd: distance_from_24_bits(odd * divisor))
            midpoint, scale = draw.choice(by_odd_part[odd]), divisor * power(draw.randint(-100, 80))
            x = f32_code(midpoint * scale)
            cases.searched[search].add(divisor)
            cases.note_distance(search, decode("f32", x)[1] / scale, midpoint)
            call = Call("f32", dtype, no_saturate=int(can_overflow(dtype) and draw.random() < 0.5))
            cases.add_near(search, call, x | draw.choice([0, SIGN]), f32_code(scale))


def factors_nearest_to_midpoints(factor, distance):
    """(x, b): the product x * factor / 2^b, of 24 bits before the point, lies distance / 2^b from a midpoint of f32."""
    for b in (factor.bit_length() - 1, factor.bit_length()):
        modulus = 1 << b
        for x in solutions((modulus // 2 + distance) * pow(factor, -1, modulus) % modulus, modulus):
            if (1 << 23) <= Fraction(x * factor, modulus) < (1 << 24):
                yield x, b


def add_products_nearest_to_midpoints(cases):
    """Of f32, ties among them: multiplied, dequantized, and by a reciprocal, which is rounded before."""
    search = "products nearest to midpoints of f32"
    for factor in odd_significands(DIVISORS):
        found = [near for distance in (0, 1, -1, 2) for near in factors_nearest_to_midpoints(factor, distance)]
        for x, b in found:
            cases.searched[search].add(factor)
            exponent, shift = draw.randint(-100, 80), draw.randint(0, 6)
            cases.note_distance(search, Fraction(x * factor, 1 << b), (x * factor >> b) + Fraction(1, 2))
            scale = f32_code(factor * power(exponent))
            cases.add_near(search, Call("f32", "i32", scale_mode=MULTIPLY),
                           f32_code(x * power(shift - b - exponent)) | draw.choice([0, SIGN]), scale)  # fmt: skip
            cases.add(search, Call("i32", draw.choice(FLOATS)), x * draw.choice([-1, 1]) % (1 << 32), scale)


def add_rounded_reciprocals(cases):
    """x (1 / s) rounds twice: x is chosen for the rounded reciprocal, whose product with it lies near a midpoint."""
    search = "products by a rounded reciprocal"
    for divisor in odd_significands(DIVISORS):
        exponent = draw.randint(-120, 100)
        scale = f32_code(divisor * power(exponent))
        reciprocal = decode("f32", f32_code(1 / (divisor * power(exponent))))[1]
        factor = odd_part(reciprocal.numerator)
        if factor == 1:
            continue
        found = [near for distance in (0, 1, -1) for near in factors_nearest_to_midpoints(factor, distance)]
        for x, b in found:
            cases.searched[search].add(divisor)
            x_value = Fraction(x * factor, 1 << b) * power(draw.randint(0, 6)) / reciprocal
            cases.add_near(search, Call("f32", "i32", scale_mode=RECIPROCAL), f32_code(x_value), scale)
        for y in ("i8", "u16", "f8e4m3", "f8e5m2fnuz"):
            x_value = Fraction(draw.randrange(1, 256), 2) / reciprocal
            rounding = NEAREST_EVEN if y in FORMATS else draw.randrange(5)
            cases.add_near(search, Call("f32", y, scale_mode=RECIPROCAL, rounding=rounding), f32_code(x_value), scale)


def add_double_roundings(cases):
    """A product rounds to f32, and once more to f16 or bf16. Scales are midpoints of the narrow type over a code, so
    that products lie around the midpoint by less than half a unit of f32."""
    search = "double rounding"
    for y in ("f16", "bf16"):
        form = FORMATS[y]
        for _ in range(6000):
            x = draw.choice([dtype for dtype in STORED if bits_of(dtype) <= 16])
            q = draw.getrandbits(bits_of(x))
            value = shifted(Call(x, y), q, 0)
            if not is_finite(value) or value[1] == 0:
                continue
            code = draw.choice([draw.randrange(form.largest_code()), draw.randrange(4 << form.mantissa_bits),
                                draw.randrange(8), form.largest_code()])  # fmt: skip
            midpoint = midpoint_above(form, code)
            for scale in neighbours(f32_code(midpoint / value[1]) | draw.choice([0, SIGN]), 2):
                cases.add(search, Call(x, y), q, scale)


def add_midpoints_of_narrow_floats(cases):
    """A code of 1 times every kind of midpoint of f16 and bf16: the last rounding alone."""
    for y in ("f16", "bf16"):
        form = FORMATS[y]
        binades = {binade << form.mantissa_bits for binade in range(1 << form.exponent_bits)}
        near_binades = {code + near for code in binades for near in range(-3, 4)}
        for code in sorted(near_binades | set(range(0, form.largest_code(), 37))):
            if 0 <= code <= form.largest_code():
                for scale in neighbours(f32_code(midpoint_above(form, code)) | draw.choice([0, SIGN]), 1):
                    cases.add("ties of f16 and bf16", Call("i8", y), 1, scale)


def add_subnormal_products(cases):
    """Codes times scales whose products round among the subnormals of f32, f16 and bf16."""
    for _ in range(12000):
        x, y = draw.choice(STORED), draw.choice(FLOATS)
        smallest = {"f32": -149, "bf16": -133, "f16": -24}[y]
        scale = encode("f32", unsigned(draw.getrandbits(24) * power(smallest - draw.randint(0, 34))))
        cases.add("subnormal results", Call(x, y), draw.getrandbits(bits_of(x)), scale | draw.choice([0, SIGN]))


def add_subnormal_quotients(cases):
    """Subnormal x and scales: their quotients, exact or not, in every type and rounding."""
    for _ in range(20000):
        y = draw.choice(STORED)
        x = draw.getrandbits(draw.randint(1, 25)) | draw.choice([0, SIGN])
        scale = draw.getrandbits(draw.randint(1, 24)) | draw.choice([0, 0, SIGN])
        rounding = draw.randrange(5) if y in INTEGER_BITS else NEAREST_EVEN
        cases.add("subnormal operands", Call("f32", y, rounding=rounding, scale_mode=draw.choice([DIVIDE, RECIPROCAL])),
                  x, scale)  # fmt: skip


def zero_point_code(dtype):
    if dtype in INTEGER_BITS:
        return draw.choice([draw.getrandbits(bits_of(dtype)), draw.randrange(8), 1 << (bits_of(dtype) - 1)])
    half = Fraction(1, 2)
    values = [half, -half, half - power(-25), Fraction(3, 4), 3, -77, power(20), power(23) - half, power(23) + 1,
              power(31), -power(32), power(-140)]  # fmt: skip
    special = draw.choice([0, FORMATS[dtype].sign_bit, draw.getrandbits(bits_of(dtype))])
    return draw.choice([encode(dtype, unsigned(Fraction(draw.choice(values)))), special])


def add_zero_points(cases):
    """Both modes, every type of zero point: sums that round before they are rounded to integers, and exact ones."""
    for _ in range(40000):
        y, zero_point = draw.choice(list(INTEGER_BITS)), draw.choice(ZERO_POINTS)
        call = integer_call(y, draw.randrange(5), zero_point=zero_point, quantize_zp=draw.randrange(2),
                            scale_mode=draw.randrange(3))  # fmt: skip
        t = Fraction(draw.getrandbits(draw.randint(1, 24)), 1 << draw.randint(0, 26)) * draw.choice([1, -1])
        scale = draw.choice([Fraction(1), power(draw.randint(-100, 100)), draw.getrandbits(24) * power(-20) + 1])
        x = t / scale if call.scale_mode == MULTIPLY else t * scale
        cases.add("zero points", call, f32_code(x), f32_code(scale), zero_point_code(zero_point))
    for _ in range(40000):
        x, zero_point = draw.choice(list(INTEGER_BITS)), draw.choice(ZERO_POINTS)
        call = Call(x, draw.choice(FLOATS), zero_point=zero_point, dequantize_zp=draw.choice([SUBTRACT, ADD]))
        scale = encode("f32", unsigned(draw.getrandbits(24) * power(draw.randint(-40, 0))))
        cases.add("zero points", call, draw.getrandbits(bits_of(x)), scale, zero_point_code(zero_point))


def drawn_quantize(x, y, scale, zero_points):
    """A call to any stored type, with any options that the type has. `zero_points`: the types to choose from."""
    integer = y in INTEGER_BITS
    return Call(x, y, scale, zero_point=draw.choice([None, *zero_points]) if integer else None,
                scale_mode=draw.randrange(3), quantize_zp=draw.randrange(2),
                rounding=draw.randrange(5) if integer else NEAREST_EVEN,
                no_saturate=draw.randrange(2) if can_overflow(y) else 0)  # fmt: skip


def drawn_dequantize(x, y, scale, zero_points):
    zero_point = draw.choice([None, *zero_points]) if x in INTEGER_BITS else None
    return Call(x, y, scale, zero_point=zero_point, dequantize_zp=draw.randrange(2))


def add_special_values(cases):
    """Zeros, subnormals, infinities and NaNs of both signs, against each other."""
    for x in SPECIAL:
        for scale in SPECIAL:
            for y in draw.sample(STORED, 6):
                call = drawn_quantize("f32", y, "f32", ["f32"])
                cases.add("special values", call, x, scale, draw.choice(SPECIAL) if call.zero_point else 0)
    for scale in SPECIAL:
        for x in STORED:
            for _ in range(8):
                call = drawn_dequantize(x, draw.choice(FLOATS), "f32", ["f32"])
                code = draw.choice([0, 1 << (bits_of(x) - 1), (1 << bits_of(x)) - 1, draw.getrandbits(bits_of(x))])
                cases.add("special values", call, code, scale, draw.choice(SPECIAL) if call.zero_point else 0)


def add_any_bits(cases):
    """Every operand drawn from all bit patterns, in every combination of types and options."""
    for _ in range(60000):
        stored, real, scale = draw.choice(STORED), draw.choice(FLOATS), draw.choice(SCALES)
        if draw.random() < 0.6:
            call = drawn_quantize(real, stored, scale, ZERO_POINTS)
        else:
            call = drawn_dequantize(stored, real, scale, ZERO_POINTS)
        zero_point = draw.getrandbits(bits_of(call.zero_point)) if call.zero_point else 0
        cases.add("any bits", call, draw.getrandbits(bits_of(call.x)), draw.getrandbits(bits_of(scale)), zero_point)


GENERATORS = [
    add_every_code, add_ties_of_stored_floats, add_ties_of_integers, add_midpoints_of_narrow_floats,
    add_quotients_nearest_to_midpoints, add_quotients_nearest_to_codes, add_quotients_nearest_to_stored_floats,
    add_products_nearest_to_midpoints, add_rounded_reciprocals, add_double_roundings, add_subnormal_products,
    add_subnormal_quotients, add_zero_points, add_special_values, add_any_bits,
]  # fmt: skip


def first_line(call, count):
    numbers = [DTYPES.index(call.x), DTYPES.index(call.scale), DTYPES.index(call.zero_point) if call.zero_point else -1,
               DTYPES.index(call.y), call.scale_mode, call.quantize_zp, call.dequantize_zp, call.rounding,
               call.no_saturate, call.quant_min, call.quant_max, count]  # fmt: skip
    return " ".join(map(str, numbers))


def ask(program, of_call):
    """The oracle's result for every case, in order."""
    lines = []
    for call, cases in of_call.items():
        lines.append(first_line(call, len(cases)))
        lines += [f"{x:x} {scale:x} {zero_point:x}" for x, scale, zero_point, _ in cases]
    answer = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    return [int(line, 16) for line in answer.stdout.split()]


def differences(of_call, results):
    """Descriptions of the cases where the oracle's result is not the exact one."""
    found, result = [], iter(results)
    for call, cases in of_call.items():
        for x, scale, zero_point, search in cases:
            expected, got = call.result(x, scale, zero_point), next(result)
            if expected != got:
                found.append(f"{search}: {call}: x {x:#x}, scale {scale:#x}, zero point {zero_point:#x}: "
                             f"exactly {expected:#x}, the oracle {got:#x}")  # fmt: skip
    return found


def rounds_once_differently(call, x, scale):
    """Whether the exact product, rounded once to the narrow type, is another number than by way of f32."""
    exact = product(shifted(call, x, 0), decode(call.scale, scale))
    return is_finite(exact) and encode(call.y, exact) != encode(call.y, rounded(F32, exact))


def check_hardness(cases):
    """That the searches found what they were for. The number of products that one rounding would take elsewhere."""
    for search in ("quotients nearest to midpoints of f32", "products nearest to midpoints of f32"):
        assert cases.closest[search] <= 2**-47, (search, float(cases.closest[search]))
    for search in [search for search in cases.searched if search.startswith("quotients")]:
        assert len(cases.searched[search]) >= 2000, (search, len(cases.searched[search]))
    twice = sum(rounds_once_differently(call, x, scale) for call, group in cases.of_call.items()
                for x, scale, _, search in group if search == "double rounding")  # fmt: skip
    assert twice >= 1000, twice
    return twice


def report(cases, twice):
    """The lines that are printed, and the rows of the table of reliability."""
    counts = collections.Counter(search for group in cases.of_call.values() for *_, search in group)
    lines = []
    for search, count in counts.items():
        line = f"{search}: {count}"
        if search in cases.searched:
            line += f", by {len(cases.searched[search])} divisors or factors"
        if search in cases.closest:
            line += f", the closest 2^{math.log2(cases.closest[search]):.1f} away, relative"
        lines.append(line)
    lines.append(f"products that one rounding would take elsewhere: {twice}")
    divisors = cases.searched["quotients nearest to midpoints of f32"]
    closest = math.log2(cases.closest["quotients nearest to midpoints of f32"])
    command = "make test"
    rows = [
        {"what": "the oracle against exact rational arithmetic", "asked": "no difference",
         "measured": f"{sum(counts.values())} results, 0 differences", "command": command},
        {"what": "divisors with the quotients nearest to midpoints", "asked": "2000",
         "measured": f"{len(divisors)}, the closest quotient 2^{closest:.0f} away",
         "command": command},
        {"what": "results that a single rounding to f16 or bf16 would change", "asked": "1000", "measured": str(twice),
         "command": command},
    ]  # fmt: skip
    return lines, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="reference.results")
    parser.add_argument("--figures", type=pathlib.Path, help="the file to write the rows of docs/reliability.md to")
    options = parser.parse_args()
    begin = time.monotonic()
    cases = Cases()
    for generate in GENERATORS:
        generate(cases)
    twice = check_hardness(cases)
    cases.take_one_in(int(os.environ.get("QDQ_TEST_THIN", "4")))
    results = ask(options.program, cases.of_call)
    assert len(results) == sum(map(len, cases.of_call.values())), len(results)
    found = differences(cases.of_call, results)
    for line in found[:20]:
        print(line)
    if found:
        sys.exit(f"{len(found)} of {len(results)} results differ from exact arithmetic")
    lines, rows = report(cases, twice)
    print("\n".join(lines))
    print(f"{len(results)} results, all exact, in {time.monotonic() - begin:.0f} s")
    if options.figures:
        options.figures.parent.mkdir(parents=True, exist_ok=True)
        options.figures.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

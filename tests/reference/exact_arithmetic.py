"""The contract of qdq.h in exact rational arithmetic, with a rounding of its own.

A number is a pair: whether it is negative, and its magnitude, which is a Fraction, INFINITE or NAN. Operations are
exact; `rounded` takes a result to the nearest number of a format. Codes are the bits of an element, as unsigned
integers.
"""

import bisect
import dataclasses
import fractions
import functools

Fraction = fractions.Fraction
INFINITE, NAN = "infinite", "nan"

# As qdq.h numbers them.
DTYPES = ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "i4", "u4", "f8e4m3", "f8e5m2", "f4e2m1", "e8m0",
          "f8e4m3fnuz", "f8e5m2fnuz", "f6e2m3", "f6e3m2", "i2", "u2", "f4e1m2", "hif8"]  # fmt: skip
DIVIDE, MULTIPLY, RECIPROCAL = range(3)
AFTER_ROUNDING, BEFORE_ROUNDING = range(2)
SUBTRACT, ADD = range(2)
NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO, DOWN, UP = range(5)

INTEGER_BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "i4": 4, "u4": 4, "i2": 2, "u2": 2}


@dataclasses.dataclass(frozen=True)
class Format:
    """A binary float format. `special`: which codes are not finite numbers.

    ieee    the highest exponent holds infinity and NaNs
    fn      the highest magnitude is a NaN, and there is no infinity
    fnuz    the code of -0 is the only NaN, and there is no infinity
    finite  none
    tapered HiFloat8's: the widths below are the most there are
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: str

    @property
    def sign_bit(self):
        return 1 << (self.exponent_bits + self.mantissa_bits)

    @property
    def smallest_exponent(self):
        return 1 - self.bias

    def largest_code(self):
        """Of finite numbers."""
        if self.special == "tapered":
            return int("110" "111" "0", 2)
        if self.special == "ieee":
            return self.sign_bit - (1 << self.mantissa_bits) - 1
        return self.sign_bit - (2 if self.special == "fn" else 1)

    @functools.cached_property
    def largest(self):
        return decode_finite(self, self.largest_code())


FORMATS = {
    "f32": Format(8, 23, 127, "ieee"),
    "f16": Format(5, 10, 15, "ieee"),
    "bf16": Format(8, 7, 127, "ieee"),
    "f8e4m3": Format(4, 3, 7, "fn"),
    "f8e5m2": Format(5, 2, 15, "ieee"),
    "f8e4m3fnuz": Format(4, 3, 8, "fnuz"),
    "f8e5m2fnuz": Format(5, 2, 16, "fnuz"),
    "f4e2m1": Format(2, 1, 1, "finite"),
    "f6e2m3": Format(2, 3, 1, "finite"),
    "f6e3m2": Format(3, 2, 3, "finite"),
    "f4e1m2": Format(1, 2, 1, "finite"),
    "hif8": Format(4, 3, 23, "tapered"),
}
F32 = FORMATS["f32"]
ONE_ZERO = ("fnuz", "tapered")  # the code of -0 is NaN


@functools.cache
def power(exponent):
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def is_finite(number):
    return number[1] is not INFINITE and number[1] is not NAN


def signed(number):
    return -number[1] if number[0] else number[1]


def unsigned(fraction):
    """The number with this value; zero is positive."""
    return fraction < 0, abs(Fraction(fraction))


def over_power(fraction, exponent):
    """The numerator and denominator of fraction / 2^exponent, not reduced."""
    numerator, denominator = fraction.numerator, fraction.denominator
    return (numerator, denominator << exponent) if exponent >= 0 else (numerator << -exponent, denominator)


def floor_of_log2(fraction):
    exponent = fraction.numerator.bit_length() - fraction.denominator.bit_length()
    numerator, denominator = over_power(fraction, exponent)
    return exponent if numerator >= denominator else exponent - 1


def decode_integer(dtype, code):
    bits = INTEGER_BITS[dtype]
    return code - (1 << bits) if dtype[0] == "i" and code >> (bits - 1) else code


def integer_range(dtype):
    bits = INTEGER_BITS[dtype]
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if dtype[0] == "i" else (0, (1 << bits) - 1)


def tapered_magnitude(code):
    """What the seven bits below the sign of a HiFloat8 stand for, infinity's as if it were a number (arXiv 2409.16626)."""
    text = f"{code:07b}"
    widths = {"0001": 0, "001": 1, "01": 2, "10": 3, "11": 4}
    for prefix, width in widths.items():
        if text.startswith(prefix):
            field, mantissa = text[len(prefix) :][:width], text[len(prefix) + width :]
            exponent = int("1" + field[1:], 2) * (-1 if field[0] == "1" else 1) if width else 0
            return (1 + Fraction(int(mantissa, 2), 1 << len(mantissa))) * power(exponent)
    return power(code - 23) if code else Fraction(0)


TAPERED = [tapered_magnitude(code) for code in range(128)]
CODE_OF_TAPERED = {magnitude: code for code, magnitude in enumerate(TAPERED)}
SORTED_TAPERED = sorted(TAPERED)


def nearest_tapered(fraction):
    """The nearest number, of two as near the larger one; above them all the one whose code is infinity's."""
    place = bisect.bisect(SORTED_TAPERED, fraction)
    below, above = SORTED_TAPERED[place - 1], SORTED_TAPERED[min(place, len(SORTED_TAPERED) - 1)]
    return below if 2 * fraction < below + above else above


def decode_finite(form, magnitude):
    if form.special == "tapered":
        return TAPERED[magnitude]
    exponent = magnitude >> form.mantissa_bits
    fraction = Fraction(magnitude & ((1 << form.mantissa_bits) - 1), 1 << form.mantissa_bits)
    return (fraction + 1) * power(exponent - form.bias) if exponent else fraction * power(form.smallest_exponent)


@functools.cache
def decode(dtype, code):
    """The number of a float's code. NaNs keep their sign."""
    if dtype == "e8m0":
        return (False, NAN) if code == 255 else (False, power(code - 127))
    form = FORMATS[dtype]
    negative, magnitude = code >= form.sign_bit, code & (form.sign_bit - 1)
    if form.special in ONE_ZERO and negative and magnitude == 0:
        return False, NAN
    if form.special in ("ieee", "tapered") and magnitude == form.largest_code() + 1:
        return negative, INFINITE
    is_finite_code = magnitude <= form.largest_code() or form.special == "tapered"
    return (negative, decode_finite(form, magnitude)) if is_finite_code else (negative, NAN)


def nearest_even(numerator, denominator):
    """A ratio that is not negative to the nearest integer, a tie to the even one."""
    whole, rest = divmod(numerator, denominator)
    twice = 2 * rest - denominator
    return whole + (twice > 0 or (twice == 0 and whole % 2 == 1))


def rounded_magnitude(form, fraction):
    """To the nearest of the format's numbers, subnormals included, as if its exponents had no upper end."""
    if fraction == 0:
        return fraction
    if form.special == "tapered":
        return nearest_tapered(fraction)
    unit = max(floor_of_log2(fraction), form.smallest_exponent) - form.mantissa_bits
    return nearest_even(*over_power(fraction, unit)) * power(unit)


def rounded(form, number):
    """As IEEE 754 rounds to nearest even: what is past the largest finite number is infinite."""
    if not is_finite(number):
        return number
    magnitude = rounded_magnitude(form, number[1])
    return number[0], INFINITE if magnitude > form.largest else magnitude


def code_of_finite(form, magnitude):
    """The code of a magnitude that the format holds exactly."""
    if form.special == "tapered":
        return CODE_OF_TAPERED[magnitude]
    binade = floor_of_log2(magnitude) if magnitude else form.smallest_exponent
    is_subnormal = magnitude < power(form.smallest_exponent)
    exponent = 0 if is_subnormal else binade + form.bias
    units, rest = divmod(*over_power(magnitude, max(binade, form.smallest_exponent) - form.mantissa_bits))
    assert rest == 0, magnitude
    return (exponent << form.mantissa_bits) + units - (0 if is_subnormal else 1 << form.mantissa_bits)


def encode(dtype, number):
    """The code of a number in f32, f16 or bf16, rounded once. A NaN is the positive quiet one without payload."""
    form = FORMATS[dtype]
    negative, magnitude = rounded(form, number)
    infinity = form.largest_code() + 1
    if magnitude is NAN:
        return infinity | 1 << (form.mantissa_bits - 1)
    code = infinity if magnitude is INFINITE else code_of_finite(form, magnitude)
    return code | (form.sign_bit if negative else 0)


NAN_CODE = {"f8e4m3": 0x7F, "f8e5m2": 0x7E, "f8e4m3fnuz": 0x80, "f8e5m2fnuz": 0x80, "hif8": 0x80}
OVERFLOW_CODE = {"f8e4m3": 0x7F, "f8e5m2": 0x7C, "f8e4m3fnuz": 0x80, "f8e5m2fnuz": 0x80, "hif8": 0x6F}


def encode_stored_float(dtype, number, nan_is_negative, no_saturate):
    """The code of a number in a stored float type."""
    form = FORMATS[dtype]
    negative, magnitude = number
    if magnitude is NAN:
        if form.special == "finite":
            return form.largest_code()
        return NAN_CODE[dtype] | (form.sign_bit if nan_is_negative else 0)
    if magnitude is not INFINITE:
        magnitude = rounded_magnitude(form, magnitude)
    if magnitude is INFINITE or magnitude > form.largest:
        code = OVERFLOW_CODE[dtype] if no_saturate and form.special != "finite" else form.largest_code()
    else:
        code = code_of_finite(form, magnitude)
    if code == 0 and form.special in ONE_ZERO:
        return 0
    return code | (form.sign_bit if negative else 0)


def quotient(x, y):
    negative = x[0] != y[0]
    if x[1] is NAN or y[1] is NAN or (x[1] == y[1] and (x[1] is INFINITE or x[1] == 0)):
        return negative, NAN
    if x[1] is INFINITE or y[1] == 0:
        return negative, INFINITE
    return negative, Fraction(0) if y[1] is INFINITE else x[1] / y[1]


def product(x, y):
    negative = x[0] != y[0]
    if x[1] is NAN or y[1] is NAN:
        return negative, NAN
    if x[1] is INFINITE or y[1] is INFINITE:
        return negative, NAN if x[1] == 0 or y[1] == 0 else INFINITE
    return negative, x[1] * y[1]


def total(x, y):
    """x + y. Of zeros and of opposite numbers it is +0, but for two negative zeros."""
    if x[1] is NAN or y[1] is NAN or (x[1] is INFINITE and y[1] is INFINITE and x[0] != y[0]):
        return False, NAN
    if x[1] is INFINITE or y[1] is INFINITE:
        return x if x[1] is INFINITE else y
    result = signed(x) + signed(y)
    return (x[0] and y[0], result) if result == 0 else unsigned(result)


def opposite(number):
    return not number[0], number[1]


def to_integer(number, rounding):
    """A finite number to an integer."""
    value = signed(number)
    lower = value.numerator // value.denominator
    above = value - lower
    if above == 0 or rounding == DOWN:
        return lower
    if rounding == UP:
        return lower + 1
    if rounding == TOWARD_ZERO:
        return lower + (value < 0)
    if above != Fraction(1, 2):
        return lower + (above > Fraction(1, 2))
    return lower + (value > 0 if rounding == NEAREST_AWAY else lower % 2)


def saturated(number, rounding, zero_point, lowest, highest):
    """An integer from any number: NaN gives the lowest, infinities saturate."""
    if number[1] is NAN:
        return lowest
    if number[1] is INFINITE:
        return lowest if number[0] else highest
    return min(max(to_integer(number, rounding) + zero_point, lowest), highest)


@dataclasses.dataclass(frozen=True)
class Call:
    """The types and options of a call. `zero_point` is a type's name, or None."""

    x: str
    y: str
    scale: str = "f32"
    zero_point: str | None = None
    scale_mode: int = DIVIDE
    quantize_zp: int = AFTER_ROUNDING
    dequantize_zp: int = SUBTRACT
    rounding: int = NEAREST_EVEN
    no_saturate: int = 0
    quant_min: int = 0
    quant_max: int = 0

    @property
    def quantizes(self):
        return self.x in ("f32", "f16", "bf16")

    @property
    def stored(self):
        return self.y if self.quantizes else self.x

    def result(self, x, scale, zero_point):
        """The code that a code of x gives."""
        return (quantized if self.quantizes else dequantized)(self, x, decode(self.scale, scale), zero_point)


def scaled(call, x, scale):
    if call.scale_mode == DIVIDE:
        return rounded(F32, quotient(x, scale))
    if call.scale_mode == MULTIPLY:
        return rounded(F32, product(x, scale))
    return rounded(F32, product(x, rounded(F32, quotient((False, Fraction(1)), scale))))


def zero_point_number(call, code):
    """A zero point as an f32."""
    if call.zero_point is None:
        return False, Fraction(0)
    if call.zero_point in INTEGER_BITS:
        return rounded(F32, unsigned(Fraction(decode_integer(call.zero_point, code))))
    return decode(call.zero_point, code)


def zero_point_integer(call, code):
    """A zero point as an integer: of floats the nearest, ties to even, within int32; 0 for NaN."""
    if call.zero_point is None:
        return 0
    if call.zero_point in INTEGER_BITS:
        return decode_integer(call.zero_point, code)
    number = decode(call.zero_point, code)
    return 0 if number[1] is NAN else saturated(number, NEAREST_EVEN, 0, -(2**31), 2**31 - 1)


def quantized(call, x_code, scale, zero_point):
    x = decode(call.x, x_code)
    t = scaled(call, x, scale)
    if call.y not in INTEGER_BITS:
        return encode_stored_float(call.y, t, x[0], call.no_saturate)
    lowest, highest = integer_range(call.y)
    if call.quant_min != 0 or call.quant_max != 0:
        lowest, highest = call.quant_min, call.quant_max
    if call.quantize_zp == BEFORE_ROUNDING:
        sum_of_floats = rounded(F32, total(t, zero_point_number(call, zero_point)))
        value = saturated(sum_of_floats, call.rounding, 0, lowest, highest)
    else:
        value = saturated(t, call.rounding, zero_point_integer(call, zero_point), lowest, highest)
    return value % (1 << INTEGER_BITS[call.y])


def shifted(call, x_code, zero_point):
    """x -+ zero_point, as an f32."""
    if call.x not in INTEGER_BITS:
        return decode(call.x, x_code)
    q = decode_integer(call.x, x_code)
    if call.zero_point is None or call.zero_point in INTEGER_BITS:
        z = zero_point_integer(call, zero_point)
        return rounded(F32, unsigned(Fraction(q + z if call.dequantize_zp == ADD else q - z)))
    z = zero_point_number(call, zero_point)
    q = rounded(F32, unsigned(Fraction(q)))
    return rounded(F32, total(q, z if call.dequantize_zp == ADD else opposite(z)))


def dequantized(call, x_code, scale, zero_point):
    value = rounded(F32, product(shifted(call, x_code, zero_point), scale))
    return encode(call.y, value)

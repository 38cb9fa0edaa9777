"""What qdq and its peers compute, element by element, in which exceptions state where they differ. Each rule takes a
comparison.Call and gives an array; is_... rules give masks."""

import functools

import numpy

import comparison
import oracle


def is_nan(call):
    return numpy.isnan(call.scaled)


def is_number(call):
    return ~is_nan(call)


def has_zero_scale(call):
    return numpy.broadcast_to(call.scale == 0, call.x.shape)


# The rule of a peer that has none.
anything = None


def lowest(call):
    return call.lowest


def zero(call):
    return 0


def saturated(call, values):
    return numpy.clip(values, call.lowest, call.highest)


def exact_code(call):
    """qdq's code, its zero point added exactly to what was rounded."""
    scale = numpy.broadcast_to(call.scale, call.x.shape)
    mode = "divide" if call.divides else "reciprocal"
    offset = numpy.broadcast_to(call.offset, call.x.shape)
    return oracle.quantize(call.x, scale, offset, call.y_type.name, scale_mode=mode)


def float_sum(call):
    """The zero point added in f32 to a code already rounded."""
    total = numpy.rint(call.scaled) + call.offset.astype(numpy.float32)
    return saturated(call, total.astype(numpy.float64))


def overflowing_float_sum(call):
    """The same with a last step to int32 that turns 2^31 into the lowest code."""
    total = float_sum(call)
    return numpy.where(total == 2.0**31 - 1, -(2.0**31), total)


def to_int32(values):
    """x86's conversion: NaN and all that is out of range is the lowest int32."""
    values = values.astype(numpy.float64)
    return numpy.where(numpy.abs(values) < 2.0**31, values, -(2.0**31)).astype(numpy.int64)


def converted_then_added(call):
    total = to_int32(numpy.rint(call.scaled)) + call.offset
    return saturated(call, total.astype(numpy.int32))


def exact_product(call):
    """qdq's value of a code: the zero point subtracted exactly, one rounding to f32 and one to the result's type."""
    scale = numpy.broadcast_to(call.scale, call.x.shape)
    return oracle.dequantize(call.x, scale, numpy.broadcast_to(call.offset, call.x.shape), call.y_type.name)


def wrapped_product(call):
    """The zero point subtracted in int32, where it may wrap around."""
    return (call.x.astype(numpy.int64) - call.offset).astype(numpy.int32).astype(numpy.float32) * call.scale


def product_in_steps(call):
    """Every operand and every result in the result's type, but for the scale."""

    def narrow(values):
        return values.astype(call.y_type).astype(numpy.float32)

    difference = narrow(narrow(call.x.astype(numpy.float32)) - narrow(call.offset.astype(numpy.float32)))
    return (difference * call.scale).astype(call.y_type)


def encoded(call, nan):
    """x / scale in an f8 or f4 type, saturated; `nan` is the rule for NaN."""
    return numpy.where(is_nan(call), nan(call), exact_code(call))


def quotient_is_negative(call):
    """x86's sign of a NaN quotient: that of x if it is NaN, else of the scale if it is, else negative."""
    x = call.x.astype(numpy.float32)
    made = ~numpy.isnan(x) & ~numpy.isnan(call.scale)
    return made | numpy.signbit(numpy.where(numpy.isnan(x), x, call.scale))


def f8_nan(codes, is_negative):
    """The NaN of an f8 type, with a sign."""

    def rule(call):
        positive = numpy.uint8(codes[call.y_type.name])
        return numpy.where(is_negative(call), positive | numpy.uint8(0x80), positive).view(call.y_type)

    return rule


# e5m2 has three NaNs of each sign; qdq gives the middle one.
QDQ_NAN = {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7E, "float8_e4m3fnuz": 0x80, "float8_e5m2fnuz": 0x80}

qdq_nan = f8_nan(QDQ_NAN, lambda call: numpy.signbit(call.x))


# Masks made of rules.


def differs(peer, qdq):
    """Where two rules give different results."""
    return lambda call: (
        comparison.result_bits(peer(call), call.y_type) != comparison.result_bits(qdq(call), call.y_type)
    )


def both(*masks):
    return lambda call: functools.reduce(numpy.logical_and, [mask(call) for mask in masks])


def on(routes, mask, *types):
    """A mask for these routes only, and for these types of the result if any are given."""
    return lambda call: mask(call) if call.route in routes and (not types or call.y_type.name in types) else None

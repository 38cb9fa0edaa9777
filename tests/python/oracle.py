"""What qdq.quantize and qdq.dequantize give, in NumPy: qdq.h's arithmetic, operation by operation."""

import ml_dtypes
import numpy

try:
    import en_dtypes
except ImportError:  # not on PyPI for every version of Python
    en_dtypes = None

FLOATS = ["float32", "float16", "bfloat16"]
INTEGERS = {
    "int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1), "int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3),
}  # fmt: skip
STORED_FLOATS = [
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
]  # fmt: skip
if en_dtypes:
    STORED_FLOATS += ["float4_e1m2", "hifloat8"]
STORED = [*INTEGERS, *STORED_FLOATS]
ROUNDINGS = {
    "nearest_even": numpy.rint,
    "nearest_away": lambda t: numpy.copysign(numpy.floor(numpy.abs(t) + 0.5), t),
    "toward_zero": numpy.trunc,
    "down": numpy.floor,
    "up": numpy.ceil,
}


def dtype(name):
    return numpy.dtype(getattr(numpy, name, None) or getattr(ml_dtypes, name, None) or getattr(en_dtypes, name))


def finfo(name):
    return ml_dtypes.finfo(name) if hasattr(ml_dtypes, name) else en_dtypes.finfo(dtype(name))


def _spread(operand, shape, axis, block_size):
    """An operand for each element: one of one element, of one dimension along `axis`, or of blocks."""
    operand = numpy.asarray(operand)
    if operand.size == 1:
        return operand.reshape(())
    if operand.ndim == 1 and len(shape) != 1:
        sizes = [1] * len(shape)
        sizes[axis] = -1
        operand = operand.reshape(sizes)
    for d, size in enumerate(shape):
        if operand.shape[d] not in (1, size):
            block = block_size if block_size and d == axis % len(shape) else -(-size // operand.shape[d])
            operand = operand.repeat(block, axis=d).take(range(size), axis=d)
    return operand


def quantize(x, scale, zero_point, name, axis=0, block_size=None, scale_mode="divide", zero_point_mode="after_rounding",
             rounding="nearest_even", saturate=True, nan="lowest", seed=0, offset=0):  # fmt: skip
    x = numpy.asarray(x, numpy.float32)
    scale = _spread(scale, x.shape, axis, block_size).astype(numpy.float32)
    with numpy.errstate(all="ignore"):
        t = {
            "divide": lambda: x / scale,
            "multiply": lambda: x * scale,
            "reciprocal": lambda: x * (numpy.float32(1) / scale),
        }[scale_mode]()
        roundings = dict(ROUNDINGS, stochastic=lambda t: _by_chance(t, name, _random_bits(t.shape, seed, offset)))
        if name not in INTEGERS:
            return _stored_float(roundings[rounding](t) if rounding == "stochastic" else t, name, saturate)
        zero_point = _spread(0 if zero_point is None else zero_point, x.shape, axis, block_size)
        if zero_point_mode == "before_rounding":
            r = roundings[rounding]((t + zero_point.astype(numpy.float32)).astype(numpy.float64))
        else:
            r = roundings[rounding](t.astype(numpy.float64)) + zero_point.astype(numpy.float64)
        low, high = INTEGERS[name]
        code_of_nan = low if nan == "lowest" else 0
        return numpy.where(numpy.isnan(r), code_of_nan, numpy.clip(r, low, high)).astype(numpy.int64).astype(dtype(name))


def _philox(counter, key):
    """Philox 4x32-10 of arrays, in 64 bits."""
    low = numpy.uint64(0xFFFFFFFF)
    x, k = list(counter), list(key)
    for _ in range(10):
        a, b = numpy.uint64(0xD2511F53) * x[0], numpy.uint64(0xCD9E8D57) * x[2]
        x = [(b >> 32) ^ x[1] ^ k[0], b & low, (a >> 32) ^ x[3] ^ k[1], a & low]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x


def _random_bits(shape, seed, offset):
    """The 16 bits of each element in row-major order."""
    n = numpy.uint64(offset) + numpy.arange(numpy.prod(shape, dtype=int), dtype=numpy.uint64)
    word = n // 32 * 16 + n % 16
    block, low, zero = word // 8, numpy.uint64(0xFFFFFFFF), numpy.zeros_like(n)
    words = numpy.stack(_philox((block & low, block >> 32, zero, zero), (seed & 0xFFFFFFFF, seed >> 32)))
    bits = words[(word % 8 // 2).astype(int), numpy.arange(n.size)] >> word % 2 * 16 & numpy.uint64(0xFFFF)
    return numpy.where(n % 32 < 16, bits, bits >> 8 | (bits & numpy.uint64(0xFF)) << 8).reshape(shape).astype(int)


def _hifloat8_mantissa_bits(exponent):
    distance = numpy.abs(exponent)
    return numpy.select([distance < 4, distance < 8, distance < 16], [3, 2, 1], 0)


def _by_chance(t, name, bits):
    """t up or down to a number of the type, as if these had no end."""
    magnitude = numpy.abs(t.astype(numpy.float64))
    exponent = 0
    if name not in INTEGERS:
        info = finfo(name)
        exponent = numpy.maximum(numpy.frexp(magnitude)[1] - 1, info.minexp)
        exponent = exponent - (_hifloat8_mantissa_bits(exponent) if name == "hifloat8" else info.nmant)
    steps = numpy.ldexp(magnitude, -exponent)
    chances = numpy.rint((steps - numpy.floor(steps)) * 65536)
    rounded = numpy.ldexp(numpy.floor(steps) + (chances + bits >= 65536), exponent)
    return numpy.where(numpy.isfinite(t), numpy.copysign(rounded, t), t).astype(t.dtype)


def _stored_float(t, name, saturate):
    largest = numpy.float32(finfo(name).max)
    codes = (numpy.clip(t, -largest, largest) if saturate else t).astype(dtype(name))
    if name.startswith(("float6", "float4")):  # which have no NaN
        codes = numpy.where(numpy.isnan(t), largest.astype(dtype(name)), codes)
    return codes


def dequantize(q, scale, zero_point, name, axis=0, block_size=None, zero_point_mode="subtract"):
    scale = _spread(scale, q.shape, axis, block_size).astype(numpy.float32)
    with numpy.errstate(all="ignore"):
        numbers = q.astype(numpy.float32 if q.dtype.name in STORED_FLOATS else numpy.float64)
        if zero_point is not None:
            zero_point = _spread(zero_point, q.shape, axis, block_size).astype(numpy.float64)
            numbers = numbers - zero_point if zero_point_mode == "subtract" else numbers + zero_point
        return (numbers.astype(numpy.float32) * scale).astype(dtype(name))


def same_bits(a, b):
    """Whether two arrays have one dtype, shape and value everywhere; one NaN is as good as another."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    unsigned = f"u{a.dtype.itemsize}"
    equal = numpy.ascontiguousarray(a).view(unsigned) == numpy.ascontiguousarray(b).view(unsigned)
    if a.dtype.name not in INTEGERS:
        equal |= numpy.isnan(a.astype(numpy.float32)) & numpy.isnan(b.astype(numpy.float32))
    return bool(numpy.all(equal))

"""What qdq.quantize and qdq.dequantize give, in NumPy: qdq.h's arithmetic, operation by operation."""

import ml_dtypes
import numpy

FLOATS = ["float32", "float16", "bfloat16"]
INTEGERS = {
    "int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1), "int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3),
}  # fmt: skip
STORED_FLOATS = [
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
]  # fmt: skip
STORED = [*INTEGERS, *STORED_FLOATS]
ROUNDINGS = {
    "nearest_even": numpy.rint,
    "nearest_away": lambda t: numpy.copysign(numpy.floor(numpy.abs(t) + 0.5), t),
    "toward_zero": numpy.trunc,
    "down": numpy.floor,
    "up": numpy.ceil,
}


def dtype(name):
    return numpy.dtype(getattr(numpy, name, None) or getattr(ml_dtypes, name))


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
             rounding="nearest_even", saturate=True, nan="lowest"):  # fmt: skip
    x = numpy.asarray(x, numpy.float32)
    scale = _spread(scale, x.shape, axis, block_size).astype(numpy.float32)
    with numpy.errstate(all="ignore"):
        t = {
            "divide": lambda: x / scale,
            "multiply": lambda: x * scale,
            "reciprocal": lambda: x * (numpy.float32(1) / scale),
        }[scale_mode]()
        if name not in INTEGERS:
            return _stored_float(t, name, saturate)
        zero_point = _spread(0 if zero_point is None else zero_point, x.shape, axis, block_size)
        if zero_point_mode == "before_rounding":
            r = ROUNDINGS[rounding]((t + zero_point.astype(numpy.float32)).astype(numpy.float64))
        else:
            r = ROUNDINGS[rounding](t.astype(numpy.float64)) + zero_point.astype(numpy.float64)
        low, high = INTEGERS[name]
        code_of_nan = low if nan == "lowest" else 0
        return numpy.where(numpy.isnan(r), code_of_nan, numpy.clip(r, low, high)).astype(numpy.int64).astype(dtype(name))


def _stored_float(t, name, saturate):
    largest = numpy.float32(ml_dtypes.finfo(name).max)
    codes = (numpy.clip(t, -largest, largest) if saturate else t).astype(dtype(name))
    if name.startswith(("float6", "float4")):  # which have no NaN
        nans = numpy.float32(6.0 if name == "float4_e2m1fn" else 1.0) * (1 if name == "float4_e2m1fn" else largest)
        codes = numpy.where(numpy.isnan(t), nans.astype(dtype(name)), codes)
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

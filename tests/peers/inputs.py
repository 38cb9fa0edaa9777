"""Inputs of the comparisons; scales and zero points broadcast to the elements they belong to."""

import re

import ml_dtypes
import numpy

import qdq_ctypes

FLOATS = {"float32": numpy.float32, "float16": numpy.float16, "bfloat16": ml_dtypes.bfloat16}

INTEGERS = ["int8", "uint8", "int16", "uint16", "int4", "uint4"]
PACKED_INTEGERS = [name for name in qdq_ctypes.PACKED if "int" in name]
F8 = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
E2M1 = "float4_e2m1fn"
ASCEND = list(qdq_ctypes.ASCEND.values())
STORED_FLOATS = [name for name in qdq_ctypes.DTYPES if re.match("float[468]_e[0-9]m[1-9]", name) and name not in ASCEND]
WITHOUT_NAN = [name for name in STORED_FLOATS if not numpy.isnan(numpy.float32(numpy.nan).astype(name))]

# Ordinary, not a power of two, tiny, huge, negative; 1 / 1e-39 is not a finite f32.
SCALES = [0.1, 1 / 127, 0.00214854861, 1.0, 2.0**-100, 1e-39, 3e38, -0.3]
ODD_SCALES = [0.0, float("inf"), float("nan")]

_EDGES = numpy.array([0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F800000,
                      0x4B000000, 0x4EFFFFFF, 0x4F000000, 0x5F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000,
                      0x7FFFFFFF], numpy.uint32)  # fmt: skip
SPECIALS = numpy.concatenate([_EDGES, _EDGES | 0x80000000]).view(numpy.float32)


def half_steps(scale, reach):
    """Multiples of scale / 2: where a division and a multiplication by the reciprocal part, and every tie."""
    return numpy.arange(-reach, reach + 1, dtype=numpy.float32) * numpy.float32(0.5) * numpy.float32(scale)


def every_f16_or_bf16(dtype):
    return numpy.arange(1 << 16, dtype=numpy.uint16).view(dtype)


def any_floats(dtype, seed=1, count=1 << 18):
    """Every value of a 16-bit type; of f32 the special values, random bits, and the neighbourhood of every bf16."""
    if numpy.dtype(dtype) != numpy.float32:
        return every_f16_or_bf16(dtype)
    upper = numpy.arange(1 << 16, dtype=numpy.uint32) << 16
    near = upper[:, None] + numpy.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], numpy.uint32)
    random = numpy.random.default_rng(seed).integers(0, 1 << 32, count, dtype=numpy.uint32)
    return numpy.concatenate([SPECIALS.view(numpy.uint32), near.reshape(-1), random]).view(numpy.float32)


def floats_for(dtype, scale, seed=1):
    """any_floats(), and the half steps of a scale over the codes of 16 bits, in a float type."""
    return numpy.concatenate([any_floats(dtype, seed), half_steps(scale, 140000).astype(dtype)])


def bits_of(dtype):
    """Of a code: ml_dtypes keeps those of less than 8 bits one to a byte."""
    return (ml_dtypes.iinfo if "int" in numpy.dtype(dtype).name else ml_dtypes.finfo)(dtype).bits


def every_code(dtype, seed=1):
    """Every code of a type of at most 16 bits; of a 32-bit one the ends of its range, and random codes."""
    dtype = numpy.dtype(dtype)
    if dtype.itemsize <= 2:
        return numpy.arange(1 << bits_of(dtype), dtype=f"u{dtype.itemsize}").view(dtype)
    ends = numpy.array([0, 1, -1, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31)], dtype)
    random = numpy.random.default_rng(seed).integers(-(2**31), 2**31, 1 << 17, dtype=numpy.int64)
    return numpy.concatenate([ends, random.astype(dtype)])


def along(values, x, axis):
    """One value for each index of an axis, as one for each element of x."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return numpy.broadcast_to(numpy.asarray(values).reshape(shape), x.shape)


def in_blocks(values, block, shape):
    """One value for each block, the last of which may be ragged, as one for each element."""
    for axis, (size, extent) in enumerate(zip(block, shape)):
        values = numpy.repeat(values, size, axis).take(range(extent), axis)
    return values

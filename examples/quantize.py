"""Quantizes the rows of a matrix to int8, each with a scale of its own, and restores them: the C interface by ctypes.

usage: quantize.py [libqdq.so.0]
"""

import ctypes
import sys
from ctypes import c_char_p, c_float, c_int, c_int32, c_int64, c_int8, c_void_p

QDQ_F32, QDQ_I8 = 0, 3


class Device(ctypes.Structure):
    _fields_ = [("kind", c_int), ("id", c_int32), ("offset", c_int64)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int), ("rank", c_int32), ("shape", ctypes.POINTER(c_int64)),
                ("strides", ctypes.POINTER(c_int64)), ("device", Device)]


class Options(ctypes.Structure):
    _fields_ = [("scale_mode", c_int), ("quantize_zp", c_int), ("dequantize_zp", c_int), ("rounding", c_int),
                ("no_saturate", c_int32), ("axis", c_int32), ("block_size", c_int64), ("quant_min", c_int32),
                ("quant_max", c_int32), ("packing", c_int), ("block_shape", ctypes.POINTER(c_int64)),
                ("stream", c_void_p), ("stores", c_int)]


qdq = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libqdq.so.0")
for name in ("qdq_quantize", "qdq_dequantize"):
    getattr(qdq, name).argtypes = [ctypes.POINTER(Tensor)] * 4 + [ctypes.POINTER(Options)]
qdq.qdq_last_error.restype = qdq.qdq_version.restype = c_char_p


def tensor(data, dtype, *shape):
    return Tensor(ctypes.addressof(data), dtype, len(shape), (c_int64 * len(shape))(*shape))


def check(status):
    if status != 0:
        sys.exit(qdq.qdq_last_error().decode())


weights = (c_float * 6)(0.5, -1.0, 0.25, 4.0, 2.0, -3.0)
scales = (c_float * 2)(1 / 127, 4 / 127)
codes, restored = (c_int8 * 6)(), (c_float * 6)()
scale, by_row = tensor(scales, QDQ_F32, 2), Options(axis=0)
check(qdq.qdq_quantize(tensor(weights, QDQ_F32, 2, 3), scale, None, tensor(codes, QDQ_I8, 2, 3), by_row))
check(qdq.qdq_dequantize(tensor(codes, QDQ_I8, 2, 3), scale, None, tensor(restored, QDQ_F32, 2, 3), by_row))
print("qdq", qdq.qdq_version().decode(), file=sys.stderr)
for code, value in zip(codes, restored):
    print(f"{code:4d} {value:8.5f}")

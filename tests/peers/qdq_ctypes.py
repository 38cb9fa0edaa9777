"""The C interface of qdq.h through ctypes, for NumPy arrays."""

import ctypes
import os

import numpy

DTYPES = {
    "float32": 0, "float16": 1, "bfloat16": 2, "int8": 3, "uint8": 4, "int16": 5, "uint16": 6, "int32": 7,
    "float8_e4m3fn": 10, "float8_e5m2": 11, "float8_e4m3fnuz": 14, "float8_e5m2fnuz": 15,
}  # fmt: skip
DIVIDE, MULTIPLY = 0, 1
ZP_AFTER_ROUNDING, ZP_BEFORE_ROUNDING = 0, 1
ZP_SUBTRACT, ZP_ADD = 0, 1
NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO, DOWN, UP = range(5)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("scale_mode", ctypes.c_int),
        ("quantize_zp", ctypes.c_int),
        ("dequantize_zp", ctypes.c_int),
        ("rounding", ctypes.c_int),
        ("no_saturate", ctypes.c_int32),
        ("axis", ctypes.c_int32),
        ("block_size", ctypes.c_int64),
        ("quant_min", ctypes.c_int32),
        ("quant_max", ctypes.c_int32),
        ("packing", ctypes.c_int),
    ]


class Error(Exception):
    pass


def _tensor(array):
    if array is None:
        return None
    rank = array.ndim
    shape = (ctypes.c_int64 * rank)(*array.shape)
    strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
    return Tensor(array.ctypes.data, DTYPES[array.dtype.name], rank, shape, strides)


class Library:
    def __init__(self, path=None):
        self._library = ctypes.CDLL(path or os.environ["QDQ_SHARED_LIBRARY"])
        for function in (self._library.qdq_quantize, self._library.qdq_dequantize):
            function.argtypes = [ctypes.POINTER(Tensor)] * 4 + [ctypes.POINTER(Options)]
            function.restype = ctypes.c_int
        self._library.qdq_last_error.restype = ctypes.c_char_p
        self._library.qdq_target_name.restype = ctypes.c_char_p
        self._library.qdq_force_target.argtypes = [ctypes.c_char_p]
        self._library.qdq_force_target.restype = ctypes.c_int

    def quantize(self, x, scale, zero_point, y, **options):
        self._call(self._library.qdq_quantize, x, scale, zero_point, y, options)

    def dequantize(self, x, scale, zero_point, y, **options):
        self._call(self._library.qdq_dequantize, x, scale, zero_point, y, options)

    def usable_targets(self):
        indices = range(self._library.qdq_target_count())
        return [self._library.qdq_target_name(i).decode() for i in indices if self._library.qdq_target_usable(i)]

    def force_target(self, name):
        self._check(self._library.qdq_force_target(None if name is None else name.encode()))

    def set_num_threads(self, count):
        self._library.qdq_set_num_threads(count)

    def _call(self, function, x, scale, zero_point, y, options):
        scale = numpy.asarray(scale)
        tensors = [_tensor(array) for array in (x, scale, zero_point, y)]
        references = [None if tensor is None else ctypes.byref(tensor) for tensor in tensors]
        self._check(function(*references, ctypes.byref(Options(**options))))

    def _check(self, status):
        if status != 0:
            raise Error(self._library.qdq_last_error().decode())

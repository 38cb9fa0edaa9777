"""The C interface of qdq.h through ctypes, for NumPy arrays with the types of NumPy and ml_dtypes.

ml_dtypes' 4-bit arrays hold one element in a byte. They are packed for a call, low nibble first, and an output is
unpacked after it.
"""

import ctypes
import os

import numpy

DTYPES = {
    "float32": 0, "float16": 1, "bfloat16": 2, "int8": 3, "uint8": 4, "int16": 5, "uint16": 6, "int32": 7, "int4": 8,
    "uint4": 9, "float8_e4m3fn": 10, "float8_e5m2": 11, "float4_e2m1fn": 12, "float8_e8m0fnu": 13,
    "float8_e4m3fnuz": 14, "float8_e5m2fnuz": 15, "float6_e2m3fn": 16, "float6_e3m2fn": 17,
}  # fmt: skip
PACKED = {"int4", "uint4", "float4_e2m1fn"}
DIVIDE, MULTIPLY, RECIPROCAL = range(3)
ZP_AFTER_ROUNDING, ZP_BEFORE_ROUNDING = range(2)
ZP_SUBTRACT, ZP_ADD = range(2)
NEAREST_EVEN, NEAREST_AWAY, TOWARD_ZERO, DOWN, UP = range(5)


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("device_kind", ctypes.c_int),
        ("device_id", ctypes.c_int32),
        ("device_offset", ctypes.c_int64),
    ]


class Options(ctypes.Structure):
    __slots__ = ()  # a misspelt option is an error
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
        ("block_shape", ctypes.POINTER(ctypes.c_int64)),
        ("stream", ctypes.c_void_p),
    ]


class Error(Exception):
    pass


def pack(array):
    """The bytes of a packed 4-bit tensor; the last nibble of an odd count is 0."""
    nibbles = array.reshape(-1).view(numpy.uint8) & 15
    if nibbles.size % 2:
        nibbles = numpy.append(nibbles, numpy.uint8(0))
    return nibbles[::2] | nibbles[1::2] << 4


def unpack(packed, dtype, shape):
    nibbles = numpy.stack([packed & 15, packed >> 4], axis=1).reshape(-1)
    count = int(numpy.prod(shape))
    if nibbles[count:].any():
        raise Error(f"the padding of {count} elements is {nibbles[count:]}")
    return nibbles[:count].view(dtype).reshape(shape)


def tensor_of(array, data=None):
    """The tensor at an array, or at other `data` in the array's shape; both must outlive it."""
    rank = array.ndim
    shape = (ctypes.c_int64 * rank)(*array.shape)
    strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
    return Tensor((array if data is None else data).ctypes.data, DTYPES[array.dtype.name], rank, shape, strides)


class Library:
    def __init__(self, path=None):
        self._library = ctypes.CDLL(path or os.environ["QDQ_SHARED_LIBRARY"])
        for function in (self._library.qdq_quantize, self._library.qdq_dequantize):
            function.argtypes = [ctypes.POINTER(Tensor)] * 4 + [ctypes.POINTER(Options)]
            function.restype = ctypes.c_int
        self._library.qdq_profile_options.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(Options)]
        self._library.qdq_last_error.restype = ctypes.c_char_p
        self._library.qdq_target_name.restype = ctypes.c_char_p
        self._library.qdq_force_target.argtypes = [ctypes.c_char_p]
        self._library.qdq_force_target.restype = ctypes.c_int

    def quantize(self, x, scale, zero_point, y, profile=None, **options):
        """Options are those of the profile, if any, with the ones named here in place of its own."""
        self._call(self._library.qdq_quantize, x, scale, zero_point, y, self.options(profile, y.dtype, options))

    def dequantize(self, x, scale, zero_point, y, profile=None, **options):
        self._call(self._library.qdq_dequantize, x, scale, zero_point, y, self.options(profile, x.dtype, options))

    def options(self, profile, stored, given):
        """Those of the profile for a stored type, or the defaults, with the ones given."""
        options = Options()
        if profile:
            name = profile.encode()
            self._check(self._library.qdq_profile_options(name, DTYPES[stored.name], ctypes.byref(options)))
        for name, value in given.items():
            setattr(options, name, value)
        return options

    def usable_targets(self):
        """Those for tensors on the host."""
        of_host = [i for i in range(self._library.qdq_target_count()) if self._library.qdq_target_device(i) == 0]
        return [self._library.qdq_target_name(i).decode() for i in of_host if self._library.qdq_target_usable(i)]

    def force_target(self, name):
        self._check(self._library.qdq_force_target(None if name is None else name.encode()))

    def set_num_threads(self, count):
        self._library.qdq_set_num_threads(count)

    def call(self, function, *arguments):
        """qdq_quantize or qdq_dequantize with references to what it takes."""
        self._check(getattr(self._library, "qdq_" + function)(*arguments))

    def _call(self, function, x, scale, zero_point, y, options):
        arrays = [x, numpy.asarray(scale), zero_point, y]
        held = [pack(a) if a is not None and a.dtype.name in PACKED else a for a in arrays]  # alive during the call
        tensors = [None if a is None else tensor_of(a, data) for a, data in zip(arrays, held)]
        references = [None if tensor is None else ctypes.byref(tensor) for tensor in tensors]
        self._check(function(*references, ctypes.byref(options)))
        if y.dtype.name in PACKED:
            y[...] = unpack(held[3], y.dtype, y.shape)

    def _check(self, status):
        if status != 0:
            raise Error(self._library.qdq_last_error().decode())

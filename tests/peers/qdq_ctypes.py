"""The C interface of qdq.h through ctypes, for NumPy arrays with the types of NumPy, ml_dtypes and en_dtypes.

Their arrays of 4 and 2 bits hold one element in a byte. They are packed for a call, the first in the lowest bits,
and an output is unpacked after it.
"""

import ctypes
import itertools
import os
import re

import ml_dtypes
import numpy

_library = ctypes.CDLL(os.environ["QDQ_SHARED_LIBRARY"])
_library.qdq_dtype_name.restype = ctypes.c_char_p


ASCEND = {"f4e1m2": "float4_e1m2", "hif8": "hifloat8"}  # en_dtypes' names


def _array_type(name):
    """NumPy's, ml_dtypes' or en_dtypes' name of an element type: "int8" of "i8", "float8_e4m3fn" of "f8e4m3"."""
    if name in ASCEND:
        return ASCEND[name]
    kind, bits, layout = re.fullmatch("(i|u|f|bf)([0-9]+)(e.*)?", "f8" + name if name[0] == "e" else name).groups()
    stem = {"i": "int", "u": "uint", "f": "float", "bf": "bfloat"}[kind] + bits + ("_" + layout if layout else "")
    if hasattr(numpy, stem):
        return stem
    # The longer name first: ml_dtypes' float8_e4m3 has infinities, and float8_e4m3fn none.
    return next(stem + suffix for suffix in ("fnu", "fn", "") if hasattr(ml_dtypes, stem + suffix))


def _dtypes():
    """The numbers of qdq_dtype by the names of array types."""
    names = itertools.takewhile(bool, map(_library.qdq_dtype_name, itertools.count()))
    return {_array_type(name.decode()): number for number, name in enumerate(names)}


DTYPES = _dtypes()
PACKED = {name: bits for name, number in DTYPES.items() if (bits := _library.qdq_dtype_bits(number)) < 8}
DIVIDE, MULTIPLY, RECIPROCAL = range(3)
ZP_AFTER_ROUNDING, ZP_BEFORE_ROUNDING = range(2)
ZP_SUBTRACT, ZP_ADD = range(2)
NAN_LOWEST, NAN_ZERO = range(2)
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
        ("stores", ctypes.c_int),
        ("nan", ctypes.c_int),  # not read by the functions of qdq_quantize's first header, whose names these are
    ]


class ScaleOptions(ctypes.Structure):
    __slots__ = ()
    _fields_ = [
        ("rule", ctypes.c_int),
        ("clip_ratio", ctypes.c_float),
        ("least_scale", ctypes.c_float),
        ("room", ctypes.c_char * 128),  # for what later headers add, which a profile sets
    ]


class Error(Exception):
    pass


def pack(array):
    """The bytes of a packed tensor; what the last byte has past its elements is 0."""
    bits = PACKED[array.dtype.name]
    codes = array.reshape(-1).view(numpy.uint8) & ((1 << bits) - 1)
    padded = numpy.append(codes, numpy.zeros(-codes.size % (8 // bits), numpy.uint8)).reshape(-1, 8 // bits)
    return numpy.bitwise_or.reduce(padded << numpy.arange(0, 8, bits, dtype=numpy.uint8), axis=1)


def unpack(packed, dtype, shape):
    bits = PACKED[numpy.dtype(dtype).name]
    codes = (packed[:, None] >> numpy.arange(0, 8, bits, dtype=numpy.uint8) & ((1 << bits) - 1)).reshape(-1)
    count = int(numpy.prod(shape))
    if codes[count:].any():
        raise Error(f"the padding of {count} elements is {codes[count:]}")
    return codes[:count].view(dtype).reshape(shape)


def tensor_of(array, data=None):
    """The tensor at an array, or at other `data` in the array's shape; both must outlive it."""
    rank = array.ndim
    shape = (ctypes.c_int64 * rank)(*array.shape)
    strides = (ctypes.c_int64 * rank)(*(stride // array.itemsize for stride in array.strides))
    return Tensor((array if data is None else data).ctypes.data, DTYPES[array.dtype.name], rank, shape, strides)


class Library:
    def __init__(self):
        self._library = _library
        for function in (self._library.qdq_quantize, self._library.qdq_dequantize):
            function.argtypes = [ctypes.POINTER(Tensor)] * 4 + [ctypes.POINTER(Options)]
            function.restype = ctypes.c_int
        self._library.qdq_quantize_dynamic.argtypes = [
            *[ctypes.POINTER(Tensor)] * 4, ctypes.POINTER(ScaleOptions), ctypes.POINTER(Options)
        ]  # fmt: skip
        self._library.qdq_dynamic_profile.argtypes = [
            ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ScaleOptions), ctypes.POINTER(Options)
        ]  # fmt: skip
        self._library.qdq_profile_options.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(Options)]
        self._library.qdq_last_error.restype = ctypes.c_char_p
        self._library.qdq_target_name.restype = ctypes.c_char_p
        self._library.qdq_force_target.argtypes = [ctypes.c_char_p]
        self._library.qdq_force_target.restype = ctypes.c_int

    def quantize(self, x, scale, zero_point, y, profile=None, **options):
        """Options are those of the profile, if any, with the ones named here in place of its own."""
        self._call(self._library.qdq_quantize, x, scale, zero_point, y, ctypes.byref(self.options(profile, y.dtype, options)))

    def dequantize(self, x, scale, zero_point, y, profile=None, **options):
        self._call(self._library.qdq_dequantize, x, scale, zero_point, y, ctypes.byref(self.options(profile, x.dtype, options)))

    def quantize_dynamic(self, x, scale, zero_point, y, profile, rule=None):
        """Writes scale, zero_point and y, as the profile has them; by another rule where one is given."""
        rules, options = ScaleOptions(), Options()
        self._check(
            self._library.qdq_dynamic_profile(
                profile.encode(), DTYPES[y.dtype.name], ctypes.byref(rules), ctypes.byref(options)
            )
        )
        if rule is not None:
            rules.rule = rule
        self._call(self._library.qdq_quantize_dynamic, x, scale, zero_point, y, ctypes.byref(rules), ctypes.byref(options))

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

    def _call(self, function, x, scale, zero_point, y, *options):
        arrays = [x, numpy.asarray(scale), zero_point, y]
        held = [pack(a) if a is not None and a.dtype.name in PACKED else a for a in arrays]  # alive during the call
        tensors = [None if a is None else tensor_of(a, data) for a, data in zip(arrays, held)]
        references = [None if tensor is None else ctypes.byref(tensor) for tensor in tensors]
        self._check(function(*references, *options))
        if y.dtype.name in PACKED:
            y[...] = unpack(held[3], y.dtype, y.shape)

    def _check(self, status):
        if status != 0:
            raise Error(self._library.qdq_last_error().decode())

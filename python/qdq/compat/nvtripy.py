"""nvtripy's quantize and dequantize: saturate(round(input / scale)), and input * scale.

With the functions that its examples make their tensors by. A tensor here is on the host, of NumPy's elements, and has
them at once. A broken rule is a TripyException.
"""

import enum

from qdq._core import compat as _compat
from qdq._frameworks import floats_of, numpy_dtype


class TripyException(Exception):
    """An argument breaks a rule."""


class dtype(enum.Enum):
    """nvtripy's types that qdq has; the values are NumPy's and ml_dtypes' names."""

    float32 = "float32"
    float16 = "float16"
    bfloat16 = "bfloat16"
    float8 = "float8_e4m3fn"
    int4 = "int4"
    int8 = "int8"
    int32 = "int32"


globals().update(dtype.__members__)
__all__ = [
    "Tensor",
    "TripyException",
    "arange",
    "cast",
    "dequantize",
    "dtype",
    "quantize",
    "reshape",
    *dtype.__members__,
]


def _checked(given):
    if not isinstance(given, dtype):
        raise TripyException(f"dtype: {given!r} is none of nvtripy's")
    return given


class Tensor:
    """A tensor of the host's memory.

    Args:
        data: numbers in nested sequences, or an array, whose memory it shares where the dtype is the array's.
        dtype: of the elements; None: the array's, int32 of integers and float32 of other numbers.
    """

    def __init__(self, data, dtype=None):
        import numpy

        array = numpy.asarray(data)
        if dtype is None and not hasattr(data, "dtype"):
            dtype = int32 if array.dtype.kind in "iu" else float32
        self._array = array if dtype is None else array.astype(numpy_dtype(_checked(dtype).value), copy=False)

    @property
    def dtype(self):
        return dtype(self._array.dtype.name)

    @property
    def shape(self):
        return self._array.shape

    @property
    def rank(self):
        return self._array.ndim

    def __array__(self, dtype=None, copy=None):
        return self._array if dtype is None else self._array.astype(dtype)

    def __dlpack__(self, **keywords):
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()

    def tolist(self):
        return self._array.tolist()

    def __repr__(self):
        if self.dtype is int4:
            raise TripyException("int4 cannot be printed: dequantize it first")
        import numpy

        elements = numpy.array2string(self._array, separator=", ", prefix="tensor(")
        return f"tensor({elements}, dtype={self.dtype.name}, shape={self.shape})"


def arange(stop, dtype=dtype.float32):
    """The numbers from 0 to `stop`, which is not among them."""
    import numpy

    return Tensor(numpy.arange(stop), dtype)


def reshape(input, shape):
    """The elements of `input` in another shape."""
    return Tensor(input._array.reshape(shape))


def cast(input, dtype):
    """The elements of `input` as another type."""
    return Tensor(input._array, dtype)


def _scale(scale, floating):
    """A scale as an array: numbers are rounded to float32, and from there to the type that the call computes with."""
    if isinstance(scale, Tensor):
        return scale._array
    try:
        return floats_of(scale).astype(numpy_dtype(floating.value))
    except (TypeError, ValueError, OverflowError) as error:
        raise TripyException(f"scale: {error}") from None


def _call(quantizes, input, scale, to, dim):
    if not isinstance(input, Tensor):
        raise TripyException(f"input: {type(input).__name__} is not a Tensor")
    floating = input.dtype if quantizes else _checked(to)
    number = _compat.dtype_number(_checked(to).value)
    try:
        return Tensor(_compat.tripy(quantizes, input._array, _scale(scale, floating), number, dim))
    except (RuntimeError, TypeError, ValueError) as error:
        raise TripyException(str(error)) from None


def quantize(input, scale, dtype, dim=None):
    """saturate(round(input / scale)).

    Args:
        input: a Tensor of float32, float16 or bfloat16, at least one dimension.
        scale: a number, or a Tensor of input's dtype without dimensions; with `dim` one of each element along it, as a
            Tensor or a sequence; or of int4 blocks: two dimensions, of which the first divides input's and the second
            is input's.
        dtype: int8, int4 or float8.
        dim: input's dimension that scale varies along, from 0.
    """
    return _call(True, input, scale, dtype, dim)


def dequantize(input, scale, dtype, dim=None):
    """input * scale: of int8, int4 or float8 to float32, float16 or bfloat16. The rest as of quantize."""
    return _call(False, input, scale, dtype, dim)

"""nvtripy's quantize and dequantize: saturate(round(input / scale)), and input * scale.

With the functions that its examples make their tensors by. A tensor here is on the host, of NumPy's elements, and has
them at once. A broken rule is a TripyException.
"""

import contextlib
import enum
import textwrap

from qdq._core import compat as _compat
from qdq._frameworks import floats_of, numbers_of, numpy_dtype


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


_NAMES = {each.value: each for each in dtype}  # NumPy's and ml_dtypes'
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


@contextlib.contextmanager
def _broken_rules(where):
    """What the arguments of the block break is a TripyException that names them."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise TripyException(f"nvtripy.{where}: {error}") from None


def _array_of(function, input):
    if not isinstance(input, Tensor):
        raise TripyException(f"nvtripy.{function}: input: {type(input).__name__} is not a Tensor")
    return input._array


def _converted(array, to):
    """An array's elements as another type. NumPy's text, dates and records are no numbers."""
    import numpy

    if array.dtype.name not in _NAMES and array.dtype.kind not in "biuf":
        raise TypeError(f"dtype {array.dtype} is no type of numbers")
    with numpy.errstate(invalid="ignore", over="ignore"):  # NaN as an integer
        return array.astype(numpy_dtype(to.value), copy=False)


def _elements(numbers, to):
    """Numbers as elements of a type, or of int32 where all are integers and of float32 otherwise."""
    array = numbers_of(numbers)
    to = to or (int32 if array.dtype.kind in "iu" else float32)
    if to not in (int4, int8, int32):
        return floats_of(array).astype(numpy_dtype(to.value))
    converted = _converted(array, to)
    if (converted.astype(array.dtype) != array).any():
        raise ValueError(f"it has a number that is none of {to.name}")
    return converted


class Tensor:
    """A tensor of the host's memory.

    Args:
        data: numbers in nested sequences, or an array, whose memory it shares where the dtype is the array's.
        dtype: of the elements; None: the array's, int32 of integers and float32 of other numbers.
    """

    def __init__(self, data, dtype=None):
        import numpy

        to = None if dtype is None else _checked(dtype)
        with _broken_rules("Tensor: data"):
            if not hasattr(data, "__array__"):
                self._array = _elements(data, to)
                return
            self._array = numpy.asarray(data)
            if to is not None:
                self._array = _converted(self._array, to)
        if self._array.dtype.name not in _NAMES:
            raise TripyException(
                f"nvtripy.Tensor: data: dtype {self._array.dtype} is none of nvtripy's that qdq has, "
                f"{', '.join(each.name for each in _NAMES.values())}: a dtype, as tp.float32, converts it"
            )

    @property
    def dtype(self):
        return _NAMES[self._array.dtype.name]

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
        elements = _printed(self.tolist(), self.rank, self._array.size > 40)
        line, margin = ("\n", "    ") if self.rank > 1 else ("", "")
        what = f"dtype={self.dtype.name}, loc=cpu:0, shape={self.shape}"
        return f"tensor({line}{textwrap.indent(elements, margin)}, {line}{margin}{what})"


def _printed(elements, rank, cuts, depth=0):
    """Nested lists as nvtripy prints them: floats with four digits, ten numbers in a line; cut: three at either end."""
    if not isinstance(elements, list):
        return f"{elements:.4f}" if isinstance(elements, float) and rank > 0 else str(elements)
    inner = depth < rank - 1
    cut = cuts and len(elements) > 6
    shown = [_printed(each, rank, cuts, depth + 1) for each in (elements[:3] + elements[-3:] if cut else elements)]
    shown[3:3] = ["..."] if cut else []
    lines = shown if inner else [", ".join(shown[i : i + 10]) for i in range(0, len(shown), 10)]
    gap = "\n" * (rank - depth - 1) if inner else "\n"
    return "[" + f",{gap}{' ' * (depth + 1)}".join(lines) + "]"


def arange(stop, dtype=dtype.float32):
    """The numbers from 0 to `stop`, which is not among them."""
    import numpy

    with _broken_rules("arange: stop"):
        numbers = numpy.arange(stop)
    return Tensor(numbers, dtype)


def reshape(input, shape):
    """The elements of `input` in another shape."""
    array = _array_of("reshape", input)
    with _broken_rules("reshape: shape"):
        return Tensor(array.reshape(shape))


def cast(input, dtype):
    """The elements of `input` as another type."""
    return Tensor(_array_of("cast", input), _checked(dtype))


def _scale(function, scale, floating):
    """A scale as an array: numbers are rounded to float32, and from there to the type that the call computes with."""
    if isinstance(scale, Tensor):
        return scale._array
    with _broken_rules(f"{function}: scale"):
        return floats_of(scale).astype(numpy_dtype(floating.value))


def _call(quantizes, input, scale, to, dim):
    function = "quantize" if quantizes else "dequantize"
    array = _array_of(function, input)
    floating = input.dtype if quantizes else _checked(to)
    number = _compat.dtype_number(_checked(to).value)
    try:
        return Tensor(_compat.tripy(quantizes, array, _scale(function, scale, floating), number, dim))
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

"""nvtripy's quantize and dequantize: saturate(round(input / scale)), and input * scale.

With the functions that its examples make their tensors by. A tensor here is on the host, of NumPy's elements, and has
them at once. A broken rule is a TripyException.
"""

import contextlib
import enum
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from qdq._core import compat as _compat
from qdq._frameworks import floats_of, numbers_of, numpy_dtype

if TYPE_CHECKING:  # NumPy is imported by what makes arrays
    from numpy.typing import NDArray


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
float32, float16, bfloat16, float8 = dtype.float32, dtype.float16, dtype.bfloat16, dtype.float8
int4, int8, int32 = dtype.int4, dtype.int8, dtype.int32
__all__ = ["Tensor", "TripyException", "arange", "bfloat16", "cast", "dequantize", "dtype", "float16", "float32", "float8",
           "int32", "int4", "int8", "quantize", "reshape"]  # fmt: skip

_Dtype: TypeAlias = dtype  # which arguments are named, too
_Scale: TypeAlias = "Tensor | float | Sequence[float] | Sequence[Sequence[float]]"


def _checked(given: object) -> dtype:
    if not isinstance(given, dtype):
        raise TripyException(f"dtype: {given!r} is none of nvtripy's")
    return given


@contextlib.contextmanager
def _broken_rules(where: str) -> Iterator[None]:
    """What the arguments of the block break is a TripyException that names them."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise TripyException(f"nvtripy.{where}: {error}") from None


def _array_of(function: str, input: object) -> "NDArray[Any]":
    if not isinstance(input, Tensor):
        raise TripyException(f"nvtripy.{function}: input: {type(input).__name__} is not a Tensor")
    return input._array


def _converted(array: "NDArray[Any]", to: dtype) -> "NDArray[Any]":
    """An array's elements as another type. NumPy's text, dates and records are no numbers."""
    import numpy

    if array.dtype.name not in _NAMES and array.dtype.kind not in "biuf":
        raise TypeError(f"dtype {array.dtype} is no type of numbers")
    with numpy.errstate(invalid="ignore", over="ignore"):  # NaN as an integer
        return array.astype(numpy_dtype(to.value), copy=False)


def _elements(numbers: object, to: dtype | None) -> "NDArray[Any]":
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

    def __init__(self, data: Any, dtype: _Dtype | None = None) -> None:
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
    def dtype(self) -> _Dtype:
        return _NAMES[self._array.dtype.name]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def rank(self) -> int:
        return self._array.ndim

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> "NDArray[Any]":
        import numpy

        return numpy.array(self._array, dtype=dtype, copy=copy)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()

    def tolist(self) -> Any:
        return self._array.tolist()

    def __repr__(self) -> str:
        if self.dtype is int4:
            raise TripyException("int4 cannot be printed: dequantize it first")
        elements = _printed(self.tolist(), self.rank, self._array.size > 40)
        line, margin = ("\n", "    ") if self.rank > 1 else ("", "")
        what = f"dtype={self.dtype.name}, loc=cpu:0, shape={self.shape}"
        return f"tensor({line}{textwrap.indent(elements, margin)}, {line}{margin}{what})"


def _printed(elements: Any, rank: int, cuts: bool, depth: int = 0) -> str:
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


def arange(stop: float, dtype: _Dtype = dtype.float32) -> Tensor:
    """The numbers from 0 to `stop`, which is not among them."""
    import numpy

    with _broken_rules("arange: stop"):
        numbers = numpy.arange(stop)
    return Tensor(numbers, dtype)


def reshape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """The elements of `input` in another shape."""
    array = _array_of("reshape", input)
    with _broken_rules("reshape: shape"):
        return Tensor(array.reshape(shape))


def cast(input: Tensor, dtype: _Dtype) -> Tensor:
    """The elements of `input` as another type."""
    return Tensor(_array_of("cast", input), _checked(dtype))


def _scale(function: str, scale: _Scale, floating: dtype) -> "NDArray[Any]":
    """A scale as an array: numbers are rounded to float32, and from there to the type that the call computes with."""
    if isinstance(scale, Tensor):
        return scale._array
    with _broken_rules(f"{function}: scale"):
        return floats_of(scale).astype(numpy_dtype(floating.value))


def _call(quantizes: bool, input: Tensor, scale: _Scale, to: dtype, dim: int | None) -> Tensor:
    function = "quantize" if quantizes else "dequantize"
    array = _array_of(function, input)
    floating = input.dtype if quantizes else _checked(to)
    number = _compat.dtype_number(_checked(to).value)
    try:
        return Tensor(_compat.tripy(quantizes, array, _scale(function, scale, floating), number, dim))
    except (RuntimeError, TypeError, ValueError) as error:
        raise TripyException(str(error)) from None


def quantize(input: Tensor, scale: _Scale, dtype: _Dtype, dim: int | None = None) -> Tensor:
    """saturate(round(input / scale)).

    Args:
        input: a Tensor of float32, float16 or bfloat16, at least one dimension.
        scale: a number, or a Tensor of input's dtype without dimensions. With `dim` one of each element along it, as a
            Tensor or a sequence. Of int4 blocks two dimensions: the first divides input's and the second is input's.
        dtype: int8, int4 or float8.
        dim: input's dimension that scale varies along, from 0.
    """
    return _call(True, input, scale, dtype, dim)


def dequantize(input: Tensor, scale: _Scale, dtype: _Dtype, dim: int | None = None) -> Tensor:
    """input * scale: of int8, int4 or float8 to float32, float16 or bfloat16. The rest as of quantize."""
    return _call(False, input, scale, dtype, dim)

"""pypto's quantize and dequantize, over NumPy's arrays and torch's tensors.

    quantize      round(input * scale + zero_points)
    dequantize    (float(input) + zero_points) * scale

A broken rule is a RuntimeError, as pypto's own library raises.
"""

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from qdq._core import compat as _compat

if TYPE_CHECKING:  # NumPy is imported by what makes arrays
    from numpy.typing import NDArray


class DataType(enum.Enum):
    """pypto's names of the types that qdq has; the values are NumPy's and ml_dtypes'."""

    DT_INT8 = "int8"
    DT_INT16 = "int16"
    DT_INT32 = "int32"
    DT_UINT8 = "uint8"
    DT_UINT16 = "uint16"
    DT_FP16 = "float16"
    DT_BF16 = "bfloat16"
    DT_FP32 = "float32"


DT_INT8, DT_INT16, DT_INT32 = DataType.DT_INT8, DataType.DT_INT16, DataType.DT_INT32
DT_UINT8, DT_UINT16 = DataType.DT_UINT8, DataType.DT_UINT16
DT_FP16, DT_BF16, DT_FP32 = DataType.DT_FP16, DataType.DT_BF16, DataType.DT_FP32
__all__ = ["DT_BF16", "DT_FP16", "DT_FP32", "DT_INT16", "DT_INT32", "DT_INT8", "DT_UINT16", "DT_UINT8", "DataType",
           "dequantize", "quantize", "set_vec_tile_shapes", "tensor"]  # fmt: skip


def _name_of(function: str, argument: str, dtype: object) -> str:
    if not isinstance(dtype, DataType):
        raise RuntimeError(f"pypto.{function}: {argument}: {dtype!r} is none of pypto's types")
    return dtype.value


def tensor(shape: Sequence[int], dtype: DataType, name: str = "") -> "NDArray[Any]":
    """A NumPy array of zeros. `name` is for pypto's graphs, which are not here."""
    import numpy

    from qdq._frameworks import numpy_dtype

    element = numpy_dtype(_name_of("tensor", "dtype", dtype))
    if not isinstance(shape, (list, tuple)):
        raise RuntimeError(f"pypto.tensor: shape: {shape!r} is no list of sizes")
    try:
        return numpy.zeros(shape, element)
    except (TypeError, ValueError, OverflowError) as error:
        raise RuntimeError(f"pypto.tensor: shape: {shape!r}: {error}") from None


def dequantize(input: Any, scale: Any, otype: DataType, axis: int, zero_points: Any = None) -> Any:
    """(float(input) + zero_points) * scale, of input's shape.

    Args:
        input: int8 or int16, 1 to 4 dimensions, 1 to 2^31 - 1 elements.
        scale: float32, of input's shape without dimension `axis`, or with 1 there.
        otype: DT_FP32.
        axis: one of the last two dimensions, by either number; -1 of an input of one.
        zero_points: None, an empty array, or float32 of a shape that scale may have.
    """
    number = _compat.dtype_number(_name_of("dequantize", "otype", otype))
    return _compat.pypto(False, input, scale, number, axis, zero_points)


def quantize(input: Any, scale: Any, otype: DataType, axis: int, zero_points: Any = None) -> Any:
    """round(input * scale + zero_points), of input's shape.

    Args:
        input: float32, 1 to 4 dimensions, 1 to 2^31 - 1 elements.
        scale, axis, zero_points: as of dequantize.
        otype: DT_INT8, or with zero_points DT_UINT8.
    """
    number = _compat.dtype_number(_name_of("quantize", "otype", otype))
    return _compat.pypto(True, input, scale, number, axis, zero_points)


def set_vec_tile_shapes(*sizes: int) -> None:
    """How pypto is to cut the output into tiles, for the calling thread.

    It changes no result, but its sizes are above 0 and as many as the output has dimensions, or the next dequantize
    fails. Without arguments it is forgotten.
    """
    _compat.set_vec_tile_shapes(*sizes)

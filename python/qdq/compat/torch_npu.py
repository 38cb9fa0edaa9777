"""torch_npu.npu_quantize over torch's tensors and NumPy's arrays, on the host.

As torch_npu does, it adds `npu()` to the tensors of a torch that is imported already: here it gives the tensor itself,
whose memory stays the host's. Of such a torch npu_quantize is an operator too, torch.ops.qdq.npu_quantize, which
torch.compile traces without a graph break. A broken rule is a RuntimeError, an argument of another type a TypeError.
"""

import enum
import functools
import sys
from collections.abc import Callable
from typing import Any

from qdq._core import compat as _compat


class ScalarType(enum.IntEnum):
    """The dtypes that npu_quantize takes, for calls without torch; with it they are torch.qint8 and so on."""

    int32 = 3
    qint8 = 12
    quint8 = 13
    qint32 = 14
    quint4x2 = 16


int32, qint8, quint8 = ScalarType.int32, ScalarType.qint8, ScalarType.quint8
qint32, quint4x2 = ScalarType.qint32, ScalarType.quint4x2
__all__ = ["ScalarType", "int32", "npu_quantize", "qint32", "qint8", "quint4x2", "quint8"]

# PyTorch's numbers of other dtypes, which npu_quantize refuses by their names.
_OTHERS = {"uint8": 0, "int8": 1, "float16": 5, "float32": 6, "bfloat16": 15}


def _named_input(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose first argument, self, may be named input too: so today's torch_npu and its documents call it."""

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if "input" in keywords:
            if arguments or "self" in keywords:
                raise TypeError(f"torch_npu.{function.__name__}: self: it is given twice, once as input")
            keywords["self"] = keywords.pop("input")
        return function(*arguments, **keywords)

    return call


@_named_input
def npu_quantize(
    self: Any, scales: Any, zero_points: Any, dtype: Any, axis: int = 1, div_mode: bool = True
) -> Any:
    """round(self / scales + zero_points), or round(self * scales + zero_points) without div_mode.

    Args:
        self: float32, float16 or bfloat16, 1 to 8 dimensions, any strides; may be empty.
        scales: float32 or bfloat16; without div_mode also float16. One, or as many as self has along `axis`: in one
            dimension, or in self's number of dimensions with 1 everywhere else.
        zero_points: None, or of scales' shape: int8, uint8, int32 or bfloat16; without div_mode of scales' dtype.
        dtype: qint8, quint8 or int32 (qint32); without div_mode qint8 or quint4x2.
        axis: a dimension of self; without div_mode -2 is the last but one, any above it the last.

    Returns:
        int8, uint8 or int32, of self's shape. For quint4x2 int32, each of eight codes of 4 bits, the first in the
        lowest: self's last dimension is a multiple of 8, and the result's an eighth of it.
    """
    name = getattr(dtype, "name", None) or str(dtype).removeprefix("torch.")
    known = {**_OTHERS, **ScalarType.__members__}
    number = known.get(name, -1) if isinstance(name, str) else -1
    if isinstance(axis, bool):  # which torch's operators would take as 0 or 1
        raise TypeError("torch_npu.npu_quantize: axis: it is a bool, and no integer")
    if not isinstance(div_mode, bool):
        raise TypeError("torch_npu.npu_quantize: div_mode: it is no bool")
    tensors = (self, scales) if zero_points is None else (self, scales, zero_points)
    compute = _operator if all(isinstance(each, _Tensor) for each in tensors) else _compat.npu_quantize
    return compute(self, scales, zero_points, number, axis, div_mode)


def _npu(self: Any, *arguments: Any, **keywords: Any) -> Any:
    """The tensor itself."""
    return self


_Tensor: Any = ()
_operator: Any = None
if "torch" in sys.modules:
    from qdq.compat._npu_operator import npu_quantize as _operator

    _Tensor = sys.modules["torch"].Tensor
    if not hasattr(_Tensor, "npu"):
        _Tensor.npu = _npu

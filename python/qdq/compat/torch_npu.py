"""torch_npu's npu_quantize, npu_anti_quant, npu_dynamic_quant, its asymmetric twin and npu_dynamic_mx_quant, on the host.

They take torch's tensors and NumPy's arrays. As torch_npu does, the module adds `npu()` to the tensors of a torch that is
imported already: here it gives the tensor itself, whose memory stays the host's. Of such a torch each function is an
operator too, torch.ops.qdq.npu_quantize and its like, which torch.compile traces without a graph break. A broken rule is
a RuntimeError, an argument of another type a TypeError.
"""

import enum
import functools
import sys
from collections.abc import Callable
from typing import Any

from qdq._core import compat as _compat


class ScalarType(enum.IntEnum):
    """The dtypes that are named here, for calls without torch; with it they are torch.qint8 and so on.

    Those from 290 on are torch_npu's own. PyTorch has no such types, and tensors of them are of torch.uint8.
    """

    int8 = 1
    int32 = 3
    float16 = 5
    qint8 = 12
    quint8 = 13
    qint32 = 14
    bfloat16 = 15
    quint4x2 = 16
    float8_e5m2 = 23
    float8_e4m3fn = 24
    hifloat8 = 290
    float4_e2m1fn_x2 = 296
    float4_e1m2fn_x2 = 297


int8, int32, qint8, quint8 = ScalarType.int8, ScalarType.int32, ScalarType.qint8, ScalarType.quint8
qint32, quint4x2 = ScalarType.qint32, ScalarType.quint4x2
float16, bfloat16 = ScalarType.float16, ScalarType.bfloat16
float8_e5m2, float8_e4m3fn = ScalarType.float8_e5m2, ScalarType.float8_e4m3fn
hifloat8 = ScalarType.hifloat8
float4_e2m1fn_x2, float4_e1m2fn_x2 = ScalarType.float4_e2m1fn_x2, ScalarType.float4_e1m2fn_x2
__all__ = ["ScalarType", "bfloat16", "float16", "float4_e1m2fn_x2", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e5m2",
           "hifloat8", "int32", "int8", "npu_anti_quant", "npu_dynamic_mx_quant", "npu_dynamic_quant",
           "npu_dynamic_quant_asymmetric", "npu_quantize", "qint32", "qint8", "quint4x2", "quint8"]  # fmt: skip

# PyTorch's numbers of other dtypes, which are refused by their names.
_OTHERS = {"uint8": 0, "float32": 6}


def _number(dtype: Any) -> int:
    """The number of a dtype: of torch's, of one that is named here, or itself; -1 of what is none."""
    if type(dtype) is int:
        return dtype
    name = getattr(dtype, "name", None) or str(dtype).removeprefix("torch.")
    known = {**_OTHERS, **ScalarType.__members__}
    return known.get(name, -1) if isinstance(name, str) else -1


def _number_or_none(dtype: Any) -> int | None:
    return None if dtype is None else _number(dtype)


def _compute(name: str, *tensors: Any) -> Callable[..., Any]:
    """The operator where every tensor is torch's, else the function over arrays."""
    are_of_torch = _operators is not None and all(each is None or isinstance(each, _Tensor) for each in tensors)
    return getattr(_operators if are_of_torch else _over_arrays, name)


def _dynamic_quant(
    name: str, x: Any, smooth_scales: Any, group_index: Any, dst_type: Any, quant_mode: str, dst_type_max: float
) -> Any:
    return _compute(name, x, smooth_scales, group_index)(
        x,
        smooth_scales=smooth_scales,
        group_index=group_index,
        dst_type=_number_or_none(dst_type),
        quant_mode=quant_mode,
        dst_type_max=dst_type_max,
    )


class _over_arrays:
    """The functions with the operators' signatures, over arrays of any library."""

    npu_quantize = staticmethod(_compat.npu_quantize)

    @staticmethod
    def npu_anti_quant(x: Any, scale: Any, *, offset: Any, dst_dtype: int | None, src_dtype: int | None) -> Any:
        return _compat.npu_anti_quant(x, scale, offset, dst_dtype, src_dtype)

    @staticmethod
    def npu_dynamic_quant(
        input: Any, *, smooth_scales: Any, group_index: Any, dst_type: int | None, quant_mode: str, dst_type_max: float
    ) -> Any:
        return _compat.npu_dynamic_quant(False, input, smooth_scales, group_index, dst_type, quant_mode, dst_type_max)

    @staticmethod
    def npu_dynamic_quant_asymmetric(
        input: Any, *, smooth_scales: Any, group_index: Any, dst_type: int | None, quant_mode: str, dst_type_max: float
    ) -> Any:
        return _compat.npu_dynamic_quant(True, input, smooth_scales, group_index, dst_type, quant_mode, dst_type_max)

    @staticmethod
    def npu_dynamic_mx_quant(
        input: Any,
        *,
        axis: int,
        round_mode: str,
        dst_type: int,
        block_size: int,
        scale_alg: int | None,
        dst_type_max: float,
        max_low_bound: float,
    ) -> Any:
        return _compat.npu_dynamic_mx_quant(
            input, axis, round_mode, dst_type, block_size, scale_alg, dst_type_max, max_low_bound
        )


def _named_input(first: str) -> Callable[..., Any]:
    """A function whose first argument may be named input too: so today's torch_npu and its documents call it."""

    def named(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            if "input" in keywords:
                if arguments or first in keywords:
                    raise TypeError(f"torch_npu.{function.__name__}: {first}: it is given twice, once as input")
                keywords[first] = keywords.pop("input")
            return function(*arguments, **keywords)

        return call

    return named


@_named_input("self")
def npu_quantize(
    self: Any, scales: Any, zero_points: Any, dtype: Any, axis: int = 1, div_mode: bool = True
) -> Any:
    """round(self / scales + zero_points), or round(self * scales + zero_points) without div_mode.

    Args:
        self: float32, float16 or bfloat16, 1 to 8 dimensions, any strides; may be empty.
        scales: float32 or bfloat16; without div_mode also float16. One, or as many as self has along `axis`: in one
            dimension, or in self's number of dimensions with 1 everywhere else.
        zero_points: None, or of scales' shape: int8, uint8, int32 or bfloat16; without div_mode of scales' dtype.
        dtype: qint8, quint8, int32 (qint32), float8_e5m2, float8_e4m3fn or hifloat8; without div_mode qint8, quint4x2,
            float8 or hifloat8.
        axis: a dimension of self; without div_mode -2 is the last but one, any above it the last.

    Returns:
        int8, uint8, int32 or float8, of self's shape; for hifloat8 uint8. For quint4x2 int32, each of eight codes of 4
        bits, the first in the lowest: self's last dimension is a multiple of 8, and the result's an eighth of it.
    """
    if isinstance(axis, bool):  # which torch's operators would take as 0 or 1
        raise TypeError("torch_npu.npu_quantize: axis: it is a bool, and no integer")
    if not isinstance(div_mode, bool):
        raise TypeError("torch_npu.npu_quantize: div_mode: it is no bool")
    compute = _compute("npu_quantize", self, scales, zero_points)
    return compute(self, scales, zero_points, _number(dtype), axis, div_mode)


def npu_anti_quant(x: Any, scale: Any, *, offset: Any = None, dst_dtype: Any = None, src_dtype: Any = None) -> Any:
    """(x + offset) * scale.

    Args:
        x: int8, float8_e5m2, float8_e4m3fn, uint8 of hifloat8, or int32 of eight codes of 4 bits in each, dense; at most
            8 dimensions, of int32 1 at least.
        scale: float32 or bfloat16, of float8 and hifloat8 float32. One, or as many as the result's last or last but one
            dimension.
        offset: None, or of scale's dtype and shape.
        dst_dtype: the result's: None for float16, or bfloat16.
        src_dtype: None, or x's: int8, quint4x2 of int32, float8_e5m2, float8_e4m3fn, hifloat8 of uint8.

    Returns:
        float16 or bfloat16 of x's shape; of int32 its last dimension is eight times x's.
    """
    compute = _compute("npu_anti_quant", x, scale, offset)
    return compute(
        x, scale, offset=offset, dst_dtype=_number_or_none(dst_dtype), src_dtype=_number_or_none(src_dtype)
    )


@_named_input("x")
def npu_dynamic_quant(
    x: Any,
    *,
    smooth_scales: Any = None,
    group_index: Any = None,
    dst_type: Any = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> Any:
    """Codes by scales that are computed of x * smooth_scales, and the scales.

    Args:
        x: float16 or bfloat16, 2 to 8 dimensions, any strides; may be empty.
        smooth_scales: None, or of x's dtype and last dimension ("perchannel": its last but one); with group_index of
            two dimensions, a row for each group.
        group_index: None, or int32: the row of x where each group ends. The last is the number of x's rows.
        dst_type: None for int8, or quint4x2, float8_e5m2, float8_e4m3fn, hifloat8.
        quant_mode: "pertoken", a scale for each row; "pertensor", one; "perchannel", one for each column.
        dst_type_max: the largest code of hifloat8 that scales aim at, up to 32768; 0 for 32768. Others ignore it.

    Returns:
        The codes, of x's shape; of quint4x2 int32 of eight in each, of hifloat8 uint8. And the scales, of float32.
    """
    return _dynamic_quant("npu_dynamic_quant", x, smooth_scales, group_index, dst_type, quant_mode, dst_type_max)


@_named_input("x")
def npu_dynamic_quant_asymmetric(
    x: Any,
    *,
    smooth_scales: Any = None,
    group_index: Any = None,
    dst_type: Any = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> Any:
    """Codes by scales and offsets that are computed of x * smooth_scales, the scales, and the offsets.

    Args:
        x, smooth_scales, group_index, quant_mode, dst_type_max: as of npu_dynamic_quant.
        dst_type: None for int8, or quint4x2.

    Returns:
        round(x / scale + offset), of x's shape; of quint4x2 int32 of eight in each. The scales, (max - min) / (H - L),
        and the offsets, H - max / scale, of float32. H and L are the highest and the lowest code.
    """
    return _dynamic_quant(
        "npu_dynamic_quant_asymmetric", x, smooth_scales, group_index, dst_type, quant_mode, dst_type_max
    )


def npu_dynamic_mx_quant(
    input: Any,
    *,
    axis: int = -1,
    round_mode: str = "rint",
    dst_type: Any = ScalarType.float4_e2m1fn_x2,
    block_size: int = 32,
    scale_alg: int | None = 0,
    dst_type_max: float = 0.0,
    max_low_bound: float = 0.0,
) -> Any:
    """Codes of microscaling formats, and the scale of each block, a power of two.

    Args:
        input: float16, bfloat16 or float32, 1 to 7 dimensions, any strides; may be empty.
        axis: the dimension that blocks lie along.
        round_mode: "rint", to nearest even; of float4 also "floor", and "round", whose ties go away from 0.
        dst_type: float4_e2m1fn_x2, float4_e1m2fn_x2, float8_e5m2 or float8_e4m3fn.
        block_size: a multiple of 32 up to 1024; of float32 32.
        scale_alg: 0, by the largest magnitude's exponent; 1, of float8, and 2, of float4_e2m1fn_x2 in blocks of 32, the
            least power of two that holds it.
        dst_type_max: of scale_alg 2, what it is held below, from 6 to 12; 0 for 6.
        max_low_bound: of scale_alg 1, what the largest magnitude counts as, at least.

    Returns:
        The codes, of input's shape; of float4 uint8 of two in each, the first in the low half. And the scales, float8
        e8m0 as uint8: two neighbours along the axis in a last dimension of 2, 0 after an odd number.
    """
    if isinstance(axis, bool):
        raise TypeError("torch_npu.npu_dynamic_mx_quant: axis: it is a bool, and no integer")
    compute = _compute("npu_dynamic_mx_quant", input)
    return compute(
        input,
        axis=axis,
        round_mode=round_mode,
        dst_type=_number(dst_type),
        block_size=block_size,
        scale_alg=scale_alg,
        dst_type_max=dst_type_max,
        max_low_bound=max_low_bound,
    )


def _npu(self: Any, *arguments: Any, **keywords: Any) -> Any:
    """The tensor itself."""
    return self


_Tensor: Any = ()
_operators: Any = None
if "torch" in sys.modules:
    from qdq.compat import _npu_operator as _operators

    _Tensor = sys.modules["torch"].Tensor
    if not hasattr(_Tensor, "npu"):
        _Tensor.npu = _npu

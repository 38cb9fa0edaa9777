from qdq._core import checkpoint as checkpoint, compat as compat


from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

import numpy
from numpy.typing import ArrayLike, NDArray

class _DLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

class _TorchDtype(Protocol):
    @property
    def is_floating_point(self) -> bool: ...

_NumPy: TypeAlias = NDArray[Any] | numpy.generic
_Array = TypeVar("_Array", bound=_DLPack)
_Out = TypeVar("_Out", bound=_DLPack)
_Operand: TypeAlias = ArrayLike | _DLPack
_Dtype: TypeAlias = str | type[Any] | numpy.dtype[Any] | _TorchDtype
_Blocks: TypeAlias = int | Sequence[int] | None
_ScaleMode: TypeAlias = Literal["divide", "multiply", "reciprocal"]
_QuantizeZeroPoint: TypeAlias = Literal["after_rounding", "before_rounding"]
_DequantizeZeroPoint: TypeAlias = Literal["subtract", "add"]
_Rounding: TypeAlias = Literal["nearest_even", "nearest_away", "toward_zero", "down", "up", "stochastic"]
_Nan: TypeAlias = Literal["lowest", "zero"]
_Rule: TypeAlias = Literal["absmax", "minmax", "power_floor", "power_ceil", "power_even", "power_round_up"]
_GlobalSense: TypeAlias = Literal["scale", "inverse"] | None
_ScaleLayout: TypeAlias = Literal["tiled_128x4", "column_words"]
_BlockFormat: TypeAlias = Literal["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4", "iq4_nl"]
_Profile: TypeAlias = Literal["onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto"] | None
_DynamicProfile: TypeAlias = (
    Literal["onnx", "torchao", "mx", "compressed-tensors", "vllm", "vllm-group", "acl"] | None
)

@overload
def quantize(
    x: _NumPy, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, axis: int | None = None,
    block_size: _Blocks = None, scale_mode: _ScaleMode = "divide",
    zero_point_mode: _QuantizeZeroPoint = "after_rounding", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", profile: _Profile = None, out: None = None, packed: bool = False,
    seed: int = 0, offset: int = 0, scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> NDArray[Any]:
    """
    y = saturate(round(x / scale) + zero_point), as an array of `dtype`.

    Args:
        x: array of float32, float16 or bfloat16, 0 to 8 dimensions, any strides. NumPy's, or any with DLPack.
        scale: array of float32, float16, bfloat16, float8_e8m0fnu or float8_e4m3fn, or a number, or a sequence of numbers.
            One element; or one dimension, an element for each along `axis`; or x's rank, an element for each block.
        zero_point: None, or an array of one element or scale's shape, of int8, uint8, int16, uint16, int32, float32,
            float16 or bfloat16; or a number or a sequence of numbers. A float is rounded to the nearest integer, but with
            "before_rounding" taken as it is.
        dtype: what y holds: int8, uint8, int16, uint16, int32, int4, uint4, int2, uint2, float8_e4m3fn, float8_e5m2,
            float8_e4m3fnuz, float8_e5m2fnuz, float6_e2m3fn, float6_e3m2fn, float4_e2m1fn, float4_e1m2,
            hifloat8. A string, or a type of NumPy, ml_dtypes, en_dtypes, PyTorch or JAX.
        axis: x's dimension that a scale of one dimension varies along, or that `block_size` cuts. None is 0. Where the
            scale has the length of several dimensions, it must be given: ONNX would take 1 then, and torch asks for it.
        block_size: elements in a block along `axis`, or a tuple of x's rank; None: from the shapes of x and scale, where
            the scale's divides x's.
        scale_mode: "divide", "multiply" (x * scale) or "reciprocal" (x * (1 / scale), rounded twice).
        zero_point_mode: "after_rounding", or "before_rounding": saturate(round(x / scale + zero_point)).
        rounding: "nearest_even", "nearest_away", "toward_zero", "down", "up" or "stochastic"; of float types the first and
            the last.
        seed, offset: of "stochastic", which rounds up or down by chance: from 0 to 2^64 - 1. Element i of x in row-major order
            has the random bits of number offset + i of those of the seed.
        saturate: False gives infinity or NaN, instead of the largest value, where float8 or hifloat8 overflows.
        nan: what NaN becomes where dtype is an integer type: "lowest", its least code, or "zero".
        profile: "onnx", "torch", "torchao", "acl", "tensorrt", "tripy" or "pypto": the options under which that system
            computes. A keyword that is not at its default replaces the profile's.
        out: an array of x's shape and `dtype` (with `packed`, of its bytes), any strides that keep its elements apart.
        scale_layout: "tiled_128x4" or "column_words": scale is the dense bytes that arrange_scales gives, on the host. Its
            shape follows from x's and `block_size`. None: scale has its own.
        scale_dtype: with `scale_layout`, of bytes of uint8: float8_e8m0fnu or float8_e4m3fn.
        global_sense, global_scale: a number, any float32, for the tensor above those of scale. "scale": they are multiplied by
            it (torchao's per_tensor_scale); "inverse": divided (compressed-tensors' and vLLM's global_scale). On the host.
        packed: y as bytes, of uint8: two elements of 4 bits in each, the first in the low half, or four of 2. Its shape is
            x's, with as many bytes in the last dimension as hold the elements. Where that does not fill its bytes, y has
            one dimension of all bytes.
        packing: "dense", of float6 types with `packed`: four elements in three bytes, the first in the lowest bits, as ONNX and
            safetensors have them. None: each has a byte.

    Returns:
        `out`, or an array of x's shape from the library that x is from. Without `packed`, types below 8 bits are
        ml_dtypes', one element in a byte, and float4_e1m2 and hifloat8 en_dtypes'.

    Raises:
        TypeError: an argument is no array, or of a dtype that is none of qdq's.
        ValueError: an argument breaks a rule; the message names it, the rule and the values.
        MemoryError: for y.
        RuntimeError: a device's driver refuses.

    While it computes, other threads of Python run.
    """
@overload
def quantize(
    x: _Array, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, axis: int | None = None,
    block_size: _Blocks = None, scale_mode: _ScaleMode = "divide",
    zero_point_mode: _QuantizeZeroPoint = "after_rounding", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", profile: _Profile = None, out: None = None, packed: bool = False,
    seed: int = 0, offset: int = 0, scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> _Array: ...
@overload
def quantize(
    x: _NumPy | _DLPack, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, axis: int | None = None,
    block_size: _Blocks = None, scale_mode: _ScaleMode = "divide",
    zero_point_mode: _QuantizeZeroPoint = "after_rounding", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", profile: _Profile = None, out: _Out, packed: bool = False,
    seed: int = 0, offset: int = 0, scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> _Out: ...

@overload
def dequantize(
    q: _NumPy, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype = "float32",
    axis: int | None = None, block_size: _Blocks = None, zero_point_mode: _DequantizeZeroPoint = "subtract",
    profile: _Profile = None, out: None = None, stored: _Dtype | None = None, shape: Sequence[int] | None = None,
    scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> NDArray[Any]:
    """
    y = (q - zero_point) * scale, as an array of `dtype`.

    Args:
        q: array of a type that quantize gives, 0 to 8 dimensions, any strides; or with `stored` its bytes.
        scale, zero_point, axis, block_size, scale_layout, scale_dtype, global_sense, global_scale: as of quantize.
        dtype: what y holds: float32, float16 or bfloat16.
        zero_point_mode: "subtract", or "add": (q + zero_point) * scale.
        profile: as of quantize.
        out: an array of q's shape and `dtype`.
        stored: the type of the elements whose bytes q, of uint8, holds, as quantize gives them with packed=True.
        shape: with `stored`, the shape of the elements; None: q's, with as many in the last dimension as its bytes hold.
        packing: as of quantize, with `stored`.

    Returns:
        `out`, or an array from the library that q is from.

    Raises:
        As quantize.
    """
@overload
def dequantize(
    q: _Array, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype = "float32",
    axis: int | None = None, block_size: _Blocks = None, zero_point_mode: _DequantizeZeroPoint = "subtract",
    profile: _Profile = None, out: None = None, stored: _Dtype | None = None, shape: Sequence[int] | None = None,
    scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> _Array: ...
@overload
def dequantize(
    q: _NumPy | _DLPack, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype = "float32",
    axis: int | None = None, block_size: _Blocks = None, zero_point_mode: _DequantizeZeroPoint = "subtract",
    profile: _Profile = None, out: _Out, stored: _Dtype | None = None, shape: Sequence[int] | None = None,
    scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> _Out: ...

@overload
def transcode(
    q: _NumPy, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, new_scale: _Operand,
    new_zero_point: _Operand | None = None, axis: int | None = None, block_size: _Blocks = None,
    zero_point_mode: _DequantizeZeroPoint = "subtract", profile: _Profile = None, new_axis: int | None = None,
    new_block_size: _Blocks = None, new_zero_point_mode: _QuantizeZeroPoint = "after_rounding",
    new_profile: _Profile = None, scale_mode: _ScaleMode = "divide", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", out: None = None, packed: bool = False, stored: _Dtype | None = None,
    shape: Sequence[int] | None = None, seed: int = 0, offset: int = 0,
) -> NDArray[Any]:
    """
    Codes as codes of another type, with other scales: quantize(dequantize(q), new_scale), with float32 between them, in one
    pass over q.

    Args:
        q, scale, zero_point, axis, block_size, zero_point_mode, profile, stored, shape: as of dequantize. On the host.
        dtype, scale_mode, rounding, seed, offset, saturate, nan, out, packed: as of quantize. `out` overlaps no argument.
        new_scale, new_zero_point, new_axis, new_block_size, new_zero_point_mode, new_profile: as quantize's without `new_`.

    Returns:
        `out`, or an array of q's shape from the library that q is from, as of quantize.

    Raises:
        As quantize.
    """
@overload
def transcode(
    q: _Array, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, new_scale: _Operand,
    new_zero_point: _Operand | None = None, axis: int | None = None, block_size: _Blocks = None,
    zero_point_mode: _DequantizeZeroPoint = "subtract", profile: _Profile = None, new_axis: int | None = None,
    new_block_size: _Blocks = None, new_zero_point_mode: _QuantizeZeroPoint = "after_rounding",
    new_profile: _Profile = None, scale_mode: _ScaleMode = "divide", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", out: None = None, packed: bool = False, stored: _Dtype | None = None,
    shape: Sequence[int] | None = None, seed: int = 0, offset: int = 0,
) -> _Array: ...
@overload
def transcode(
    q: _NumPy | _DLPack, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, new_scale: _Operand,
    new_zero_point: _Operand | None = None, axis: int | None = None, block_size: _Blocks = None,
    zero_point_mode: _DequantizeZeroPoint = "subtract", profile: _Profile = None, new_axis: int | None = None,
    new_block_size: _Blocks = None, new_zero_point_mode: _QuantizeZeroPoint = "after_rounding",
    new_profile: _Profile = None, scale_mode: _ScaleMode = "divide", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", out: _Out, packed: bool = False, stored: _Dtype | None = None,
    shape: Sequence[int] | None = None, seed: int = 0, offset: int = 0,
) -> _Out: ...

@overload
def quantize_dynamic(
    x: _NumPy, *, dtype: _Dtype, rule: _Rule = "absmax", axis: int | None = None, block_size: _Blocks = None,
    scale_dtype: _Dtype | None = None, zero_point_dtype: _Dtype | None = None,
    clip_ratio: float | tuple[float, float, int] = 1.0, least_scale: float = 0.0,
    quant_range: Sequence[int] | None = None, global_sense: _GlobalSense = None, global_scale: float | None = None,
    global_largest: float = 448.0, profile: _DynamicProfile = None, diagnostics: bool = False,
    out: None = None, packed: bool = False, packing: Literal["dense"] | None = None,
    rounding: _Rounding = "nearest_even", seed: int = 0, offset: int = 0,
) -> tuple[Any, ...]:
    """
    Scales of x by a rule, and x quantized by them: (codes, scale), or (codes, scale, zero_point). A global scale that is
    computed follows as a float.

    Args:
        x: array of float32, float16 or bfloat16, any strides. NumPy's, or any with DLPack. On a CUDA device the other
            results are there, too, and clip_ratio is a number; there is no global_sense and there are no diagnostics.
        dtype: what the codes hold, as of quantize.
        rule: "absmax" is the largest magnitude of x over the largest value of dtype. "minmax" has a zero point, as ONNX's
            DynamicQuantizeLinear. The others are powers of two: "power_floor" (OCP's), "power_ceil", "power_even" and
            "power_round_up". docs/dynamic.md has the formulas.
        axis: one scale for each index of this dimension; with `block_size` the dimension that is cut. None: one scale.
        block_size: elements in a block along `axis`, or a tuple of x's rank. The last block may have fewer.
        scale_dtype: float32, float16, bfloat16 or float8_e4m3fn; of powers of two float8_e8m0fnu, float32 or bfloat16. None
            is the first of these; with `global_sense` it is float8_e4m3fn.
        zero_point_dtype: an integer type that has all codes. None is dtype, of less than a byte int8 or uint8.
        clip_ratio: what that magnitude, or both ends, are multiplied by, above 0 and at most 1. (first, last, how many):
            evenly spaced ones, of which each scale takes that of the least squared error. (1, 1.5, 2) is four over six.
        least_scale: a smaller scale becomes this one.
        quant_range: the lowest and the highest code, of an integer dtype: (-127, 127). None: dtype's own.
        global_sense: x has a scale of its own, as NVFP4 has. "scale": block scales are multiplied by it (torchao's
            per_tensor_scale). "inverse": they are divided by it (compressed-tensors' and vLLM's global_scale).
        global_scale: a number; None: it is computed.
        global_largest: computed, the largest scale of a block, above 0 and at most 448.
        profile: "onnx", "torchao", "mx", "compressed-tensors", "vllm", "vllm-group" or "acl": the rule and the options
            under which that system computes dtype. A keyword that is not at its default replaces the profile's.
        diagnostics: a dict follows the other results: how many elements are nan, infinite, clipped, or flushed to 0, their
            amax, and the sum of squared_error.
        out: an array of x's shape and `dtype` for the codes (with `packed`, for their bytes).
        packed, packing: codes as bytes, and their order, as of quantize.
        rounding, seed, offset: as of quantize. Without diagnostics where it is "stochastic".

    Returns:
        Arrays from the library that x is from. The scale has no dimension, one, or x's rank, as dequantize takes it.

    Raises:
        As quantize.
    """
@overload
def quantize_dynamic(
    x: _Array, *, dtype: _Dtype, rule: _Rule = "absmax", axis: int | None = None, block_size: _Blocks = None,
    scale_dtype: _Dtype | None = None, zero_point_dtype: _Dtype | None = None,
    clip_ratio: float | tuple[float, float, int] = 1.0, least_scale: float = 0.0,
    quant_range: Sequence[int] | None = None, global_sense: _GlobalSense = None, global_scale: float | None = None,
    global_largest: float = 448.0, profile: _DynamicProfile = None, diagnostics: bool = False,
    out: _DLPack | None = None, packed: bool = False, packing: Literal["dense"] | None = None,
    rounding: _Rounding = "nearest_even", seed: int = 0, offset: int = 0,
) -> tuple[Any, ...]: ...

class DynamicPlan:
    """What qdq.plan(qdq.quantize_dynamic, ...) returns."""

    def __call__(self, x: _NumPy | _DLPack, out: _DLPack | None = None) -> tuple[Any, ...]:
        """
        What quantize_dynamic returns for `x`, an array with the dtype, shape and strides of the one that was
        planned with. The codes are `out`, which has those of the y that was planned, or a new array.
        """

def quantize_dynamic_pair(
    x: _NumPy | _DLPack, first: dict[str, Any], second: dict[str, Any],
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """
    x quantized in two ways at once: what quantize_dynamic returns for `first`, and for `second`. Where blocks of both
    fit in the caches x is read once, as of blocks along rows and along columns, which training needs.

    Args:
        x: as of quantize_dynamic.
        first: a dict of keywords of quantize_dynamic, "dtype" among them.
        second: another.

    Returns:
        Two tuples, bit for bit those of two calls.

    Raises:
        As quantize.
    """

def plan_quantize_dynamic(
    x: _NumPy | _DLPack, *, dtype: _Dtype, rule: _Rule = "absmax", axis: int | None = None, block_size: _Blocks = None,
    scale_dtype: _Dtype | None = None, zero_point_dtype: _Dtype | None = None,
    clip_ratio: float | tuple[float, float, int] = 1.0, least_scale: float = 0.0,
    quant_range: Sequence[int] | None = None, global_sense: _GlobalSense = None, global_scale: float | None = None,
    global_largest: float = 448.0, profile: _DynamicProfile = None, diagnostics: bool = False,
    out: _DLPack | None = None, packed: bool = False, packing: Literal["dense"] | None = None,
    rounding: _Rounding = "nearest_even", seed: int = 0, offset: int = 0,
) -> DynamicPlan:
    """qdq.plan(qdq.quantize_dynamic, ...)."""

class DynamicPairPlan:
    """What qdq.plan(qdq.quantize_dynamic_pair, ...) returns."""

    def __call__(
        self, x: _NumPy | _DLPack, first_out: _DLPack | None = None, second_out: _DLPack | None = None,
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """
        What quantize_dynamic_pair returns for `x`, an array with the dtype, shape and strides of the one that was
        planned with. The codes are `first_out` and `second_out`, as those that were planned, or new arrays.
        """

def plan_quantize_dynamic_pair(
    x: _NumPy | _DLPack, first: dict[str, Any], second: dict[str, Any],
) -> DynamicPairPlan:
    """qdq.plan(qdq.quantize_dynamic_pair, ...)."""

@overload
def compute_scales(
    x: _NumPy, *, dtype: _Dtype, rule: _Rule = "absmax", axis: int | None = None, block_size: _Blocks = None,
    scale_dtype: _Dtype | None = None, zero_point_dtype: _Dtype | None = None,
    clip_ratio: float | tuple[float, float, int] = 1.0, least_scale: float = 0.0,
    quant_range: Sequence[int] | None = None, global_sense: _GlobalSense = None, global_scale: float | None = None,
    global_largest: float = 448.0, profile: _DynamicProfile = None, diagnostics: bool = False,
) -> Any:
    """
    The scale that quantize_dynamic computes, alone; or what follows it there, too.

    Args:
        As of quantize_dynamic.

    Returns:
        Arrays from the library that x is from.

    Raises:
        As quantize.
    """
@overload
def compute_scales(
    x: _Array, *, dtype: _Dtype, rule: _Rule = "absmax", axis: int | None = None, block_size: _Blocks = None,
    scale_dtype: _Dtype | None = None, zero_point_dtype: _Dtype | None = None,
    clip_ratio: float | tuple[float, float, int] = 1.0, least_scale: float = 0.0,
    quant_range: Sequence[int] | None = None, global_sense: _GlobalSense = None, global_scale: float | None = None,
    global_largest: float = 448.0, profile: _DynamicProfile = None, diagnostics: bool = False,
) -> Any: ...

def quantize_dynamic_grouped(
    x: _NumPy | _DLPack, offsets: Sequence[int] | NDArray[Any], *, dtype: _Dtype, rule: _Rule = "absmax",
    axis: int | None = None, scale_dtype: _Dtype | None = None, zero_point_dtype: _Dtype | None = None,
    clip_ratio: float | tuple[float, float, int] = 1.0, least_scale: float = 0.0,
    quant_range: Sequence[int] | None = None, profile: _DynamicProfile = None, out: _DLPack | None = None,
    packed: bool = False, rounding: _Rounding = "nearest_even", seed: int = 0, offset: int = 0,
) -> tuple[Any, ...]:
    """
    quantize_dynamic of rows in groups, each of which has a scale of its own, as the experts of a mixture.

    Args:
        x: as of quantize_grouped.
        offsets: as of quantize_grouped.
        axis: one scale for each index of this dimension in each group. None: one for each group.
        dtype, rule, scale_dtype, zero_point_dtype, clip_ratio, least_scale, quant_range: as of quantize_dynamic.
        profile, out, packed, rounding, seed, offset: as of quantize_dynamic.

    Returns:
        (codes, scale), or (codes, scale, zero_point). The scale's first dimension is groups, as quantize_grouped takes it.

    Raises:
        As quantize.
    """

@overload
def quantize_grouped(
    x: _NumPy, offsets: Sequence[int] | NDArray[Any], scale: _Operand, zero_point: _Operand | None = None, *,
    dtype: _Dtype, axis: int | None = None, block_size: _Blocks = None, scale_mode: _ScaleMode = "divide",
    zero_point_mode: _QuantizeZeroPoint = "after_rounding", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", profile: _Profile = None, out: None = None,
    packed: bool = False, seed: int = 0, offset: int = 0,
) -> NDArray[Any]:
    """
    x quantized by rows in groups that have scales of their own, as the experts of a mixture.

    Args:
        x: array of float32, float16 or bfloat16. Rows are the indices of its first dimension. On the host.
        offsets: where each group begins, and where the last one ends: group g is x[offsets[g]:offsets[g + 1]]. From 0 to the
            number of rows, none below the one before it.
        scale: one for each group; or with `axis` of shape (groups, length of that dimension); or (groups, 1, blocks) of a
            matrix. scale[g] is group g's, as quantize takes it.
        zero_point: of scale's shape. None: 0.
        dtype, axis, block_size, scale_mode, zero_point_mode, rounding, saturate, nan, profile, out, packed, seed, offset: as
            of quantize.

    Returns:
        `out`, or an array of x's shape from the library that x is from.

    Raises:
        As quantize.
    """
@overload
def quantize_grouped(
    x: _Array, offsets: Sequence[int] | NDArray[Any], scale: _Operand, zero_point: _Operand | None = None, *,
    dtype: _Dtype, axis: int | None = None, block_size: _Blocks = None, scale_mode: _ScaleMode = "divide",
    zero_point_mode: _QuantizeZeroPoint = "after_rounding", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", profile: _Profile = None, out: _DLPack | None = None,
    packed: bool = False, seed: int = 0, offset: int = 0,
) -> Any: ...

def dequantize_grouped(
    q: _NumPy | _DLPack, offsets: Sequence[int] | NDArray[Any], scale: _Operand, zero_point: _Operand | None = None, *,
    dtype: _Dtype = "float32", axis: int | None = None, block_size: _Blocks = None,
    zero_point_mode: _DequantizeZeroPoint = "subtract", profile: _Profile = None, out: _DLPack | None = None,
    stored: _Dtype | None = None, shape: Sequence[int] | None = None,
) -> Any:
    """
    The way back from quantize_grouped.

    Args:
        q: array of codes, as of dequantize. Rows are the indices of its first dimension. On the host.
        offsets, scale, zero_point: as of quantize_grouped.
        dtype, axis, block_size, zero_point_mode, profile, out, stored, shape: as of dequantize.

    Returns:
        `out`, or an array of q's shape from the library that q is from.

    Raises:
        As quantize.
    """

@overload
def arrange_scales(scale: _NumPy, *, layout: _ScaleLayout) -> NDArray[Any]:
    """
    Scales in the order in which tensor cores read them, as an array of uint8.

    Args:
        scale: array of float8_e8m0fnu or float8_e4m3fn, on the host, any strides. Its last two dimensions are matrices: rows,
            and the blocks of each row. Each matrix is padded on its own.
        layout: "tiled_128x4" has tiles of 128 rows and 4 columns, as cuBLAS takes them. "column_words" has four scales of a row in
            32 bits, and these column by column, as DeepGEMM does.

    Returns:
        One dimension, of the bytes with their padding, which is 0. From the library that scale is from.

    Raises:
        As quantize.
    """
@overload
def arrange_scales(scale: _Array, *, layout: _ScaleLayout) -> _Array: ...

@overload
def restore_scales(
    arranged: _NumPy, shape: Sequence[int], *, layout: _ScaleLayout, dtype: _Dtype,
) -> NDArray[Any]:
    """
    The scales that arrange_scales has arranged.

    Args:
        arranged: array of uint8, as arrange_scales gives.
        shape: the scales' own.
        layout: as of arrange_scales.
        dtype: float8_e8m0fnu or float8_e4m3fn.

    Returns:
        An array of that shape and type, from the library that arranged is from.

    Raises:
        As quantize.
    """
@overload
def restore_scales(
    arranged: _Array, shape: Sequence[int], *, layout: _ScaleLayout, dtype: _Dtype,
) -> _Array: ...

@overload
def quantize_blocks(x: _NumPy, format: _BlockFormat) -> NDArray[Any]:
    """
    Elements in the blocks of one of ggml's formats, as GGUF files hold them: the bytes of ggml's reference.

    Args:
        x: array of float32, float16 or bfloat16, on the host, any strides. Blocks are 32 elements of its last dimension.
        format: "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4" or "iq4_nl".

    Returns:
        uint8 of x's shape, but for the last dimension: the bytes of the blocks. In the order of the formats a block has 34, 18,
        20, 22, 24, 17 and 18. From the library that x is from.

    Raises:
        As quantize.
    """
@overload
def quantize_blocks(x: _Array, format: _BlockFormat) -> _Array: ...

@overload
def dequantize_blocks(x: _NumPy, format: _BlockFormat, *, dtype: _Dtype = "float32") -> NDArray[Any]:
    """
    The values of blocks of one of ggml's formats.

    Args:
        x: array of uint8, as quantize_blocks gives, on the host, any strides.
        format: as of quantize_blocks.
        dtype: float32, float16 or bfloat16. The latter two are rounded from float32.

    Returns:
        An array of the elements, from the library that x is from.

    Raises:
        As quantize.
    """
@overload
def dequantize_blocks(x: _Array, format: _BlockFormat, *, dtype: _Dtype = "float32") -> _Array: ...

class Plan:
    """What qdq.plan returns."""

    @overload
    def __call__(self, x: _NumPy, out: None = None) -> NDArray[Any]:
        """
        The result for `x`, an array with the dtype, shape and strides of the one that was planned with. It is
        `out`, which has those of the y that was planned, or a new array. ValueError where they differ.
        """
    @overload
    def __call__(self, x: _Array, out: None = None) -> _Array: ...
    @overload
    def __call__(self, x: _NumPy | _DLPack, out: _Out) -> _Out: ...

def plan_quantize(
    x: _NumPy | _DLPack, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype, axis: int | None = None,
    block_size: _Blocks = None, scale_mode: _ScaleMode = "divide",
    zero_point_mode: _QuantizeZeroPoint = "after_rounding", rounding: _Rounding = "nearest_even",
    saturate: bool = True, nan: _Nan = "lowest", profile: _Profile = None, out: _DLPack | None = None, packed: bool = False,
    seed: int = 0, offset: int = 0, scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> Plan:
    """qdq.plan(qdq.quantize, ...)."""

def plan_dequantize(
    q: _NumPy | _DLPack, scale: _Operand, zero_point: _Operand | None = None, *, dtype: _Dtype = "float32",
    axis: int | None = None, block_size: _Blocks = None, zero_point_mode: _DequantizeZeroPoint = "subtract",
    profile: _Profile = None, out: _DLPack | None = None, stored: _Dtype | None = None, shape: Sequence[int] | None = None,
    scale_layout: _ScaleLayout | None = None, scale_dtype: _Dtype | None = None,
    global_sense: _GlobalSense = None, global_scale: float | None = None, packing: Literal["dense"] | None = None,
) -> Plan:
    """qdq.plan(qdq.dequantize, ...)."""

def targets() -> list[tuple[str, str | None]]:
    """
    The targets that qdq has kernels for, the best first: the name of each, and why this machine
    cannot run it, or None where it can.
    """

def current_target() -> str | None:
    """
    The name of the target that calls use now, or None where this machine can run none.
    """

def force_target(name: str | None) -> None:
    """
    Uses only the named target from now on, in every thread; None returns to the best. ValueError for a name that
    is unknown or that this machine cannot run.
    """

def set_num_threads(count: int) -> None:
    """
    How many threads large work is split over: 1 for the caller's alone, 0 (as it is at first) for as many as
    there are processors. Results have the same bits for every number.
    """

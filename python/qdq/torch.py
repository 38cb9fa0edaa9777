"""qdq's functions as operators of PyTorch, and PyTorch's own quantize functions over them.

Importing this module registers, for CPU and CUDA tensors::

    torch.ops.qdq.quantize(x, scale, zero_point=None, *, dtype, axis=None, block_size=None, scale_mode="divide",
                           zero_point_mode="after_rounding", rounding="nearest_even", saturate=True, nan="lowest",
                           profile=None, packed=False)
    torch.ops.qdq.dequantize(q, scale, zero_point=None, *, dtype=torch.float32, axis=None, block_size=None,
                             zero_point_mode="subtract", profile=None)
    torch.ops.qdq.fake_quantize(x, scale, zero_point=None, *, dtype, ...)

    torch.ops.qdq.quantize_dynamic(x, *, dtype, rule="absmax", axis=None, block_size=None, scale_dtype=None,
                                   clip_ratio=1.0, least_scale=0.0, quant_range=None, packed=False)
    torch.ops.qdq.quantize_dynamic_minmax(x, *, dtype, axis=None, block_size=None, scale_dtype=None,
                                          zero_point_dtype=None, clip_ratio=1.0, least_scale=0.0, quant_range=None,
                                          packed=False)
    torch.ops.qdq.fake_quantize_dynamic(x, *, dtype, rule="absmax", axis=None, block_size=None, clip_ratio=1.0,
                                        least_scale=0.0, quant_range=None)

Every argument means what it means in qdq. quantize_dynamic gives codes and scale, quantize_dynamic_minmax codes, scale and
zero point. scale and zero_point are tensors, block_size is a list. fake_quantize is quantize and then dequantize, of x's
dtype, and fake_quantize_dynamic the same with scales of x itself. All of them trace without a graph break.

Gradients pass straight through: rounding and saturation count as the identity. So the gradient of quantize is
1 / scale, that of dequantize scale, and that of the fake ones 1. Tensors of integers have no gradients in PyTorch: what
is to be trained goes through fake_quantize or fake_quantize_dynamic. None of them gives scale or zero_point a gradient.
"""

import torch

import qdq

__all__ = ["dequantize", "quantize_per_channel", "quantize_per_tensor"]

_HOW = """int? axis=None, int[]? block_size=None, str scale_mode="divide", str zero_point_mode="after_rounding",
    str rounding="nearest_even", bool saturate=True, str nan="lowest", str? profile=None"""
_library = torch.library.Library("qdq", "DEF")
_library.define(
    f"""quantize(Tensor x, Tensor scale, Tensor? zero_point=None, *, ScalarType dtype, {_HOW},
    bool packed=False) -> Tensor"""
)
_library.define(
    """dequantize(Tensor q, Tensor scale, Tensor? zero_point=None, *, ScalarType dtype=float, int? axis=None,
    int[]? block_size=None, str zero_point_mode="subtract", str? profile=None) -> Tensor"""
)
_library.define(
    f"fake_quantize(Tensor x, Tensor scale, Tensor? zero_point=None, *, ScalarType dtype, {_HOW}) -> Tensor"
)


def _block_size(keywords):
    """A list of one size is a block along the axis; a longer one has x's rank."""
    sizes = keywords.get("block_size")
    if sizes is None:
        return keywords
    return {
        **keywords,
        "block_size": sizes[0] if len(sizes) == 1 and keywords.get("axis") is not None else tuple(sizes),
    }


def _quantize(x, scale, zero_point=None, **keywords):
    return qdq.quantize(x, scale, zero_point, **_block_size(keywords))


def _dequantize(q, scale, zero_point=None, *, dtype=torch.float32, **keywords):
    return qdq.dequantize(q, scale, zero_point, dtype=dtype, **_block_size(keywords))


def _fake_quantize(x, scale, zero_point=None, *, profile=None, **keywords):
    q = _quantize(x, scale, zero_point, profile=profile, **keywords)
    where = {name: keywords.get(name) for name in ("axis", "block_size")}
    return _dequantize(q, scale, zero_point, dtype=x.dtype, profile=profile, **where)


def _packed_shape(shape, dtype):
    name = str(dtype).removeprefix("torch.")
    per_byte = 4 if name.endswith("int2") else 2 if name.endswith(("int4", "_x2")) else 1
    if shape and shape[-1] % per_byte == 0:
        return (*shape[:-1], shape[-1] // per_byte)
    return (-(-shape.numel() // per_byte),) if per_byte > 1 else shape


def _quantized_like(x, scale, zero_point=None, *, dtype, packed=False, **_):
    if packed:
        return x.new_empty(_packed_shape(x.shape, dtype), dtype=torch.uint8)
    return x.new_empty(x.shape, dtype=dtype)


def _dequantized_like(q, scale, zero_point=None, *, dtype=torch.float32, **_):
    per_element = 2 if q.dtype == getattr(torch, "float4_e2m1fn_x2", None) and q.dim() > 0 else 1
    return q.new_empty((*q.shape[:-1], q.shape[-1] * per_element) if per_element > 1 else q.shape, dtype=dtype)


def _fake_quantized_like(x, scale, zero_point=None, **_):
    return x.new_empty(x.shape)


def _spread(scale, shape, axis, block_size):
    """A scale for each element."""
    if scale.numel() == 1:
        return scale.reshape(())
    if scale.dim() == 1 and len(shape) != 1:
        sizes = [1] * len(shape)
        sizes[axis or 0] = -1
        scale = scale.reshape(sizes)
    for d, size in enumerate(shape):
        if scale.shape[d] not in (1, size):
            along_axis = block_size is not None and (len(block_size) > 1 or d == (axis or 0) % len(shape))
            block = (block_size[d] if len(block_size) > 1 else block_size[0]) if along_axis else 0
            scale = scale.repeat_interleave(block or -(-size // scale.shape[d]), d).narrow(d, 0, size)
    return scale


def _keep_scale(ctx, inputs, keyword_only_inputs, output):
    ctx.save_for_backward(inputs[1])
    ctx.where = keyword_only_inputs["axis"], keyword_only_inputs["block_size"]
    ctx.multiplies = keyword_only_inputs.get("scale_mode") == "multiply"


def _quantize_gradient(ctx, gradient):
    (scale,) = ctx.saved_tensors
    factor = _spread(scale, gradient.shape, *ctx.where).to(torch.float32)
    return gradient.to(torch.float32) * factor if ctx.multiplies else gradient.to(torch.float32) / factor, None, None


def _dequantize_gradient(ctx, gradient):
    (scale,) = ctx.saved_tensors
    return gradient.to(torch.float32) * _spread(scale, gradient.shape, *ctx.where).to(torch.float32), None, None


def _pass_through(ctx, gradient):
    return gradient, None, None


for _name, _compute, _like, _gradient in (
    ("quantize", _quantize, _quantized_like, _quantize_gradient),
    ("dequantize", _dequantize, _dequantized_like, _dequantize_gradient),
    ("fake_quantize", _fake_quantize, _fake_quantized_like, _pass_through),
):
    for _device in ("CPU", "CUDA"):
        _library.impl(_name, _compute, _device)
    torch.library.register_fake(f"qdq::{_name}", _like, lib=_library)
    torch.library.register_autograd(
        f"qdq::{_name}", _gradient, setup_context=None if _gradient is _pass_through else _keep_scale, lib=_library
    )

_BLOCKS = "int? axis=None, int[]? block_size=None"
_SCALES = "float clip_ratio=1.0, float least_scale=0.0, int[]? quant_range=None"
_library.define(
    f"""quantize_dynamic(Tensor x, *, ScalarType dtype, str rule="absmax", {_BLOCKS}, ScalarType? scale_dtype=None,
    {_SCALES}, bool packed=False) -> (Tensor, Tensor)"""
)
_library.define(
    f"""quantize_dynamic_minmax(Tensor x, *, ScalarType dtype, {_BLOCKS}, ScalarType? scale_dtype=None,
    ScalarType? zero_point_dtype=None, {_SCALES}, bool packed=False) -> (Tensor, Tensor, Tensor)"""
)
_library.define(
    f"""fake_quantize_dynamic(Tensor x, *, ScalarType dtype, str rule="absmax", {_BLOCKS}, {_SCALES}) -> Tensor"""
)


def _quantize_dynamic(x, **keywords):
    if keywords.get("rule") == "minmax":
        raise ValueError("torch.ops.qdq.quantize_dynamic: rule: minmax has zero points: quantize_dynamic_minmax")
    return qdq.quantize_dynamic(x, **_block_size(keywords))


def _quantize_dynamic_minmax(x, **keywords):
    return qdq.quantize_dynamic(x, rule="minmax", **_block_size(keywords))


def _fake_quantize_dynamic(x, *, dtype, **keywords):
    q, scale, *zero_point = qdq.quantize_dynamic(x, dtype=dtype, packed=_bits(dtype) < 8, **_block_size(keywords))
    where = _block_size({name: keywords.get(name) for name in ("axis", "block_size")})
    stored = {"stored": dtype, "shape": tuple(x.shape)} if _bits(dtype) < 8 else {}
    return qdq.dequantize(q, scale, *zero_point, dtype=x.dtype, **where, **stored)


def _bits(dtype):
    name = str(dtype).removeprefix("torch.")
    return 2 if name.endswith("int2") else 4 if name.endswith(("int4", "_x2")) else 8


def _computed_shape(shape, axis, block_size):
    """Of the scales."""
    if block_size is not None and (axis is None or len(block_size) > 1):
        return [-(-extent // size) for extent, size in zip(shape, block_size, strict=True)]
    if axis is None:
        return []
    if block_size is None:
        return [shape[axis]]
    return [-(-extent // block_size[0]) if d == axis % len(shape) else extent for d, extent in enumerate(shape)]


def _quantized_dynamic_like(
    x, *, dtype, rule="absmax", axis=None, block_size=None, scale_dtype=None, packed=False, **_
):
    codes = _quantized_like(x, None, dtype=dtype, packed=packed)
    computed = torch.float8_e8m0fnu if rule.startswith("power") else torch.float32
    return codes, x.new_empty(_computed_shape(x.shape, axis, block_size), dtype=scale_dtype or computed)


def _quantized_minmax_like(x, *, dtype, zero_point_dtype=None, **keywords):
    codes, scale = _quantized_dynamic_like(x, dtype=dtype, **keywords)
    of_a_byte = torch.uint8 if str(dtype).startswith("torch.uint") else torch.int8
    computed = dtype if _bits(dtype) == 8 else of_a_byte
    return codes, scale, x.new_empty(scale.shape, dtype=zero_point_dtype or computed)


def _fake_quantized_dynamic_like(x, **_):
    return x.new_empty(x.shape)


for _name, _compute, _like in (
    ("quantize_dynamic", _quantize_dynamic, _quantized_dynamic_like),
    ("quantize_dynamic_minmax", _quantize_dynamic_minmax, _quantized_minmax_like),
    ("fake_quantize_dynamic", _fake_quantize_dynamic, _fake_quantized_dynamic_like),
):
    for _device in ("CPU", "CUDA"):
        _library.impl(_name, _compute, _device)
    torch.library.register_fake(f"qdq::{_name}", _like, lib=_library)


def _pass_one_through(ctx, gradient):
    return gradient


torch.library.register_autograd("qdq::fake_quantize_dynamic", _pass_one_through, lib=_library)

_STORED = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}


def _check(function, input, dtype):
    if dtype not in _STORED:
        raise RuntimeError(f"{function}: dtype: {dtype} is not one of torch.qint8, torch.quint8, torch.qint32")
    if input.dtype != torch.float32:
        raise RuntimeError(f"{function}: input: {input.dtype} is not torch.float32")


def quantize_per_tensor(
    input: torch.Tensor, scale: float | torch.Tensor, zero_point: int | torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """torch.quantize_per_tensor: a quantized tensor of `dtype`, torch.qint8, torch.quint8 or torch.qint32.

    Args:
        input: a tensor of float32.
        scale: a number, or a tensor of one.
        zero_point: an integer, or a tensor of one.

    RuntimeError as of PyTorch's. Where that function's results are not its formula's, these are. NaN gives the lowest
    code (PyTorch: the highest). What lies far above the range of quint8 gives 255 (PyTorch, with a zero point of 128
    and more: 0).
    """
    _check("quantize_per_tensor", input, dtype)
    scale, zero_point = float(scale), int(zero_point)
    codes = qdq.quantize(input, scale, zero_point, dtype=_STORED[dtype], profile="torch")
    return torch._make_per_tensor_quantized_tensor(codes, scale, zero_point)


def quantize_per_channel(
    input: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor, axis: int, dtype: torch.dtype
) -> torch.Tensor:
    """torch.quantize_per_channel: the same with a scale and a zero point for each element of dimension `axis`.

    Args:
        scales: a tensor of one dimension, of any floating type; they become float32.
        zero_points: a tensor of as many integers, which become int32.

    NaN gives the lowest code (PyTorch: 0).
    """
    _check("quantize_per_channel", input, dtype)
    codes = qdq.quantize(
        input, scales.to(torch.float32), zero_points.to(torch.int32), dtype=_STORED[dtype], axis=axis, profile="torch"
    )
    return torch._make_per_channel_quantized_tensor(codes, scales, zero_points, axis)


def dequantize(input: torch.Tensor) -> torch.Tensor:
    """torch.dequantize of a quantized tensor: float32."""
    codes = input.int_repr()
    if input.qscheme() == torch.per_tensor_affine:
        return qdq.dequantize(codes, input.q_scale(), input.q_zero_point())
    scales, zero_points = input.q_per_channel_scales(), input.q_per_channel_zero_points()
    axis = input.q_per_channel_axis()
    return qdq.dequantize(codes, scales.to(torch.float32), zero_points.to(torch.int32), axis=axis)

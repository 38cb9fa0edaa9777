"""torch_npu's functions as operators of PyTorch, torch.ops.qdq.npu_quantize and its like, which torch.compile traces."""

import torch

from qdq._core import compat as _compat

_library = torch.library.Library("qdq", "FRAGMENT")
# By PyTorch's numbers of dtypes, or 256 and CANN's.
_STORED = {3: torch.int32, 12: torch.int8, 13: torch.uint8, 14: torch.int32, 1: torch.int8, 256 + 2: torch.int8,
           23: torch.float8_e5m2, 256 + 35: torch.float8_e5m2, 24: torch.float8_e4m3fn,
           256 + 36: torch.float8_e4m3fn, 256 + 34: torch.uint8}  # fmt: skip
_QUINT4X2 = 16, 256 + 29
_FLOAT4 = 256 + 40, 256 + 41
_BFLOAT16 = 15, 256 + 27


def _define(name, signature, compute, compute_like):
    """An operator, and what gives tensors like its results, without elements. A broken rule is refused when it runs."""
    _library.define(f"{name}{signature}")
    _library.impl(name, compute, "CompositeExplicitAutograd")
    torch.library.register_fake(f"qdq::{name}", compute_like, lib=_library)
    return getattr(torch.ops.qdq, name)


def _codes_like(x, number):
    if number in _QUINT4X2 and x.dim() > 0:
        return x.new_empty((*x.shape[:-1], x.shape[-1] // 8), dtype=torch.int32)
    if number in _FLOAT4:
        return x.new_empty((*x.shape[:-1], x.shape[-1] // 2), dtype=torch.uint8)
    return x.new_empty(x.shape, dtype=_STORED.get(number, torch.int8))


def _quantize(self, scales, zero_points, dtype, axis=1, div_mode=True):
    return _compat.npu_quantize(self, scales, zero_points, dtype, axis, div_mode)


def _quantized_like(self, scales, zero_points, dtype, axis=1, div_mode=True):
    return _codes_like(self, dtype)


def _anti_quant(x, scale, *, offset=None, dst_dtype=None, src_dtype=None):
    return _compat.npu_anti_quant(x, scale, offset, dst_dtype, src_dtype)


def _anti_quant_like(x, scale, *, offset=None, dst_dtype=None, src_dtype=None):
    shape = (*x.shape[:-1], x.shape[-1] * 8) if x.dtype is torch.int32 and x.dim() > 0 else x.shape
    return x.new_empty(shape, dtype=torch.bfloat16 if dst_dtype in _BFLOAT16 else torch.float16)


def _dynamic_quant(
    input, *, smooth_scales=None, group_index=None, dst_type=None, quant_mode="pertoken", dst_type_max=0.0
):
    return _compat.npu_dynamic_quant(False, input, smooth_scales, group_index, dst_type, quant_mode, dst_type_max)


def _dynamic_quant_like(
    input, *, smooth_scales=None, group_index=None, dst_type=None, quant_mode="pertoken", dst_type_max=0.0
):
    shape = {"pertensor": (1,), "perchannel": (*input.shape[:-2], *input.shape[-1:])}.get(quant_mode, input.shape[:-1])
    return _codes_like(input, dst_type), input.new_empty(shape, dtype=torch.float32)


def _asymmetric(
    input, *, smooth_scales=None, group_index=None, dst_type=None, quant_mode="pertoken", dst_type_max=0.0
):
    return _compat.npu_dynamic_quant(True, input, smooth_scales, group_index, dst_type, quant_mode, dst_type_max)


def _asymmetric_like(
    input, *, smooth_scales=None, group_index=None, dst_type=None, quant_mode="pertoken", dst_type_max=0.0
):
    codes, scale = _dynamic_quant_like(input, dst_type=dst_type, quant_mode=quant_mode)
    return codes, scale, torch.empty_like(scale)


def _mx_quant(
    input, *, axis=-1, round_mode="rint", dst_type=296, block_size=32, scale_alg=0, dst_type_max=0.0, max_low_bound=0.0
):
    return _compat.npu_dynamic_mx_quant(
        input, axis, round_mode, dst_type, block_size, scale_alg, dst_type_max, max_low_bound
    )


def _mx_quant_like(
    input, *, axis=-1, round_mode="rint", dst_type=296, block_size=32, scale_alg=0, dst_type_max=0.0, max_low_bound=0.0
):
    shape = [*input.shape, 2]
    if -input.dim() <= axis < input.dim() and block_size > 0:
        along = axis % input.dim()
        shape[along] = ((shape[along] + block_size - 1) // block_size + 1) // 2
    return _codes_like(input, dst_type), input.new_empty(shape, dtype=torch.uint8)


npu_quantize = _define(
    "npu_quantize",
    "(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True) -> Tensor",
    _quantize,
    _quantized_like,
)
npu_anti_quant = _define(
    "npu_anti_quant",
    "(Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None, int? src_dtype=None) -> Tensor",
    _anti_quant,
    _anti_quant_like,
)
npu_dynamic_quant = _define(
    "npu_dynamic_quant",
    "(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None, "
    'str quant_mode="pertoken", float dst_type_max=0.0) -> (Tensor, Tensor)',
    _dynamic_quant,
    _dynamic_quant_like,
)
npu_dynamic_quant_asymmetric = _define(
    "npu_dynamic_quant_asymmetric",
    "(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None, "
    'str quant_mode="pertoken", float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)',
    _asymmetric,
    _asymmetric_like,
)
npu_dynamic_mx_quant = _define(
    "npu_dynamic_mx_quant",
    '(Tensor input, *, int axis=-1, str round_mode="rint", int dst_type=296, int block_size=32, int? scale_alg=0, '
    "float dst_type_max=0.0, float max_low_bound=0.0) -> (Tensor, Tensor)",
    _mx_quant,
    _mx_quant_like,
)

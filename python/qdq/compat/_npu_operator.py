"""npu_quantize as an operator of PyTorch, torch.ops.qdq.npu_quantize, which torch.compile traces."""

import torch

from qdq._core import compat as _compat

_library = torch.library.Library("qdq", "FRAGMENT")
_library.define(
    "npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True) -> Tensor"
)
_STORED = {3: torch.int32, 12: torch.int8, 13: torch.uint8, 14: torch.int32}  # by PyTorch's numbers of dtypes
_QUINT4X2 = 16


def _quantize(self, scales, zero_points, dtype, axis=1, div_mode=True):
    return _compat.npu_quantize(self, scales, zero_points, dtype, axis, div_mode)


def _quantized_like(self, scales, zero_points, dtype, axis=1, div_mode=True):
    """What _quantize gives, without elements. What breaks a rule is refused when it runs."""
    if dtype == _QUINT4X2 and self.dim() > 0:
        return self.new_empty((*self.shape[:-1], self.shape[-1] // 8), dtype=torch.int32)
    return self.new_empty(self.shape, dtype=_STORED.get(dtype, torch.int8))


_library.impl("npu_quantize", _quantize, "CompositeExplicitAutograd")
torch.library.register_fake("qdq::npu_quantize", _quantized_like, lib=_library)
npu_quantize = torch.ops.qdq.npu_quantize

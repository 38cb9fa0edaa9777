"""qdq's dynamic profiles "torchao" and "mx" against torchao: int8 per token, float8 by row, and MX by each of its modes;
every bit."""

import logging
import warnings

import dynamic
from comparison import skip
from dynamic import Deviation, DynamicComparison

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

try:
    import ml_dtypes
    import numpy
    import torch
    import torchao
    from torchao.prototype.mx_formats import mx_tensor
    from torchao.prototype.mx_formats.config import ScaleCalculationMode as Mode
    from torchao.quantization import quant_primitives
    from torchao.quantization.utils import _quantize_activation_per_token_absmax
except ImportError as missing:
    skip(missing)

import qdq_ctypes
from inputs import E2M1
from torch_arrays import to_numpy, to_torch

torch.set_num_threads(1)

MX = {
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    "float6_e2m3fn": "fp6_e2m3",
    "float6_e3m2fn": "fp6_e3m2",
    E2M1: torch.float4_e2m1fn_x2,
}
MODES = {
    Mode.FLOOR: "power_floor",
    Mode.CEIL: "power_ceil",
    Mode.EVEN: "power_even",
    Mode.RCEIL: "power_round_up",
}


def quotient(rows):
    return rows.amax / numpy.float32(ml_dtypes.finfo(rows.y_type).max)


def rounds_to_0(rows):
    return quotient(rows).astype(rows.x.dtype) == 0


def power_by_logarithm(rows):
    """2^ceil(log2) where the logarithm is an f32: of what lies just above a power of two it is that one's."""
    logarithm = numpy.log2(quotient(rows).astype(numpy.float64)).astype(numpy.float32)
    return numpy.ldexp(numpy.float32(1), numpy.clip(numpy.nan_to_num(numpy.ceil(logarithm)), -127, 127).astype(int))


def is_above_a_power(rows):
    return numpy.isfinite(rows.amax) & (power_by_logarithm(rows) != rows.scale)


DEVIATIONS = [
    Deviation(
        "float8 by row: a scale that is, or rounds to, 0 stays 0, qdq's is 1; zeros become NaN",
        "float8", where=rounds_to_0, peer=lambda rows: 0, qdq=lambda rows: 1,
    ),
    Deviation(
        "float8 by row: a NaN not of x has another sign than x, and that of e5m2 is 0x7f or 0xff; scales are the same",
        "float8", where=lambda rows: ~numpy.isfinite(rows.amax), peer=lambda rows: rows.scale, always=False,
    ),
    Deviation(
        "MX: where the scale is NaN codes are 0, or NaN of another sign, or of f6 and f4 by the bits of the NaN",
        "MX", where=lambda rows: rows.has_nan, peer=lambda rows: numpy.nan, qdq=lambda rows: numpy.nan, always=False,
    ),
    Deviation(
        "MX: where the scale is 2^-127 codes are those of x / 2^-126, by RCEIL of x",
        "MX", where=lambda rows: rows.scale == numpy.float32(2.0**-127), peer=lambda rows: rows.scale, always=False,
    ),
    Deviation(
        "MX, RCEIL: the logarithm of what is just above a power of two rounds to that of the power: half qdq's scale",
        "MX RCEIL", where=is_above_a_power, peer=power_by_logarithm, qdq=lambda rows: 2 * power_by_logarithm(rows),
    ),
]  # fmt: skip


class AgainstTorchao(DynamicComparison):
    deviations = DEVIATIONS

    def test_int8_per_token(self):
        """Of bf16 torchao rounds each step of the codes to bf16, as torchao_test.py says."""
        for source in ("float32", "float16", "bfloat16"):
            x = dynamic.rows_of(source, 64)
            codes, scale = _quantize_activation_per_token_absmax(to_torch(x))
            scale = to_numpy(scale.reshape(-1)).astype(source)
            self.check("int8", x, codes.numpy(), scale, profile="torchao", has_codes=source != "bfloat16")

    def test_float8_by_row(self):
        for source in ("float32", "float16", "bfloat16"):
            for name in ("float8_e4m3fn", "float8_e5m2"):
                x = dynamic.rows_of(source, 64)
                scale = quant_primitives._choose_scale_float8(to_torch(x), [1, 64], getattr(torch, name))
                codes = quant_primitives._quantize_affine_float8(to_torch(x), scale, getattr(torch, name))
                scale = scale.numpy().reshape(-1).astype(source)
                self.check(f"float8 {name}", x, to_numpy(codes), scale, profile="torchao")

    def test_mx(self):
        for source in ("float32", "bfloat16"):
            x = dynamic.rows_of(source, 32)
            for name, elements in MX.items():
                for mode, rule in MODES.items():
                    scale, codes = mx_tensor.to_mx(to_torch(x), elements, 32, mode)
                    scale = scale.view(torch.uint8).numpy().reshape(-1).view("float8_e8m0fnu")
                    self.check(f"MX {mode.name} {name}", x, codes_of(codes, name, x.shape), scale, profile="mx", rule=rule)


def codes_of(codes, name, shape):
    raw = codes.view(torch.uint8).numpy().reshape(-1)
    return qdq_ctypes.unpack(raw, name, shape) if name == E2M1 else raw.view(name).reshape(shape)


if __name__ == "__main__":
    dynamic.main(f"torchao {torchao.__version__}, PyTorch {torch.__version__}", AgainstTorchao)

"""qdq's dynamic profiles "compressed-tensors" and "vllm" against compressed-tensors, which vLLM's models are described in: per token, and in groups
of 128; every bit. vLLM's own kernels take int8 to 127 instead of 127.5, and f8 as here."""

import logging
import warnings

import dynamic
from comparison import skip
from dynamic import Deviation, DynamicComparison

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

try:
    import compressed_tensors
    import numpy
    import torch
    from compressed_tensors.quantization import QuantizationArgs
    from compressed_tensors.quantization.lifecycle import forward
    from compressed_tensors.quantization.utils.helpers import compute_dynamic_scales_and_zp
except ImportError as missing:
    skip(missing)

from torch_arrays import to_numpy, to_torch

torch.set_num_threads(1)

TOKEN, GROUP = {"strategy": "token"}, {"strategy": "group", "group_size": 128}
FLOAT8, INT8 = {"num_bits": 8, "type": "float"}, {"num_bits": 8, "type": "int"}
COLUMNS = 128  # a group, too


def eps(rows):
    """That of x's type, for a scale that is 0."""
    return numpy.float32(2.0**-7 if rows.x.dtype == "bfloat16" else numpy.finfo(rows.x.dtype).eps)


def exact(rows):
    width = rows.highest - rows.lowest if rows.route == "asymmetric" else rows.amax
    steps = {"asymmetric": 255, "int8": 127.5, "float8": 448}[rows.route]
    return (width / numpy.float32(steps)).astype(rows.x.dtype).astype(numpy.float32)


def is_0(rows):
    return exact(rows) == 0


DEVIATIONS = [
    Deviation(
        "a scale that is, or rounds to, 0 is the epsilon of its type; qdq's is 1",
        "", where=is_0, peer=eps, qdq=lambda rows: 1,
    ),
    Deviation(
        "int8, symmetric: the scale is amax / 127.5, qdq's and vLLM's amax / 127",
        "int8", where=lambda rows: numpy.isfinite(rows.amax), peer=exact,
        qdq=lambda rows: rows.amax / numpy.float32(127), always=False,
    ),
    Deviation(
        "NaN and infinity: scales are the same, NaN codes of f8 have another sign, those of integers are 0",
        "", where=lambda rows: ~numpy.isfinite(rows.amax), peer=exact, qdq=exact, always=False,
    ),
    Deviation(
        "float8: the zero point 0 is added to -0, which becomes +0; scales are the same",
        "float8", where=lambda rows: ((rows.wide == 0) & numpy.signbit(rows.wide)).any(1), peer=exact, qdq=exact,
        always=False,
    ),
]  # fmt: skip


def peer(x, args):
    """Codes, scale and zero point of each row."""
    args = QuantizationArgs(dynamic=True, **args)
    values = to_torch(x if args.strategy == "group" else x[None])  # a batch of tokens
    scale, zero_point = compute_dynamic_scales_and_zp(values, args, None)
    codes = forward.quantize(values, scale, zero_point, args, dtype=args.pytorch_dtype())
    return to_numpy(codes).reshape(x.shape), to_numpy(scale.reshape(-1)), zero_point.reshape(-1)


class AgainstCompressedTensors(DynamicComparison):
    deviations = DEVIATIONS

    def test_float8(self):
        for source in ("float32", "bfloat16"):
            x = dynamic.rows_of(source, COLUMNS)
            for strategy in (TOKEN, GROUP):
                codes, scale, _ = peer(x, FLOAT8 | strategy)
                self.check("float8", x, codes, scale, profile="compressed-tensors", has_codes=source == "float32")

    def test_int8(self):
        x = dynamic.rows_of("float32", COLUMNS)
        for strategy in (TOKEN, GROUP):
            codes, scale, _ = peer(x, INT8 | strategy)
            self.check("int8", x, codes, scale, profile="vllm")

    def test_asymmetric_int8(self):
        x = dynamic.rows_of("float32", COLUMNS)
        for strategy in (TOKEN, GROUP):
            codes, scale, zero_point = peer(x, INT8 | strategy | {"symmetric": False})
            self.check("asymmetric", x, codes, scale, zero_point.numpy().astype(numpy.int8),
                       profile="compressed-tensors")  # fmt: skip


if __name__ == "__main__":
    dynamic.main(f"compressed-tensors {compressed_tensors.__version__}", AgainstCompressedTensors)

"""qdq's profile "torchao" against torchao: every bit, on random and special inputs and on multiples of scale / 2."""

import dataclasses
import itertools
import logging
import warnings

import comparison
from comparison import Deviation

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

try:
    import ml_dtypes
    import numpy
    import torch
    import torchao
    from torchao.prototype.mx_formats import mx_tensor, nvfp4_tensor
    from torchao.quantization import quant_primitives as torchao_ops
except ImportError as missing:
    comparison.skip(missing)

import inputs
import qdq_ctypes
import rules
from inputs import E2M1, F8
from rules import (QDQ_NAN, anything, both, differs, exact_code, exact_product, f8_nan, is_nan, is_number,
                   lowest, on, overflowing_float_sum, product_in_steps, qdq_nan, quotient_is_negative,
                   zero)  # fmt: skip
from torch_arrays import to_numpy, to_torch

torch.set_num_threads(1)

# The type of the codes, that of torchao's tensor, and the range it is told.
INTEGERS = {
    "int8": (torch.int8, None, None),
    "uint8": (torch.uint8, None, None),
    "int16": (torch.int16, None, None),
    "int32": (torch.int32, None, None),
    "int4": (torch.int8, -8, 7),
    "uint4": (torch.uint8, 0, 15),
}
MX = {
    "float8_e4m3fn": torch.float8_e4m3fn,
    "float8_e5m2": torch.float8_e5m2,
    E2M1: torch.float4_e2m1fn_x2,
}
SCALES = inputs.SCALES + inputs.ODD_SCALES


def sum_in_steps(call):
    """quantize_affine where x and the scale have the same 16-bit type, to which every result is rounded."""

    def narrow(values):
        return values.astype(call.x.dtype).astype(numpy.float32)

    total = narrow(numpy.rint(narrow(call.x.astype(numpy.float32) * narrow(1 / call.scale))) + narrow(call.offset))
    return numpy.where(numpy.isnan(total), 0, rules.saturated(call, total))


def mx_call(call):
    """to_mx() divides by a scale of its own, for which 2^-127 is 2^-126, and NaN infinity."""
    scale = numpy.where(numpy.isnan(call.scale), numpy.inf, numpy.fmax(call.scale, 2.0**-126))
    return dataclasses.replace(call, scale=scale.astype(numpy.float32))


def torchao_f8(call):
    return rules.encoded(call, f8_nan(QDQ_NAN | {"float8_e5m2": 0x7F}, quotient_is_negative))


def qdq_f8(call):
    return rules.encoded(call, qdq_nan)


def e2m1(call):
    return rules.encoded(call, lambda call: numpy.float32(6).astype(call.y_type))


def on_mx(rule):
    return lambda call: rule(mx_call(call))


DEVIATIONS = [
    Deviation(
        "quantize_affine: NaN gives code 0 whatever the zero point",
        where=on({"quantize"}, is_nan, "int8", "int16", "int4"),
        peer=zero,
        qdq=lowest,
    ),
    Deviation(
        "quantize_affine, int32: the zero point is added in f32, and 2^31 and more give the lowest code",
        where=on({"quantize"}, both(is_number, differs(overflowing_float_sum, exact_code)), "int32"),
        peer=overflowing_float_sum,
        qdq=exact_code,
    ),
    Deviation(
        "quantize_affine, x and scale of one 16-bit type: every result is rounded to that type, and NaN gives code 0",
        where=on({"quantize 16"}, differs(sum_in_steps, exact_code)),
        peer=sum_in_steps,
        qdq=exact_code,
    ),
    Deviation(
        "dequantize_affine: every operation but the last is rounded to the result's type",
        where=on({"dequantize"}, differs(product_in_steps, exact_product)),
        peer=product_in_steps,
        qdq=exact_product,
    ),
    Deviation(
        "_quantize_affine_float8: a NaN not of x has another sign than x, and that of e5m2 is 0x7f or 0xff",
        where=on({"quantize f8"}, both(is_nan, differs(torchao_f8, qdq_f8))),
        peer=torchao_f8,
        qdq=qdq_f8,
    ),
    Deviation(
        "to_mx, f8: where the scale is 2^-127 codes are those of x / 2^-126, where it is NaN of x / inf; e5m2 NaN 0x7f",
        where=on({"quantize MX"}, differs(on_mx(torchao_f8), qdq_f8), "float8_e4m3fn", "float8_e5m2"),
        peer=on_mx(torchao_f8),
        qdq=qdq_f8,
    ),
    Deviation(
        "to_mx, e2m1: NaN gives 3 or 4, by the bits of the NaN",
        where=on({"quantize MX"}, on_mx(is_nan), E2M1),
        peer=anything,
        qdq=e2m1,
    ),
    Deviation(
        "to_mx, e2m1: where the scale is 2^-127 codes are those of x / 2^-126, where it is NaN of x / inf",
        where=on({"quantize MX"}, both(on_mx(is_number), differs(on_mx(e2m1), e2m1)), E2M1),
        peer=on_mx(e2m1),
        qdq=e2m1,
    ),
    Deviation(
        "nvfp4_quantize: NaN gives 3 or 4, by the bits of the NaN",
        where=on({"quantize NVFP4"}, is_nan),
        peer=anything,
        qdq=e2m1,
    ),
]


class AgainstTorchao(comparison.Comparison):
    profile = "torchao"
    deviations = DEVIATIONS

    def setUp(self):
        self.random = numpy.random.default_rng(1)

    def zero_points(self, name, shape):
        limits = ml_dtypes.iinfo(name)
        return self.random.integers(int(limits.min), int(limits.max), shape, numpy.int32, endpoint=True)

    def granularities(self, source):
        """x, the shape of its blocks, and a scale for each."""
        scales = numpy.array(SCALES, numpy.float32)
        x = numpy.stack([inputs.floats_for(source, s)[: 32 * 2000] for s in scales])
        for block in ((1, x.shape[1]), (1, 32), (1, 1), (len(scales), 50)):
            shape = tuple(n // b for n, b in zip(x.shape, block))
            yield x, block, numpy.broadcast_to(scales[: shape[0], None], shape).copy()
        for scale in scales:
            values = inputs.floats_for(source, scale)
            yield values, values.shape, scale.reshape(1)

    def test_quantize_affine(self):
        for name, source in itertools.product(INTEGERS, inputs.FLOATS):
            for x, block, scale in self.granularities(source):
                zero_point = self.zero_points(name, scale.shape)
                codes = torchao_ops.quantize_affine(
                    to_torch(x), block, torch.from_numpy(scale), torch.from_numpy(zero_point), *INTEGERS[name]
                )
                self.quantize("quantize", x, scale, zero_point, codes.numpy().astype(name), over(block, x))

    def test_quantize_affine_in_16_bits(self):
        for source, value in itertools.product(("float16", "bfloat16"), SCALES):
            x = inputs.floats_for(source, value)
            scale, zero_point = numpy.array([value]).astype(source), numpy.array([3], numpy.int32)
            codes = torchao_ops.quantize_affine(
                to_torch(x), x.shape, to_torch(scale), torch.from_numpy(zero_point), torch.int8
            )
            self.quantize("quantize 16", x, scale, zero_point, codes.numpy())

    def test_dequantize_affine(self):
        for name, result, value in itertools.product(INTEGERS, inputs.FLOATS, SCALES):
            torch_type, lowest, highest = INTEGERS[name]
            x = numpy.resize(inputs.every_code(name), (1, 32 * 5000))
            codes = torch.from_numpy(x.astype(str(torch_type).removeprefix("torch.")))
            for block in (x.shape, (1, 32)):
                scale = numpy.full((1, x.size // block[1]), value, numpy.float32)
                zero_point = self.zero_points(name, scale.shape)
                values = torchao_ops.dequantize_affine(
                    codes, block, torch.from_numpy(scale), torch.from_numpy(zero_point), torch_type, lowest, highest,
                    output_dtype=getattr(torch, result),
                )  # fmt: skip
                self.dequantize("dequantize", x, scale, zero_point, to_numpy(values), over(block, x))

    def test_quantize_float8(self):
        for name, source in itertools.product(F8, inputs.FLOATS):
            for x, block, scale in self.granularities(source):
                codes = torchao_ops._quantize_affine_float8(to_torch(x), torch.from_numpy(scale), getattr(torch, name))
                self.quantize("quantize f8", x, scale, None, to_numpy(codes), over(block, x))

    def test_dequantize_float8(self):
        for name, result in itertools.product(F8, inputs.FLOATS):
            x = numpy.tile(inputs.every_code(name), (len(SCALES), 32))
            for block in ((1, x.shape[1]), (1, 32)):
                scale = numpy.repeat(numpy.array(SCALES, numpy.float32)[:, None], x.shape[1] // block[1], 1)
                values = torchao_ops._dequantize_affine_float8(
                    to_torch(x), torch.from_numpy(scale), getattr(torch, result)
                )
                self.dequantize("dequantize f8", x, scale, None, to_numpy(values), over(block, x))

    def test_mx(self):
        """Blocks of 32 with e8m0 scales, which torchao chooses: codes, packing and values."""
        for name, source in itertools.product(MX, ("float32", "bfloat16")):
            x = blocks(self.random, source, 32)
            scale, packed = mx_tensor.to_mx(to_torch(x), MX[name], 32)
            codes = unpacked(packed, name, x.shape)
            self.quantize("quantize MX", x, to_numpy(scale), None, codes, over((1, 32), x))
            values = mx_tensor.to_dtype(packed, scale, MX[name], 32, getattr(torch, source))
            self.dequantize("dequantize MX", codes, to_numpy(scale), None, to_numpy(values), over((1, 32), x))

    def test_nvfp4(self):
        """Blocks of 16 with e4m3fn scales, which torchao chooses."""
        for source in ("float32", "bfloat16"):
            x = blocks(self.random, source, 16)
            scale, packed = nvfp4_tensor.nvfp4_quantize(to_torch(x))
            codes = unpacked(packed, E2M1, x.shape)
            self.quantize("quantize NVFP4", x, to_numpy(scale), None, codes, over((1, 16), x))


def over(block, x):
    """Spreads one value for each block over the elements of x."""
    return lambda values: inputs.in_blocks(values, block, x.shape)


def blocks(random, source, size):
    """Rows of numbers of every magnitude, of half steps of e2m1 with every positive e4m3fn as scale, and of every
    16-bit pattern."""
    shape = (2000, 16)
    normal = random.normal(size=(*shape, size)) * 2.0 ** random.integers(-140, 120, (*shape, 1))
    steps = random.integers(-24, 25, (*shape, size)) / 4
    steps[:, :, 0] = 6
    steps *= random.integers(1, 0x7F, (*shape, 1), numpy.uint8).view("float8_e4m3fn").astype(numpy.float32)
    any_bits = inputs.any_floats(source)
    any_bits = any_bits[: any_bits.size // (16 * size) * (16 * size)].reshape(-1, 16 * size)
    numbers = numpy.concatenate([normal, steps]).reshape(-1, 16 * size).astype(numpy.float32).astype(source)
    return numpy.concatenate([numbers, any_bits])


def unpacked(codes, name, shape):
    return qdq_ctypes.unpack(codes.numpy().reshape(-1), name, shape) if name == E2M1 else to_numpy(codes)


if __name__ == "__main__":
    comparison.main(f"torchao {torchao.__version__}, PyTorch {torch.__version__}", AgainstTorchao)

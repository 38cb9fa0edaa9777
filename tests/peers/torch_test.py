"""qdq's profile "torch" against PyTorch: every bit, on random and special inputs and on multiples of scale / 2."""

import itertools
import warnings

import comparison
from comparison import Deviation

try:
    import ml_dtypes
    import numpy
    import torch
    import torch.ao.quantization.fx._decomposed  # registers torch.ops.quantized_decomposed
except ImportError as missing:
    comparison.skip(missing)

import inputs
import qdq_ctypes
import rules
from inputs import F8
from rules import (both, differs, exact_code, exact_product, f8_nan, float_sum, has_zero_scale, is_nan, is_number,
                   lowest, on, overflowing_float_sum, product_in_steps, qdq_nan, wrapped_product, zero)  # fmt: skip
from torch_arrays import to_numpy, to_torch

warnings.filterwarnings("ignore", message="torch.quantize_per_tensor")  # that it is to be removed
torch.set_num_threads(1)

QUANTIZED = {"int8": torch.qint8, "uint8": torch.quint8, "int32": torch.qint32}
PLAIN = ["int8", "uint8", "int16", "uint16", "int32"]
DECOMPOSED = torch.ops.quantized_decomposed
ONE = numpy.float32(1)
SCALES = inputs.SCALES + inputs.ODD_SCALES


def fbgemm_sum(call):
    """FBGEMM's 8-bit loop: bounded by the largest f32 below 2^31, to int32, and the zero point added there."""
    bounded = numpy.fmin(call.scaled, numpy.float32(2147483520))
    integer = numpy.where(bounded < -(2.0**31), -(2.0**31), numpy.rint(bounded)).astype(numpy.int64)
    return rules.saturated(call, (integer + call.offset).astype(numpy.int32))


def quint4_unscaled(call):
    steps = numpy.where(numpy.abs(call.x) < 2.0**63, call.x.astype(numpy.float64), -(2.0**63))
    return numpy.clip(numpy.rint(steps) + call.offset, 0, 15)


def exact_quint4(call):
    return numpy.clip(numpy.fmax(numpy.rint(call.scaled), -1e9) + call.offset, 0, 15)


DEVIATIONS = [
    Deviation(
        "quantize_per_tensor, 8 bits: NaN gives the highest code, or what that wraps around to",
        where=on({"per tensor"}, both(is_nan, differs(fbgemm_sum, lowest)), "int8", "uint8"),
        peer=fbgemm_sum,
        qdq=lowest,
    ),
    Deviation(
        "quantize_per_tensor, 8 bits: adding the zero point wraps around 2^31, so +inf can give 0 and -inf 127",
        where=on({"per tensor"}, both(is_number, differs(fbgemm_sum, exact_code)), "int8", "uint8"),
        peer=fbgemm_sum,
        qdq=exact_code,
    ),
    Deviation(
        "quantize_per_channel, 8 bits: NaN gives code 0 whatever the zero point",
        where=on({"per channel"}, is_nan, "int8"),
        peer=zero,
        qdq=lowest,
    ),
    Deviation(
        "quantize_per_tensor and quantize_per_channel, qint32: the zero point is added in f32",
        where=on({"per tensor", "per channel"}, both(is_number, differs(float_sum, exact_code)), "int32"),
        peer=float_sum,
        qdq=exact_code,
    ),
    Deviation(
        "quint4x2: a scale of 0 counts as 1",
        where=on({"quint4x2"}, both(has_zero_scale, differs(quint4_unscaled, exact_quint4))),
        peer=quint4_unscaled,
        qdq=exact_quint4,
    ),
    Deviation(
        "quint4x2: 2^63 steps and more give code 0",
        where=on({"quint4x2"}, lambda call: ~has_zero_scale(call) & (call.scaled >= 2.0**63)),
        peer=zero,
        qdq=exact_quint4,
    ),
    Deviation(
        "decomposed quantize: NaN gives code 0 whatever the zero point",
        where=on({"decomposed"}, is_nan, "int8", "int16"),
        peer=zero,
        qdq=lowest,
    ),
    Deviation(
        "decomposed quantize, int32: the zero point is added in f32, and 2^31 and more give the lowest code",
        where=on({"decomposed"}, both(is_number, differs(overflowing_float_sum, exact_code)), "int32"),
        peer=overflowing_float_sum,
        qdq=exact_code,
    ),
    Deviation(
        "dequantize, qint32 per tensor: subtracting the zero point wraps around 2^31",
        where=on({"dequantize per tensor"}, differs(wrapped_product, exact_product)),
        peer=wrapped_product,
        qdq=exact_product,
    ),
    Deviation(
        "dequantize, qint32 per channel: code and zero point are rounded to f32 before they are subtracted",
        where=on({"dequantize per channel"}, differs(product_in_steps, exact_product)),
        peer=product_in_steps,
        qdq=exact_product,
    ),
    Deviation(
        "decomposed dequantize: every operation is rounded to the result's type",
        where=on({"dequantize decomposed"}, differs(product_in_steps, exact_product)),
        peer=product_in_steps,
        qdq=exact_product,
    ),
    Deviation(
        "cast to e5m2: NaN is code 0x7f or 0xff",
        where=on({"cast to f8"}, is_nan, "float8_e5m2"),
        peer=f8_nan({"float8_e5m2": 0x7F}, lambda call: numpy.signbit(call.x)),
        qdq=qdq_nan,
    ),
]


class AgainstTorch(comparison.Comparison):
    profile = "torch"
    deviations = DEVIATIONS

    def zero_points(self, name):
        limits = numpy.iinfo(name)
        middle = (limits.min + limits.max + 1) // 2
        return [limits.min, limits.max, middle, middle + 1, middle - 77, limits.max // 2147]

    def channels(self, name):
        """Every pair of a scale and a zero point: arrays of one each, and as tensors."""
        pairs = list(itertools.product(SCALES, self.zero_points(name)))
        arrays = [numpy.array(each, dtype) for each, dtype in zip(zip(*pairs), (numpy.float32, name))]
        return *arrays, *map(torch.from_numpy, arrays)

    def test_quantize_per_tensor(self):
        for name, scale in itertools.product(QUANTIZED, SCALES):
            x = inputs.floats_for(numpy.float32, scale)
            for zero_point in self.zero_points(name):
                codes = torch.quantize_per_tensor(torch.from_numpy(x), scale, zero_point, QUANTIZED[name])
                offset = numpy.array(zero_point, name)
                self.quantize("per tensor", x, numpy.float32(scale), offset, codes.int_repr().numpy())

    def test_quantize_per_channel(self):
        for name, axis in itertools.product(QUANTIZED, (0, 1)):
            scale, zero_point, *tensors = self.channels(name)
            x = numpy.stack([inputs.floats_for(numpy.float32, s)[::7] for s in scale])
            x = numpy.ascontiguousarray(x.T) if axis else x
            codes = torch.quantize_per_channel(torch.from_numpy(x), *tensors, axis, QUANTIZED[name])
            self.quantize("per channel", x, scale, zero_point, codes.int_repr().numpy(),
                          lambda values: inputs.along(values, x, axis), axis=axis)  # fmt: skip

    def test_dequantize_per_tensor(self):
        for name, scale, zero_point in ((n, s, z) for n in QUANTIZED for s in SCALES for z in self.zero_points(n)):
            x = inputs.every_code(name)
            codes = torch._make_per_tensor_quantized_tensor(torch.from_numpy(x), scale, zero_point)
            offset = numpy.array(zero_point, name)
            self.dequantize("dequantize per tensor", x, numpy.float32(scale), offset, codes.dequantize().numpy())

    def test_dequantize_per_channel(self):
        for name, axis in itertools.product(QUANTIZED, (0, 1)):
            scale, zero_point, *tensors = self.channels(name)
            x = numpy.tile(inputs.every_code(name), (len(scale), 1))
            x = numpy.ascontiguousarray(x.T) if axis else x
            codes = torch._make_per_channel_quantized_tensor(torch.from_numpy(x), *tensors, axis)
            self.dequantize("dequantize per channel", x, scale, zero_point, codes.dequantize().numpy(),
                            lambda values: inputs.along(values, x, axis), axis=axis)  # fmt: skip

    def test_quint4x2_is_packed_low_nibble_first(self):
        for scale, zero_point in itertools.product(SCALES, (0, 1, 7, 15)):
            x = inputs.floats_for(numpy.float32, scale)  # an odd count
            peer = torch.quantize_per_tensor(torch.from_numpy(x), scale, zero_point, torch.quint4x2)
            codes = qdq_ctypes.unpack(peer.int_repr().numpy(), ml_dtypes.uint4, x.shape)
            operands = (numpy.float32(scale), numpy.array(zero_point, numpy.uint8))
            self.quantize("quint4x2", x, *operands, codes)
            self.dequantize("dequantize quint4x2", codes, *operands, peer.dequantize().numpy())

    def test_casts_to_f8(self):
        for source, name in itertools.product(inputs.FLOATS, F8):
            x = inputs.any_floats(source, count=1 << 22)
            self.quantize("cast to f8", x, ONE, None, to_numpy(to_torch(x).to(getattr(torch, name))))

    def test_casts_from_f8(self):
        for name, result in itertools.product(F8, inputs.FLOATS):
            x = inputs.every_code(name)
            self.dequantize("cast from f8", x, ONE, None, to_numpy(to_torch(x).to(getattr(torch, result))))

    def test_decomposed_quantize(self):
        """What replaces quantize_per_tensor: the same arithmetic on plain types."""
        for name, source, scale in itertools.product(PLAIN, inputs.FLOATS, SCALES):
            if scale == 0:
                continue  # Python's own division refuses it
            x = inputs.floats_for(source, scale)
            for zero_point in self.zero_points(name)[:3]:
                codes = DECOMPOSED.quantize_per_tensor(to_torch(x), scale, zero_point, *plain(name))
                self.quantize("decomposed", x, numpy.float32(scale), numpy.array(zero_point, name), codes.numpy())

    def test_decomposed_dequantize(self):
        for name, result, scale in itertools.product(PLAIN, inputs.FLOATS, SCALES):
            x = inputs.every_code(name)
            for zero_point in self.zero_points(name):
                values = DECOMPOSED.dequantize_per_tensor(
                    to_torch(x), scale, zero_point, *plain(name), out_dtype=getattr(torch, result)
                )
                operands = (numpy.float32(scale), numpy.array(zero_point, name))
                self.dequantize("dequantize decomposed", x, *operands, to_numpy(values))


def plain(name):
    """How the decomposed operators are told a type."""
    return numpy.iinfo(name).min, numpy.iinfo(name).max, getattr(torch, name)


if __name__ == "__main__":
    comparison.main(f"PyTorch {torch.__version__}", AgainstTorch)

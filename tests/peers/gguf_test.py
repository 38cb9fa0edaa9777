"""ggml's blocks against the package gguf, byte by byte, on every target: all f16 as numbers and as scales, and drawn f32.

Where gguf differs from ggml's C code, qdq is as that: zeros alone with -0 as the first give Q4_0 and Q5_0 a scale of -0 there.
"""

import ctypes
import unittest

import comparison

try:
    import gguf
except ImportError as missing:
    comparison.skip(missing)

import numpy
import qdq_ctypes
from gguf import GGMLQuantizationType as Kind

FORMATS = [Kind.Q8_0, Kind.Q4_0, Kind.Q4_1, Kind.Q5_0, Kind.Q5_1, Kind.MXFP4, Kind.IQ4_NL]  # as qdq_block_format
QUANTIZED = [kind for kind in FORMATS if kind != Kind.IQ4_NL]  # which gguf dequantizes alone
QDQ = comparison.QDQ


def call(function, x, y, kind):
    tensors = [ctypes.byref(qdq_ctypes.tensor_of(array)) for array in (x, y)]
    QDQ.call(function, *tensors, FORMATS.index(kind))


def quantized(x, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    y = numpy.empty((*x.shape[:-1], x.shape[-1] // elements * size), numpy.uint8)
    call("quantize_blocks", x, y, kind)
    return y


def dequantized(blocks, kind):
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    y = numpy.empty((*blocks.shape[:-1], blocks.shape[-1] // size * elements), numpy.float32)
    call("dequantize_blocks", blocks, y, kind)
    return y


def all_f16():
    """Those that are numbers, so that like ones share a block, and all of a block have one sign."""
    codes = numpy.arange(0x8000, dtype=numpy.uint16)
    numbers = codes[codes < 0x7C00].view(numpy.float16)
    return numpy.stack([numbers, -numbers])


def drawn(seed):
    """Numbers of many sizes, ties among them, in blocks whose inverse scales are finite."""
    generator = numpy.random.default_rng(seed)
    sizes = numpy.float32(2.0) ** generator.integers(-100, 20, (4000, 1))
    x = generator.standard_normal((4000, 32)) * sizes
    steps = generator.integers(-33, 34, (4000, 32)) * numpy.float32(0.5) * sizes
    return numpy.concatenate([x, steps]).astype(numpy.float32) + numpy.float32(0)  # no -0


class Gguf(unittest.TestCase):
    def each(self, kinds=QUANTIZED):
        for target in QDQ.usable_targets():
            QDQ.force_target(target)
            for kind in kinds:
                with self.subTest(target=target, kind=kind.name), numpy.errstate(all="ignore"):
                    yield kind
        QDQ.force_target(None)

    def test_blocks_of_drawn_numbers(self):
        for kind in self.each():
            for seed in range(3):
                x = drawn(seed)
                numpy.testing.assert_array_equal(quantized(x, kind), gguf.quants.quantize(x, kind))

    def test_blocks_of_all_f16(self):
        for kind in self.each():
            x = all_f16()
            expected = gguf.quants.quantize(x.astype(numpy.float32), kind)
            first = gguf.GGML_QUANT_SIZES[kind][1]  # of zeros and the least subnormals, -0 among them
            numpy.testing.assert_array_equal(quantized(x, kind)[:, first:], expected[:, first:])

    def test_values_of_every_scale(self):
        for kind in self.each(FORMATS):
            blocks = numpy.random.default_rng(0).integers(0, 256, (0x10000, gguf.GGML_QUANT_SIZES[kind][1]), numpy.uint8)
            blocks[:, :2] = numpy.arange(0x10000, dtype=numpy.uint16).view(numpy.uint8).reshape(-1, 2)
            expected, actual = gguf.quants.dequantize(blocks, kind), dequantized(blocks, kind)
            is_nan = numpy.isnan(expected)
            numpy.testing.assert_array_equal(numpy.isnan(actual), is_nan)
            numpy.testing.assert_array_equal(actual.view(numpy.uint32)[~is_nan], expected.view(numpy.uint32)[~is_nan])

    def test_zeros_alone(self):
        x = numpy.full((1, 32), -0.0, numpy.float32)
        for kind in self.each():
            if kind in (Kind.Q4_0, Kind.Q5_0):
                self.assertEqual(quantized(x, kind)[0, :2].tolist(), [0, 0x80])
                self.assertEqual(gguf.quants.quantize(x, kind)[0, :2].tolist(), [0, 0])


if __name__ == "__main__":
    unittest.main()

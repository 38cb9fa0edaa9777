"""qdq's 8-bit floats against ml_dtypes', which overflows to infinity or NaN as qdq does without saturation."""

import sys
import unittest

try:
    import ml_dtypes
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import qdq_ctypes

FORMATS = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz]
ONE = numpy.float32(1)


def floats(dtype):
    """Every value of a 16-bit type; of f32 random bits, and the neighbourhood of every 16-bit float."""
    codes = numpy.arange(1 << 16, dtype=numpy.uint16)
    if dtype != numpy.float32:
        return codes.view(dtype)
    near = (codes.astype(numpy.uint32)[:, None] << 16) + numpy.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], numpy.uint32)
    random = numpy.random.default_rng(1).integers(0, 1 << 32, 4_000_000, dtype=numpy.uint32)
    return numpy.concatenate([near.reshape(-1), random]).view(numpy.float32)


class EightBitFloats(unittest.TestCase):
    def setUp(self):
        self.qdq = qdq_ctypes.Library()

    def each_target(self):
        for target in self.qdq.usable_targets():
            self.qdq.force_target(target)
            yield target

    def test_encode_as_ml_dtypes_does(self):
        for source in (numpy.float32, numpy.float16, ml_dtypes.bfloat16):
            x = floats(source)
            for stored in FORMATS:
                # Through f32: ml_dtypes' direct conversions from 16 bits are exact too, but slow.
                expected = x.astype(numpy.float32).astype(stored)
                is_nan = numpy.isnan(expected.astype(numpy.float32))
                for target in self.each_target():
                    with self.subTest(source=source, stored=stored, target=target):
                        y = numpy.empty(x.shape, stored)
                        self.qdq.quantize(x, ONE, None, y, no_saturate=1)
                        same = (y.view(numpy.uint8) == expected.view(numpy.uint8)) | (
                            is_nan & numpy.isnan(y.astype(numpy.float32))
                        )
                        wrong = numpy.flatnonzero(~same)[:4]
                        self.assertEqual(wrong.size, 0, [(x[i], y.view(numpy.uint8)[i], expected[i]) for i in wrong])

    def test_saturate_to_the_largest_value(self):
        x = numpy.array([1e9, -1e9, numpy.inf, -numpy.inf], numpy.float32)
        for stored in FORMATS:
            largest = float(ml_dtypes.finfo(stored).max)
            for target in self.each_target():
                with self.subTest(stored=stored, target=target):
                    y = numpy.empty(x.shape, stored)
                    self.qdq.quantize(x, ONE, None, y)
                    self.assertEqual(y.astype(numpy.float32).tolist(), [largest, -largest, largest, -largest])

    def test_decode_every_code(self):
        codes = numpy.arange(256, dtype=numpy.uint8)
        for stored in FORMATS:
            expected = codes.view(stored).astype(numpy.float32)
            for target in self.each_target():
                with self.subTest(stored=stored, target=target):
                    y = numpy.empty(256, numpy.float32)
                    self.qdq.dequantize(codes.view(stored), ONE, None, y)
                    numpy.testing.assert_array_equal(y, expected)
                    self.assertTrue((numpy.signbit(y) == numpy.signbit(expected))[expected == 0].all())


if __name__ == "__main__":
    unittest.main()

"""qdq's formats against ml_dtypes: every code decoded, every 16-bit float and many f32 encoded, on every target."""

import os
import unittest

import comparison  # skips where NumPy or ml_dtypes are missing
import ml_dtypes
import numpy
from comparison import QDQ, Deviation

import inputs
import qdq_ctypes
import rules
from inputs import STORED_FLOATS, WITHOUT_NAN
from rules import differs, is_nan, on

ONE = numpy.float32(1)


def low_bits(call):
    integer = numpy.where(numpy.abs(call.x.astype(numpy.float64)) < 2.0**31, call.x, numpy.float32(0))
    return (integer.astype(numpy.int64) & (1 << inputs.bits_of(call.y_type)) - 1).astype(numpy.uint8).view(call.y_type)


def truncated(call):
    return numpy.where(is_nan(call), call.lowest, rules.saturated(call, numpy.trunc(call.x.astype(numpy.float32))))


DEVIATIONS = [
    Deviation(
        "types without NaN: it gives 0 with the other sign",
        where=on({"encode", "encode with blocks"}, is_nan, *WITHOUT_NAN),
        peer=lambda call: numpy.where(numpy.signbit(call.x), 0.0, -0.0).astype(numpy.float32),
        qdq=lambda call: numpy.float32(ml_dtypes.finfo(call.y_type).max),
    ),
    Deviation(
        "integers: values out of range wrap around, and NaN gives 0",
        where=on({"truncate"}, differs(low_bits, truncated)),
        peer=low_bits,
        qdq=truncated,
    ),
]


class AgainstMlDtypes(comparison.Comparison):
    deviations = DEVIATIONS

    def each_target(self):
        self.addCleanup(QDQ.force_target, None)
        for target in QDQ.usable_targets():
            QDQ.force_target(target)
            yield target

    def check_encode(self, route, x, scale, stored, **options):
        """ml_dtypes converts f32; its direct conversions from 16 bits are exact too, but slow. A NaN has the sign of x,
        which NumPy's division does not promise."""
        wide = x.astype(numpy.float32)
        quotient = wide / scale.astype(numpy.float32)
        expected = numpy.where(numpy.isnan(quotient), numpy.copysign(numpy.nan, wide), quotient).astype(stored)
        for target in self.each_target():
            with self.subTest(source=x.dtype, stored=stored, target=target):
                self.quantize(route, x, scale, None, expected, **options)

    def check_decode(self, route, codes, scale, result):
        expected = (codes.astype(numpy.float32) * scale.astype(numpy.float32)).astype(result)
        for target in self.each_target():
            with self.subTest(stored=codes.dtype, result=result, target=target):
                self.dequantize(route, codes, scale, None, expected)

    def test_encode(self):
        for source in inputs.FLOATS.values():
            for stored in STORED_FLOATS:
                self.check_encode("encode", inputs.any_floats(source, count=4_000_000), ONE, stored, no_saturate=1)

    @unittest.skipUnless(os.environ.get("QDQ_SWEEP") == "full", "QDQ_SWEEP is not full")
    def test_encode_every_f32(self):
        """On one target: kernel.sweep shows that all give the same."""
        count = 1 << 22
        for first in range(0, 1 << 32, count):
            x = numpy.arange(first, first + count, dtype=numpy.uint32).view(numpy.float32)
            for stored in STORED_FLOATS:
                self.quantize("encode", x, ONE, None, x.astype(stored), no_saturate=1)

    def test_encode_with_e8m0_scales(self):
        scale = inputs.every_code("float8_e8m0fnu")[:, None]
        for source in inputs.FLOATS.values():
            x = numpy.tile(inputs.any_floats(source)[::97], (256, 1))
            for stored in ["float8_e4m3fn", "float8_e5m2", *WITHOUT_NAN]:
                self.check_encode("encode with blocks", x, scale, stored, no_saturate=1)

    def test_truncate_to_4_and_2_bits(self):
        for source in inputs.FLOATS.values():
            for stored in inputs.PACKED_INTEGERS:
                x = numpy.concatenate([inputs.any_floats(source), inputs.half_steps(1, 100).astype(source)])
                self.check_encode("truncate", x, ONE, stored, rounding=qdq_ctypes.TOWARD_ZERO)

    def test_decode_every_code(self):
        for stored in [*STORED_FLOATS, *inputs.PACKED_INTEGERS]:
            for result in inputs.FLOATS.values():
                self.check_decode("decode", inputs.every_code(stored), ONE, result)

    def test_decode_every_code_with_every_f8_scale(self):
        for scale_type in ("float8_e8m0fnu", "float8_e4m3fn"):
            scale = inputs.every_code(scale_type)[:, None]
            for stored in ["float8_e4m3fn", "float8_e5m2", *WITHOUT_NAN]:
                codes = numpy.tile(inputs.every_code(stored), (256, 1))
                for result in inputs.FLOATS.values():
                    self.check_decode("decode with blocks", codes, scale, result)

    def test_saturate_to_the_largest_value(self):
        """ml_dtypes' casts overflow; the largest value is its finfo's."""
        x = numpy.array([1e9, -1e9, numpy.inf, -numpy.inf], numpy.float32)
        for stored in STORED_FLOATS:
            largest = ml_dtypes.finfo(stored).max
            for target in self.each_target():
                with self.subTest(stored=stored, target=target):
                    self.quantize("saturate", x, ONE, None, numpy.array([largest, -largest] * 2, stored))


if __name__ == "__main__":
    comparison.main(f"ml_dtypes {ml_dtypes.__version__}", AgainstMlDtypes)

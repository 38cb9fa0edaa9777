"""Ascend's formats against en_dtypes, by which CANN's references compute: every code decoded, every 16-bit float and many
f32 encoded, on every target."""

import comparison  # skips where NumPy, ml_dtypes or en_dtypes are missing
import en_dtypes
import numpy
from comparison import QDQ, Deviation

import inputs
from rules import is_nan

ONE = numpy.float32(1)


def is_nan_without_a_code(call):
    return is_nan(call) if call.y_type.name == "float4_e1m2" else None


class AgainstEnDtypes(comparison.Comparison):
    deviations = [
        Deviation(
            "e1m2 has no NaN: it gives 0 with its sign",
            where=is_nan_without_a_code,
            peer=lambda call: numpy.copysign(numpy.float32(0), call.x.astype(numpy.float32)),
            qdq=lambda call: numpy.float32(1.75),
        )
    ]

    def each_type(self):
        self.addCleanup(QDQ.force_target, None)
        for target in QDQ.usable_targets():
            QDQ.force_target(target)
            for name in inputs.ASCEND:
                yield numpy.dtype(getattr(en_dtypes, name))

    def test_encode(self):
        for stored in self.each_type():
            for source in inputs.FLOATS.values():
                x = inputs.any_floats(source, count=1_000_000)
                expected = x.astype(numpy.float32).astype(stored)
                self.quantize("encode", x, ONE, None, expected, no_saturate=1)

    def test_saturate_to_the_largest_value(self):
        x = numpy.array([1e9, -1e9, numpy.inf, -numpy.inf], numpy.float32)
        for stored in self.each_type():
            largest = numpy.float32(en_dtypes.finfo(stored).max)
            expected = numpy.array([largest, -largest] * 2, numpy.float32).astype(stored)
            self.quantize("saturate", x, ONE, None, expected)

    def test_decode_every_code(self):
        for stored in self.each_type():
            codes = numpy.arange(1 << en_dtypes.finfo(stored).bits, dtype="u1").view(stored)
            for result in inputs.FLOATS.values():
                self.dequantize("decode", codes, ONE, None, codes.astype(numpy.float32).astype(result))


if __name__ == "__main__":
    comparison.main("en_dtypes", AgainstEnDtypes)

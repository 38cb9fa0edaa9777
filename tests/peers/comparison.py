"""Compares qdq with a peer bit by bit. Where the two are known to differ, a Deviation says so by name.

A deviation states which results it concerns, what the peer gives there and what qdq gives; all three are checked, so
that a peer that has changed is noticed. A run of all tests also fails when a deviation concerned no result.
"""

import dataclasses
import functools
import pathlib
import sys
import unittest
from typing import Any, Callable


def skip(missing):
    """Ends a test whose peer is not installed, as CTest's SKIP_RETURN_CODE."""
    print(f"skipped: {missing}")
    sys.exit(77)


try:
    import en_dtypes  # noqa: F401  which oracle.py takes
    import ml_dtypes
    import numpy
except ImportError as missing:
    skip(missing)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))  # oracle.py
import inputs  # noqa: E402
import qdq_ctypes  # noqa: E402

QDQ = qdq_ctypes.Library()
QDQ.set_num_threads(1)
numpy.seterr(all="ignore")  # overflow and NaN are among what is compared


@dataclasses.dataclass
class Call:
    """One comparison. `scale`, in f32, and `zero_point` broadcast to x's shape."""

    route: str  # which function of the peer
    x: numpy.ndarray
    scale: numpy.ndarray
    zero_point: numpy.ndarray | None
    y_type: numpy.dtype
    divides: bool = True
    group: numpy.ndarray | None = None  # which of the scales an element has, where that matters

    @functools.cached_property
    def scaled(self):
        """What quantize rounds: x / scale, or x * (1 / scale), in f32."""
        x = self.x.astype(numpy.float32)
        return x / self.scale if self.divides else x * (numpy.float32(1) / self.scale)

    @property
    def offset(self):
        """The zero points, as wide integers."""
        return numpy.int64(0) if self.zero_point is None else self.zero_point.astype(numpy.int64)

    @property
    def lowest(self):
        return ml_dtypes.iinfo(self.y_type).min

    @property
    def highest(self):
        return ml_dtypes.iinfo(self.y_type).max


Rule = Callable[[Call], Any]  # gives results, or their values; `rules` has those that several peers need


@dataclasses.dataclass
class Deviation:
    name: str
    where: Rule  # gives a mask, or None for none of the call's results
    peer: Rule | None  # None: anything but what qdq gives
    qdq: Rule
    seen: int = 0


def bits(array):
    return array.view(f"u{array.dtype.itemsize}")


def one_nan(floats):
    """A peer's floats with qdq's one NaN for all of theirs, whose sign and payload no peer defines."""
    return numpy.where(numpy.isnan(floats), floats.dtype.type(numpy.nan), floats)


def result_bits(values, y_type):
    """The bits that a rule's values have as results; all NaNs of f32, f16 and bf16 are the same one."""
    values = numpy.asarray(values).astype(y_type)
    return bits(one_nan(values) if y_type.name in inputs.FLOATS else values)


class Comparison(unittest.TestCase):
    profile: str | None = None
    deviations: list[Deviation] = []
    compared = 0

    def quantize(self, route, x, scale, zero_point, expected, spread=lambda values: values, **options):
        """Compares `expected`, the peer's codes, with qdq's. `spread` turns a scale into one value for each element."""
        actual = numpy.empty(x.shape, expected.dtype)
        QDQ.quantize(x, scale, zero_point, actual, profile=self.profile, **options)
        divides = QDQ.options(self.profile, expected.dtype, options).scale_mode == qdq_ctypes.DIVIDE
        offset = None if zero_point is None else spread(zero_point)
        wide = spread(numpy.asarray(scale).astype(numpy.float32))
        self.compare(Call(route, x, wide, offset, expected.dtype, divides), expected, actual)

    def dequantize(self, route, x, scale, zero_point, expected, spread=lambda values: values, **options):
        actual = numpy.empty(x.shape, expected.dtype)
        QDQ.dequantize(x, scale, zero_point, actual, profile=self.profile, **options)
        offset = None if zero_point is None else spread(zero_point)
        wide = spread(numpy.asarray(scale).astype(numpy.float32))
        self.compare(Call(route, x, wide, offset, expected.dtype), one_nan(expected), actual)

    def compare(self, call, expected, actual):
        """`expected` is the peer's result, `actual` qdq's."""
        type(self).compared += expected.size
        self.assertEqual((expected.dtype, expected.shape), (actual.dtype, actual.shape))
        expected, actual = bits(expected), bits(actual)
        known = numpy.zeros(expected.shape, bool)
        for each in self.deviations:
            where = each.where(call)
            if where is not None and where.any():
                self._check_deviation(each, call, where & ~known, expected, actual)
                known |= where
        self._refuse((expected != actual) & ~known, call, expected, actual, "differ and no deviation says so")

    def _check_deviation(self, each, call, where, expected, actual):
        for who, result, rule in (("the peer", expected, each.peer), ("qdq", actual, each.qdq)):
            if rule:
                wrong = where & (result != result_bits(rule(call), call.y_type))
                self._refuse(wrong, call, expected, actual, f'of {who} are not what "{each.name}" says')
        self._refuse(where & (expected == actual), call, expected, actual, f'are equal, against "{each.name}"')
        each.seen += int(where.sum())

    def _refuse(self, wrong, call, expected, actual, why):
        if wrong.any():
            i = numpy.unravel_index(numpy.argmax(wrong), wrong.shape)
            scale = numpy.broadcast_to(call.scale, wrong.shape)[i]
            zero_point = numpy.broadcast_to(call.offset, wrong.shape)[i]
            self.fail(
                f"{call.route}, {call.x.dtype} to {call.y_type}: {wrong.sum()} of {wrong.size} results {why}; "
                f"at {i} x is {call.x[i]!r} (bits {bits(call.x)[i]:#x}), scale {scale!r}, zero point {zero_point}: "
                f"the peer gives bits {expected[i]:#x}, qdq {actual[i]:#x}"
            )


def main(peer, tests):
    """Runs the tests, prints what was compared and each deviation, and fails when one of them concerned nothing."""
    result = unittest.main(argv=sys.argv, exit=False).result
    print(f"{tests.compared} results compared with {peer}; where they differ:")
    for each in tests.deviations:
        print(f"  {each.seen:9d}  {each.name}")
    ran_all = len(sys.argv) == 1
    stale = [each.name for each in tests.deviations if ran_all and not each.seen]
    if stale:
        print(f"FAILED: these deviations concerned nothing: {stale}")
    sys.exit(bool(stale) or not result.wasSuccessful())

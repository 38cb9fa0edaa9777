"""Compares scales that qdq computes, and the codes by them, with those of a peer, bit by bit: rows of x with a scale each.

Where the two are known to differ a Deviation says so by name. It says for which rows, and what scales the peer and qdq
give there. All of that is checked: a peer that has changed is noticed, as is a deviation that concerned nothing.
"""

import dataclasses
import functools
import sys
import unittest
from typing import Any, Callable

import comparison  # noqa: F401  numpy is there, or the test is skipped
import inputs
import numpy
from comparison import QDQ, bits, one_nan

RULES = ("absmax", "minmax", "power_floor", "power_ceil", "power_even", "power_round_up")


@dataclasses.dataclass
class Rows:
    """One comparison: rows of x, in f32 too, and what they are quantized to."""

    route: str
    x: numpy.ndarray
    y_type: numpy.dtype
    scale: numpy.ndarray  # qdq's, in f32

    @functools.cached_property
    def wide(self):
        return self.x.astype(numpy.float32)

    @functools.cached_property
    def amax(self):
        return numpy.abs(self.wide).max(1)  # NaN where there is one

    @functools.cached_property
    def lowest(self):
        return numpy.minimum(self.wide.min(1), 0)

    @functools.cached_property
    def highest(self):
        return numpy.maximum(self.wide.max(1), 0)

    @property
    def has_nan(self):
        return numpy.isnan(self.amax)


Mask = Callable[[Rows], Any]


@dataclasses.dataclass
class Deviation:
    name: str
    route: str  # what a comparison's begins with
    where: Mask
    peer: Mask | None = None  # scales, in f32; None: as they are
    qdq: Mask | None = None
    always: bool = True  # none of these rows is the same
    seen: int = 0


def rows_of(source, columns, seed=1):
    """Rows of numbers of every magnitude, of zeros and odd values, and with every f16 or bf16, or any f32, as largest."""
    random = numpy.random.default_rng(seed)
    normal = random.normal(size=(4096, columns)) * 2.0 ** random.integers(-148, 126, (4096, 1))
    largest = inputs.any_floats(source)[: 1 << 16].astype(numpy.float32)
    below = largest[:, None] * random.uniform(-1, 1, (largest.size, columns)).astype(numpy.float32)
    below[:, 0] = largest
    ties = random.integers(-254, 255, (1024, columns)) / 2 * 2.0 ** random.integers(-20, 20, (1024, 1))
    odd = numpy.zeros((5 * len(inputs.SPECIALS), columns))
    odd[: len(inputs.SPECIALS), 3] = inputs.SPECIALS
    odd[len(inputs.SPECIALS) :, :] = random.choice(inputs.SPECIALS, (4 * len(inputs.SPECIALS), columns))
    one_sided = numpy.abs(normal[:512]) * random.choice([-1, 1], (512, 1))
    parts = (normal, below, ties, odd, one_sided)
    return numpy.concatenate([part.astype(numpy.float32).astype(source) for part in parts])


class DynamicComparison(unittest.TestCase):
    deviations: list[Deviation] = []
    compared = 0

    def check(self, route, x, codes, scale, zero_point=None, *, profile, rule=None, has_codes=True):
        """`codes`, `scale` and `zero_point` are the peer's, of the rows of x; `profile` is qdq's for it. Without `has_codes`
        the peer's codes are of another arithmetic, as static calls show, and scales alone are compared."""
        shape = (x.shape[0], 1)
        y, s = numpy.empty(x.shape, codes.dtype), numpy.empty(shape, scale.dtype)
        z = None if zero_point is None else numpy.empty(shape, zero_point.dtype)
        QDQ.quantize_dynamic(x, s, z, y, profile, None if rule is None else RULES.index(rule))
        rows = Rows(route, x, codes.dtype, s[:, 0].astype(numpy.float32))
        type(self).compared += codes.size if has_codes else len(x)
        differ = bits(one_nan(s[:, 0])) != bits(one_nan(scale))
        if zero_point is not None:
            differ |= z[:, 0] != zero_point
        if has_codes:
            differ |= (bits(y) != bits(codes)).any(1)
        known = numpy.zeros(len(x), bool)
        for each in self.deviations:
            if route.startswith(each.route):
                where = numpy.broadcast_to(each.where(rows), differ.shape) & ~known
                self.refuse(where & ~differ & each.always, rows, (scale, codes), (s, y), f'are the same, against "{each.name}"')
                for who, scales, of_rule in (("peer", scale, each.peer), ("qdq", s[:, 0], each.qdq)):
                    if of_rule is not None:
                        expected = numpy.broadcast_to(of_rule(rows), scales.shape).astype(scales.dtype)
                        wrong = where & (bits(one_nan(scales)) != bits(one_nan(expected)))
                        self.refuse(wrong, rows, (scale, codes), (s, y), f'have scales of {who} that "{each.name}" has not')
                each.seen += int((where & differ).sum())
                known |= where
        self.refuse(differ & ~known, rows, (scale, codes), (s, y), "differ, and no deviation says so")

    def refuse(self, wrong, rows, theirs, ours, why):
        if not wrong.any():
            return
        i = int(numpy.argmax(wrong))
        (scale, codes), (s, y) = theirs, ours
        at = numpy.flatnonzero(bits(y[i]) != bits(codes[i]))
        code = "" if at.size == 0 else f"; element {at[0]}, {rows.x[i, at[0]]!r}: {codes[i, at[0]]!r}, qdq {y[i, at[0]]!r}"
        self.fail(
            f"{rows.route}, {rows.x.dtype} to {rows.y_type}: {wrong.sum()} of {wrong.size} rows {why}; the first is {i}, "
            f"amax {rows.amax[i]!r}, lowest {rows.lowest[i]!r}, highest {rows.highest[i]!r}: the peer's scale is "
            f"{scale[i]!r}, qdq's {s[i, 0]!r}{code}"
        )


def main(peer, tests):
    result = unittest.main(argv=sys.argv, exit=False).result
    print(f"{tests.compared} results compared with {peer}; where they differ:")
    for each in tests.deviations:
        print(f"  {each.seen:9d}  {each.name}")
    stale = [each.name for each in tests.deviations if len(sys.argv) == 1 and not each.seen]
    if stale:
        print(f"FAILED: these deviations concerned nothing: {stale}")
    sys.exit(bool(stale) or not result.wasSuccessful())

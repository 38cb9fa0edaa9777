"""Rows in groups: what Python's side of them adds."""

import numpy
import pytest

import qdq

X = numpy.random.default_rng(3).standard_normal((9, 32)).astype("float32") * 50
OFFSETS = [0, 2, 2, 9]


def parts(x):
    return [x[a:b] for a, b in zip(OFFSETS, OFFSETS[1:], strict=False)]


@pytest.mark.parametrize("offsets", [OFFSETS, numpy.array(OFFSETS, "int32"), tuple(OFFSETS)])
def test_a_scale_for_each_group(offsets):
    scale, zero_point = numpy.float32([0.5, 3, 0.25]), numpy.int8([1, 2, 3])
    codes = qdq.quantize_grouped(X, offsets, scale, zero_point, dtype="int8")
    expected = [qdq.quantize(x, s, z, dtype="int8") for x, s, z in zip(parts(X), scale, zero_point, strict=True)]
    assert numpy.array_equal(codes, numpy.concatenate(expected))
    values = qdq.dequantize_grouped(codes, offsets, scale, zero_point)
    expected = [qdq.dequantize(q, s, z) for q, s, z in zip(parts(codes), scale, zero_point, strict=True)]
    assert numpy.array_equal(values, numpy.concatenate(expected))


def test_a_scale_for_each_channel_of_a_group():
    scale = numpy.random.default_rng(4).random((3, 32), "float32") + 0.1
    codes = qdq.quantize_grouped(X, OFFSETS, scale, dtype="int4", axis=1, packed=True)
    expected = [qdq.quantize(x, s, dtype="int4", axis=1, packed=True) for x, s in zip(parts(X), scale, strict=True)]
    assert numpy.array_equal(codes, numpy.concatenate(expected))
    out = numpy.empty(X.shape, "int8")
    assert qdq.quantize_grouped(X, OFFSETS, scale, dtype="int8", axis=1, out=out) is out


@pytest.mark.parametrize("axis", [None, 1])
def test_scales_are_computed_for_each_group(axis):
    codes, scale, zero_point = qdq.quantize_dynamic_grouped(X, OFFSETS, dtype="uint8", rule="minmax", axis=axis)
    assert scale.shape == ((3,) if axis is None else (3, 32)) and zero_point.shape == scale.shape
    assert numpy.all(scale[1] == 1)
    assert numpy.array_equal(codes, qdq.quantize_grouped(X, OFFSETS, scale, zero_point, dtype="uint8", axis=axis))
    for x, own in zip(parts(X), scale, strict=True):
        assert numpy.array_equal(qdq.compute_scales(x, dtype="uint8", rule="minmax", axis=axis)[0], own)


def test_what_is_wrong_is_refused():
    with pytest.raises(ValueError, match=r"offsets\[2\] is 1, below the one before it, 5"):
        qdq.quantize_grouped(X, [0, 5, 1], [1.0, 2.0], dtype="int8")
    with pytest.raises(ValueError, match=r"offsets\[1\] is 8, and x has 9 rows"):
        qdq.quantize_dynamic_grouped(X, [0, 8], dtype="int8")
    with pytest.raises(ValueError, match="qdq.quantize_dynamic_grouped: offsets: it is empty"):
        qdq.quantize_dynamic_grouped(X, [], dtype="int8")
    with pytest.raises(TypeError, match="qdq.quantize_grouped: offsets: it is no sequence of integers"):
        qdq.quantize_grouped(X, 3, [1.0], dtype="int8")
    with pytest.raises(ValueError, match=r"scale: shape\[0\] is 2, and there are 1 groups"):
        qdq.quantize_grouped(X, [0, 9], [1.0, 2.0], dtype="int8")

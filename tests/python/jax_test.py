"""Arrays of JAX. Skipped where JAX is not installed."""

import ml_dtypes
import numpy
import oracle
import pytest

import qdq

jax = pytest.importorskip("jax")

X = numpy.linspace(-4, 4, 24, dtype=numpy.float32).reshape(4, 6)


@pytest.mark.parametrize("name", ["int8", "uint8", "float8_e4m3fn", "float8_e5m2", "int4", "float4_e2m1fn"])
def test_results_are_arrays_of_jax_with_the_oracles_bits(name):
    y = qdq.quantize(jax.numpy.asarray(X), 0.5, dtype=name)
    assert isinstance(y, jax.Array) and y.dtype.name == name
    expected = oracle.quantize(X, 0.5, None, name)
    assert oracle.same_bits(numpy.asarray(y), expected)
    z = qdq.dequantize(y, jax.numpy.float32(0.5), dtype=jax.numpy.bfloat16)
    assert isinstance(z, jax.Array)
    assert oracle.same_bits(numpy.asarray(z), oracle.dequantize(expected, 0.5, None, "bfloat16"))


def test_takes_bfloat16_and_refuses_to_write_to_an_array():
    x = jax.numpy.asarray(X, "bfloat16")
    expected = oracle.quantize(X.astype(ml_dtypes.bfloat16), 0.5, None, "int8")
    assert oracle.same_bits(numpy.asarray(qdq.quantize(x, 0.5, dtype="int8")), expected)
    with pytest.raises(TypeError, match="out: an array of JAX cannot be written to"):
        qdq.quantize(x, 0.5, dtype="int8", out=jax.numpy.zeros((4, 6), "int8"))

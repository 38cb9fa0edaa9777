"""ggml's blocks from Python, beside the package gguf, and what is refused."""

import gguf
import ml_dtypes
import numpy
import pytest
import qdq

FORMATS = ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4", "iq4_nl"]
X = numpy.random.default_rng(1).standard_normal((5, 3, 96), numpy.float32)


def kind(name):
    return gguf.GGMLQuantizationType[name.upper()]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float16, ml_dtypes.bfloat16])
def test_blocks_are_ggufs(name, dtype):
    x = X.astype(dtype)
    blocks = qdq.quantize_blocks(x, name)
    assert blocks.dtype == numpy.uint8
    if name != "iq4_nl":  # which gguf dequantizes alone
        assert numpy.array_equal(blocks, gguf.quants.quantize(x.astype(numpy.float32), kind(name)))
    values = qdq.dequantize_blocks(blocks, name, dtype=dtype)
    assert values.dtype == dtype
    assert numpy.array_equal(values, gguf.quants.dequantize(blocks, kind(name)).astype(dtype))


def test_strides_are_taken():
    turned = numpy.asfortranarray(X)
    assert numpy.array_equal(qdq.quantize_blocks(turned, "q4_0"), qdq.quantize_blocks(X, "q4_0"))
    every_second = X[::-1, ::2]
    assert numpy.array_equal(qdq.quantize_blocks(every_second, "q8_0"), qdq.quantize_blocks(every_second.copy(), "q8_0"))


def test_an_array_is_of_the_library_of_x():
    torch = pytest.importorskip("torch")
    blocks = qdq.quantize_blocks(torch.from_numpy(X), "q8_0")
    assert isinstance(blocks, torch.Tensor) and blocks.shape == (5, 3, 102)
    assert qdq.dequantize_blocks(blocks, "q8_0", dtype=torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: qdq.quantize_blocks(X, "q9_0"), ValueError, "^qdq.quantize_blocks: format: \"q9_0\" is none of q8_0"),
        (lambda: qdq.quantize_blocks(X, 8), TypeError, "^qdq.quantize_blocks: format: "),
        (lambda: qdq.quantize_blocks(X[..., :33], "q8_0"), ValueError, "x: its last dimension is no multiple of 32"),
        (lambda: qdq.quantize_blocks(numpy.float32(1), "q8_0"), ValueError, "x: its last dimension is no multiple of 32"),
        (lambda: qdq.quantize_blocks(X.astype("i4"), "q8_0"), ValueError, "^qdq_quantize_blocks: x: its type is none of"),
        (lambda: qdq.dequantize_blocks(X, "q8_0"), ValueError, "x: its last dimension is no multiple of 34"),
        (lambda: qdq.dequantize_blocks(numpy.zeros(34, "i1"), "q8_0"), ValueError, "^qdq_dequantize_blocks: x: its type is not u8"),
        (lambda: qdq.dequantize_blocks(numpy.zeros(34, "u1"), "q8_0", dtype="int8"), ValueError, "y: its type is none of"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""What each type makes of the demo's model: bits for each weight and the signal to quantization noise ratio, in dB.

usage: accuracy.py MODEL [PLOT.png]     MODEL: a folder with model.safetensors

Every matrix of the model is quantized with scales that follow the largest magnitude of a row, or of a block of 32
weights, and restored. The noise is the sum of the squared errors of all.
"""

import math
import sys

import ml_dtypes
import numpy
import safetensors.numpy

import qdq

LARGEST = {
    "int16": 32767, "int8": 127, "uint8": 127, "int4": 7, "uint4": 7, "int2": 1, "uint2": 1,
    **{name: float(ml_dtypes.finfo(name).max) for name in (
        "float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")},
}  # fmt: skip
ZERO_POINTS = {"uint8": 128, "uint4": 8, "uint2": 2}
BITS = {
    "int16": 16,
    "int4": 4,
    "uint4": 4,
    "int2": 2,
    "uint2": 2,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
    "float4_e2m1fn": 4,
}


def restored(weights, dtype, block_size):
    """The weights, quantized and dequantized. block_size: of a row; 0: the whole row."""
    size = block_size or weights.shape[1]
    blocks = weights.reshape(weights.shape[0], -1, size)
    scales = numpy.maximum(numpy.abs(blocks).max(axis=2), 1e-30) / numpy.float32(LARGEST[dtype])
    where = {"axis": 1, "block_size": size}
    codes = qdq.quantize(weights, scales, ZERO_POINTS.get(dtype), dtype=dtype, **where)
    return qdq.dequantize(codes, scales, ZERO_POINTS.get(dtype), **where)


def accuracy(matrices, dtype, block_size):
    """Bits for each weight, its share of a float32 scale among them, and the ratio in dB."""
    signal = noise = bits = count = 0.0
    for weights in matrices:
        errors = restored(weights, dtype, block_size).astype("f8") - weights
        signal += float(numpy.square(weights, dtype="f8").sum())
        noise += float(numpy.square(errors).sum())
        bits += weights.size * BITS.get(dtype, 8) + 32 * weights.size / (block_size or weights.shape[1])
        count += weights.size
    return bits / count, 10 * math.log10(signal / noise)


def plot(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # An unsigned type lies where its signed one does, and int16 far above.
    names = [name for name in LARGEST if not name.startswith("uint") and name != "int16"]
    found = {(name, kind): (bits, ratio) for name, kind, bits, ratio in rows}
    names.sort(key=lambda name: found[name, "block of 32"][1])
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for kind, marker in (("row", "o"), ("block of 32", "s")):
        points = [found[name, kind] for name in names]
        axes.scatter([ratio for _, ratio in points], names, marker=marker, s=60, label=f"a scale for each {kind}")
    for name in names:
        bits, ratio = found[name, "block of 32"]
        text = f"{ratio:.1f} dB, {bits:.2f} bits"
        axes.annotate(text, (ratio, name), xytext=(9, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set(xlim=(-2, 58))
    axes.set_title("Signal to quantization noise of all-MiniLM-L6-v2, dB: more is better", loc="left", fontsize=12)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)


def main(model, picture=None):
    tensors = safetensors.numpy.load_file(f"{model}/model.safetensors").values()
    matrices = [tensor for tensor in tensors if tensor.ndim == 2 and tensor.dtype == "f4" and tensor.shape[1] % 32 == 0]
    rows = []
    for block_size, kind in ((0, "row"), (32, "block of 32")):
        rows += [(dtype, kind, *accuracy(matrices, dtype, block_size)) for dtype in LARGEST]
    print("| dtype | a scale for each | bits for each weight | SQNR, dB |\n|---|---|---|---|")
    for dtype, kind, bits, ratio in rows:
        print(f"| {dtype} | {kind} | {bits:.2f} | {ratio:.1f} |")
    if picture is not None:
        plot(rows, picture)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What a search of clip ratios gains in 4 bits: the signal to quantization noise ratio of a model's weights, in dB.

usage: clip_search.py MODEL     a folder with model.safetensors

Every matrix of the model is quantized twice: with scales of the largest magnitude, and with those of the least squared
error of several. The noise is the sum of the squared errors of all.
"""

import math
import sys

import numpy
import safetensors.numpy

import qdq

# What shares a scale, how it is computed, and the first ratio, the last one, and how many.
WEIGHTS = (1, 0.5, 51)
SIX_OR_FOUR = (1, 1.5, 2)
WAYS = {
    "int4, a row": ({"dtype": "int4", "axis": 0}, WEIGHTS),
    "int4, 128 of a row": ({"dtype": "int4", "axis": 1, "block_size": 128}, WEIGHTS),
    "int4, 32 of a row": ({"dtype": "int4", "axis": 1, "block_size": 32}, WEIGHTS),
    "uint4 with zero points, 32 of a row": ({"dtype": "uint4", "axis": 1, "block_size": 32, "rule": "minmax"}, WEIGHTS),
    "e2m1, a row": ({"dtype": "float4_e2m1fn", "axis": 0}, WEIGHTS),
    "e2m1, 32 of a row": ({"dtype": "float4_e2m1fn", "axis": 1, "block_size": 32}, WEIGHTS),
    "MXFP4": ({"dtype": "float4_e2m1fn", "profile": "mx", "axis": 1, "block_size": 32}, (1, 2, 2)),
    "NVFP4, four over six": (
        {"dtype": "float4_e2m1fn", "axis": 1, "block_size": 16, "global_sense": "scale", "global_largest": 256},
        SIX_OR_FOUR,
    ),
}


def noise(weights, how, ratios):
    found = qdq.quantize_dynamic(weights, diagnostics=True, clip_ratio=ratios, **how)
    return next(one["squared_error"] for one in found if isinstance(one, dict))


def main(model):
    tensors = safetensors.numpy.load_file(f"{model}/model.safetensors").values()
    matrices = [tensor for tensor in tensors if tensor.ndim == 2 and tensor.dtype == "f4" and tensor.shape[1] % 128 == 0]
    signal = sum(float(numpy.square(weights, dtype="f8").sum()) for weights in matrices)
    print("| codes and scales | ratios | SQNR of the first, dB | of the best, dB | gained |\n|---|---|---|---|---|")
    for name, (how, ratios) in WAYS.items():
        one, best = (
            10 * math.log10(signal / sum(noise(weights, how, given) for weights in matrices))
            for given in (float(ratios[0]), ratios)
        )
        first, last, count = ratios
        print(f"| {name} | {first}, {last}, {count} | {one:.1f} | {best:.1f} | {best - one:.1f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])

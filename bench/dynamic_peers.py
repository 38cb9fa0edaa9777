"""Dynamic calls beside torch.compile and torchao: one thread, the least of interleaved runs.

    QDQ_SHARED_LIBRARY=build/release/runtime/libqdq.so .venv/bin/python bench/dynamic_peers.py

requirements/peers.txt has the peers. The compiled functions are what a user of PyTorch writes, or torchao's own.
"""

import logging
import math
import pathlib
import sys
import time
import warnings

import ml_dtypes
import numpy
import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests/peers"))
import qdq_ctypes  # noqa: E402
from torch_arrays import to_torch  # noqa: E402

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

from torchao.prototype.mx_formats import mx_tensor  # noqa: E402
from torchao.prototype.mx_formats.config import ScaleCalculationMode  # noqa: E402

torch.set_num_threads(1)
ROUNDS, SHAPE, GROUP = 15, (4096, 4096), 128
ABSMAX, POWER_FLOOR = 0, 2
library = qdq_ctypes.Library()
library.set_num_threads(1)


def aligned_zeros(shape, dtype):
    """Those of PyTorch and of qdq's Python package begin at cache lines, too; NumPy's begin 16 bytes later."""
    line = 64
    memory = numpy.zeros(math.prod(shape) * numpy.dtype(dtype).itemsize + line, numpy.uint8)
    first = -memory.ctypes.data % line
    return memory[first : first + memory.size - line].view(dtype).reshape(shape)


def ours(x, codes, scale, scale_shape, rule=ABSMAX, **options):
    packed = codes in qdq_ctypes.PACKED
    y = aligned_zeros((*x.shape[:-1], x.shape[-1] // 2) if packed else x.shape, numpy.uint8 if packed else codes)
    s = numpy.zeros(scale_shape, scale)
    of_y = qdq_ctypes.tensor_of(y)
    of_y.dtype, of_y.shape = qdq_ctypes.DTYPES[codes], (qdq_ctypes.ctypes.c_int64 * 2)(*x.shape)
    of_y.strides = None
    reference = qdq_ctypes.ctypes.byref
    rules = qdq_ctypes.ScaleOptions(rule=rule)
    how = library.options(None, numpy.dtype(codes), options)
    arguments = [reference(qdq_ctypes.tensor_of(x)), reference(qdq_ctypes.tensor_of(s)), None, reference(of_y),
                 reference(rules), reference(how)]  # fmt: skip
    held = x, y, s
    return lambda: library.call("quantize_dynamic", *arguments) or held


@torch.compile
def int8_by_row(x):
    scale = x.abs().amax(1, keepdim=True) / 127
    return torch.round(x / scale).clamp(-128, 127).to(torch.int8), scale


@torch.compile
def float8_by_row(x):
    scale = x.abs().amax(1, keepdim=True).float() / 448
    return (x.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn), scale


@torch.compile
def float8_in_groups(x):
    codes, scale = float8_by_row(x.reshape(-1, GROUP))
    return codes.reshape(x.shape), scale.reshape(x.shape[0], -1)


def mxfp4(x):
    return mx_tensor.to_mx(x, torch.float4_e2m1fn_x2, 32, ScaleCalculationMode.FLOOR)


def least_times(functions):
    """In seconds, of each: they take turns."""
    least = [float("inf")] * len(functions)
    for number in range(ROUNDS + 1):  # the first compiles
        for i, run in enumerate(functions):
            begin = time.perf_counter()
            run()
            if number > 0:
                least[i] = min(least[i], time.perf_counter() - begin)
    return least


def main():
    f32 = numpy.random.default_rng(1).normal(size=SHAPE).astype(numpy.float32)
    bf16 = f32.astype(ml_dtypes.bfloat16)
    rows, groups, blocks = ((SHAPE[0], n) for n in (1, SHAPE[1] // GROUP, SHAPE[1] // 32))
    compiled_mx = torch.compile(mxfp4)
    cases = (
        ("int8 by row, of f32", f32, ours(f32, "int8", "float32", rows),
         (("torch.compile", int8_by_row),)),
        ("e4m3 by row, of bf16", bf16, ours(bf16, "float8_e4m3fn", "float32", rows),
         (("torch.compile", float8_by_row),)),
        ("e4m3 in groups of 128, of bf16", bf16, ours(bf16, "float8_e4m3fn", "float32", groups),
         (("torch.compile", float8_in_groups),)),
        ("MXFP4, of f32", f32, ours(f32, "float4_e2m1fn", "float8_e8m0fnu", blocks, POWER_FLOOR),
         (("torchao", mxfp4), ("torchao, compiled", compiled_mx))),
        ("MXFP4, of bf16", bf16, ours(bf16, "float4_e2m1fn", "float8_e8m0fnu", blocks, POWER_FLOOR),
         (("torchao", mxfp4), ("torchao, compiled", compiled_mx))),
    )  # fmt: skip
    print("| [4096, 4096] to | qdq, ms | peer | ms | times qdq's |\n|---|---|---|---|---|")
    for name, x, run, peers in cases:
        tensor = to_torch(x)
        own, *theirs = least_times([run, *(lambda peer=peer: peer(tensor) for _, peer in peers)])
        for (peer, _), taken in zip(peers, theirs):
            print(f"| {name} | {own * 1e3:.1f} | {peer} | {taken * 1e3:.1f} | {taken / own:.1f} |", flush=True)


if __name__ == "__main__":
    main()

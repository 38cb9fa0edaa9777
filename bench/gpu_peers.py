"""qdq beside PyTorch on a GPU: what a user of PyTorch writes, compiled by torch.compile, and its own functions.

    python3 bench/gpu_peers.py [ELEMENTS...]     needs PyTorch with CUDA, and a qdq with kernels for it

Rows of 4096. Each row has a buffer of its own for x and y in turn, so that no call finds its x in the cache. Times are
the GPU's, by its events, and the least of interleaved runs. Prints JSON, at its end what a call of 64 elements costs the
caller.
"""

import itertools
import json
import sys
import time

import torch

import qdq

COLUMNS, ROUNDS, BYTES = 4096, 12, 1 << 29
LIMITS = {torch.int8: (-128, 127), torch.float8_e4m3fn: (-448.0, 448.0)}


def encoded(x, scale, dtype):
    """Codes of x / scale: rounded and bounded as qdq does."""
    quotient = x.float() / scale
    if dtype == torch.int8:
        quotient = quotient.round()
    return quotient.clamp(*LIMITS[dtype]).to(dtype)


def packed_int4(x, scale):
    codes = (x.float() / scale).round().clamp(-8, 7).to(torch.int8).view(torch.uint8)
    pairs = codes.reshape(*codes.shape[:-1], -1, 2)
    return (pairs[..., 0] & 15) | (pairs[..., 1] << 4)


def decoded(q, scale, dtype):
    return (q.float() * scale).to(dtype)


def unpacked_int4(q, scale, dtype):
    low, high = (q << 4).view(torch.int8) >> 4, q.view(torch.int8) >> 4
    codes = torch.stack([low, high], -1).reshape(*q.shape[:-1], -1)
    return (codes.float() * scale).to(dtype)


def in_blocks(function):
    """For a scale each 32 elements of a row."""

    def blocks(x, scale, *rest):
        size = x.numel() // scale.numel()
        return function(x.reshape(-1, size), scale.reshape(-1, 1), *rest).reshape(x.shape[0], -1)

    return blocks


def scale_of(granularity, rows):
    shape = {"tensor": (), "row": (rows, 1), "column": (1, COLUMNS), "blocks of 32": (rows, COLUMNS // 32)}[granularity]
    return torch.rand(shape, device="cuda") * 0.1 + 0.05


def quantizing(x, scale, dtype, granularity):
    """The calls of one row, by who makes them."""
    packed = dtype == "int4"
    blocks = {"axis": 1, "block_size": 32} if granularity == "blocks of 32" else {}
    call = {"dtype": dtype if packed else str(dtype).removeprefix("torch."), "packed": packed, **blocks}
    written = (lambda x, s: packed_int4(x, s)) if packed else (lambda x, s: encoded(x, s, dtype))
    return peers(qdq.quantize, x, scale, call, in_blocks(written) if blocks else written)


def dequantizing(q, scale, stored, dtype, granularity):
    blocks = {"axis": 1, "block_size": 32} if granularity == "blocks of 32" else {}
    call = {"dtype": str(dtype).removeprefix("torch."), **blocks, **({"stored": "int4"} if stored == "int4" else {})}
    decode = unpacked_int4 if stored == "int4" else decoded
    written = lambda q, s: decode(q, s, dtype)  # noqa: E731
    return peers(qdq.dequantize, q, scale, call, in_blocks(written) if blocks else written)


def dynamic_codes(x, dtype, block):
    """Codes, and the scale of each row or block: amax over the largest code, 1 where that is 0."""
    groups = x.float().reshape(-1, block)
    scale = groups.abs().amax(-1, keepdim=True) / LIMITS[dtype][1]
    scale = torch.where(scale == 0, 1.0, scale)
    return encoded(groups, scale, dtype).reshape(x.shape), scale.reshape(x.shape[0], -1)


def quantizing_dynamically(x, dtype, block):
    """The calls of one row whose scales are computed, by who makes them."""
    where = {"axis": 0} if block == COLUMNS else {"axis": 1, "block_size": block}
    call = {"dtype": str(dtype).removeprefix("torch."), **where}
    y, scale = qdq.quantize_dynamic(x, **call)
    return calls_of(x, y, scale, lambda x, y: qdq.quantize_dynamic(x, **call, out=y), lambda x: dynamic_codes(x, dtype, block))


def peers(function, x, scale, call, written):
    y = function(x, scale, **call)
    return calls_of(x, y, scale, qdq.plan(function, x, scale, **call, out=y), written, scale)


def calls_of(x, y, scale, run, written, *operands):
    """Whether `written`, compiled, gives y, alone or before its scales; the bytes that a call moves; and the calls, each on
    buffers in turn."""
    torch._dynamo.reset()  # it compiles few versions of one function, and then none
    compiled = torch.compile(written, dynamic=False)
    given = compiled(x, *operands)
    theirs = given[0] if isinstance(given, tuple) else given
    same = torch.equal(theirs.view(torch.uint8), y.view(torch.uint8))
    copies = max(1, BYTES // (x.nbytes + y.nbytes))
    inputs = itertools.cycle([x.clone() for _ in range(copies)])
    outputs = itertools.cycle([torch.empty_like(y) for _ in range(copies)])
    half = (x.nbytes + y.nbytes) // 2
    buffers = itertools.cycle([torch.empty(half, dtype=torch.uint8, device="cuda") for _ in range(2 * copies)])
    return same, x.nbytes + y.nbytes + scale.nbytes, {
        "qdq": lambda: run(next(inputs), next(outputs)),
        "compiled": lambda: compiled(next(inputs), *operands),
        "copy": lambda: next(buffers).copy_(next(buffers)),
    }  # fmt: skip


def least_milliseconds(calls, repeats):
    least = dict.fromkeys(calls, float("inf"))
    for round_number in range(ROUNDS):
        for name, call in calls.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda.synchronize()
            begin.record()
            for _ in range(repeats):
                call()
            end.record()
            torch.cuda.synchronize()
            if round_number > 1:
                least[name] = min(least[name], begin.elapsed_time(end) / repeats)
    return least


def rows_of(elements):
    rows = elements // COLUMNS
    for dtype in (torch.bfloat16, torch.float32):
        x = torch.randn(rows, COLUMNS, device="cuda").to(dtype)
        for stored in (torch.int8, torch.float8_e4m3fn, "int4"):
            for granularity in ("blocks of 32",) if stored == "int4" else ("tensor", "row", "column"):
                scale = scale_of(granularity, rows)
                name = str(stored).removeprefix("torch.")
                floats = str(dtype).removeprefix("torch.")
                yield f"{floats} to {name}, {granularity}", quantizing(x, scale, stored, granularity)
                blocks = {"axis": 1, "block_size": 32} if stored == "int4" else {}
                q = qdq.quantize(x, scale, dtype=name, packed=stored == "int4", **blocks)
                yield f"{name} to {floats}, {granularity}", dequantizing(q, scale, stored, dtype, granularity)


def dynamic_rows_of(elements):
    x = torch.randn(elements // COLUMNS, COLUMNS, device="cuda").to(torch.bfloat16)
    yield "dynamic int8 by row", quantizing_dynamically(x, torch.int8, COLUMNS)
    yield "dynamic e4m3 by row", quantizing_dynamically(x, torch.float8_e4m3fn, COLUMNS)
    yield "e4m3 in groups of 128", quantizing_dynamically(x, torch.float8_e4m3fn, 128)


def caller_microseconds():
    """What few elements cost the caller, without waiting for the GPU."""
    x, scale = torch.randn(64, device="cuda"), torch.tensor(0.05, device="cuda")
    y = torch.empty(64, dtype=torch.int8, device="cuda")
    plan = qdq.plan(qdq.quantize, x, scale, dtype="int8", out=y)
    compiled = torch.compile(lambda x, s: encoded(x, s, torch.int8), dynamic=False)
    calls = {
        "a plan": lambda: plan(x, y),
        "qdq.quantize, out=": lambda: qdq.quantize(x, scale, dtype="int8", out=y),
        "torch.compile": lambda: compiled(x, scale),
        "torch.add, out=": lambda: torch.add(x, 1, out=x),
    }
    for name, call in calls.items():
        least = float("inf")
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(100):
                call()
            least = min(least, (time.perf_counter() - begin) / 100)
        torch.cuda.synchronize()
        yield name, least * 1e6


def main():
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__})[:-1] + ', "rows": [')
    separator = ""
    for elements in [int(argument) for argument in sys.argv[1:]] or [1 << 24, 1 << 28]:
        for name, (same, moved, calls) in itertools.chain(rows_of(elements), dynamic_rows_of(elements)):
            taken = least_milliseconds(calls, repeats=max(1, (1 << 27) // elements))
            row = {"row": name, "elements": elements, "GB/s": round(moved / taken["qdq"] / 1e6),
                   "of a copy": round(taken["copy"] / taken["qdq"], 2),
                   "compiled": round(taken["compiled"] / taken["qdq"], 2), "same results": same}  # fmt: skip
            print(separator + json.dumps(row), end="", flush=True)
            separator = ",\n"
    print('],\n"microseconds of a call": ' + json.dumps({name: round(taken, 1) for name, taken in caller_microseconds()}) + "}")


if __name__ == "__main__":
    main()

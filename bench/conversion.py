"""What peers.py has qdq and other libraries compute: a conversion of a tensor, with its operands in memory, and how a
contender's call is timed."""

import ctypes
import functools
import mmap
import os
import pathlib
import sys
import time

import ml_dtypes
import numpy

from model_rows import modes_of, row_name

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("QDQ_BUILD", HERE.parent / "build/release"))
sys.path.insert(0, str(HERE.parent / "tests/peers"))
os.environ.setdefault("QDQ_SHARED_LIBRARY", str(BUILD / "runtime/libqdq.so"))

import qdq_ctypes  # noqa: E402

TYPES = {name: numpy.dtype(dtype) for name, dtype in {
    "f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16, "i8": numpy.int8, "u8": numpy.uint8,
    "f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2, "i4": ml_dtypes.int4,
    "f4e2m1": ml_dtypes.float4_e2m1fn}.items()}
INTEGER_RANGE = {"i8": (-128, 127), "u8": (0, 255), "i4": (-8, 7)}
PACKED = {"i4", "f4e2m1"}  # two codes in a byte, the first in its low half
BLOCK = 32
MOST_ELEMENTS = 64 << 20
CACHE_LINE = 64


def memory(shape, dtype):
    """An array that begins at a page, on huge pages where the system gives them, with a line behind it that may be read."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape))
    pages = mmap.mmap(-1, count * dtype.itemsize + CACHE_LINE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    return numpy.frombuffer(pages, dtype, count).reshape(shape)


@functools.cache
def stored(name):
    """Values of a type as they lie in memory, as many as any conversion takes: floats in (-4, 4), random codes."""
    draw = numpy.random.default_rng(1)
    if name in PACKED or name in INTEGER_RANGE:
        codes = memory(MOST_ELEMENTS // 2 if name in PACKED else MOST_ELEMENTS, numpy.uint8)
        codes[:] = draw.integers(0, 256, codes.size, numpy.uint8)
        return codes.view(memory_type(name))
    values = memory(MOST_ELEMENTS, numpy.float32)
    draw.random(out=values, dtype=numpy.float32)
    values -= numpy.float32(0.5)
    values *= numpy.float32(8)
    if name == "f32":
        return values
    narrow = memory(MOST_ELEMENTS, TYPES[name])
    narrow[:] = values.astype(TYPES[name])
    return narrow


@functools.cache
def results():
    """Room for any result. All contenders write there, so that no one's pages are better."""
    room = memory(MOST_ELEMENTS * 4, numpy.uint8)
    room[:] = 0
    return room


def memory_type(name):
    return numpy.dtype(numpy.uint8) if name in PACKED else TYPES[name]


class Conversion:
    """Quantization or dequantization of `rows` x `columns` elements: what kernels_bench.cpp names rows of."""

    def __init__(self, name, zero_point, rows, columns):
        self.name, self.rows, self.columns = name, rows, columns
        kernel, self.granularity = name.split("/")
        self.function, self.x_type, self.y_type = kernel.split("_")
        self.modes = modes_of(name)
        self.code_type = self.y_type if self.function == "quantize" else self.x_type
        self.elements = rows * columns
        self.x = self._laid_out(stored(self.x_type), self.x_type)
        self.y = self._laid_out(results(), self.y_type)
        self.scale_shape = {"tensor": (1, 1), "channel_axis0": (rows, 1), "block32": (rows, columns // BLOCK)}[self.granularity]
        # Exact in f16, which some peers keep scales in.
        steps = numpy.random.default_rng(2).integers(0, 8, self.scale_shape)
        self.scale = ((123 + 4 * steps) / 4096).astype(numpy.float32)
        self.zero_point = numpy.full((1, 1), 128, numpy.uint8) if zero_point else None

    def _laid_out(self, room, name):
        shape = (self.rows, self.columns // 2 if name in PACKED else self.columns)
        dtype = memory_type(name)
        return room.view(numpy.uint8)[:shape[0] * shape[1] * dtype.itemsize].view(dtype).reshape(shape)

    def row(self, mode):
        return row_name(self.name, self.zero_point is not None, mode)

    def scale_of(self, mode):
        """What x is divided by, or what x or the codes are multiplied by."""
        return 1 / self.scale if self.function == "quantize" and mode == "multiply" else self.scale


class NativeCall:
    """A C function on its arguments, which are integers, addresses or what has them. `result` gives the array of what it
    writes, None if that is not laid out as qdq's."""

    repeat = None

    def __init__(self, function, arguments, result=None, keep=()):
        values = [a.ctypes.data if isinstance(a, numpy.ndarray) else getattr(a, "value", a) or 0 for a in arguments]
        self.function, self.result, self.keep = function, result, (arguments, keep)
        self.arguments = (ctypes.c_uint64 * 8)(*(value & 0xffffffffffffffff for value in values))

    def run(self, times=1):
        if NativeCall.repeat is None:
            NativeCall.repeat = ctypes.CDLL(str(BUILD / "bench/libqdq_repeat.so")).qdq_bench_repeat
        NativeCall.repeat(self.function, self.arguments, ctypes.c_int64(times))


class PythonCall:
    """A call that only Python can make. `result` gives the array of what it writes or returns."""

    def __init__(self, call, result=None):
        self.call, self.result = call, result

    def run(self, times=1):
        call = self.call
        for _ in range(times):
            call()


def nanoseconds(call, times):
    """CPU time, since another process's turn is not a call's cost; peers.py leaves its process one processor."""
    begin = time.process_time_ns()
    call.run(times)
    return (time.process_time_ns() - begin) / times


def smallest_times(calls, batch_ns=2e5, budget_ns=2e8, most_rounds=15):
    """The smallest time in ns of each call, all of which have run once. They alternate, so that they share what the machine
    does to them; short calls are timed in batches, long ones in fewer rounds. One call goes before each batch, untimed: the
    caches hold what it leaves there, not what another peer does (i8 to f32, 1 Mi: 49 us, and 70 after torchao)."""
    times, batch, rounds = {}, {}, {}
    for name, call in calls.items():
        batch[name], times[name] = 1, nanoseconds(call, 1)
        while times[name] * batch[name] < batch_ns / 2:
            batch[name] *= 4
            times[name] = nanoseconds(call, batch[name])
        rounds[name] = min(most_rounds, max(2, int(budget_ns / (times[name] * batch[name]))))
    for turn in range(max(rounds.values())):
        for name, call in calls.items():
            if turn < rounds[name]:
                call.run()
                times[name] = min(times[name], nanoseconds(call, batch[name]))
    return times


class Qdq:
    """qdq itself, by a plan from C and by a call through ctypes."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ["QDQ_SHARED_LIBRARY"])
        self.library.qdq_last_error.restype = ctypes.c_char_p
        self.library.qdq_set_num_threads(1)

    def _operands(self, conversion, mode):
        def tensor(array, name, shape):
            dimensions = (ctypes.c_int64 * 2)(*shape)
            return qdq_ctypes.Tensor(array.ctypes.data, qdq_ctypes.DTYPES[TYPES[name].name], 2, dimensions, None)

        shape = (conversion.rows, conversion.columns)
        scale = conversion.scale_of(mode)
        zero_point = conversion.zero_point
        tensors = [tensor(conversion.x, conversion.x_type, shape), tensor(scale, "f32", scale.shape),
                   None if zero_point is None else tensor(zero_point, "u8", zero_point.shape),
                   tensor(conversion.y, conversion.y_type, shape)]
        options = qdq_ctypes.Options()
        options.scale_mode = qdq_ctypes.DIVIDE if mode == "divide" else qdq_ctypes.MULTIPLY
        return [None if t is None else ctypes.byref(t) for t in tensors] + [ctypes.byref(options)], (scale, tensors, options)

    def calls(self, conversion, mode):
        """The same conversion by both roads."""
        operands, keep = self._operands(conversion, mode)
        plan = (ctypes.c_uint64 * 192)()
        planner = getattr(self.library, "qdq_plan_" + conversion.function)
        function = getattr(self.library, "qdq_" + conversion.function)
        for status in (planner(plan, *operands), function(*operands)):
            if status != 0:
                raise qdq_ctypes.Error(self.library.qdq_last_error().decode())
        by_plan = NativeCall(self.library.qdq_run, [ctypes.addressof(plan), conversion.x, conversion.y],
                             lambda: conversion.y, (plan, keep))
        return by_plan, PythonCall(lambda kept=keep: function(*operands), lambda: conversion.y)

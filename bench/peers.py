#!/usr/bin/env python3
"""qdq beside other libraries' kernels for the same conversion, one thread each, in one run.

    make peers && bench/peers.py [--elements 1048576]

The calls alternate; of each the smallest time counts. A peer that is not installed is left out. QDQ_SHARED_LIBRARY names
another library than the release build's.
"""

import argparse
import ctypes
import importlib.util
import os
import pathlib
import sys
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/peers"))
os.environ.setdefault("QDQ_SHARED_LIBRARY", str(HERE.parent / "build/release/runtime/libqdq.so"))

import ml_dtypes
import numpy

import qdq_ctypes


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--rounds", type=int, default=400)
    return parser.parse_args()


def qdq_call(library, function, x, scale, y):
    """A call whose arguments are made once: ctypes would take longer than a small kernel."""
    tensors = [qdq_ctypes.tensor_of(array) for array in (x, scale, y)]
    x_tensor, scale_tensor, y_tensor = (ctypes.byref(tensor) for tensor in tensors)
    return lambda kept=tensors: library.call(function, x_tensor, scale_tensor, None, y_tensor, None)


def torch_calls(x, codes, scale):
    """By row: PyTorch's cast, and its per tensor quantization to int8 and back."""
    import torch

    warnings.filterwarnings("ignore", message="torch.quantize_per_tensor")  # it is deprecated, and what users have
    torch.set_num_threads(1)
    source = torch.from_numpy(x)
    result = torch.from_numpy(numpy.empty_like(x))
    calls = {}
    for row, dtype in (("f32 to f8e4m3", torch.float8_e4m3fn), ("f32 to f8e5m2", torch.float8_e5m2)):
        stored = torch.empty(x.shape, dtype=dtype)
        calls[row] = lambda stored=stored: stored.copy_(source)
        calls[row.split()[2] + " to f32"] = lambda stored=stored: result.copy_(stored)
    quantized = torch.quantize_per_tensor(source, float(scale), 0, torch.qint8)
    calls["f32 to i8"] = lambda: torch.quantize_per_tensor(source, float(scale), 0, torch.qint8)
    calls["i8 to f32"] = quantized.dequantize
    return calls


def onnxruntime_calls(x, codes, scale):
    """By row: one node of QuantizeLinear or DequantizeLinear."""
    import onnx
    import onnxruntime

    def session(operator, input_type, output_type, zero_point):
        constants = [onnx.numpy_helper.from_array(numpy.float32(scale), "s"), onnx.numpy_helper.from_array(zero_point, "z")]
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([onnx.helper.make_node(operator, ["x", "s", "z"], ["y"])], operator,
                                       [info("x", input_type, x.shape)], [info("y", output_type, x.shape)], constants)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def call(session, source, output_type):
        # Both ends are bound: nothing is allocated or copied by a run.
        binding = session.io_binding()
        output = onnxruntime.OrtValue.ortvalue_from_shape_and_type(x.shape, output_type)
        binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(source))
        binding.bind_ortvalue_output("y", output)
        return lambda: session.run_with_iobinding(binding)

    types = onnx.TensorProto
    zero = numpy.zeros((), numpy.int8)
    return {
        "f32 to i8": call(session("QuantizeLinear", types.FLOAT, types.INT8, zero), x, numpy.int8),
        "i8 to f32": call(session("DequantizeLinear", types.INT8, types.FLOAT, zero), codes, numpy.float32),
    }


def ml_dtypes_calls(x, codes, scale):
    """By row: NumPy's assignment, which casts."""
    calls = {}
    result = numpy.empty_like(x)
    for row, dtype in (("f32 to f8e4m3", ml_dtypes.float8_e4m3fn), ("f32 to f8e5m2", ml_dtypes.float8_e5m2)):
        stored = numpy.zeros(x.shape, dtype)
        calls[row] = lambda stored=stored: numpy.copyto(stored, x, casting="unsafe")
        calls[row.split()[2] + " to f32"] = lambda stored=stored: numpy.copyto(result, stored)
    return calls


PEERS = {"torch": torch_calls, "onnxruntime": onnxruntime_calls, "ml_dtypes": ml_dtypes_calls}
STORED = {"i8": numpy.dtype(numpy.int8), "f8e4m3": numpy.dtype(ml_dtypes.float8_e4m3fn),
          "f8e5m2": numpy.dtype(ml_dtypes.float8_e5m2)}


def smallest_times(calls, rounds):
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.perf_counter_ns()
            call()
            times[name].append(time.perf_counter_ns() - begin)
    return {name: min(taken) for name, taken in times.items()}


def main():
    options = arguments()
    library = qdq_ctypes.Library()
    library.set_num_threads(1)
    x = numpy.random.default_rng(1).uniform(-4, 4, options.elements).astype(numpy.float32)
    codes = numpy.random.default_rng(2).integers(-128, 128, options.elements, dtype=numpy.int8)
    peers = {name: make(x, codes, 1 / 32) for name, make in PEERS.items() if importlib.util.find_spec(name)}
    print(f"{options.elements} elements, target {library.usable_targets()[0]}, GB/s (times as fast as it is)")
    for stored, dtype in STORED.items():
        one = numpy.full((), 1 / 32 if stored == "i8" else 1, numpy.float32)
        stored_array = codes if stored == "i8" else x.astype(dtype)
        for row, function, source, target in ((f"f32 to {stored}", "quantize", x, numpy.empty(x.shape, dtype)),
                                              (f"{stored} to f32", "dequantize", stored_array, numpy.empty_like(x))):
            moved = source.nbytes + target.nbytes
            half, other_half = numpy.ones(moved // 2, numpy.uint8), numpy.zeros(moved // 2, numpy.uint8)
            calls = {"qdq": qdq_call(library, function, source, one, target),
                     "memcpy": lambda: ctypes.memmove(other_half.ctypes.data, half.ctypes.data, half.nbytes)}
            calls |= {name: made[row] for name, made in peers.items() if row in made}
            times = smallest_times(calls, options.rounds)
            shown = [f"{name} {moved / ns:.2f} ({ns / times['qdq']:.2f})" for name, ns in times.items()]
            print(f"{row:14} {'  '.join(shown)}")


if __name__ == "__main__":
    main()

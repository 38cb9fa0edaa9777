"""What a call from Python takes, in microseconds: the least of interleaved runs, one thread.

usage: python_calls.py [LIBQDQ_SHARED_LIBRARY]     in an environment with the wheel, NumPy, PyTorch and ONNX Runtime

4096 float32 to int8 by qdq, PyTorch eager and ONNX Runtime, what importing takes, and with the shared library 2^26
elements beside the same call in C.
"""

import ctypes
import subprocess
import sys
import timeit
import warnings

import numpy
import onnx
import onnxruntime
import torch

import qdq
import qdq.torch

warnings.filterwarnings("ignore", message=".*will be removed.*")


def least_times(calls, runs, repetitions):
    """Of interleaved runs, in microseconds a call."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(repetitions):
        for name, call in calls.items():
            least[name] = min(least[name], timeit.timeit(call, number=runs) / runs * 1e6)
    return least


def onnxruntime_session(scale, count):
    helper, types = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])],
        "quantize",
        [helper.make_tensor_value_info("x", types.FLOAT, [count])],
        [helper.make_tensor_value_info("y", types.INT8, [count])],
        [helper.make_tensor("s", types.FLOAT, [], [scale]), helper.make_tensor("z", types.INT8, [], [0])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def small_calls():
    x, out = numpy.random.default_rng(0).random(4096, "f4"), numpy.empty(4096, "i1")
    scale, tensor, tensor_out = numpy.float32([0.01]), torch.from_numpy(x), torch.empty(4096, dtype=torch.int8)
    tensor_scale = torch.from_numpy(scale)
    plan = qdq.plan(qdq.quantize, x, scale, dtype="int8", out=out)
    tensor_plan = qdq.plan(qdq.quantize, tensor, tensor_scale, dtype="int8", out=tensor_out)
    session = onnxruntime_session(0.01, 4096)
    return {
        "quantize, NumPy, out=": lambda: qdq.quantize(x, scale, dtype="int8", out=out),
        "quantize, NumPy, a new array": lambda: qdq.quantize(x, scale, dtype="int8"),
        "a plan, NumPy, out=": lambda: plan(x, out),
        "a plan, torch, out=": lambda: tensor_plan(tensor, tensor_out),
        "quantize, torch, out=": lambda: qdq.quantize(tensor, tensor_scale, dtype="int8", out=tensor_out),
        "quantize, torch, a new tensor": lambda: qdq.quantize(tensor, tensor_scale, dtype="int8"),
        "quantize, torch, a new tensor, scale a number": lambda: qdq.quantize(tensor, 0.01, dtype="int8"),
        "torch.ops.qdq.quantize": lambda: torch.ops.qdq.quantize(tensor, tensor_scale, dtype=torch.int8),
        "torch.quantize_per_tensor": lambda: torch.quantize_per_tensor(tensor, 0.01, 0, torch.qint8),
        "torch.empty": lambda: torch.empty(4096, dtype=torch.int8),
        "ONNX Runtime, QuantizeLinear": lambda: session.run(None, {"x": x}),
    }


class Tensor(ctypes.Structure):
    """qdq_tensor."""

    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("shape", ctypes.c_void_p),                ("strides", ctypes.c_void_p), ("device", ctypes.c_int64 * 2)]  # fmt: skip


def large_calls(library):
    count = 2**26
    x, out, scale = numpy.random.default_rng(0).random(count, "f4"), numpy.zeros(count, "i1"), numpy.float32([0.01])
    shape = (ctypes.c_int64 * 1)(count)
    one = (ctypes.c_int64 * 1)(1)
    views = [Tensor(array.ctypes.data, dtype, 1, ctypes.addressof(sizes), None)
             for array, dtype, sizes in ((x, 0, shape), (scale, 0, one), (out, 3, shape))]  # fmt: skip
    in_c = ctypes.CDLL(library)
    in_c.qdq_set_num_threads(1)

    def call():
        assert (
            in_c.qdq_quantize(ctypes.byref(views[0]), ctypes.byref(views[1]), None, ctypes.byref(views[2]), None) == 0
        )

    call()
    expected = out.copy()
    assert (qdq.quantize(x, scale, dtype="int8") == expected).all()
    return {"qdq.quantize, 2^26": lambda: qdq.quantize(x, scale, dtype="int8", out=out), "qdq_quantize, 2^26": call}


def import_milliseconds(module):
    program = f"import time; begin = time.perf_counter(); import {module}; print((time.perf_counter() - begin) * 1e3)"
    return min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(20))


def main():
    torch.set_num_threads(1)
    qdq.set_num_threads(1)
    for name, time in least_times(small_calls(), 2000, 50).items():
        print(f"{name:46} {time:12.3f} us")
    if sys.argv[1:]:
        for name, time in least_times(large_calls(sys.argv[1]), 1, 15).items():
            print(f"{name:46} {time:12.0f} us")
    print(f"{'import qdq':46} {import_milliseconds('qdq'):12.3f} ms")


main()

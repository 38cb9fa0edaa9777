"""What qdq and its peers answer to the same calls, as they run here: docs/answers.json, of which tools/figures.py makes tables.

usage: tools/answers.py [--check] [--output docs/answers.json]

It needs the Python package and requirements/peers.txt. With --check it fails where an answer is another than the file's.
"""

import argparse
import datetime
import importlib.metadata
import json
import math
import pathlib
import re
import subprocess
import sys
import warnings

try:
    import ml_dtypes
    import numpy
    import onnx
    import onnx.reference
    import onnxruntime
    import torch
except ImportError as missing:
    print(f"not run: {missing.name} is not installed")
    sys.exit(77)

import qdq

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ["onnxruntime", "onnx", "torch", "ml_dtypes"]
INT8 = onnx.TensorProto.INT8
NAN, INF = math.nan, math.inf
warnings.filterwarnings("ignore")


def text(values):
    """As a table shows it."""
    return ", ".join("NaN" if v != v else f"{v:.10g}" for v in numpy.asarray(values, "float64").ravel())


def node(operator, *arrays):
    """A model of one node."""
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays]
    names = ["x", "scale", "zero_point"][: len(arrays)]
    out = onnx.helper.make_tensor_value_info("y", kinds[2] if operator == "QuantizeLinear" else kinds[1], None)
    inputs = [onnx.helper.make_tensor_value_info(name, kind, array.shape)
              for name, kind, array in zip(names, kinds, arrays)]  # fmt: skip
    graph = onnx.helper.make_graph([onnx.helper.make_node(operator, names, ["y"])], "call", inputs, [out])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), names


def by_onnxruntime(operator, *arrays):
    model, names = node(operator, *arrays)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, arrays)))[0]


def by_onnx_reference(operator, *arrays):
    model, names = node(operator, *arrays)
    return onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, arrays)))[0]


def integers(x, scale, zero_point, dtype, torch_dtype, profile=None):
    """One quantize to an integer type, by all who have it."""
    arrays = numpy.array(x, "float32"), numpy.array(scale, "float32"), numpy.array(zero_point, dtype)
    tensor = torch.from_numpy(arrays[0])
    scales, zero_points = torch.tensor([scale], dtype=torch.float64), torch.tensor([zero_point])
    answers = {
        "qdq": qdq.quantize(arrays[0], arrays[1], arrays[2], dtype=dtype),
        "ONNX Runtime": by_onnxruntime("QuantizeLinear", *arrays),
        "ONNX's reference": by_onnx_reference("QuantizeLinear", *arrays),
        "PyTorch, per tensor": torch.quantize_per_tensor(tensor, scale, zero_point, torch_dtype).int_repr().numpy(),
        "PyTorch, per channel":
            torch.quantize_per_channel(tensor[None], scales, zero_points, 0, torch_dtype).int_repr().numpy(),
    }
    return {name: text(values) for name, values in answers.items()}


def half(x):
    arrays = numpy.array(x, "float16"), numpy.array(1, "float16"), numpy.array(0, "int8")
    return {"qdq": text(qdq.quantize(*arrays, dtype="int8")), "ONNX Runtime": text(by_onnxruntime("QuantizeLinear", *arrays)),
            "ONNX's reference": text(by_onnx_reference("QuantizeLinear", *arrays))}


def small_float(x, dtype, torch_dtype=None):
    x = numpy.array(x, "float32")
    answers = {"qdq": qdq.quantize(x, 1.0, dtype=dtype).astype("float32"), "ml_dtypes": x.astype(dtype).astype("float32")}
    if torch_dtype is not None:
        answers["PyTorch, cast"] = torch.from_numpy(x).to(torch_dtype).float().numpy()
    return {name: text(values) for name, values in answers.items()}


def restored(q, zero_point):
    arrays = numpy.array(q, "int32"), numpy.array(1, "float32"), numpy.array(zero_point, "int32")
    return {"qdq": text(qdq.dequantize(*arrays)), "ONNX Runtime": text(by_onnxruntime("DequantizeLinear", *arrays))}


def answers():
    qint8, quint8, qint32 = torch.qint8, torch.quint8, torch.qint32
    return [
        ("f32 to int8, scale 1: NaN", integers([NAN], 1.0, 0, "int8", qint8)),
        ("f32 to int8, scale 1: 3e9, infinity", integers([3e9, INF], 1.0, 0, "int8", qint8)),
        ("f32 to uint8, scale 1, zero point 200: 1e30", integers([1e30], 1.0, 200, "uint8", quint8)),
        ("f32 to uint8, scale 0.00214854861: 0.273939937", integers([0.273939937], 0.00214854861, 0, "uint8", quint8)),
        ("f32 to int8, scale 0: 0, 1, -1", integers([0.0, 1.0, -1.0], 0.0, 0, "int8", qint8)),
        ("f32 to int8, scale 1e-39: 0, 1e-39", integers([0.0, 1e-39], 1e-39, 0, "int8", qint8)),
        ("f16 to int8, scale 1: infinity, NaN", half([INF, NAN])),
        ("to e4m3fn: 448, 480, 500", small_float([448, 480, 500], ml_dtypes.float8_e4m3fn, torch.float8_e4m3fn)),
        ("to e5m2: 57344, 61440, 1e6", small_float([57344, 61440, 1e6], ml_dtypes.float8_e5m2, torch.float8_e5m2)),
        ("to e2m1: NaN, 100", small_float([NAN, 100], ml_dtypes.float4_e2m1fn)),
        ("to int4: 8, 200", small_float([8, 200], ml_dtypes.int4)),
        ("int32 to f32, zero point -1: 2147483647", restored([2147483647], -1)),
    ]


def refused():
    """Calls that say less, or other, than is meant, and what qdq says."""
    x = numpy.ones((4, 4), "float32")
    calls = {
        "a scale for each of 4, of a square x, without `axis`": lambda: qdq.quantize(x, [1.0] * 4, dtype="int8"),
        "3 scales for 4 rows": lambda: qdq.quantize(x, [1.0, 2.0, 3.0], dtype="int8", axis=0),
        "3 blocks in 4 columns, without `block_size`": lambda: qdq.quantize(x, numpy.ones((4, 3), "float32"), dtype="int8"),
        "a zero point that is not 0, of e4m3fn": lambda: qdq.quantize(x, 1.0, numpy.array(1, "int8"), dtype="float8_e4m3fn"),
        "float64": lambda: qdq.quantize(x.astype("float64"), 1.0, dtype="int8"),
        "a result that overlaps x": lambda: qdq.quantize(x, 1.0, dtype="int8", out=x.view("int8")[:, :4]),
    }
    for what, call in calls.items():
        try:
            call()
            yield what, "nothing"
        except (TypeError, ValueError) as error:
            yield what, str(error)


def measured():
    versions = {name: importlib.metadata.version(name).partition("+")[0] for name in PEERS}
    return {"versions": versions, "answers": answers(), "refused": list(refused())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/answers.json")
    options = parser.parse_args()
    found = json.loads(json.dumps(measured()))
    if options.check:
        recorded = json.loads(options.output.read_text())
        wrong = [f"{name}: {found[name]} is not {recorded[name]}" for name in found if found[name] != recorded[name]]
        sys.exit("\n".join(wrong) or 0)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    recorded = {"date": str(datetime.date.today()), "commit": commit.stdout.strip(), "command": "tools/answers.py", **found}
    written = json.dumps(recorded, indent=1)
    options.output.write_text(re.sub(r"\[\n\s+(\"[^\n]*\"),\n\s+(\"[^\n]*\")\n\s+\]", r"[\1, \2]", written) + "\n")


if __name__ == "__main__":
    main()

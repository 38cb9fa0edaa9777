"""qdq's dynamic profile "onnx" against ONNX Runtime's DynamicQuantizeLinear: every bit."""

import dynamic
from comparison import skip
from dynamic import Deviation, DynamicComparison

try:
    import numpy
    import onnx
    import onnx.reference
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as missing:
    skip(missing)

ROUTE = "DynamicQuantizeLinear"



def rounds_to_0(rows):
    width = rows.highest - rows.lowest
    return (width > 0) & (width / numpy.float32(255) == 0)


DEVIATIONS = [
    Deviation(
        "NaN: left out by its place in the vectors, or the scale is NaN and the zero point 255; qdq's scale is NaN",
        ROUTE, where=lambda rows: rows.has_nan, qdq=lambda rows: numpy.nan, always=False,
    ),
    Deviation(
        "-infinity: the zero point is 255, qdq's 0",
        ROUTE, where=lambda rows: numpy.isneginf(rows.lowest), peer=lambda rows: numpy.inf, qdq=lambda rows: numpy.inf,
    ),
    Deviation(
        "a range of which 1 / 255 rounds to 0: the scale is 0, qdq's 1",
        ROUTE, where=rounds_to_0, peer=lambda rows: 0, qdq=lambda rows: 1,
    ),
]  # fmt: skip


def model(columns):
    node = helper.make_node(ROUTE, ["x"], ["y", "scale", "zero_point"])
    of_x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [columns])
    results = [helper.make_tensor_value_info("y", TensorProto.UINT8, [columns]),
               helper.make_tensor_value_info("scale", TensorProto.FLOAT, []),
               helper.make_tensor_value_info("zero_point", TensorProto.UINT8, [])]  # fmt: skip
    graph = helper.make_graph([node], ROUTE, [of_x], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


class AgainstOnnxRuntime(DynamicComparison):
    deviations = DEVIATIONS

    def test_of_a_tensor(self):
        for columns in (64, 37):
            session = onnxruntime.InferenceSession(model(columns).SerializeToString(), providers=["CPUExecutionProvider"])
            x = dynamic.rows_of("float32", columns)[:: 1 if columns == 64 else 7]
            results = [session.run(None, {"x": row}) for row in x]
            codes, scale, zero_point = (numpy.stack([each[i] for each in results]) for i in range(3))
            self.check(ROUTE, x, codes, scale, zero_point, profile="onnx")


if __name__ == "__main__":
    dynamic.main(f"ONNX Runtime {onnxruntime.__version__}", AgainstOnnxRuntime)

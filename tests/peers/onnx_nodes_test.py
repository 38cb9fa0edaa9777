"""ONNX's own node tests for QuantizeLinear and DequantizeLinear, value by value.

ONNX compares values within a tolerance; here they are equal, but that -0 and +0 are the same value.
"""

import sys

import comparison

try:
    import numpy
    import onnx
    from onnx.backend.test.case import node as node_tests
    from onnx.backend.test.case.node import dequantizelinear, quantizelinear  # registers their tests
except ImportError as missing:
    comparison.skip(missing)

import onnx_operators

OPERATORS = ("QuantizeLinear", "DequantizeLinear")


def cases():
    """Each test's name and node, and its inputs and its output as arrays."""
    for case in node_tests._NodeTestCases:
        (node,), ((inputs, outputs),) = case.model.graph.node, case.data_sets
        yield case.name, node, *[[to_array(each) for each in tensors] for tensors in (inputs, outputs)]


def to_array(tensor):
    return onnx.numpy_helper.to_array(tensor) if isinstance(tensor, onnx.TensorProto) else numpy.asarray(tensor)


def main():
    passed, failed, left_out = [], [], []
    for name, node, inputs, (expected,) in cases():
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        try:
            actual = onnx_operators.call_qdq(node.op_type, attributes, *inputs)
        except onnx_operators.Unsupported as reason:
            left_out.append(f"{name}: {reason}")
            continue
        wide = numpy.float64
        same = actual.dtype == expected.dtype and numpy.array_equal(actual.astype(wide), expected.astype(wide))
        (passed if same else failed).append(f"{name}: ONNX gives {expected.tolist()}, qdq {actual.tolist()}")
    print(f"ONNX {onnx.__version__}: {len(passed) + len(failed)} node tests ran, {len(passed)} passed")
    for title, names in (("left out", left_out), ("FAILED", failed)):
        for name in names:
            print(f"{title}: {name}")
    return bool(failed) or not passed


if __name__ == "__main__":
    sys.exit(main())

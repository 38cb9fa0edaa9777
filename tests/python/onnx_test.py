"""qdq.onnx through ONNX's own node tests, which its backend-test runner runs."""

import re

import numpy
import onnx
import onnx.backend.test
import oracle
import pytest

import qdq.onnx

suite = onnx.backend.test.BackendTest(qdq.onnx.QdqBackend, __name__)
OnnxNodes = suite.test_cases["OnnxBackendNodeModelTest"]
NODE_TESTS = re.compile("test_(de)?quantizelinear.*_cpu")
for _name in [name for name in dir(OnnxNodes) if name.startswith("test_") and not NODE_TESTS.match(name)]:
    delattr(OnnxNodes, _name)  # thousands of other operators


def test_the_runner_has_its_tests_of_both_operators():
    assert len([name for name in dir(OnnxNodes) if NODE_TESTS.match(name)]) >= 27


def test_per_axis_and_blocks():
    x = numpy.linspace(-9, 9, 24, dtype="f4").reshape(2, 3, 4)
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])  # axis is 1
    scale, zero_point = numpy.float32([0.5, 0.1, 2.0]), numpy.uint8([1, 128, 200])
    (y,) = qdq.onnx.run_node(node, [x, scale, zero_point])
    assert oracle.same_bits(y, oracle.quantize(x, scale, zero_point, "uint8", axis=1))

    node = onnx.helper.make_node("DequantizeLinear", ["y", "s"], ["x"], axis=2, block_size=3)
    blocks = numpy.linspace(0.5, 2, 12, dtype="f4").reshape(2, 3, 2)
    (z,) = qdq.onnx.run_node(node, [y, blocks])
    assert oracle.same_bits(z, oracle.dequantize(y, blocks, None, "float32", axis=2, block_size=3))


def test_the_output_type_is_the_attributes_the_zero_points_or_uint8():
    x, scale = numpy.float32([1.5]), numpy.float32(1)
    for attributes, inputs, name in (
        ({}, [], "uint8"),
        ({}, [numpy.int16(0)], "int16"),
        ({"output_dtype": onnx.TensorProto.INT4}, [], "int4"),
        ({"output_dtype": onnx.TensorProto.FLOAT8E5M2}, [], "float8_e5m2"),
    ):
        node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"][: 2 + len(inputs)], ["y"], **attributes)
        (y,) = qdq.onnx.run_node(node, [x, scale, *inputs])
        assert y.dtype.name == name


@pytest.mark.parametrize("are_inputs", [False, True])  # as in models of old IR versions
def test_a_prepared_node_has_the_models_initializers(are_inputs):
    x, scale, zero_point = numpy.float32([-1, 0, 9]), numpy.array(0.5, "f4"), numpy.array(-3, "i1")
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    initializers = [onnx.numpy_helper.from_array(each, name) for each, name in ((scale, "s"), (zero_point, "z"))]
    inputs = [
        onnx.helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (
            ("s", onnx.TensorProto.FLOAT, []),
            ("x", onnx.TensorProto.FLOAT, [3]),
            ("z", onnx.TensorProto.INT8, []),
        )
        if are_inputs or name == "x"
    ]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT8, [3])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", inputs, [output], initializers))
    (y,) = qdq.onnx.QdqBackend.prepare(model).run([x])
    assert (y.dtype, y.tolist()) == (numpy.int8, [-5, -3, 15])


@pytest.mark.parametrize("attribute", ["output_dtype", "precision"])
@pytest.mark.parametrize("number", [99, -1, 2**40])
def test_refuses_numbers_of_no_type(attribute, number):
    for operator in ("QuantizeLinear", "DequantizeLinear"):
        node = onnx.helper.make_node(operator, ["x", "s"], ["y"], **{attribute: number})
        x = numpy.ones(1, "f4" if operator == "QuantizeLinear" else "i1")
        if (operator, attribute) != ("DequantizeLinear", "precision"):  # which has none
            with pytest.raises(ValueError, match=f"{attribute}: {number} is no type of ONNX's"):
                qdq.onnx.run_node(node, [x, numpy.float32(1)])


def test_refuses_other_operators_and_precisions():
    with pytest.raises(NotImplementedError, match="Relu is neither"):
        qdq.onnx.run_node(onnx.helper.make_node("Relu", ["x"], ["y"]), [numpy.ones(1, "f4")])
    node = onnx.helper.make_node("QuantizeLinear", ["x", "s"], ["y"], precision=onnx.TensorProto.FLOAT16)
    with pytest.raises(NotImplementedError, match="precision: float16 is not float32"):
        qdq.onnx.run_node(node, [numpy.ones(1, "f4"), numpy.float32(1)])

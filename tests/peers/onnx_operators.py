"""ONNX's QuantizeLinear and DequantizeLinear: as models of one node, and as calls of qdq."""

import numpy
from onnx import TensorProto, helper

import comparison
import inputs
from comparison import QDQ, Call
from qdq_ctypes import DTYPES, PACKED

OPSET, IR_VERSION = 24, 12  # the newest that ONNX Runtime 1.31.1 has kernels for


class Unsupported(Exception):
    """What qdq has no type or option for."""


def model(operator, x, scale, zero_point, y_type, **attributes):
    """A model of the operator for operands of these types; an operand that is None is absent."""
    names = ["x", "scale"] + ([] if zero_point is None else ["zero_point"])
    operands = [each for each in (x, scale, zero_point) if each is not None]
    node = helper.make_node(operator, names, ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(operand.dtype), operand.shape)
        for name, operand in zip(names, operands)
    ]
    y = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(numpy.dtype(y_type)), x.shape)
    graph = helper.make_graph([node], operator, inputs, [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def call_qdq(operator, attributes, x, scale, zero_point=None):
    """What qdq computes for the operator with these attributes: the one place that maps ONNX to qdq."""
    quantizes = operator == "QuantizeLinear"
    if attributes.get("precision", TensorProto.FLOAT) not in (0, TensorProto.FLOAT):
        raise Unsupported("another precision than float")
    y_type = scale.dtype
    if quantizes:
        y_type = numpy.dtype(numpy.uint8) if zero_point is None else zero_point.dtype
    if attributes.get("output_dtype"):
        y_type = numpy.dtype(helper.tensor_dtype_to_np_dtype(attributes["output_dtype"]))
    for operand in (x.dtype, scale.dtype, y_type):
        if operand.name not in DTYPES:
            raise Unsupported(f"the type {operand.name}")
    if zero_point is not None and zero_point.dtype.name.startswith("float"):
        if zero_point.astype(numpy.float32).any():
            raise Unsupported("a zero point of a float type")
        zero_point = None
    elif zero_point is not None and zero_point.dtype.name in PACKED:  # no zero points of qdq's, but values of an i8 or u8
        zero_point = zero_point.astype("uint8" if zero_point.dtype.name.startswith("u") else "int8")
    options = {"axis": attributes.get("axis", 1), "block_size": attributes.get("block_size", 0)}
    y = numpy.empty(x.shape, y_type)
    if quantizes:
        QDQ.quantize(x, scale, zero_point, y, profile="onnx", no_saturate=not attributes.get("saturate", 1), **options)
    else:
        QDQ.dequantize(x, scale, zero_point, y, profile="onnx", **options)
    return y


class OnnxComparison(comparison.Comparison):
    """Compares an implementation of the operators, `peer(operator, attributes, x, scale, zero_point, y_type)`."""

    def setUp(self):
        self.random = numpy.random.default_rng(1)

    def route(self, operator, attributes, x):
        return operator

    def check(self, operator, x, scale, zero_point, y_type, **attributes):
        expected = self.peer(operator, attributes, x, scale, zero_point, y_type)
        if operator == "DequantizeLinear":
            expected = comparison.one_nan(expected)
        actual = call_qdq(operator, attributes, x, scale, zero_point)
        values = (scale.astype(numpy.float32), zero_point, numpy.arange(scale.size).reshape(scale.shape))
        wide, offset, group = (None if each is None else self.spread(each, x, attributes) for each in values)
        if offset is not None and offset.dtype.name.startswith("float"):
            offset = None
        self.compare(Call(self.route(operator, attributes, x), x, wide, offset, expected.dtype, group=group),
                     expected, actual)  # fmt: skip

    def spread(self, values, x, attributes):
        """One value for each element of x."""
        if values.ndim == 0:
            return numpy.broadcast_to(values, x.shape)
        axis, size = attributes.get("axis", 1), attributes.get("block_size", 0)
        if not size:
            return inputs.along(values, x, axis)
        return inputs.in_blocks(values, [size if d == axis else 1 for d in range(x.ndim)], x.shape)

    def check_blocks(self, operator, x, scales, y_type, axis, size, **attributes):
        """In blocks of `size` along `axis`; `scales` makes an array of a shape, as `self.zero_points` does."""
        shape = list(x.shape)
        shape[axis] = -(-shape[axis] // size)
        stored = y_type if operator == "QuantizeLinear" else x.dtype.name
        attributes |= {"axis": axis, "block_size": size}
        self.check(operator, x, scales(shape), self.zero_points(stored, shape), y_type, **attributes)

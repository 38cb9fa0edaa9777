"""ONNX's QuantizeLinear and DequantizeLinear, a node at a time, and a backend for ONNX's own test runner::

    y, = qdq.onnx.run_node(node, [x, y_scale, y_zero_point])

The node's attributes and its opset decide what is computed.
"""

from collections.abc import Sequence
from typing import Any

import numpy
import onnx
from onnx.backend.base import Backend

import qdq

__all__ = ["QdqBackend", "run_node"]


def _attributes(node):
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def _type_name(attribute, number):
    try:
        return onnx.helper.tensor_dtype_to_np_dtype(number).name
    except KeyError:
        raise ValueError(f"{attribute}: {number} is no type of ONNX's") from None


def _zero_point(array):
    """A zero point as qdq takes it: none of a floating type, which is 0 by ONNX's rules, and 4 and 2 bits as 8."""
    if array is None or array.dtype.name.startswith("float"):
        return None
    return array.astype(numpy.int32) if array.dtype.name.endswith(("int4", "int2")) else array


def _where(attributes, scale, default_axis=1):
    """axis and block_size as qdq has them: of scales of one dimension, and of blocks; ONNX's 0 is no block size."""
    if scale.size == 1 and not attributes.get("block_size"):
        return {}
    return {"axis": attributes.get("axis", default_axis), "block_size": attributes.get("block_size") or None}


def _quantize(attributes, x, y_scale, y_zero_point=None):
    number = attributes.get("output_dtype", 0)
    dtype = (
        _type_name("output_dtype", number) if number else "uint8" if y_zero_point is None else y_zero_point.dtype.name
    )
    precision = attributes.get("precision", 0)
    if precision not in (0, onnx.TensorProto.FLOAT):
        raise NotImplementedError(f"QuantizeLinear: precision: {_type_name('precision', precision)} is not float32")
    if x.dtype == numpy.int32:
        raise NotImplementedError("QuantizeLinear: x: int32 is not one of float32, float16, bfloat16")
    saturate = bool(attributes.get("saturate", 1))
    how = {"profile": "onnx", "saturate": saturate, **_where(attributes, y_scale)}
    return qdq.quantize(x, y_scale, _zero_point(y_zero_point), dtype=dtype, **how)


def _dequantize(attributes, x, x_scale, x_zero_point=None):
    number = attributes.get("output_dtype", 0)
    dtype = _type_name("output_dtype", number) if number else x_scale.dtype.name
    return qdq.dequantize(
        x, x_scale, _zero_point(x_zero_point), dtype=dtype, profile="onnx", **_where(attributes, x_scale)
    )


_OPERATORS = {"QuantizeLinear": _quantize, "DequantizeLinear": _dequantize}


def run_node(node: onnx.NodeProto, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a node, as a tuple of one.

    Args:
        node: an onnx.NodeProto, a QuantizeLinear or DequantizeLinear of any opset from 10 on.
        inputs: its inputs in their order, arrays that qdq.quantize takes; None, or none at the end, for no zero point.

    Arithmetic is float32's, rounded once, also where a scale is float16 or bfloat16.

    Raises:
        NotImplementedError: another operator; `precision` other than float32; an x of int32.
        ValueError, TypeError: as qdq.quantize.
    """
    if node.op_type not in _OPERATORS:
        raise NotImplementedError(f"{node.op_type} is neither QuantizeLinear nor DequantizeLinear")
    return (_OPERATORS[node.op_type](_attributes(node), *inputs),)


class QdqBackend(Backend):
    """For onnx.backend.test.BackendTest: models of one node that run_node takes."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **_):
        return len(model.graph.node) == 1 and model.graph.node[0].op_type in _OPERATORS and cls.supports_device(device)

    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        return _PreparedNode(model)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **_):
        return run_node(node, inputs)


class _PreparedNode:
    def __init__(self, model):
        (self._node,) = model.graph.node
        self._constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
        self._names = [value.name for value in model.graph.input if value.name not in self._constants]

    def run(self, inputs, **_):
        by_name = self._constants | dict(zip(self._names, inputs))
        return run_node(self._node, [by_name.get(name) for name in self._node.input])

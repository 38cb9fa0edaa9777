"""qdq's profile "onnx" against ONNX Runtime's QuantizeLinear and DequantizeLinear: every bit, on random and special
inputs and on multiples of scale / 2, for every type of which ONNX Runtime's CPU provider has kernels.

QDQ_PEER_INPUTS sets how many inputs the comparisons of f32 with int8 and uint8 take (default 10^7, in all).
"""

import ctypes
import functools
import itertools
import os

import comparison
from comparison import QDQ, Deviation

try:
    import ml_dtypes
    import numpy
    import onnxruntime
    from onnx import helper
except ImportError as missing:
    comparison.skip(missing)

import inputs
import onnx_operators
import qdq_ctypes
from inputs import F8, INTEGERS
from rules import (QDQ_NAN, both, converted_then_added, differs, exact_code, exact_product, f8_nan, is_nan, on,
                   qdq_nan, quotient_is_negative, wrapped_product)  # fmt: skip

INPUTS = int(float(os.environ.get("QDQ_PEER_INPUTS", "1e7")))
CHUNK = 1 << 20
CHANNELS = 64
FLOATS = ["float32", "float16"]
SCALES = inputs.SCALES + inputs.ODD_SCALES

SATURATED, UNSATURATED = "QuantizeLinear", "QuantizeLinear without saturation"
BLOCKED = "QuantizeLinear in blocks not along the last axis"


def is_alone_in_its_byte(call):
    """Packed elements whose neighbour in the byte has another scale, or is absent."""
    group = call.group.reshape(-1)
    neighbour = numpy.arange(group.size) ^ 1
    other = numpy.where(neighbour < group.size, group[numpy.minimum(neighbour, group.size - 1)], -1)
    return (group != other).reshape(call.x.shape)


def converts_first(call):
    everywhere = call.x.dtype == numpy.float16 or call.route == BLOCKED
    is_lone = call.y_type.name in qdq_ctypes.PACKED and is_alone_in_its_byte(call)
    return numpy.broadcast_to(everywhere | is_lone, call.x.shape)


def within(least, end):
    return lambda call: (numpy.abs(call.scaled) >= least) & (numpy.abs(call.scaled) < end)


def is_negative(call):
    return numpy.signbit(call.scaled)


def is_int32(call):
    return call.x.dtype == numpy.int32


ORT_NAN = QDQ_NAN | {"float8_e5m2": 0x7F}
nan_of_quotient = f8_nan(ORT_NAN, quotient_is_negative)

DEVIATIONS = [
    Deviation(
        "quantize f16, in blocks not along the last axis, or a 4-bit element alone in its byte: NaN, infinities and "
        "2^31 steps are the lowest int32, from which a negative zero point wraps around",
        where=on({SATURATED, BLOCKED}, both(converts_first, differs(converted_then_added, exact_code)), *INTEGERS),
        peer=converted_then_added,
        qdq=exact_code,
    ),
    Deviation(
        "quantize, f8: a NaN not of x has the sign that x86 gives it, and that of e5m2 is 0x7f or 0xff",
        where=on({SATURATED, BLOCKED, UNSATURATED}, both(is_nan, differs(nan_of_quotient, qdq_nan)), *F8),
        peer=nan_of_quotient,
        qdq=qdq_nan,
    ),
    Deviation(
        "quantize, e4m3fn, saturate=0: 480 to 496 steps give 448, though 479 give NaN",
        where=on({UNSATURATED}, within(480, 496), "float8_e4m3fn"),
        peer=lambda call: numpy.copysign(numpy.float32(448), call.scaled),
        qdq=f8_nan(QDQ_NAN, is_negative),
    ),
    Deviation(
        "quantize, e5m2, saturate=0: 61440 to 65536 steps give NaN, though 65536 give infinity",
        where=on({UNSATURATED}, within(61440, 65536), "float8_e5m2"),
        peer=f8_nan(ORT_NAN, is_negative),
        qdq=lambda call: numpy.copysign(numpy.float32(numpy.inf), call.scaled),
    ),
    Deviation(
        "dequantize int32: subtracting the zero point wraps around 2^31",
        where=on({"DequantizeLinear"}, both(is_int32, differs(wrapped_product, exact_product))),
        peer=wrapped_product,
        qdq=exact_product,
    ),
]


# Python's onnxruntime does not know the types of ml_dtypes, but it gives and takes the memory of its tensors.
def to_ort(array):
    if array.dtype.name in qdq_ctypes.PACKED:  # only the first half of the memory is read
        memory = numpy.zeros(array.shape, numpy.uint8)
        packed = qdq_ctypes.pack(array)
        memory.reshape(-1)[: packed.size] = packed
    elif hasattr(ml_dtypes, array.dtype.name):
        memory = comparison.bits(array)
    else:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    onnx_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(numpy.ascontiguousarray(memory), onnx_type)


def from_ort(value, dtype):
    shape, dtype = value.shape(), numpy.dtype(dtype)
    count = int(numpy.prod(shape))
    size = (count + 1) // 2 if dtype.name in qdq_ctypes.PACKED else count * dtype.itemsize
    memory = numpy.ctypeslib.as_array(ctypes.cast(value.data_ptr(), ctypes.POINTER(ctypes.c_uint8)), (size,))
    if dtype.name in qdq_ctypes.PACKED:
        memory[-1] &= 0xFF >> count % 2 * 4  # which is not always 0 there
        return qdq_ctypes.unpack(memory, dtype, shape)
    return memory.view(dtype).reshape(shape).copy()


@functools.cache
def session(operator, types, shapes, attributes):
    operands = [numpy.empty(shape, dtype) for dtype, shape in zip(types, shapes)]
    model = onnx_operators.model(operator, *operands, types[-1], **dict(attributes))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class AgainstOnnxRuntime(onnx_operators.OnnxComparison):
    deviations = DEVIATIONS

    def peer(self, operator, attributes, x, scale, zero_point, y_type):
        operands = {"x": x, "scale": scale, "zero_point": zero_point}
        types = (*(each.dtype.name for each in operands.values()), y_type)
        shapes = tuple(each.shape for each in operands.values())
        values = {name: to_ort(each) for name, each in operands.items()}
        outputs = session(operator, types, shapes, tuple(attributes.items())).run_with_ort_values(None, values)
        return from_ort(outputs[0], y_type)

    def route(self, operator, attributes, x):
        if operator == "DequantizeLinear":
            return operator
        if attributes.get("saturate") == 0:
            return UNSATURATED
        return BLOCKED if attributes.get("block_size") and attributes["axis"] != x.ndim - 1 else SATURATED

    def zero_points(self, stored, shape):
        if stored in F8:
            return numpy.zeros(shape, stored)
        limits = ml_dtypes.iinfo(stored)
        values = self.random.integers(int(limits.min), int(limits.max), shape, endpoint=True)
        return numpy.asarray(values).astype(stored)

    def test_quantize_per_tensor(self):
        for stored, source, value in itertools.product(INTEGERS + F8, FLOATS, SCALES):
            x = inputs.floats_for(source, value)
            scale = numpy.array(value).astype(source)
            for attributes in ({}, {"saturate": 0}) if stored in F8 else ({},):
                self.check("QuantizeLinear", x, scale, self.zero_points(stored, ()), stored, **attributes)

    def test_quantize_per_channel(self):
        for stored, source, axis in itertools.product(INTEGERS + F8, FLOATS, (0, 1, -1)):
            scale = numpy.resize(numpy.array(SCALES).astype(source), 33)
            x = numpy.stack([inputs.floats_for(source, value)[:68000:9] for value in scale])
            x = numpy.moveaxis(x.reshape(33, 4, -1), 0, axis)
            self.check("QuantizeLinear", x, scale, self.zero_points(stored, 33), stored, axis=axis)

    def test_quantize_in_blocks(self):
        for stored, source, axis in itertools.product(INTEGERS + F8, FLOATS, (0, 1, 2)):
            x = numpy.moveaxis(inputs.floats_for(source, 0.1)[: 75 * 6 * 70].reshape(75, 6, 70), 0, axis)
            for size in (1, 32, 75):
                scales = lambda shape: numpy.resize(numpy.array(SCALES), shape).astype(source)
                self.check_blocks("QuantizeLinear", x, scales, stored, axis, size)

    def test_dequantize_per_tensor(self):
        for stored, result in itertools.product([*INTEGERS, "int32", *F8], FLOATS):
            x = inputs.every_code(stored)
            for value in [*SCALES, *self.random_scales(200 if x.size < 1000 else 10, result)]:
                scale = numpy.array(value).astype(result)
                self.check("DequantizeLinear", x, scale, self.zero_points(stored, ()), result)

    def test_dequantize_per_channel(self):
        for stored, result, axis in itertools.product([*INTEGERS, "int32", *F8], FLOATS, (0, 1)):
            x = numpy.resize(inputs.every_code(stored), (CHANNELS, 3001))
            x = x.T if axis else x
            scale = self.random_scales(CHANNELS, result)
            self.check("DequantizeLinear", x, scale, self.zero_points(stored, CHANNELS), result, axis=axis)

    def test_dequantize_in_blocks(self):
        for stored, result, axis in itertools.product([*INTEGERS, "int32", *F8], FLOATS, (0, 1)):
            x = numpy.resize(inputs.every_code(stored), (75, 75))
            for size in (1, 32, 75):
                scales = lambda shape: self.random_scales(shape, result)
                self.check_blocks("DequantizeLinear", x, scales, result, axis, size)

    def random_scales(self, shape, dtype):
        size = numpy.dtype(dtype).itemsize
        return self.random.integers(0, 1 << 8 * size, shape, f"u{size}").view(dtype)

    def test_many_f32_to_8_bits(self):
        for _ in range(max(1, round(INPUTS / CHUNK / 6))):
            for stored, axis in itertools.product(("int8", "uint8"), (None, 0, 1)):
                x = self.random.integers(0, 1 << 32, CHUNK, numpy.uint32).view(numpy.float32)
                in_range = self.random.integers(-80000, 80001, CHUNK // 2).astype(numpy.float32) / 256
                if axis is None:
                    scale = self.random.choice(numpy.array(inputs.SCALES, numpy.float32))
                    x[::2] = in_range * scale
                    self.check("QuantizeLinear", x, numpy.asarray(scale), self.zero_points(stored, ()), stored)
                else:
                    scale = self.random.choice(numpy.array(inputs.SCALES, numpy.float32), CHANNELS)
                    x[::2] = in_range * numpy.float32(0.1)
                    x = x.reshape((CHANNELS, -1) if axis == 0 else (-1, CHANNELS))
                    zero_point = self.zero_points(stored, CHANNELS)
                    self.check("QuantizeLinear", x, scale, zero_point, stored, axis=axis)

    def test_quantize_gives_the_same_on_every_target(self):
        self.addCleanup(QDQ.force_target, None)
        scale = numpy.array(0.1, numpy.float32)
        for target, stored in itertools.product(QDQ.usable_targets(), INTEGERS + F8):
            QDQ.force_target(target)
            x = inputs.floats_for("float32", scale)
            self.check("QuantizeLinear", x, scale, self.zero_points(stored, ()), stored)


if __name__ == "__main__":
    comparison.main(f"ONNX Runtime {onnxruntime.__version__}", AgainstOnnxRuntime)

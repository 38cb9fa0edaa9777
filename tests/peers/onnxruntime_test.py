"""qdq against ONNX Runtime's QuantizeLinear and DequantizeLinear: every bit, on random and special inputs.

No exception is needed on x86 with ONNX Runtime 1.31.1, NaN included: both give the lowest code. NaN results of
DequantizeLinear are compared as NaN, since ONNX does not define their sign and payload.

QDQ_SHARED_LIBRARY names libqdq.so. QDQ_PEER_INPUTS sets how many inputs each comparison takes (default 10^8, in all).
"""

import os
import sys
import unittest

try:
    import numpy
    import onnxruntime
    from onnx import TensorProto, helper
except ImportError as missing:
    print(f"[SKIP] {missing}")
    sys.exit(77)

import qdq_ctypes

INPUTS = int(float(os.environ.get("QDQ_PEER_INPUTS", "1e8")))
CHUNK = 1 << 20
CHANNELS = 64
ONNX_TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}
STORED = [numpy.dtype(numpy.int8), numpy.dtype(numpy.uint8)]

SPECIALS = numpy.array(
    [0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0x3F800000, 0x4B000000,
     0x4EFFFFFF, 0x4F000000, 0x5F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF], numpy.uint32)


def session_for(operator, stored, axis):
    """One operator with inputs x, scale and zero_point; one thread."""
    x_type, y_type = TensorProto.FLOAT, ONNX_TYPES[stored.name]
    if operator == "DequantizeLinear":
        x_type, y_type = y_type, x_type
    attributes = {} if axis is None else {"axis": axis}
    node = helper.make_node(operator, ["x", "scale", "zero_point"], ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info("x", x_type, None),
        helper.make_tensor_value_info("scale", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("zero_point", ONNX_TYPES[stored.name], None),
    ]
    outputs = [helper.make_tensor_value_info("y", y_type, None)]
    graph = helper.make_graph([node], operator, inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def random_floats(random, count, scale):
    """Half any bit pattern, half near the codes' range and on its half-way points, and the special values."""
    bits = random.integers(0, 1 << 32, count, numpy.uint32)
    x = bits.view(numpy.float32)
    in_range = random.integers(-80000, 80001, count // 2).astype(numpy.float32) / 256
    in_range[::4] = numpy.round(in_range[::4] * 2) / 2
    with numpy.errstate(all="ignore"):
        x[::2][: in_range.size] = in_range * scale
    both_signs = numpy.concatenate([SPECIALS, SPECIALS | 0x80000000])
    x[: both_signs.size] = both_signs.view(numpy.float32)
    return x


class AgainstOnnxRuntime(unittest.TestCase):
    # Scales that peers compute with: ordinary, tiny, huge, negative.
    SCALES = [0.1, 1 / 127, 0.00214854861, 1.0, 2.0**-100, 1e-39, 3e38, -0.3]
    ODD_SCALES = [0.0, float("inf"), float("nan")]

    @classmethod
    def setUpClass(cls):
        cls.qdq = qdq_ctypes.Library()
        cls.qdq.set_num_threads(1)
        cls.compared = 0

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.compared} results compared with ONNX Runtime {onnxruntime.__version__}")

    def setUp(self):
        self.random = numpy.random.default_rng(1)

    def compare(self, expected, actual, x, what):
        self.__class__.compared += expected.size
        # As integers: NaN equals NaN only when the bits do.
        bits = f"u{expected.dtype.itemsize}"
        different = expected.view(bits) != actual.view(bits)
        if not different.any():
            return
        first = numpy.unravel_index(numpy.argmax(different), different.shape)
        self.fail(
            f"{what}: {different.sum()} of {different.size} results differ; at {first} x is {x[first]!r}, "
            f"ONNX Runtime gives {expected[first]!r}, qdq {actual[first]!r}"
        )

    def compare_quantize(self, stored, x, scale, zero_point, axis, session):
        expected = session.run(None, {"x": x, "scale": scale, "zero_point": zero_point})[0]
        actual = numpy.empty(x.shape, stored)
        self.qdq.quantize(x, scale, zero_point, actual, axis=axis or 0)
        self.compare(expected, actual, x, f"quantize {stored} axis {axis} scale {scale} zero point {zero_point}")

    def chunks(self, share):
        return max(1, round(INPUTS * share / CHUNK))

    def zero_points(self, stored, shape):
        limits = numpy.iinfo(stored)
        return self.random.integers(limits.min, limits.max + 1, shape).astype(stored)

    def test_quantize_per_tensor(self):
        for stored in STORED:
            session = session_for("QuantizeLinear", stored, None)
            for chunk in range(self.chunks(0.25)):
                scale = numpy.array(self.SCALES[chunk % len(self.SCALES)], numpy.float32)
                x = random_floats(self.random, CHUNK, scale)
                self.compare_quantize(stored, x, scale, self.zero_points(stored, ()), None, session)

    def test_quantize_per_tensor_with_odd_scales(self):
        for stored in STORED:
            session = session_for("QuantizeLinear", stored, None)
            for value in self.ODD_SCALES:
                scale = numpy.array(value, numpy.float32)
                x = random_floats(self.random, CHUNK, numpy.float32(1))
                self.compare_quantize(stored, x, scale, self.zero_points(stored, ()), None, session)

    def test_quantize_per_channel(self):
        shapes = {0: (CHANNELS, CHUNK // CHANNELS), 1: (16, CHANNELS, CHUNK // CHANNELS // 16)}
        for stored in STORED:
            for axis, shape in shapes.items():
                session = session_for("QuantizeLinear", stored, axis)
                for _ in range(self.chunks(0.0625)):
                    scale = self.random.choice(numpy.array(self.SCALES, numpy.float32), CHANNELS)
                    x = random_floats(self.random, CHUNK, numpy.float32(0.1)).reshape(shape)
                    self.compare_quantize(stored, x, scale, self.zero_points(stored, CHANNELS), axis, session)

    def test_quantize_per_channel_on_the_last_axis(self):
        for stored in STORED:
            session = session_for("QuantizeLinear", stored, 1)
            for _ in range(self.chunks(0.03125)):
                scale = self.random.choice(numpy.array(self.SCALES, numpy.float32), CHANNELS)
                x = random_floats(self.random, CHUNK, numpy.float32(0.1)).reshape(-1, CHANNELS)
                self.compare_quantize(stored, x, scale, self.zero_points(stored, CHANNELS), 1, session)

    def test_quantize_gives_the_same_on_every_target(self):
        for stored in STORED:
            session = session_for("QuantizeLinear", stored, None)
            for target in self.qdq.usable_targets():
                self.qdq.force_target(target)
                scale = numpy.array(0.1, numpy.float32)
                x = random_floats(self.random, CHUNK, scale)
                self.compare_quantize(stored, x, scale, self.zero_points(stored, ()), None, session)
        self.qdq.force_target(None)

    def compare_dequantize(self, stored, x, scale, zero_point, axis, session):
        expected = session.run(None, {"x": x, "scale": scale, "zero_point": zero_point})[0]
        actual = numpy.empty(x.shape, numpy.float32)
        self.qdq.dequantize(x, scale, zero_point, actual, axis=axis or 0)
        expected[numpy.isnan(expected)] = numpy.nan  # ONNX does not define a NaN's sign and payload; qdq does
        self.compare(expected, actual, x, f"dequantize {stored} axis {axis} scale {scale} zero point {zero_point}")

    def random_codes(self, stored, shape):
        limits = numpy.iinfo(stored)
        return self.random.integers(limits.min, limits.max, shape, stored, endpoint=True)

    def random_scales(self, shape):
        return self.random.integers(0, 1 << 32, shape, numpy.uint32).view(numpy.float32)

    def test_dequantize_per_tensor(self):
        for stored in STORED:
            session = session_for("DequantizeLinear", stored, None)
            x = numpy.arange(256).astype(stored)
            for _ in range(2000):
                scale = self.random_scales(1).reshape(())
                self.compare_dequantize(stored, x, scale, self.zero_points(stored, ()), None, session)

    def test_dequantize_per_channel(self):
        for stored in STORED:
            for axis, shape in {0: (CHANNELS, CHUNK // CHANNELS), 1: (CHUNK // CHANNELS, CHANNELS)}.items():
                session = session_for("DequantizeLinear", stored, axis)
                for _ in range(self.chunks(0.03125)):
                    x = self.random_codes(stored, shape)
                    scale = self.random_scales(CHANNELS)
                    self.compare_dequantize(stored, x, scale, self.zero_points(stored, CHANNELS), axis, session)


if __name__ == "__main__":
    unittest.main(verbosity=2)

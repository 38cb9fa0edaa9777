"""qdq's profile "onnx" against ONNX's own reference evaluator, for what ONNX Runtime has no kernels for: bf16, e2m1,
scales of other types than x, output_dtype and precision."""

import dataclasses
import itertools

import comparison
from comparison import Deviation

try:
    import numpy
    import onnx
    from onnx.reference import ReferenceEvaluator
except ImportError as missing:
    comparison.skip(missing)

import inputs
import onnx_operators
from inputs import E2M1, F8, INTEGERS
from rules import (QDQ_NAN, both, converted_then_added, differs, exact_code, f8_nan, is_nan, on, qdq_nan,
                   quotient_is_negative)  # fmt: skip

FLOAT = onnx.TensorProto.FLOAT
SCALE_TYPES = [*inputs.FLOATS, "float8_e8m0fnu"]
IN_F32, IN_16_BITS = "QuantizeLinear", "QuantizeLinear in the scale's precision"


def in_precision_of_x(rule):
    """A rule with x / scale rounded to the type of x."""
    return lambda call: rule(dataclasses.replace(call, x=call.scaled.astype(call.x.dtype), scale=numpy.float32(1)))


nan_of_quotient = f8_nan(QDQ_NAN, quotient_is_negative)

DEVIATIONS = [
    Deviation(
        "quantize: converts to int32 before saturating, so 2^31 steps and +inf give the lowest code",
        where=on({IN_F32}, differs(converted_then_added, exact_code), *INTEGERS),
        peer=converted_then_added,
        qdq=exact_code,
    ),
    Deviation(
        "quantize, f8: a NaN not of x has the sign that x86 gives it",
        where=on({IN_F32}, both(is_nan, differs(nan_of_quotient, qdq_nan)), *F8),
        peer=nan_of_quotient,
        qdq=qdq_nan,
    ),
    Deviation(
        "quantize, e2m1: NaN gives 0 with the other sign, where ONNX says 6",
        where=on({IN_F32}, is_nan, E2M1),
        peer=lambda call: numpy.where(quotient_is_negative(call), 0.0, -0.0).astype(numpy.float32),
        qdq=lambda call: numpy.float32(6),
    ),
    Deviation(
        "quantize without precision, scale of f16 or bf16: the quotient is rounded to that type",
        where=on({IN_16_BITS}, differs(in_precision_of_x(converted_then_added), exact_code)),
        peer=in_precision_of_x(converted_then_added),
        qdq=exact_code,
    ),
]


class AgainstTheReference(onnx_operators.OnnxComparison):
    deviations = DEVIATIONS

    def peer(self, operator, attributes, x, scale, zero_point, y_type):
        attributes["output_dtype"] = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(y_type))
        model = onnx_operators.model(operator, x, scale, zero_point, y_type, **attributes)
        operands = {"x": x, "scale": scale, "zero_point": zero_point}
        given = {name: each for name, each in operands.items() if each is not None}
        return ReferenceEvaluator(model).run(None, given)[0]

    def route(self, operator, attributes, x):
        in_f32 = operator == "DequantizeLinear" or attributes.get("precision") == FLOAT
        return operator if in_f32 else IN_16_BITS

    def zero_points(self, stored, shape):
        return self.random.integers(0, 8, shape).astype(stored) if stored in INTEGERS else None

    def test_quantize_per_tensor(self):
        for y_type, source, scale_type in itertools.product([*INTEGERS, *F8, E2M1], inputs.FLOATS, SCALE_TYPES):
            for value in (0.25, 1 / 127, 2.0**-20, 0.0):
                scale = numpy.array(value).astype(scale_type)
                x = inputs.floats_for(source, float(scale))
                self.check("QuantizeLinear", x, scale, self.zero_points(y_type, ()), y_type, precision=FLOAT)

    def test_quantize_unsaturated(self):
        for y_type, source in itertools.product(F8, inputs.FLOATS):
            scale = numpy.array(0.25, source)
            x = inputs.floats_for(source, scale)
            self.check("QuantizeLinear", x, scale, None, y_type, precision=FLOAT, saturate=0)

    def test_quantize_in_blocks(self):
        for y_type, source, scale_type in itertools.product([*INTEGERS, *F8, E2M1], inputs.FLOATS, SCALE_TYPES):
            x = inputs.floats_for(source, 0.25)[-75 * 6 * 70 :].reshape(75, 6, 70)
            for axis, size in itertools.product((0, 1, 2), (1, 4, 32)):
                scales = lambda shape: (2.0 ** self.random.integers(-9, 10, shape)).astype(scale_type)
                self.check_blocks("QuantizeLinear", x, scales, y_type, axis, size, precision=FLOAT)

    def test_quantize_without_precision(self):
        for y_type, source in itertools.product(INTEGERS, ("float16", "bfloat16")):
            for value in (0.25, 1 / 127):
                scale = numpy.array(value).astype(source)
                self.check("QuantizeLinear", inputs.floats_for(source, float(scale)), scale, None, y_type)

    def test_dequantize(self):
        for stored, scale_type, result in itertools.product([*INTEGERS, *F8, E2M1], SCALE_TYPES, inputs.FLOATS):
            x = numpy.resize(inputs.every_code(stored), (300, 257))
            for axis, size in itertools.product((0, 1), (1, 32, 300)):
                scales = lambda shape: self.random_scales(shape, scale_type)
                self.check_blocks("DequantizeLinear", x, scales, result, axis, size)

    def random_scales(self, shape, dtype):
        bits = self.random.integers(0, 1 << 31, shape, numpy.uint32)  # not negative: e8m0 has no sign
        return bits.view(numpy.float32).astype(dtype)


if __name__ == "__main__":
    comparison.main(f"ONNX {onnx.__version__}'s reference evaluator", AgainstTheReference)

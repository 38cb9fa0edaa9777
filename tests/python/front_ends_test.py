"""Each document's example, and the errors and dtype names of each system."""

import gc
import inspect
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy
import pytest

import qdq
from qdq.compat import aclnn, nvtripy as tp, pypto, tensorrt as trt, torch_npu


class TestPypto:
    def test_documented_example(self):
        pypto.set_vec_tile_shapes(4, 16)
        x = pypto.tensor([3, 4], pypto.DT_INT8)
        scale = pypto.tensor([3, 1], pypto.DT_FP32)
        zero_points = pypto.tensor([3, 1], pypto.DT_FP32)
        x[:] = [[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]  # the elements are in the document's words
        scale[:] = [[1.0], [1.0], [1.0]]
        zero_points[:] = [[-2.0], [-2.0], [-2.0]]
        # fp32 -> int8
        y1 = pypto.dequantize(x, scale, pypto.DT_FP32, -1, None)
        # fp32 -> uint8
        y2 = pypto.dequantize(x, scale, pypto.DT_FP32, -1, zero_points)
        assert y1.tolist() == [[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]
        assert y2.tolist() == [[-1.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 1.0, 2.0], [-1.0, 0.0, 1.0, 2.0]]
        assert y1.dtype == y2.dtype == numpy.float32
        pypto.set_vec_tile_shapes()

    def test_takes_every_argument_by_its_name(self):
        x, scale = numpy.int16([[300, -300]]), numpy.float32([0.5, 2.0])
        y = pypto.dequantize(input=x, scale=scale, otype=pypto.DataType.DT_FP32, axis=-2, zero_points=None)
        assert y.tolist() == [[150.0, -600.0]]

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (
                (numpy.zeros((2, 2), "f4"), numpy.ones(2, "f4"), pypto.DT_FP32, -1),
                "input: dtype f32 is not DT_INT8 or DT_INT16",
            ),
            ((numpy.zeros((2, 2), "i1"), numpy.ones(2, "f4"), pypto.DT_FP16, -1), "otype: f16 is not DT_FP32"),
            ((numpy.zeros((2, 2), "i1"), numpy.ones(3, "f4"), pypto.DT_FP32, -1), r"scale: shape \[3\]"),
            ((None, numpy.ones(2, "f4"), pypto.DT_FP32, -1), "input: none is given"),
            ((numpy.zeros((2, 2), "f8"), numpy.ones(2, "f4"), pypto.DT_FP32, -1), "input: dtype float64"),
        ],
    )
    def test_a_broken_rule_is_a_runtime_error_that_names_the_argument(self, arguments, message):
        with pytest.raises(RuntimeError, match=message):
            pypto.dequantize(*arguments)

    def test_what_is_no_type_shape_or_integer_is_a_runtime_error_too(self):
        x, scale = numpy.ones((2, 2), "i1"), numpy.ones(2, "f4")
        with pytest.raises(RuntimeError, match="pypto.dequantize: otype: 'float32' is none of pypto's types"):
            pypto.dequantize(x, scale, "float32", -1)
        with pytest.raises(RuntimeError, match="pypto.dequantize: axis: it is no integer"):
            pypto.dequantize(x, scale, pypto.DT_FP32, 1.0)
        with pytest.raises(RuntimeError, match="pypto.tensor: dtype: 'int8' is none of pypto's types"):
            pypto.tensor([3], "int8")
        for shape in ([-3], [1.5], "3", [2**70], None):
            with pytest.raises(RuntimeError, match="pypto.tensor: shape: "):
                pypto.tensor(shape, pypto.DT_INT8)
        for sizes in ([4, 16], 1.5, "4", 2**70):
            with pytest.raises(RuntimeError, match="pypto.set_vec_tile_shapes: sizes: "):
                pypto.set_vec_tile_shapes(sizes)

    def test_quantizes_as_documented(self):
        x, scale = numpy.float32([[1.1, -2.2, 3.3, -4.4]] * 3), numpy.ones(3, "f4")
        y1 = pypto.quantize(x, scale, pypto.DT_INT8, -1, None)
        y2 = pypto.quantize(x, scale, pypto.DT_UINT8, -1, numpy.full(3, 5.0, "f4"))  # the document's results subtract -5
        assert (y1.tolist(), y1.dtype) == ([[1, -2, 3, -4]] * 3, numpy.int8)
        assert (y2.tolist(), y2.dtype) == ([[6, 3, 8, 1]] * 3, numpy.uint8)
        assert pypto.quantize(x[0], scale[:1], pypto.DT_INT8, -1).tolist() == [1, -2, 3, -4]
        with pytest.raises(RuntimeError, match="pypto.quantize: otype: u8 is not DT_INT8, as without zero_points"):
            pypto.quantize(x, scale, pypto.DT_UINT8, -1)
        with pytest.raises(RuntimeError, match="pypto.quantize: axis: 0 is not -1"):
            pypto.quantize(x[0], scale[:1], pypto.DT_INT8, 0)

    def test_a_tile_shape_holds_until_it_is_forgotten(self):
        x, scale = numpy.ones((2, 2), "i1"), numpy.ones(2, "f4")
        pypto.set_vec_tile_shapes(4)
        with pytest.raises(RuntimeError, match="set_vec_tile_shapes: 1 dimensions for an output of 2"):
            pypto.dequantize(x, scale, pypto.DT_FP32, -1)
        pypto.set_vec_tile_shapes()
        assert pypto.dequantize(x, scale, pypto.DT_FP32, -1).tolist() == [[1.0, 1.0], [1.0, 1.0]]


class TestTorchNpu:
    def test_axis_is_1_and_div_mode_true_unless_given(self):
        x = numpy.float32([[1.0, 9.0], [-1.0, 3.0]])
        y = torch_npu.npu_quantize(x, numpy.float32([0.5, 2.0]), None, torch_npu.qint8)
        assert (y.tolist(), y.dtype) == ([[2, 4], [-2, 2]], numpy.int8)

    def test_takes_every_argument_by_its_name(self):
        y = torch_npu.npu_quantize(
            self=numpy.float32([[1.0, 9.0]]), scales=numpy.float32([0.5]), zero_points=numpy.float32([1.0]),
            dtype=torch_npu.qint8, axis=-1, div_mode=False,
        )  # fmt: skip
        assert y.tolist() == [[2, 6]]  # 1.5 and 5.5, rounded to even

    def test_takes_todays_name_of_self_too(self):
        x, scales = numpy.float32([[1.0, 9.0]]), numpy.float32([0.5])
        y = torch_npu.npu_quantize(input=x, scales=scales, zero_points=None, dtype=torch_npu.qint8)
        assert y.tolist() == [[2, 18]]
        with pytest.raises(TypeError, match="self"):
            torch_npu.npu_quantize(x, scales, None, torch_npu.qint8, input=x)
        with pytest.raises(TypeError, match="self"):
            torch_npu.npu_quantize(self=x, input=x, scales=scales, zero_points=None, dtype=torch_npu.qint8)
        with pytest.raises(TypeError, match="div_mod"):
            torch_npu.npu_quantize(x, scales, None, torch_npu.qint8, div_mod=True)
        signature = inspect.signature(torch_npu.npu_quantize)
        assert list(signature.parameters) == ["self", "scales", "zero_points", "dtype", "axis", "div_mode"]

    def test_any_axis_above_minus_2_is_the_last_without_div_mode(self):
        y = torch_npu.npu_quantize(
            numpy.float32([1, 2, 3]), numpy.float32([1, 10, 20]), None, torch_npu.qint8, div_mode=False
        )
        assert y.tolist() == [1, 20, 60]

    def test_quint4x2_is_eight_codes_in_an_int32(self):
        x = numpy.arange(8, dtype=numpy.float32)
        y = torch_npu.npu_quantize(x, numpy.float32([1.0]), None, torch_npu.quint4x2, axis=0, div_mode=False)
        assert (y.tolist(), y.dtype) == ([0x76543210], numpy.int32)

    @pytest.mark.parametrize(
        "dtype, div_mode", [(torch_npu.quint8, False), (torch_npu.quint4x2, True), ("float32", True)]
    )
    def test_a_broken_rule_is_a_runtime_error_that_names_the_argument(self, dtype, div_mode):
        with pytest.raises(RuntimeError, match=f"npu_quantize: dtype: {getattr(dtype, 'name', dtype)} is not one of"):
            torch_npu.npu_quantize(numpy.ones((1, 8), "f4"), numpy.ones(8, "f4"), None, dtype, 1, div_mode)

    @pytest.mark.parametrize("dtype", [torch_npu.hifloat8, 290, "hifloat8"])
    def test_hifloat8_is_bytes(self, dtype):
        x = numpy.float32([0.5, -0.53125, 1, 1e9, -0.0])
        for scale, div_mode in ((0.5, True), (2.0, False)):
            y = torch_npu.npu_quantize(x, numpy.float32([scale]), None, dtype, 0, div_mode)
            assert (y.tolist(), y.dtype) == ([0x08, 0x89, 0x10, 0x6E, 0x00], numpy.uint8)
            assert (y == qdq.quantize(x, scale if div_mode else 1 / scale, dtype="hifloat8", packed=True)).all()
        with pytest.raises(RuntimeError, match="npu_quantize: zero_points: "):
            torch_npu.npu_quantize(x, numpy.float32([1]), numpy.int8([1]), dtype)

    def test_a_number_is_more_than_its_low_byte(self):
        for number in (256 + 12, 256 + 3, -1):
            with pytest.raises(RuntimeError, match=f"npu_quantize: dtype: ScalarType {number} is not one of"):
                torch_npu.npu_quantize(numpy.ones((1, 8), "f4"), numpy.ones(8, "f4"), None, number)

    def test_refuses_dtypes_that_qdq_has_not(self):
        with pytest.raises(RuntimeError, match="self: dtype float64"):
            torch_npu.npu_quantize(numpy.ones((1, 8)), numpy.ones(8, "f4"), None, torch_npu.qint8)


class TestTorchNpuOperators:
    """The samples of torch_npu's documents, and of CANN's."""

    def test_anti_quant(self):
        x, scale, offset = numpy.int8([1, 2, 3, 4]), numpy.float32([2.0]), numpy.float32([2.0])
        out = torch_npu.npu_anti_quant(x, scale, offset=offset, dst_dtype=torch_npu.float16)
        assert (out.tolist(), out.dtype) == ([6.0, 8.0, 10.0, 12.0], numpy.float16)
        packed = numpy.array([[0x76543210]], numpy.int32)
        out = torch_npu.npu_anti_quant(packed, scale, src_dtype=torch_npu.quint4x2, dst_dtype=torch_npu.bfloat16)
        assert (out.astype("f4").tolist(), out.dtype) == ([[0, 2, 4, 6, 8, 10, 12, 14]], ml_dtypes.bfloat16)
        with pytest.raises(RuntimeError, match="npu_anti_quant: dst_dtype: ScalarType -10 is not one of"):
            torch_npu.npu_anti_quant(x, scale, dst_dtype=-10)
        with pytest.raises(RuntimeError, match="npu_anti_quant: src_dtype: quint4x2 is not x's, int8"):
            torch_npu.npu_anti_quant(x, scale, src_dtype=torch_npu.quint4x2)

    def test_anti_quant_of_hifloat8(self):
        x, scale = numpy.uint8([0x08, 0x10, 0x89, 0x6E, 0x00]), numpy.float32([0.5])
        for src_dtype in (None, torch_npu.hifloat8):
            out = torch_npu.npu_anti_quant(x, scale, src_dtype=src_dtype)
            assert (out.tolist(), out.dtype) == ([0.5, 1.0, -0.5625, 16384.0, 0.0], numpy.float16)
        with pytest.raises(RuntimeError, match="npu_anti_quant: src_dtype: uint8 is not x's, hifloat8"):
            torch_npu.npu_anti_quant(x, scale, src_dtype="uint8")
        with pytest.raises(RuntimeError, match="npu_anti_quant: scale: dtype bf16 is not f32, as for float8"):
            torch_npu.npu_anti_quant(x, scale.astype(ml_dtypes.bfloat16))

    def test_dynamic_quant(self):
        x = numpy.float16([[0.7261, 0.3726, 0.9126], [0.9023, 0.9990, 0.1279], [0.8628, 0.6240, 0.9028]])
        y, scale = torch_npu.npu_dynamic_quant(x)
        assert y.tolist() == [[101, 52, 127], [115, 127, 16], [121, 88, 127]]
        assert (scale.dtype, scale.round(4).tolist()) == (numpy.float32, [numpy.float32(s) for s in (0.0072, 0.0079, 0.0071)])
        x = numpy.float16([[0.6680, 0.9492, 0.0845], [0.1924, 0.5278, 0.1484], [0.6631, 0.9497, 0.0957]])
        smooth_scales = numpy.float16([0.8042, 0.0884, 0.8901])
        y, scale = torch_npu.npu_dynamic_quant(input=x, smooth_scales=smooth_scales)
        assert y.tolist() == [[127, 20, 18], [127, 38, 108], [127, 20, 20]]
        groups = {"smooth_scales": numpy.ones((2, 3), "f2"), "group_index": numpy.int32([1, 3])}
        assert torch_npu.npu_dynamic_quant(x, **groups)[0].shape == (3, 3)
        for mode, shape in (("pertensor", (1,)), ("perchannel", (3,)), ("pertoken", (3,))):
            assert torch_npu.npu_dynamic_quant(x, quant_mode=mode)[1].shape == shape
        for dst_type, dtype in ((torch_npu.float8_e4m3fn, ml_dtypes.float8_e4m3fn), (None, numpy.int8), (258, numpy.int8)):
            assert torch_npu.npu_dynamic_quant(x, dst_type=dst_type)[0].dtype == dtype
        y, _ = torch_npu.npu_dynamic_quant(numpy.ones((2, 16), "f2"), dst_type=torch_npu.quint4x2)
        assert y.tolist() == [[0x77777777, 0x77777777]] * 2
        groups["group_index"] = numpy.int32([2, 4])
        for keywords, message in (
            (groups, "group_index: element 1, 4, is not in 2..3"),
            ({"quant_mode": "pertokens"}, 'quant_mode: "pertokens" is not one of'),
            ({"quant_mode": None}, "quant_mode: "),
            ({"dst_type": torch_npu.qint8}, "dst_type: qint8 is not one of int8"),
        ):
            with pytest.raises(RuntimeError, match=f"torch_npu.npu_dynamic_quant: {message}"):
                torch_npu.npu_dynamic_quant(x, **keywords)
        with pytest.raises(TypeError, match="x: it is given twice, once as input"):
            torch_npu.npu_dynamic_quant(x, input=x)

    def test_anti_quant_of_a_scalar(self):
        y = torch_npu.npu_anti_quant(numpy.array(8, "i1"), numpy.float32([0.5]))
        assert (y.shape, y.dtype, float(y)) == ((), numpy.float16, 4)
        with pytest.raises(RuntimeError, match="torch_npu.npu_anti_quant: x: a scalar, where int32 has a last dimension"):
            torch_npu.npu_anti_quant(numpy.array(8, "i4"), numpy.float32([0.5]))

    def test_dynamic_quant_to_hifloat8(self):
        x = numpy.float16([[32768, 1, -1.0625, 0], [2, -32, 0.5, -(2.0**-10)]])
        y, scale = torch_npu.npu_dynamic_quant(x, dst_type=torch_npu.hifloat8)
        assert (scale.tolist(), y.dtype) == ([1.0, 2.0**-10], numpy.uint8)
        assert y.tolist() == [[0x6E, 0x08, 0x89, 0x00], [0x66, 0xEE, 0x62, 0x88]]
        y, scale = torch_npu.npu_dynamic_quant(x, dst_type=torch_npu.hifloat8, dst_type_max=16)
        assert scale.tolist() == [2048, 2]
        with pytest.raises(RuntimeError, match="torch_npu.npu_dynamic_quant: dst_type_max: 32769 is not in 0..32768"):
            torch_npu.npu_dynamic_quant(x, dst_type_max=32769)
        with pytest.raises(RuntimeError, match="asymmetric: dst_type: hifloat8 is not one of int8, quint4x2$"):
            torch_npu.npu_dynamic_quant_asymmetric(x, dst_type=torch_npu.hifloat8)

    def test_dynamic_quant_asymmetric(self):
        x = numpy.float16([[0, 255, 51], [-102, 408, 0]])
        y, scale, offset = torch_npu.npu_dynamic_quant_asymmetric(x)
        assert (y.tolist(), scale.tolist(), offset.tolist()) == ([[-128, 127, -77], [-128, 127, -77]], [1, 2], [-128, -77])
        assert (y.dtype, scale.dtype, offset.dtype) == (numpy.int8, numpy.float32, numpy.float32)
        restored = torch_npu.npu_anti_quant(y, numpy.float32([2]), offset=numpy.float32([77]))
        assert restored[1].tolist() == [-102, 408, 0]  # anti_quant adds what is subtracted here
        for mode, shape in (("pertensor", (1,)), ("perchannel", (3,)), ("pertoken", (2,))):
            assert [each.shape for each in torch_npu.npu_dynamic_quant_asymmetric(x, quant_mode=mode)[1:]] == [shape, shape]
        groups = {"smooth_scales": numpy.ones((2, 3), "f2"), "group_index": numpy.int32([1, 2])}
        assert torch_npu.npu_dynamic_quant_asymmetric(input=x, **groups)[2].tolist() == [-128, -77]
        y, _, offset = torch_npu.npu_dynamic_quant_asymmetric(numpy.arange(16, dtype="f2")[None], dst_type=torch_npu.quint4x2)
        assert (y.view("u4").tolist(), offset.tolist()) == ([[0xFEDCBA98, 0x76543210]], [-8])
        with pytest.raises(RuntimeError, match="npu_dynamic_quant_asymmetric: dst_type: float8_e5m2 is not one of int8, quint4x2$"):
            torch_npu.npu_dynamic_quant_asymmetric(x, dst_type=torch_npu.float8_e5m2)

    def test_dynamic_mx_quant(self):
        x = numpy.array([[0, 8, 64, 512]], ml_dtypes.bfloat16)
        y, mxscale = torch_npu.npu_dynamic_mx_quant(x, dst_type=torch_npu.float8_e4m3fn)
        assert (y.view("u1").tolist(), mxscale.tolist()) == ([[0, 72, 96, 120]], [[[128, 0]]])
        assert (y.dtype, mxscale.dtype) == (ml_dtypes.float8_e4m3fn, numpy.uint8)
        y, mxscale = torch_npu.npu_dynamic_mx_quant(numpy.float16([[0.5, 1], [-6, 4]]))
        assert (y.tolist(), y.dtype, mxscale.shape) == ([[0x64], [0x6F]], numpy.uint8, (2, 1, 2))
        quarters = numpy.float16([[1.75, -0.25, 0.5, 0.375], [7, -1, 0.4, -6.5]])
        y, mxscale = torch_npu.npu_dynamic_mx_quant(quarters, dst_type=torch_npu.float4_e1m2fn_x2)
        assert (y.tolist(), y.dtype) == ([[0x97, 0x22], [0x97, 0xE0]], numpy.uint8)
        assert mxscale.tolist() == [[[127, 0]], [[129, 0]]]
        for mode, codes in (("rint", [0x60, 0xAC]), ("floor", [0x60, 0xBD]), ("round", [0x61, 0xBC])):
            y, _ = torch_npu.npu_dynamic_mx_quant(numpy.float16([[0.25, 4, -2.25, -1.25]]), round_mode=mode)
            assert y.tolist() == [codes], mode
        y, mxscale = torch_npu.npu_dynamic_mx_quant(numpy.float16([[6.5, 1]]), scale_alg=2, dst_type_max=7)
        assert (y.tolist(), mxscale.tolist()) == ([[0x27]], [[[127, 0]]])
        y, mxscale = torch_npu.npu_dynamic_mx_quant(
            numpy.float16([[1, 2]]), dst_type=torch_npu.float8_e4m3fn, scale_alg=1, max_low_bound=448
        )
        assert (y.view("u1").tolist(), mxscale.tolist()) == ([[0x38, 0x40]], [[[127, 0]]])
        for keywords, message in (
            ({"axis": 2}, "axis: 2 is not in"),
            ({"round_mode": "ceil"}, 'round_mode: "ceil" is not one of rint, floor, round'),
            ({"dst_type_max": 7}, "dst_type_max: 7 is not 0, as without scale_alg 2"),
            ({"dst_type_max": "7"}, "dst_type_max: it is no number"),
            ({"dst_type_max": 10**400}, "dst_type_max: 1000"),
            ({"max_low_bound": 1.5}, "max_low_bound: 1.5 is not 0, as without scale_alg 1"),
            ({"block_size": 33}, "block_size: 33"),
            ({"scale_alg": 1}, "scale_alg: 1 is not 0"),
            ({"dst_type": "int8"}, "dst_type: "),
            ({"dst_type": torch_npu.hifloat8}, "dst_type: hifloat8 is not one of"),
        ):
            with pytest.raises(RuntimeError, match=f"torch_npu.npu_dynamic_mx_quant: {message}"):
                torch_npu.npu_dynamic_mx_quant(x, **keywords)

    def test_quantize_to_float8(self):
        x = numpy.float32([[0.5, 1.0, 1e9]])
        y = torch_npu.npu_quantize(x, numpy.float32([0.5]), None, torch_npu.float8_e4m3fn)
        assert (y.dtype, y.astype("f4").tolist()) == (ml_dtypes.float8_e4m3fn, [[1.0, 2.0, 448.0]])


class TestNvtripy:
    def test_numpys_copies_of_a_tensor_are_copies(self):
        memory = numpy.ones(3, "f4")
        tensor = tp.Tensor(memory)
        numpy.array(tensor)[0], numpy.asarray(tensor)[1] = 2, 3
        assert memory.tolist() == [1, 3, 1]
        assert numpy.asarray(tensor, "f8").tolist() == [1, 3, 1]
        with pytest.raises(ValueError, match="copy"):
            numpy.array(tensor, "f8", copy=False)

    def test_documented_example_per_tensor(self):
        input = tp.reshape(tp.arange(6, tp.float32), (2, 3))
        scale = 0.99872
        output = tp.quantize(input, scale, tp.int8)
        assert output.tolist() == [[0, 1, 2], [3, 4, 5]] and output.dtype == tp.int8

        input = tp.Tensor([1, 2, 3], dtype=tp.int8)
        output = tp.dequantize(input, scale, tp.float32)
        expected = (numpy.array([1, 2, 3], dtype=numpy.int8) * scale).astype(numpy.float32)
        assert numpy.array_equal(numpy.from_dlpack(output), expected)

    def test_documented_example_per_channel(self):
        scale = [0.99872, 0.96125]
        input = tp.Tensor([[0, 1, 2], [3, 4, 5]], dtype=tp.float32)
        output = tp.quantize(input, scale, tp.int8, dim=0)
        expected = (
            numpy.reshape(numpy.arange(6, dtype=numpy.float32), (2, 3)) / numpy.array(scale).reshape(2, 1)
        ).astype(numpy.int8)
        assert numpy.array_equal(numpy.from_dlpack(output), expected)

        input = tp.Tensor([[1, 2, 3], [4, 5, 6]], dtype=tp.int8)
        output = tp.dequantize(input, scale, tp.float32, dim=0)
        expected = (numpy.array([[1, 2, 3], [4, 5, 6]]) * numpy.array(scale).reshape(2, 1)).astype(numpy.float32)
        assert numpy.array_equal(numpy.from_dlpack(output), expected)

    def test_documented_example_of_blocks(self):
        input = tp.Tensor([[0, 1], [2, 3]], dtype=tp.float32)
        scale = [[1.0, 1.0]]
        quant = tp.quantize(input, scale, tp.int4)
        output = tp.dequantize(quant, scale, tp.float32)
        assert numpy.array_equal(numpy.from_dlpack(output), numpy.array([[0, 1], [2, 3]], dtype=numpy.float32))

    def test_int4_cannot_be_printed_and_other_types_can(self):
        quant = tp.quantize(tp.Tensor([0.0, 1.0]), 1.0, tp.int4)
        with pytest.raises(tp.TripyException, match="int4 cannot be printed"):
            repr(quant)
        restored = tp.dequantize(quant, 1.0, tp.float32)
        assert repr(restored) == "tensor([0.0000, 1.0000], dtype=float32, loc=cpu:0, shape=(2,))"

    @pytest.mark.parametrize("dtype", [tp.float32, tp.float16, tp.bfloat16, tp.float8])
    def test_prints_numbers_as_nvtripy_does(self, dtype):
        restored = tp.dequantize(tp.Tensor([1, 2, 3], tp.int8), 0.99872, tp.float32)
        assert repr(restored) == "tensor([0.9987, 1.9974, 2.9962], dtype=float32, loc=cpu:0, shape=(3,))"
        assert repr(tp.Tensor([[0.5, 1.0], [-2.0, 3.0]], dtype)) == (
            "tensor(\n    [[0.5000, 1.0000],\n     [-2.0000, 3.0000]], \n"
            f"    dtype={dtype.name}, loc=cpu:0, shape=(2, 2))"
        )
        assert repr(tp.Tensor(1.5, dtype)) == f"tensor(1.5, dtype={dtype.name}, loc=cpu:0, shape=())"
        assert repr(tp.Tensor([3, -1])) == "tensor([3, -1], dtype=int32, loc=cpu:0, shape=(2,))"
        assert repr(tp.Tensor([[1, 2]])) == "tensor(\n    [[1, 2]], \n    dtype=int32, loc=cpu:0, shape=(1, 2))"
        assert repr(tp.Tensor([], dtype)) == f"tensor([], dtype={dtype.name}, loc=cpu:0, shape=(0,))"

    def test_prints_ten_numbers_in_a_line_and_the_ends_of_more_than_forty(self):
        rows = repr(tp.reshape(tp.arange(24, tp.int32), (2, 12))).split("\n")
        assert rows[1:5] == [
            "    [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9,", "      10, 11],",
            "     [12, 13, 14, 15, 16, 17, 18, 19, 20, 21,", "      22, 23]], ",
        ]  # fmt: skip
        assert "[0, 1, 2, ..., 38, 39, 40]" in repr(tp.arange(41, tp.int32))
        assert "..." not in repr(tp.arange(40, tp.int32))
        rows = repr(tp.reshape(tp.arange(100, tp.int32), (50, 2))).split("\n")
        assert rows[3:6] == ["     [4, 5],", "     ...,", "     [94, 95],"]
        assert "3]],\n\n     [[4" in repr(tp.reshape(tp.arange(8, tp.int32), (2, 2, 2)))

    @pytest.mark.parametrize("floating", [tp.float32, tp.float16, tp.bfloat16])
    @pytest.mark.parametrize("stored", [tp.int8, tp.int4, tp.float8])
    def test_has_every_type_of_the_document(self, floating, stored):
        input = tp.cast(tp.Tensor([[-2.0, 1.0, 3.0]]), dtype=floating)
        output = tp.dequantize(tp.quantize(input, 0.5, stored), 0.5, floating)
        assert output.dtype == floating and output.tolist() == [[-2.0, 1.0, 3.0]]

    @pytest.mark.parametrize(
        "scale", [None, [None, 1.0, 2.0], "1.5", b"2", "nan", [["1.5"]], object(), [object()], 1j, 10**400], ids=repr
    )
    def test_a_scale_that_is_no_number_is_a_tripy_exception(self, scale):
        for call in (
            lambda: tp.quantize(tp.Tensor([0.0, 1.0, 2.0]), scale, tp.int8),
            lambda: tp.dequantize(tp.Tensor([0, 1, 2], tp.int8), scale, tp.float32, 0),
        ):
            with pytest.raises(tp.TripyException, match="scale: "):
                call()

    @pytest.mark.parametrize(
        "make, message",
        [
            (lambda: tp.Tensor(numpy.ones(3)), "Tensor: data: dtype float64 is none of nvtripy's.* float32"),
            (lambda: tp.Tensor(numpy.ones(3, "i8")), "Tensor: data: dtype int64"),
            (lambda: tp.Tensor(numpy.array(["a"])), "Tensor: data: dtype <U1"),
            (lambda: tp.Tensor(numpy.array(["a"]), tp.int8), "Tensor: data: dtype <U1"),
            (lambda: tp.Tensor(None), "Tensor: data: "),
            (lambda: tp.Tensor("1.5"), "Tensor: data: "),
            (lambda: tp.Tensor([1.0, None]), "Tensor: data: "),
            (lambda: tp.Tensor([[1.0], [1.0, 2.0]]), "Tensor: data: "),
            (lambda: tp.Tensor([10**400]), "Tensor: data: "),
            (lambda: tp.Tensor([2**31]), "Tensor: data: .* int32"),
            (lambda: tp.Tensor([300], tp.int8), "Tensor: data: .* int8"),
            (lambda: tp.Tensor([1.5], tp.int8), "Tensor: data: .* int8"),
            (lambda: tp.Tensor([float("nan")], tp.int4), "Tensor: data: .* int4"),
            (lambda: tp.Tensor([1.0], "float32"), "dtype: 'float32' is none of nvtripy's"),
            (lambda: tp.arange("3"), "arange: "),
            (lambda: tp.arange(None), "arange: "),
            (lambda: tp.arange(3, "float32"), "dtype: "),
            (lambda: tp.reshape([1.0], (1,)), "reshape: input: list is not a Tensor"),
            (lambda: tp.reshape(tp.arange(6), (4, 2)), "reshape: shape: "),
            (lambda: tp.reshape(tp.arange(6), (2.0, 3.0)), "reshape: shape: "),
            (lambda: tp.cast(3, tp.int8), "cast: input: int is not a Tensor"),
            (lambda: tp.cast(tp.arange(3), None), "dtype: None is none of nvtripy's"),
            (lambda: tp.quantize(numpy.ones(3, "f4"), 1.0, tp.int8), "quantize: input: ndarray is not a Tensor"),
        ],
    )  # fmt: skip
    def test_a_tensor_that_cannot_be_made_is_a_tripy_exception(self, make, message):
        with pytest.raises(tp.TripyException, match=message):
            make()

    def test_takes_arrays_of_other_types_with_a_dtype(self):
        assert tp.Tensor(numpy.ones(3), tp.float32).dtype == tp.float32
        assert tp.Tensor(numpy.ones(3, "i8"), dtype=tp.int8).tolist() == [1, 1, 1]

    @pytest.mark.parametrize(
        "scale, dtype, dim, message",
        [
            (1.0, tp.float32, None, "dtype: f32 is not one of int8, int4, float8"),
            ([1.0, 1.0, 1.0], tp.int8, 0, "scale: 3 elements; input's dimension 0 has 2"),
            ([[1.0], [1.0, 2.0]], tp.int4, None, "scale: "),
            (tp.Tensor(1.0, tp.float16), tp.int8, None, "scale: dtype f16 is not f32"),
            ([1.0, 1.0], tp.int8, -1, r"dim: -1 is not in \[0, 2\)"),
        ],
    )
    def test_a_broken_rule_is_a_tripy_exception_that_names_the_argument(self, scale, dtype, dim, message):
        with pytest.raises(tp.TripyException, match=message):
            tp.quantize(tp.Tensor([[0.0, 1.0], [2.0, 3.0]]), scale, dtype, dim)


class Lines(trt.ILogger):
    """A logger of a program's own."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def log(self, severity, msg):
        self.lines.append((severity, msg))


def run(network, inputs, logger):
    """What TensorRT's reference leaves to its reader: an engine of the network, and a run of it."""
    builder = trt.Builder(logger)
    engine = builder.build_engine_with_config(network, builder.create_builder_config())
    if engine is None:
        return None
    context = engine.create_execution_context()
    arrays = {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        shape, dtype = engine.get_tensor_shape(name), trt.nptype(engine.get_tensor_dtype(name))
        arrays[name] = numpy.reshape(inputs[name], shape).astype(dtype) if name in inputs else numpy.empty(shape, dtype)
        assert context.set_tensor_address(name, arrays[name].ctypes.data)
    assert context.execute_async_v3(0)
    return arrays


class TestTensorRT:
    def test_documented_example_of_an_activation(self):
        logger = Lines()
        network = trt.Builder(logger).create_network()
        inputs, outputs, expected = {}, {}, {}
        in1 = network.add_input("input1", dtype=trt.float32, shape=(1, 1, 3, 3))
        scale = network.add_constant(shape=(1,), weights=numpy.array([1 / 127], dtype=numpy.float32))
        quantize = network.add_quantize(in1, scale.get_output(0), trt.int8)
        quantize.axis = 3
        dequantize = network.add_dequantize(quantize.get_output(0), scale.get_output(0), trt.float32)
        dequantize.axis = 3
        network.mark_output(dequantize.get_output(0))

        inputs[in1.name] = numpy.array([[[0.56, 0.89, 1.4], [-0.56, 0.39, 6.0], [0.67, 0.11, -3.6]]])
        outputs[dequantize.get_output(0).name] = dequantize.get_output(0).shape
        expected[dequantize.get_output(0).name] = numpy.array(
            [[[0.56, 0.89, 1], [-0.56, 0.39, 1.0], [0.67, 0.11, -1.0]]]
        )
        assert logger.lines == []
        results = run(network, inputs, logger)
        for name, values in expected.items():
            assert results[name].shape == outputs[name]
            # The document rounds to two digits, and has -1 where int8 goes down to -128.
            assert numpy.abs(results[name] - values).max() < 0.008

    def test_documented_example_of_blocks(self):
        network = trt.Builder(Lines()).create_network()
        rows = [[1, 1, 2, 2, 3, 3, 4, 4], [1.1, 1.2, 2.1, 2.2, 3.1, 3.2, 4.1, 4.2]]
        rows += [[4, 4, 5, 5, 6, 6, 7, 7], [4.1, 4.2, 5.1, 5.2, 6.1, 6.2, 7.1, 7.2]]
        scales = [[1, 1, 2, 2, 3, 3, 4, 4], [4, 4, 5, 5, 6, 6, 7, 7]]
        weights = network.add_constant(shape=(4, 8), weights=numpy.array(rows, dtype=numpy.float32))
        scale = network.add_constant(shape=(2, 8), weights=numpy.array(scales, dtype=numpy.float32))
        quantize = network.add_quantize(weights.get_output(0), scale.get_output(0), trt.int4)
        dequantize = network.add_dequantize(quantize.get_output(0), scale.get_output(0), trt.float32)
        network.mark_output(dequantize.get_output(0))
        (result,) = run(network, {}, Lines()).values()
        assert result.tolist() == [scales[0], scales[0], scales[1], scales[1]]

    def test_layers_have_the_documented_defaults(self):
        network = trt.Builder(Lines()).create_network()
        x = network.add_input("x", trt.float32, (2,))
        one = network.add_constant((), numpy.float32(1)).get_output(0)
        quantize = network.add_quantize(x, one)
        dequantize = network.add_dequantize(quantize.get_output(0), one)
        assert (quantize.axis, quantize.to_type, dequantize.axis, dequantize.to_type) == (-1, trt.int8, -1, trt.float32)
        assert (quantize.type, network.get_layer(2).type) == (trt.LayerType.QUANTIZE, trt.LayerType.DEQUANTIZE)
        assert (x.shape, x.dtype, network.num_layers, quantize.get_input(0).name) == ((2,), trt.float32, 3, "x")

    def test_arguments_of_wrong_types_are_named(self):
        network = trt.Builder(Lines()).create_network()
        with pytest.raises(TypeError, match="add_input: shape: it is no integer"):
            network.add_input("x", trt.float32, (1.0, 2.0))
        with pytest.raises(TypeError, match="Builder: logger: int is no ILogger"):
            trt.Builder(3)

        class Half(trt.ILogger):
            def __init__(self):
                pass

        with pytest.raises(TypeError, match="Builder: logger: .*__init__"):
            trt.Builder(Half())

    def test_what_fails_is_a_line_of_the_logger_and_none(self):
        logger = Lines()
        network = trt.Builder(logger).create_network()
        x = network.add_input("x", trt.float32, (2, 3))
        scale = network.add_constant((2,), numpy.float32([1, 2]))
        layer = network.add_quantize(x, scale.get_output(0))
        layer.name = "first"
        layer.axis = 1
        network.mark_output(layer.get_output(0))
        assert run(network, {}, logger) is None
        assert logger.lines == [
            (trt.ILogger.Severity.ERROR, "TensorRT: first: scale: 2 coefficients; the input's axis 1 has 3")
        ]

    def test_an_engine_outlives_its_network_and_weights(self):
        def build():
            network = builder.create_network()
            x = network.add_input("x", trt.float32, (2,))
            scale = network.add_constant((1,), trt.Weights(numpy.full(1, 0.5, "f4"))).get_output(0)
            layer = network.add_quantize(x, scale, trt.fp4)
            network.mark_output(layer.get_output(0))
            return builder.build_engine_with_config(network, builder.create_builder_config())

        builder = trt.Builder(Lines())
        engine = build()
        x, y = numpy.float32([1.0, -2.0]), numpy.empty(1, numpy.uint8)
        context = engine.create_execution_context()
        assert context.set_tensor_address("x", x.ctypes.data)
        assert context.set_tensor_address(engine.get_tensor_name(1), y.ctypes.data)
        assert context.execute_async_v3(0) and y.tolist() == [0xE4]  # 2 and -4, the first in the low half

    @pytest.mark.parametrize("last", ["logger", "builder", "network", "tensor", "engine", "context"])
    def test_a_programs_own_logger_and_what_it_made_are_gone_at_its_end(self, last):
        """Their class holds the module by its functions, and the module holds them: a cycle that Python must see."""
        program = """
            import numpy
            from qdq.compat import tensorrt as trt
            class Log(trt.ILogger):
                def log(self, severity, message):
                    print(message)
            logger = Log()
            if last > 0: builder = trt.Builder(logger)
            if last > 1: network = builder.create_network()
            if last > 2:
                tensor = network.add_input("x", trt.float32, (2,))
                layer = network.add_quantize(tensor, network.add_constant((), numpy.float32(1)).get_output(0))
                network.mark_output(layer.get_output(0))
            if last > 3: engine = builder.build_engine_with_config(network, builder.create_builder_config())
            if last > 4: context = engine.create_execution_context()
        """
        number = ["logger", "builder", "network", "tensor", "engine", "context"].index(last)
        run = subprocess.run(
            [sys.executable, "-c", f"last = {number}\n{textwrap.dedent(program)}"], capture_output=True, text=True
        )
        assert (run.returncode, run.stdout, run.stderr) == (0, "", "")

    def test_an_engine_and_its_context_outlive_the_names_of_what_they_need(self):
        logger = Lines()
        builder = trt.Builder(logger)
        network = builder.create_network()
        layer = network.add_quantize(
            network.add_input("x", trt.float32, (2,)), network.add_constant((), numpy.float32(1)).get_output(0)
        )
        network.mark_output(layer.get_output(0))
        context = builder.build_engine_with_config(network, builder.create_builder_config()).create_execution_context()
        lines = logger.lines
        del builder, network, layer, logger
        gc.collect()
        assert context.engine.num_io_tensors == 2
        assert context.set_tensor_address("y", 0) is False and "y" in lines[0][1]

    def test_the_logger_of_tensorrt_writes_to_standard_error_what_is_severe_enough(self, capfd):
        trt.Logger(trt.Logger.ERROR).log(trt.Logger.WARNING, "not this")
        trt.Logger().log(trt.Logger.ERROR, "this")
        assert capfd.readouterr() == ("", "[TRT] [E] this\n")

    def test_refuses_weights_of_a_type_that_it_has_not(self):
        with pytest.raises(TypeError, match="weights: dtype float64"):
            trt.Builder(Lines()).create_network().add_constant((1,), numpy.ones(1))


class TestTensorRTPlan:
    """Networks as bytes, and what samples of TensorRT read of a network."""

    def network(self, logger, scale):
        builder = trt.Builder(logger)
        network = builder.create_network()
        x = network.add_input("x", trt.float32, (2, 3))
        quantize = network.add_quantize(x, network.add_constant((), scale).get_output(0))
        quantize.get_output(0).name = "y"
        network.mark_output(quantize.get_output(0))
        return builder, network

    def codes_of(self, engine):
        x, y = numpy.float32([[1, 2, 3], [4, 5, 6]]), numpy.zeros((2, 3), "i1")
        context = engine.create_execution_context()
        assert context.set_tensor_address("x", x.ctypes.data) and context.set_tensor_address("y", y.ctypes.data)
        assert context.execute_async_v3(0)
        return y.tolist()

    def test_a_plan_in_memory_and_in_a_file(self, tmp_path):
        logger = trt.Logger(trt.Logger.ERROR)
        builder, network = self.network(logger, numpy.float32(0.5))
        plan = builder.build_serialized_network(network, builder.create_builder_config())
        assert (plan.nbytes, plan.dtype) == (len(bytes(plan)), trt.int8)
        with open(tmp_path / "model.plan", "wb") as file:
            file.write(plan)
        del builder, network
        runtime = trt.Runtime(logger)
        for given in (plan, bytes(plan), bytearray(plan), (tmp_path / "model.plan").read_bytes()):
            engine = runtime.deserialize_cuda_engine(given)
            assert engine.num_io_tensors == 2
            assert self.codes_of(engine) == [[2, 4, 6], [8, 10, 12]]

    def test_what_is_no_plan_is_none_and_a_line_of_the_logger(self, capfd):
        logger = trt.Logger(trt.Logger.ERROR)
        builder, network = self.network(logger, numpy.float32(0.5))
        plan = bytes(builder.build_serialized_network(network, builder.create_builder_config()))
        runtime = trt.Runtime(logger)
        for wrong in (b"", b"plan", plan[:-1], plan + b"0", bytes(len(plan))):
            assert runtime.deserialize_cuda_engine(wrong) is None
            assert "deserializeCudaEngine: " in capfd.readouterr().err
        with pytest.raises(TypeError):
            runtime.deserialize_cuda_engine("plan")
        with pytest.raises(TypeError, match="Runtime: logger: int is no ILogger"):
            trt.Runtime(3)
        builder, network = self.network(logger, numpy.float32(0))
        assert builder.build_serialized_network(network, builder.create_builder_config()) is None
        assert "scale: not every coefficient is above 0" in capfd.readouterr().err

    def test_a_network_has_a_length_and_layers_by_number(self):
        builder, network = self.network(trt.Logger(), numpy.float32(2))
        assert len(network) == network.num_layers == 2
        assert [layer.type for layer in network] == [trt.LayerType.CONSTANT, trt.LayerType.QUANTIZE]
        assert network[-1].type == trt.LayerType.QUANTIZE
        for index in (2, -3):
            with pytest.raises(IndexError):
                network[index]

    def test_a_constants_weights_can_be_read_and_changed(self):
        builder, network = self.network(trt.Logger(), numpy.float32(2))
        constant = network[0]
        assert (constant.shape, constant.weights.tolist(), constant.weights.dtype) == ((), [2.0], numpy.float32)
        constant.weights = trt.Weights(numpy.float32([4]))
        constant.shape = (1,)
        assert (constant.shape, constant.weights.tolist()) == ((1,), [4.0])
        constant.weights = numpy.float32([1])
        engine = builder.build_engine_with_config(network, builder.create_builder_config())
        assert self.codes_of(engine) == [[1, 2, 3], [4, 5, 6]]

    def test_weights_are_of_a_type_an_address_and_a_count(self):
        values = numpy.float32([1, 2, 4])
        weights = trt.Weights(trt.float32, values.ctypes.data, 3)
        assert (weights.dtype, weights.size, weights.numpy().tolist()) == (trt.float32, 3, [1, 2, 4])
        assert trt.Weights(type=trt.float16, ptr=values.ctypes.data, count=2).dtype == trt.float16
        assert trt.Weights(trt.int8).size == 0
        network = trt.Builder(trt.Logger()).create_network()
        constant = network.add_constant((3,), weights)
        values[:] = 0  # the network has a copy
        assert constant.weights.tolist() == [1, 2, 4]
        for shape, wrong in (((2,), weights), ((3,), trt.Weights(trt.float32, 0, 3)), ((-3,), weights)):
            with pytest.raises(ValueError, match="TensorRT: add_constant: "):
                network.add_constant(shape, wrong)

    @pytest.mark.parametrize("dtype, values", [(trt.int4, [1, 2, -3, -1]), (trt.fp4, [0.5, 1, -3, -6])])
    def test_weights_of_4_bits_at_an_address_are_two_in_a_byte(self, dtype, values):
        codes = numpy.array(values, trt.nptype(dtype)).view("u1") & 15
        memory = codes[::2] | codes[1::2] << 4
        network = trt.Builder(trt.Logger()).create_network()
        constant = network.add_constant((4,), trt.Weights(dtype, memory.ctypes.data, 4))
        assert constant.weights.tolist() == memory.tolist()
        constant.weights = weights = trt.Weights(dtype, memory.ctypes.data, 3)
        assert (weights.numpy().dtype, weights.numpy().tolist()) == (trt.nptype(dtype), values[:3])
        assert constant.weights.tolist() == [memory[0], memory[1] & 15]

    def test_block_shapes_cut_rows_and_columns(self):
        builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
        network = builder.create_network()
        x = network.add_input("x", trt.float32, (4, 4))
        scale = network.add_constant((2, 2), numpy.float32([[1, 2], [4, 8]])).get_output(0)
        layer = network.add_quantize(x, scale, trt.fp8)
        assert layer.block_shape == ()
        assert layer.set_block_shape((2, 2)) and not layer.set_block_shape((0, 2))
        assert layer.block_shape == (2, 2)
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        values, codes = numpy.full((4, 4), 8, "f4"), numpy.zeros((4, 4), ml_dtypes.float8_e4m3fn)
        context = builder.build_engine_with_config(network, builder.create_builder_config()).create_execution_context()
        context.set_tensor_address("x", values.ctypes.data), context.set_tensor_address("y", codes.ctypes.data)
        assert context.execute_async_v3(0)
        assert codes.astype("f4").tolist() == [[8, 8, 4, 4]] * 2 + [[2, 2, 1, 1]] * 2

    @pytest.mark.parametrize("by_shape", [False, True])
    def test_dynamic_quantize_computes_scales(self, by_shape):
        """TensorRT's documents' example: fp4 by blocks of 16, whose scales have a scale of 1; and back."""
        builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
        network = builder.create_network()
        x = network.add_input("input", trt.float32, (2, 32))
        one = network.add_constant((1,), numpy.ones(1, "f4")).get_output(0)
        if by_shape:
            layer = network.add_dynamic_quantize_v2(x, (1, 16), trt.fp4, trt.fp8)
        else:
            layer = network.add_dynamic_quantize(x, axis=1, block_size=16, output_type=trt.fp4, scale_type=trt.fp8)
        layer.set_input(1, one)
        assert layer.type == trt.LayerType.DYNAMIC_QUANTIZE and len(network) == 2
        assert (layer.num_outputs, layer.get_output(1).shape, layer.get_output_type(1)) == (2, (2, 2), trt.fp8)
        assert (layer.axis, layer.block_size, layer.block_shape) == ((-1, 0, (1, 16)) if by_shape else (1, 16, ()))
        assert (layer.to_type, layer.scale_type) == (trt.fp4, trt.fp8)
        scales = network.add_dequantize(layer.get_output(1), one)
        back = network.add_dequantize(layer.get_output(0), scales.get_output(0))
        outputs = {"codes": layer.get_output(0), "scales": layer.get_output(1), "back": back.get_output(0)}
        for name, tensor in outputs.items():
            tensor.name = name
            network.mark_output(tensor)
        values = numpy.tile(numpy.float32([6, -3, 1.5, 0]), (2, 8)) * numpy.float32([[1], [4]])
        memory = {
            "input": values,
            "codes": numpy.zeros((2, 16), "u1"),
            "scales": numpy.zeros((2, 2), ml_dtypes.float8_e4m3fn),
            "back": numpy.zeros((2, 32), "f4"),
        }
        context = builder.build_engine_with_config(network, builder.create_builder_config()).create_execution_context()
        for name, array in memory.items():
            assert context.set_tensor_address(name, array.ctypes.data)
        assert context.execute_async_v3(0)
        assert memory["scales"].astype("f4").tolist() == [[1, 1], [4, 4]]
        assert memory["codes"].tolist() == [[0xD7, 0x03] * 8] * 2
        assert memory["back"].tolist() == values.tolist()

    def test_dynamic_quantize_breaks_its_rules_with_a_line(self, capfd):
        builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
        network, other = builder.create_network(), builder.create_network()
        x = network.add_input("x", trt.float32, (2, 32))
        layer = network.add_dynamic_quantize(x, 1, 32, trt.fp8, trt.e8m0)
        layer.name = "mx"
        network.mark_output(layer.get_output(0))

        def line():
            assert builder.build_engine_with_config(network, builder.create_builder_config()) is None
            return capfd.readouterr().err

        layer.block_size = 16
        assert "mx: blockSize: 16 is not 32, that of kFP8" in line()
        layer.block_size, layer.axis = 32, 0
        assert "mx: blockSize: 32 does not divide axis 0 of the input, [2, 32]" in line()
        layer.block_shape, layer.scale_type = (3, 1), trt.float32
        assert "mx: blockShape: it does not cut the input, [2, 32], evenly" in line()
        layer.to_type = trt.int8
        assert "mx: toType: DataType kINT8 is not one of kFP4, kFP8" in line()
        with pytest.raises(ValueError, match="add_dynamic_quantize: input: it is of another network"):
            other.add_dynamic_quantize(x, 1, 32, trt.fp8, trt.e8m0)
        with pytest.raises(ValueError, match="add_dynamic_quantize_v2: input: it is of another network"):
            other.add_dynamic_quantize_v2(x, (1, 32), trt.fp8, trt.e8m0)
        with pytest.raises(TypeError, match="add_dynamic_quantize: axis: "):
            network.add_dynamic_quantize(x, "1", 32, trt.fp8, trt.e8m0)


class TestAclnn:
    def test_documented_example(self):
        """CANN's sample, which is in C: its calls in their order, with what they write through pointers returned."""

        def create_tensor(host_data, data_type):
            status, address = aclnn.aclrtMalloc(host_data.nbytes, aclnn.ACL_MEM_MALLOC_HUGE_FIRST)
            assert status == aclnn.ACL_SUCCESS
            assert not aclnn.aclrtMemcpy(
                address, host_data.nbytes, host_data.ctypes.data, host_data.nbytes, aclnn.ACL_MEMCPY_HOST_TO_DEVICE
            )
            shape = list(host_data.shape)
            strides = [stride // host_data.itemsize for stride in host_data.strides]
            tensor = aclnn.aclCreateTensor(
                shape, len(shape), data_type, strides, 0, aclnn.ACL_FORMAT_ND, shape, len(shape), address
            )
            return address, tensor

        assert aclnn.aclInit(None) == aclnn.aclrtSetDevice(0) == aclnn.ACL_SUCCESS
        status, stream = aclnn.aclrtCreateStream()
        assert status == aclnn.ACL_SUCCESS
        x_data = numpy.float32([[0.3382, -0.0919], [0.7564, 0.0234], [3.1024, 1.0761], [0.4228, 1.4621]])
        x_address, x = create_tensor(x_data, aclnn.ACL_FLOAT)
        scales_address, scales = create_tensor(numpy.float32([1.0, -3.0]), aclnn.ACL_FLOAT)
        zero_points_address, zero_points = create_tensor(numpy.int32([2, 10]), aclnn.ACL_INT32)
        out_data = numpy.zeros((4, 2), numpy.int32)
        out_address, out = create_tensor(out_data, aclnn.ACL_INT32)

        status, workspace_size, executor = aclnn.aclnnQuantizeGetWorkspaceSize(
            x, scales, zero_points, aclnn.ACL_INT32, 1, out
        )
        assert (status, workspace_size) == (aclnn.ACL_SUCCESS, 0)
        assert aclnn.aclnnQuantize(0, workspace_size, executor, stream) == aclnn.ACL_SUCCESS
        assert aclnn.aclrtSynchronizeStream(stream) == aclnn.ACL_SUCCESS
        assert not aclnn.aclrtMemcpy(
            out_data.ctypes.data, out_data.nbytes, out_address, out_data.nbytes, aclnn.ACL_MEMCPY_DEVICE_TO_HOST
        )
        assert out_data.tolist() == [[2, 10], [3, 10], [5, 10], [2, 10]]

        for tensor in (x, scales, zero_points, out):
            assert aclnn.aclDestroyTensor(tensor) == aclnn.ACL_SUCCESS
        for address in (x_address, scales_address, zero_points_address, out_address):
            assert aclnn.aclrtFree(address) == aclnn.ACL_SUCCESS
        assert aclnn.aclrtDestroyStream(stream) == aclnn.aclrtResetDevice(0) == aclnn.aclFinalize() == aclnn.ACL_SUCCESS

    @staticmethod
    def tensor(array, data_type):
        """Of the array's shape and memory, which the caller keeps; 0 for None."""
        if array is None:
            return 0
        shape = array.shape
        return aclnn.aclCreateTensor(
            shape, array.ndim, data_type, None, 0, aclnn.ACL_FORMAT_ND, shape, array.ndim, array.ctypes.data
        )

    def run(self, function, *arguments):
        """Both phases; tensors among the arguments are (array, data type). Gives the workspace's size."""
        tensors = [self.tensor(*each) if isinstance(each, tuple) else each for each in arguments]
        status, size, executor = getattr(aclnn, f"{function}GetWorkspaceSize")(*tensors)
        assert status == aclnn.ACL_SUCCESS, aclnn.aclGetRecentErrMsg()
        workspace = numpy.zeros(size, "u1")
        address = workspace.ctypes.data if size else 0
        assert getattr(aclnn, function)(address, size, executor, 0) == aclnn.ACL_SUCCESS, aclnn.aclGetRecentErrMsg()
        for given, tensor in zip(arguments, tensors):
            assert not isinstance(given, tuple) or aclnn.aclDestroyTensor(tensor) == aclnn.ACL_SUCCESS
        return size

    def test_samples_of_the_other_functions(self):
        x, channels, y = numpy.arange(8, dtype="f4").reshape(4, 2), numpy.float32([1, 2]), numpy.zeros((4, 2), "i1")
        given = (x, aclnn.ACL_FLOAT), (channels, aclnn.ACL_FLOAT), (channels, aclnn.ACL_FLOAT)
        result = y, aclnn.ACL_INT8
        assert self.run("aclnnAscendQuantV3", *given, False, "round", aclnn.ACL_INT8, -1, result) == 0
        assert y.tolist() == [[1, 4], [3, 8], [5, 12], [7, 16]]
        assert self.run("aclnnAscendQuant", *given, True, "floor", aclnn.ACL_INT8, result) == 8
        assert y.tolist() == [[1, 6], [3, 14], [5, 22], [7, 30]]

        codes, one, values = numpy.arange(8, dtype="i1").reshape(4, 2), numpy.float32([1]), numpy.zeros((4, 2), "f2")
        given = (codes, aclnn.ACL_INT8), (one, aclnn.ACL_FLOAT), (one, aclnn.ACL_FLOAT)
        self.run("aclnnAscendAntiQuant", *given, aclnn.ACL_FLOAT16, False, (values, aclnn.ACL_FLOAT16))
        assert values.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]

        x, scale, y = numpy.float16([[1, -2], [4, 3]]), numpy.zeros(2, "f4"), numpy.zeros((2, 2), "i1")
        x_given, y_given, scale_given = (x, aclnn.ACL_FLOAT16), (y, aclnn.ACL_INT8), (scale, aclnn.ACL_FLOAT)
        expected = [[64, -127], [127, 95]], [numpy.float32(2) / 127, numpy.float32(4) / 127]
        assert self.run("aclnnDynamicQuant", x_given, 0, y_given, scale_given) == 0
        assert (y.tolist(), scale.tolist()) == expected
        assert self.run("aclnnDynamicQuantV2", x_given, 0, 0, aclnn.ACL_INT8, y_given, scale_given, 0) == 0
        assert (y.tolist(), scale.tolist()) == expected
        factors = numpy.float16([1, 1]), aclnn.ACL_FLOAT16
        more = aclnn.ACL_INT8, True, "pertoken", y_given, scale_given, 0
        assert self.run("aclnnDynamicQuantV3", x_given, factors, 0, *more) == 16
        assert (y.tolist(), scale.tolist()) == expected

        x, offset = numpy.float16([[0, 255], [-102, 408]]), numpy.zeros(2, "f4")
        more = aclnn.ACL_INT8, False, "pertoken", y_given, scale_given, (offset, aclnn.ACL_FLOAT)
        assert self.run("aclnnDynamicQuantV3", (x, aclnn.ACL_FLOAT16), 0, 0, *more) == 16
        assert (y.tolist(), scale.tolist(), offset.tolist()) == ([[-128, 127], [-128, 127]], [1, 2], [-128, -77])

        x = numpy.array([[0, 8, 64, 512]], ml_dtypes.bfloat16), aclnn.ACL_BF16
        y, scale = numpy.zeros((1, 4), "u1"), numpy.full((1, 1, 2), 77, "u1")
        for mode in ("rint", None):
            outputs = (y, aclnn.ACL_FLOAT8_E4M3FN), (scale, aclnn.ACL_FLOAT8_E8M0)
            assert self.run("aclnnDynamicMxQuant", x, -1, mode, aclnn.ACL_FLOAT8_E4M3FN, 32, 0, *outputs) == 1
            assert (y.tolist(), scale.tolist()) == ([[0, 72, 96, 120]], [[[128, 0]]])

    def test_failures_have_canns_statuses_and_a_reason(self):
        status, *_ = aclnn.aclnnQuantizeGetWorkspaceSize(0, 0, 0, aclnn.ACL_INT8, 0, 0)
        assert status == aclnn.ACLNN_ERR_PARAM_NULLPTR
        assert "x" in aclnn.aclGetRecentErrMsg()
        assert aclnn.aclrtSetDevice(1) == aclnn.ACL_ERROR_RT_INVALID_DEVICEID
        with pytest.raises(ValueError, match="shorter than its number of dimensions"):
            aclnn.aclCreateTensor([2], 2, aclnn.ACL_FLOAT, None, 0, aclnn.ACL_FORMAT_ND, [2], 1, 0)

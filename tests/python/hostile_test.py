"""Arguments that change, lie or overflow while a call reads them: a clear error, or what was there first counts."""

import fractions
import itertools
import sys
import types

import ml_dtypes
import numpy
import oracle
import pytest

import qdq
from qdq.compat import aclnn, nvtripy as tp, pypto, tensorrt as trt, torch_npu

X = numpy.linspace(-4, 4, 24, dtype=numpy.float32).reshape(4, 6)
HUGE = 10**400
UNPRINTABLE = pytest.param(10**5000, id="10**5000")  # of more digits than str() gives


class Acts:
    """An integer that does something when it is read."""

    def __init__(self, value, act):
        self.value, self.act = value, act

    def __index__(self):
        self.act()
        return self.value


class Capsule:
    """An array of another library: its capsule, and what is done when that is asked for."""

    def __init__(self, array, act=lambda: None):
        self.array, self.act = array, act

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **_):
        self.act()
        return self.array.__dlpack__()


def acting_number(kind, act):
    """1, of a class of its own, which acts when it is read as a float."""

    class Number(kind):
        def __float__(self):
            act()
            return 1.0

    return Number(1)


def freed(array):
    """What gives an array's memory back, and takes it for others."""

    def act():
        array.resize(0, refcheck=False)
        act.others = [numpy.ones(1 << 20, "u1") for _ in range(4)]

    return act


class TestSequencesThatChange:
    def test_a_block_size_that_grows_is_read_as_it_was(self):
        sizes = [Acts(4, lambda: sizes.extend([1] * 1000)), 6]
        y = qdq.quantize(X, numpy.ones((1, 1), "f4"), dtype="int8", block_size=sizes)
        assert oracle.same_bits(y, qdq.quantize(X, 1.0, dtype="int8"))

    def test_a_block_size_that_is_emptied_is_read_as_it_was(self):
        sizes = [Acts(4, lambda: sizes.clear()), 6]
        y = qdq.quantize(X, numpy.ones((1, 1), "f4"), dtype="int8", block_size=sizes)
        assert oracle.same_bits(y, qdq.quantize(X, 1.0, dtype="int8"))

    def test_a_tuple_that_lies_about_its_length_is_counted(self):
        class Lies(tuple):
            def __len__(self):
                return 2

        with pytest.raises(ValueError, match="block_size: it has more than 8 sizes"):
            qdq.quantize(X, 1.0, dtype="int8", block_size=Lies([1] * 10000))

    def test_an_endless_shape_is_refused(self):
        with pytest.raises(ValueError, match="shape: it has more than 8 sizes"):
            qdq.dequantize(numpy.zeros(4, "u1"), 1.0, stored="int4", shape=itertools.count())

    def test_dimensions_that_are_emptied_are_read_as_they_were(self):
        def clear():
            shape.clear()
            clear.others = [[None] * 8 for _ in range(64)]  # which may take the memory of the list's items

        shape = [Acts(2, clear), *[1] * 7]
        tensor = aclnn.aclCreateTensor(shape, 8, aclnn.ACL_FLOAT, None, 0, aclnn.ACL_FORMAT_ND, [2], 1, X.ctypes.data)
        assert tensor != 0 and aclnn.aclDestroyTensor(tensor) == aclnn.ACL_SUCCESS

    def test_a_scale_that_grows_is_refused_or_read_as_it_was(self):
        scale = [acting_number(float, lambda: scale.append(1.0)), 1.0, 1.0, 1.0]
        try:
            y = qdq.quantize(X, scale, dtype="int8", axis=0)
        except ValueError:
            return
        assert oracle.same_bits(y, qdq.quantize(X, [1.0] * 4, dtype="int8", axis=0))


class TestMemoryThatMoves:
    MOVED = "its memory was taken away or changed its shape"

    def test_x_that_is_resized_while_a_size_is_read(self):
        x = numpy.ones(1 << 20, "f4")
        with pytest.raises(ValueError, match=f"x: {self.MOVED}"):
            qdq.quantize(x, 1.0, dtype="int8", axis=Acts(0, freed(x)))

    def test_x_that_is_resized_while_out_is_read(self):
        x, out = numpy.ones(1 << 20, "f4"), numpy.empty(1 << 20, "i1")
        with pytest.raises(ValueError, match=f"x: {self.MOVED}"):
            qdq.quantize(x, 1.0, dtype="int8", out=Capsule(out, freed(x)))

    def test_x_that_is_resized_while_a_scale_is_read(self):
        x = numpy.ones(1 << 20, "f4")
        scale = [acting_number(float, freed(x))]
        with pytest.raises(ValueError, match=f"x: {self.MOVED}"):
            qdq.quantize(x, scale, dtype="int8")

    def test_x_that_is_resized_while_a_number_is_read(self):
        x = numpy.ones(1 << 20, "f4")
        scale = acting_number(int, freed(x))
        with pytest.raises(ValueError, match=f"x: {self.MOVED}"):
            qdq.quantize(x, scale, dtype="int8")

    def test_out_that_is_resized_while_a_size_is_read(self):
        out = numpy.empty(X.shape, "i1")
        with pytest.raises(ValueError, match=f"out: {self.MOVED}"):
            qdq.quantize(X, numpy.ones((1, 1), "f4"), dtype="int8", block_size=[4, Acts(6, freed(out))], out=out)

    def test_a_scale_that_is_resized_while_a_size_is_read(self):
        scale = numpy.ones(4, "f4")
        with pytest.raises(ValueError, match=f"scale: {self.MOVED}"):
            qdq.quantize(X, scale, dtype="int8", axis=Acts(0, freed(scale)))

    def test_a_zero_point_that_is_resized_while_a_size_is_read(self):
        zero_point = numpy.ones(4, "i1")
        with pytest.raises(ValueError, match=f"zero_point: {self.MOVED}"):
            qdq.quantize(X, [1.0] * 4, zero_point, dtype="int8", axis=Acts(0, freed(zero_point)))

    @pytest.mark.parametrize("moved", ["q", "scale", "zero_point", "new_scale", "new_zero_point", "out"])
    def test_an_argument_of_transcode_that_is_resized_while_a_size_is_read(self, moved):
        channels = 1 << 20
        given = {"q": numpy.ones(channels, "i1"), "out": numpy.zeros(channels, "u1")}
        for name in ("scale", "new_scale"):
            given[name] = numpy.ones(channels, "f4")
        for name in ("zero_point", "new_zero_point"):
            given[name] = numpy.ones(channels, "i4")
        with pytest.raises(ValueError, match=f"qdq.transcode: {moved}: {self.MOVED}"):
            qdq.transcode(**given, dtype="uint8", new_axis=Acts(0, freed(given[moved])))

    def test_bytes_that_are_resized_while_a_size_is_read(self):
        q = numpy.zeros(1 << 20, "u1")
        with pytest.raises(ValueError, match=f"q: {self.MOVED}"):
            qdq.dequantize(q, 1.0, stored="int4", axis=Acts(0, freed(q)))

    def test_a_plan_whose_scale_was_resized(self):
        scale = numpy.ones(4, "f4")
        plan = qdq.plan(qdq.quantize, X, scale, dtype="int8", axis=0)
        assert oracle.same_bits(plan(X), qdq.quantize(X, 1.0, dtype="int8"))
        freed(scale)()
        with pytest.raises(ValueError, match=f"scale: {self.MOVED}"):
            plan(X)

    def test_a_plan_whose_x_is_resized_while_out_is_read(self):
        plan = qdq.plan(qdq.quantize, X, 1.0, dtype="int8")
        x = X.copy()
        with pytest.raises(ValueError, match=f"x: {self.MOVED}"):
            plan(x, Capsule(numpy.empty(X.shape, "i1"), freed(x)))

    def test_an_input_of_a_front_end_that_is_resized_while_another_is_read(self):
        x, scale = numpy.ones((512, 512), "i1"), numpy.ones(512, "f4")
        with pytest.raises(RuntimeError, match=f"input: {self.MOVED}"):
            pypto.dequantize(x, Capsule(scale, freed(x)), pypto.DT_FP32, -1)

    def test_a_capsule_belongs_to_the_call_that_has_taken_it(self):
        """Its producer gives it out twice: once used, it cannot be taken and given back by another."""
        memory = numpy.ones(1 << 20, "f4")
        capsule = memory.__dlpack__()

        class Shared(Capsule):
            def __dlpack__(self, **_):
                return capsule

        y = qdq.quantize(Shared(memory), 0.5, dtype="int8")
        assert (y == 2).all()
        with pytest.raises(ValueError):
            numpy.from_dlpack(Shared(memory))

    def test_a_capsules_memory_goes_back_to_its_producer(self):
        memory = numpy.ones(X.shape, "f4")
        before = sys.getrefcount(memory)
        qdq.quantize(Capsule(memory), 0.5, dtype="int8")
        with pytest.raises(ValueError, match="axis"):
            qdq.quantize(Capsule(memory), [0.5] * 4, dtype="int8", axis=9)
        assert sys.getrefcount(memory) == before

    def test_resized_weights_stay_as_they_were_given(self):
        builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
        network = builder.create_network()
        weights = numpy.full(4, 0.5, "f4")
        scale = network.add_constant((4,), weights).get_output(0)
        layer = network.add_quantize(network.add_input("x", trt.float32, (4, 6)), scale)
        layer.axis = 0
        network.mark_output(layer.get_output(0))
        weights[:] = numpy.nan
        freed(weights)()
        engine = builder.build_engine_with_config(network, builder.create_builder_config())
        x, y = numpy.ones((4, 6), "f4"), numpy.zeros((4, 6), "i1")
        context = engine.create_execution_context()
        assert context.set_tensor_address("x", x.ctypes.data)
        assert context.set_tensor_address(engine.get_tensor_name(1), y.ctypes.data)
        assert context.execute_async_v3(0) and (y == 2).all()


class TestNumbers:
    @pytest.mark.parametrize("scale", [HUGE, -HUGE, [HUGE], [1.0, HUGE]])
    def test_a_scale_past_every_float_is_refused(self, scale):
        with pytest.raises(ValueError, match="qdq.quantize: scale: "):
            qdq.quantize(X, scale, dtype="int8")

    def test_a_scale_of_integers_past_64_bits_or_of_fractions_is_taken(self):
        y = qdq.quantize(X, [fractions.Fraction(1, 2)], dtype="int8")
        assert oracle.same_bits(y, qdq.quantize(X, 0.5, dtype="int8"))
        y = qdq.quantize(X * 1e30, [10**30], dtype="int8")
        assert oracle.same_bits(y, qdq.quantize(X * 1e30, 10**30, dtype="int8"))

    @pytest.mark.parametrize("scale", [[None], ["3"], [1j], [b"3"], [object()], [[1.0], [1.0, 2.0]]], ids=repr)
    def test_a_scale_of_no_numbers_is_refused(self, scale):
        with pytest.raises(ValueError, match="qdq.quantize: scale: "):
            qdq.quantize(X, scale, dtype="int8")

    @pytest.mark.parametrize("number", [HUGE, -HUGE, UNPRINTABLE, 2**63])
    @pytest.mark.parametrize("keyword", ["block_size", "axis"])
    def test_an_integer_past_64_bits_is_refused(self, number, keyword):
        with pytest.raises(ValueError, match=f"qdq.quantize: {keyword}: .* is not in the range of int64"):
            qdq.quantize(X, 1.0, dtype="int8", **{keyword: number})

    @pytest.mark.parametrize(
        "zero_point", [HUGE, UNPRINTABLE, [2**70], [HUGE], [None], ["3"], [fractions.Fraction(7, 2)]]
    )
    def test_a_zero_point_that_is_no_int32_is_refused(self, zero_point):
        with pytest.raises(ValueError, match="qdq.quantize: zero_point: "):
            qdq.quantize(X, 1.0, zero_point, dtype="int8")

    def test_a_count_of_threads_is_0_or_more(self):
        for count in (-1, -HUGE, HUGE, 2**31):
            with pytest.raises(ValueError, match="qdq.set_num_threads: count: "):
                qdq.set_num_threads(count)
        for count in (1.0, "1", None):
            with pytest.raises(TypeError, match="qdq.set_num_threads: count: it is no integer"):
                qdq.set_num_threads(count)

    @pytest.mark.parametrize("value", [HUGE, 2**40, -(2**40)])
    def test_axes_of_front_ends_past_32_bits_are_refused(self, value):
        codes, scale = numpy.zeros((2, 2), "i1"), numpy.ones(2, "f4")
        with pytest.raises((ValueError, RuntimeError), match="axis: "):
            pypto.dequantize(codes, scale, pypto.DT_FP32, value)
        with pytest.raises((ValueError, RuntimeError), match="axis: "):
            torch_npu.npu_quantize(X, scale, None, torch_npu.qint8, axis=value)
        with pytest.raises(tp.TripyException, match="dim: "):
            tp.quantize(tp.Tensor(X), 1.0, tp.int8, value)
        with pytest.raises(RuntimeError, match="set_vec_tile_shapes: sizes: "):
            pypto.set_vec_tile_shapes(HUGE)

    @pytest.mark.parametrize("value", [True, False])
    def test_a_bool_is_no_integer(self, value):
        """It would be axis 0 or 1: `npu_quantize(x, s, None, qint8, False)` would divide along axis 0."""
        NO_BOOL = "it is a bool, and no integer"
        codes, scale = numpy.zeros((2, 2), "i1"), numpy.ones(2, "f4")
        for keyword in ("axis", "block_size"):
            with pytest.raises(TypeError, match=f"qdq.quantize: {keyword}: {NO_BOOL}"):
                qdq.quantize(X, [1.0] * 4, dtype="int8", **{keyword: value})
        with pytest.raises(TypeError, match=f"block_size: {NO_BOOL}"):
            qdq.quantize(X, 1.0, dtype="int8", block_size=(value, 1))
        with pytest.raises(TypeError, match=f"count: {NO_BOOL}"):
            qdq.set_num_threads(value)
        with pytest.raises(RuntimeError, match=f"pypto.dequantize: axis: {NO_BOOL}"):
            pypto.dequantize(codes, scale, pypto.DT_FP32, value)
        with pytest.raises(RuntimeError, match=f"pypto.set_vec_tile_shapes: sizes: {NO_BOOL}"):
            pypto.set_vec_tile_shapes(4, value)
        with pytest.raises(TypeError, match=f"torch_npu.npu_quantize: axis: {NO_BOOL}"):
            torch_npu.npu_quantize(X[:2, :2], scale, None, torch_npu.qint8, value)
        with pytest.raises(tp.TripyException, match=f"nvtripy.quantize: dim: {NO_BOOL}"):
            tp.quantize(tp.Tensor(X[:2, :2]), [1.0, 1.0], tp.int8, dim=value)
        network = trt.Builder(trt.Logger()).create_network()
        one = network.add_constant((), numpy.float32(1)).get_output(0)
        for layer in (network.add_quantize(one, one), network.add_dequantize(one, one)):
            with pytest.raises(TypeError, match=f"TensorRT: axis: {NO_BOOL}"):
                layer.axis = value
            assert layer.axis == -1
        with pytest.raises(TypeError, match=f"axis: {NO_BOOL}"):
            aclnn.aclnnQuantizeGetWorkspaceSize(0, 0, 0, aclnn.ACL_INT8, value, 0)

    @pytest.mark.parametrize("value", [1, 0, None, "False", 1.0])
    def test_div_mode_is_a_bool(self, value):
        with pytest.raises(TypeError, match="torch_npu.npu_quantize: div_mode: it is no bool"):
            torch_npu.npu_quantize(X, numpy.ones(1, "f4"), None, torch_npu.qint8, 1, value)

    def test_what_an_integers_own_code_raises_is_raised(self):
        class Stop(Exception):
            pass

        def stop():
            raise Stop

        with pytest.raises(Stop):
            qdq.quantize(X, 1.0, dtype="int8", axis=Acts(0, stop))
        with pytest.raises(Stop):
            qdq.quantize(X, 1.0, dtype="int8", block_size=[Acts(0, stop), 1])
        with pytest.raises(Stop):
            pypto.dequantize(numpy.zeros((2, 2), "i1"), numpy.ones(2, "f4"), pypto.DT_FP32, Acts(0, stop))


class TestTexts:
    SURROGATE, NUL = "it is no valid Unicode", "it has a NUL character"

    @pytest.mark.parametrize("keyword", ["scale_mode", "zero_point_mode", "rounding", "profile"])
    def test_options_are_named_by_whole_texts(self, keyword):
        name = {"scale_mode": "divide", "zero_point_mode": "after_rounding", "rounding": "up", "profile": "onnx"}[
            keyword
        ]
        with pytest.raises(ValueError, match=f"qdq.quantize: {keyword}: {self.NUL}"):
            qdq.quantize(X, 1.0, dtype="int8", **{keyword: name + "\0"})
        with pytest.raises(ValueError, match=f"qdq.quantize: {keyword}: {self.NUL}"):
            qdq.quantize(X, 1.0, dtype="int8", **{keyword: name + "\0more"})
        with pytest.raises(ValueError, match=f"qdq.quantize: {keyword}: {self.SURROGATE}"):
            qdq.quantize(X, 1.0, dtype="int8", **{keyword: "\ud800"})
        for other in (3, b"onnx", 1.5, []):
            with pytest.raises(TypeError, match=f"qdq.quantize: {keyword}: it is no string"):
                qdq.quantize(X, 1.0, dtype="int8", **{keyword: other})

    def test_targets_are_named_by_whole_texts(self):
        usable = next(name for name, problem in qdq.targets() if problem is None)
        with pytest.raises(ValueError, match=f"qdq.force_target: name: {self.NUL}"):
            qdq.force_target(usable + "\0")
        with pytest.raises(ValueError, match=f"qdq.force_target: name: {self.SURROGATE}"):
            qdq.force_target("\ud800")
        for other in (3, b"avx2", []):
            with pytest.raises(TypeError, match="qdq.force_target: name: it is no string"):
                qdq.force_target(other)

    def test_a_message_that_is_cut_off_inside_a_character_is_shown(self):
        for length in range(450, 480):
            with pytest.raises(ValueError, match="profile: ") as caught:
                qdq.quantize(X, 1.0, dtype="int8", profile="a" * (length % 3) + "\u20ac" * length)
            assert type(caught.value) is ValueError

    @pytest.mark.parametrize("dtype", ["\ud800", "int8\0", "int8\ud800", "int\u0668"], ids=ascii)
    def test_dtypes_are_named_by_whole_texts(self, dtype):
        with pytest.raises(TypeError, match="qdq.quantize: dtype: .* is no type of qdq's"):
            qdq.quantize(X, 1.0, dtype=dtype)
        with pytest.raises(TypeError, match="qdq.dequantize: stored: .* is no type of qdq's"):
            qdq.dequantize(numpy.zeros(2, "u1"), 1.0, stored=dtype)

    def test_a_dtype_whose_name_is_no_text_is_refused(self):
        class Named:
            name = 3

        class Shown:
            name = "int9"

            def __repr__(self):
                return "\ud800\0"

        for dtype in (Named(), Shown(), object(), 3, b"int8"):
            with pytest.raises(TypeError, match="dtype: "):
                qdq.quantize(X, 1.0, dtype=dtype)

    def test_a_dtype_is_asked_for_its_name_in_each_call(self):
        class Changes:
            name = "int8"

        dtype = Changes()
        assert qdq.quantize(X, 1.0, dtype=dtype).dtype == numpy.int8
        dtype.name = "uint8"
        assert qdq.quantize(X, 1.0, dtype=dtype).dtype == numpy.uint8

    def test_a_dtype_that_claims_to_be_another_changes_no_other_call(self):
        class Claims(str):
            def __hash__(self):
                return hash("uint16")

            def __eq__(self, other):
                return True

        qdq.quantize(X, 1.0, dtype=Claims("int8"))
        assert qdq.quantize(X, 1.0, dtype="uint16").dtype == numpy.uint16

    def test_names_of_tensorrt_are_whole_texts(self):
        network = trt.Builder(trt.Logger()).create_network()
        for name, error, message in (("x\0", ValueError, self.NUL), ("\ud800", ValueError, self.SURROGATE),
                                     (3, TypeError, "it is no string")):  # fmt: skip
            with pytest.raises(error, match=message):
                network.add_input(name, trt.float32, (2,))
        tensor = network.add_input("x", trt.float32, (2,))
        with pytest.raises(ValueError, match=self.NUL):
            tensor.name = "y\0"
        assert tensor.name == "x"

    def test_a_logger_hears_of_a_name_that_is_cut_off_inside_a_character(self):
        lines = []

        class Lines(trt.ILogger):
            def log(self, severity, message):
                lines.append(message)

        builder = trt.Builder(Lines())
        for length in range(300, 303):
            network = builder.create_network()
            one = network.add_constant((), numpy.float32(1)).get_output(0)
            layer = network.add_quantize(network.add_input("x", trt.float32, ()), one)
            layer.name = "a" * (length % 3) + "\u20ac" * length
            assert builder.build_engine_with_config(network, builder.create_builder_config()) is None
        assert len(lines) == 3 and all(line.startswith("TensorRT: ") for line in lines)


class TestShapes:
    @pytest.mark.parametrize("stored", ["int2", "int4", "float4_e2m1fn"])
    def test_elements_that_no_int64_counts_are_refused(self, stored):
        q = numpy.empty((0, 2**62), "u1")
        with pytest.raises(ValueError, match="q: "):
            qdq.dequantize(q, 1.0, stored=stored)

    def test_a_shape_whose_product_wraps_is_refused(self):
        for shape in ((2**32, 2**32), (2**62, 4), (2**63 - 1,) * 8):
            with pytest.raises(ValueError, match="q: 0 bytes are not those of a shape of"):
                qdq.dequantize(numpy.empty(0, "u1"), 1.0, stored="int4", shape=shape)

    def test_an_empty_shape_of_large_dimensions_is_empty(self):
        y = qdq.dequantize(numpy.empty(0, "u1"), 1.0, stored="int4", shape=(2**40, 0))
        assert y.shape == (2**40, 0)

    @pytest.mark.parametrize("shape", [5, 1.5, "3", ["3"], [1.5], object()])
    def test_a_shape_of_no_integers_is_refused(self, shape):
        with pytest.raises(TypeError, match="qdq.dequantize: shape: it is no"):
            qdq.dequantize(numpy.zeros(4, "u1"), 1.0, stored="int4", shape=shape)

    def test_shapes_of_tensorrt_are_integers(self):
        network = trt.Builder(trt.Logger()).create_network()
        for shape, error in (((1.5,), TypeError), (("2",), TypeError), (3, TypeError), ((HUGE,), ValueError),
                             (itertools.count(), ValueError), ((1,) * 9, ValueError)):  # fmt: skip
            with pytest.raises(error, match="TensorRT: add_input: shape: "):
                network.add_input("x", trt.float32, shape)

    def test_what_a_refused_call_would_copy_is_not_copied(self):
        """q's one byte stands for 2^42 codes: packing them first would take 2 TiB."""
        q = numpy.broadcast_to(numpy.zeros((), ml_dtypes.int4), (2**42,))
        with pytest.raises(ValueError, match="shape"):
            qdq.dequantize(q, 1.0, out=numpy.empty(3, "f4"))
        with pytest.raises(ValueError, match="dtype"):
            qdq.dequantize(numpy.zeros(3, "i1"), q)
        with pytest.raises(ValueError, match="dtype"):
            qdq.dequantize(numpy.zeros(3, "i1"), 1.0, q)
        with pytest.raises(tp.TripyException, match="scale"):
            tp.dequantize(tp.Tensor(q), tp.Tensor([1.0, 2.0]), tp.float32, 0)

    def test_codes_whose_bits_no_int64_counts_have_no_memory(self):
        """2^62 codes of one byte, whose 2^64 bits would wrap to none."""
        q = numpy.broadcast_to(numpy.zeros((), ml_dtypes.int4), (2**62,))
        out = numpy.lib.stride_tricks.as_strided(numpy.zeros(1, "i1"), (2**62,), (0,))
        with pytest.raises(MemoryError):
            qdq.transcode(q, 1.0, dtype="int8", new_scale=1.0, out=out)


class TestOutputs:
    @pytest.mark.parametrize("name", ["int8", "int4", "uint2", "float4_e2m1fn", "float6_e2m3fn"])
    @pytest.mark.parametrize("strides", [(0, 1), (1, 0), (0, 0), (1, 1), (3, 2), (-1, 1), (0, -1)])
    def test_elements_that_overlap_are_refused(self, name, strides):
        memory = numpy.ones(64, oracle.dtype(name))
        out = numpy.lib.stride_tricks.as_strided(memory[32:], (4, 6), strides)
        with pytest.raises(ValueError, match="its strides make elements overlap one another"):
            qdq.quantize(X, 1.0, dtype=name, out=out)
        assert (memory == 1).all()

    def test_elements_that_only_a_dimension_of_one_repeats_do_not_overlap(self):
        out = numpy.lib.stride_tricks.as_strided(numpy.zeros(6, ml_dtypes.int4), (1, 6), (0, 1))
        assert qdq.quantize(X[:1], 1.0, dtype="int4", out=out).tolist() == [[-4, -4, -3, -3, -3, -2]]

    def test_a_plan_refuses_outputs_that_overlap(self):
        out = numpy.lib.stride_tricks.as_strided(numpy.zeros(6, ml_dtypes.int4), (4, 6), (0, 1))
        with pytest.raises(ValueError, match="overlap one another"):
            qdq.plan(qdq.quantize, X, 1.0, dtype="int4", out=out)

    def test_codes_of_a_byte_each_are_written_over_no_argument(self):
        """qdq itself sees the bytes that they are packed in, which lie elsewhere."""
        memory = numpy.zeros(64, "f4")
        x, scale, zero_point = memory[:16].reshape(4, 4), memory[32:36], memory[48:52].view("i4")
        scale[:] = 1
        before = memory.copy()
        q = memory[16:20].view(ml_dtypes.int4).reshape(4, 4)
        for begin, name in ((48, "x"), (128, "scale"), (207, "zero_point")):
            out = memory.view(ml_dtypes.int4)[begin : begin + 16].reshape(4, 4)
            for given in (out, out[::-1]):
                with pytest.raises(ValueError, match=f"^qdq.quantize: out: it overlaps {name}$"):
                    qdq.quantize(x, scale, zero_point, dtype="int4", axis=0, out=given)
        plan = qdq.plan(qdq.quantize, x, scale, dtype="int4", axis=0)
        with pytest.raises(ValueError, match="^qdq.quantize: out: it overlaps scale$"):
            plan(x, out=memory[32:36].view(ml_dtypes.int4).reshape(4, 4))
        with pytest.raises(ValueError, match="^qdq.dequantize: out: it overlaps q$"):
            qdq.dequantize(q, 1.0, out=memory[4:20].reshape(4, 4))
        with pytest.raises(ValueError, match="^qdq.transcode: out: it overlaps q$"):
            qdq.transcode(q, 1.0, dtype="int4", new_scale=1.0, out=q)
        with pytest.raises(ValueError, match="^qdq.transcode: out: it overlaps new_scale$"):
            qdq.transcode(q[:, 0], 1.0, dtype="int4", new_scale=scale, out=scale[:1].view(ml_dtypes.int4))
        with pytest.raises(ValueError, match="^qdq.quantize_dynamic: out: it overlaps x$"):
            qdq.quantize_dynamic(x, dtype="int4", out=x[0].view(ml_dtypes.int4).reshape(4, 4))
        assert (memory == before).all()
        assert qdq.quantize(x, scale, dtype="int4", axis=0, out=q) is q  # between them

    def test_codes_of_a_byte_each_of_one_output_are_written_over_no_other_ones(self):
        out = numpy.zeros((4, 6), ml_dtypes.int4)
        message = "^qdq.quantize_dynamic_pair: first: out: it overlaps that of the second$"
        first, second = {"dtype": "int4", "axis": 0}, {"dtype": "int4", "axis": 1}
        with pytest.raises(ValueError, match=message):
            qdq.quantize_dynamic_pair(X, {**first, "out": out}, {**second, "out": out})
        with pytest.raises(ValueError, match=message):
            qdq.plan(qdq.quantize_dynamic_pair, X, first, second)(X, first_out=out, second_out=out)
        assert not out.any()

    def test_what_is_no_array_is_not_written_to_as_a_copy(self):
        class Copies:
            def __array__(self, dtype=None, copy=None):
                return numpy.zeros(X.shape, "i1")

        with pytest.raises(TypeError, match="out: Copies is no array"):
            qdq.quantize(X, 1.0, dtype="int8", out=Copies())


class TestArrays:
    def test_a_record_with_a_types_name_is_none(self):
        """NumPy names a dtype by its scalar's class: of 4 bytes, this one is "float32"."""
        made = type("float", (numpy.void,), {})
        record = numpy.dtype((made, [("a", "u1"), ("b", "u1", 3)]))
        assert record.name == "float32"
        for array in (numpy.zeros(4, record), numpy.zeros(4, "V1")):
            with pytest.raises(TypeError, match="is no type of qdq's"):
                qdq.quantize(array, 1.0, dtype="int8")

    @pytest.mark.parametrize("module", ["torch", "cupy", "jax", 5, None, "\ud800"], ids=ascii)
    def test_a_class_that_claims_to_be_of_a_library_is_none_of_its(self, module):
        claims = type("Claims", (), {"__module__": module, "detach": None, "dtype": None})()
        for arguments, keywords in (((claims, 1.0), {}), ((X, claims), {}), ((X, 1.0, claims), {}),
                                    ((X, 1.0), {"out": claims})):  # fmt: skip
            with pytest.raises(TypeError, match="Claims is no array"):
                qdq.quantize(*arguments, dtype="int8", **keywords)

    @pytest.mark.parametrize("capsule", [None, 3, "capsule", object()])
    def test_what_is_no_capsule_is_refused(self, capsule):
        class Gives(Capsule):
            def __dlpack__(self, **_):
                return capsule

        with pytest.raises(TypeError, match="x: what __dlpack__ gives is no capsule of a tensor"):
            qdq.quantize(Gives(X), 1.0, dtype="int8")

    @pytest.mark.parametrize("device", [None, 1, (), (1,), {0: 1}, "cpu"], ids=repr)
    def test_what_is_no_device_is_refused(self, device):
        class Gives(Capsule):
            def __dlpack_device__(self):
                return device

        with pytest.raises(TypeError, match="x: what __dlpack_device__ gives is no pair"):
            qdq.quantize(Gives(X), 1.0, dtype="int8")

    def test_lists_that_hold_themselves_are_refused(self):
        scale = []
        scale.append(scale)
        with pytest.raises(ValueError, match="scale: "):
            qdq.quantize(X, scale, dtype="int8")
        with pytest.raises((TypeError, ValueError), match="block_size: "):
            qdq.quantize(X, 1.0, dtype="int8", block_size=[scale, scale])


class TestFrontEnds:
    def test_weights_are_of_their_type_and_dense(self):
        network = trt.Builder(trt.Logger()).create_network()
        with pytest.raises(TypeError, match="weights: "):
            network._add_constant((4,), trt.float32, numpy.zeros(4, "i1"))
        with pytest.raises(ValueError, match="weights: "):
            network._add_constant((4,), trt.float32, numpy.zeros(8, "f4")[::-2])

    def test_tensors_of_another_network_are_refused(self):
        builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
        network = builder.create_network()

        def foreign():
            return builder.create_network().add_input("x", trt.float32, (2,))

        one = network.add_constant((), numpy.float32(1)).get_output(0)
        with pytest.raises(ValueError, match="add_quantize: input: it is of another network"):
            network.add_quantize(foreign(), one)
        with pytest.raises(ValueError, match="add_dequantize: scale: it is of another network"):
            network.add_dequantize(network.add_input("x", trt.float32, (2,)), foreign())
        layer = network.add_quantize(network.get_input(0), one)
        with pytest.raises(ValueError, match="set_input: tensor: it is of another network"):
            layer.set_input(0, foreign())
        assert layer.get_input(0).name == "x"

    @pytest.mark.parametrize("dtype", ["int8", None, 3, numpy.int8])
    def test_a_type_that_is_none_of_the_front_ends_is_named(self, dtype):
        with pytest.raises(tp.TripyException, match="dtype: "):
            tp.quantize(tp.Tensor([1.0]), 1.0, dtype)
        with pytest.raises(tp.TripyException, match="dtype: "):
            tp.dequantize(tp.Tensor([1], tp.int8), 1.0, dtype)
        with pytest.raises(tp.TripyException, match="dtype: "):
            tp.cast(tp.Tensor([1.0]), dtype or "none")
        with pytest.raises(RuntimeError, match="otype: "):
            pypto.dequantize(numpy.zeros((2, 2), "i1"), numpy.ones(2, "f4"), dtype, -1)
        with pytest.raises((RuntimeError, TypeError), match="dtype: "):
            torch_npu.npu_quantize(X, numpy.ones(1, "f4"), None, [dtype])

    @pytest.mark.parametrize("scale", [HUGE, "a", None, [[1.0], [1.0, 2.0]]])
    def test_a_scale_of_tripy_that_is_no_number_is_named(self, scale):
        with pytest.raises(tp.TripyException, match="scale: "):
            tp.quantize(tp.Tensor([1.0]), scale, tp.int8)

    @pytest.mark.parametrize("size", ["4", 1.5, None])
    def test_a_tile_shape_is_of_integers(self, size):
        with pytest.raises(RuntimeError, match="set_vec_tile_shapes: sizes: it is no integer"):
            pypto.set_vec_tile_shapes(size)


def test_arrays_of_jax_on_a_gpu_are_refused_before_they_are_read(monkeypatch):
    class Array:
        __module__ = "jax"
        dtype = numpy.dtype("float32")

        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise AssertionError("JAX says nothing of its stream")

    monkeypatch.setitem(sys.modules, "jax", types.SimpleNamespace(Array=Array))
    with pytest.raises(TypeError, match=r"^qdq.quantize: x: JAX's arrays are taken from the host alone"):
        qdq.quantize(Array(), 0.5, dtype="int8")

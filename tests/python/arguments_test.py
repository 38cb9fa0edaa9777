"""What arguments may be, and what is said of those that may not."""

import sys
import threading

import ml_dtypes
import numpy
import oracle
import pytest

import qdq
from qdq import _frameworks

X = numpy.linspace(-4, 4, 24, dtype=numpy.float32).reshape(4, 6)


@pytest.mark.parametrize("dtype", ["int8", numpy.int8, numpy.dtype("int8"), ml_dtypes.float8_e4m3fn, "float8_e4m3fn"])
def test_a_dtype_is_a_string_or_a_type(dtype):
    assert qdq.quantize(X, 0.1, dtype=dtype).dtype == numpy.dtype(dtype)


def test_ascends_types_need_en_dtypes_but_for_bytes(monkeypatch):
    monkeypatch.setitem(sys.modules, "en_dtypes", None)
    with pytest.raises(TypeError, match="hifloat8 by the package en_dtypes alone, which is missing; packed=True"):
        _frameworks.numpy_dtype.__wrapped__("hifloat8")
    codes = qdq.quantize(numpy.array([1.0625, -3.0], "float32"), 1.0, dtype="hifloat8", packed=True)
    assert codes.tolist() == [0x09, 0x94]
    assert qdq.dequantize(codes, 1.0, stored="hifloat8").tolist() == [1.125, -3.0]
    assert qdq.quantize(numpy.array([[0.5, -1.75]], "float32"), 1.0, dtype="float4_e1m2", packed=True).tolist() == [[0xF2]]


@pytest.mark.parametrize("scale", [0.5, numpy.float32(0.5), numpy.array(0.5, "f4"), [0.5], (0.5,), numpy.float64(0.5)])
@pytest.mark.parametrize("zero_point", [3, numpy.int8(3), [3], numpy.array([3], "i4"), 3.0])
def test_operands_are_arrays_numbers_or_sequences(scale, zero_point):
    expected = oracle.quantize(X, 0.5, 3, "int8")
    assert oracle.same_bits(qdq.quantize(X, scale, zero_point, dtype="int8"), expected)


def test_inputs_are_not_copied():
    class Memory:
        """An array of another library, with nothing but DLPack."""

        def __dlpack_device__(self):
            return X.__dlpack_device__()

        def __dlpack__(self, **keywords):
            return numpy.from_dlpack(X).__dlpack__()

    assert oracle.same_bits(qdq.quantize(Memory(), 0.1, dtype="int8"), qdq.quantize(X, 0.1, dtype="int8"))
    y = X.copy()
    plan = qdq.plan(qdq.quantize, y, scale := numpy.ones(1, "f4"), dtype="int8")
    scale[0] = 0.5  # which the plan reads when it runs
    assert oracle.same_bits(plan(y), qdq.quantize(y, 0.5, dtype="int8"))


def test_y_may_be_x_where_elements_are_of_one_size():
    q = numpy.array([1, 2, 3], numpy.int16)
    y = q.view(numpy.float16)
    assert qdq.dequantize(q, 0.5, dtype="float16", out=y) is y and y.tolist() == [0.5, 1.0, 1.5]


@pytest.mark.parametrize(
    "arguments, keywords, error, message",
    [
        ((X, 0.1), {"dtype": "int9"}, TypeError, "dtype: 'int9' is no type of qdq's: those are float32, .*, hifloat8$"),
        ((X, 0.1), {"dtype": "fp8"}, TypeError, "dtype: 'fp8' is no type of qdq's: those are .* float8_e4m3fn"),
        ((X, 0.1), {"dtype": "f8e4m3"}, TypeError, "'f8e4m3' is no type of qdq's: in Python, .* it is float8_e4m3fn$"),
        ((X, 0.1), {"dtype": "i8"}, TypeError, "'i8' is no type of qdq's: in Python, .* it is int8$"),
        ((X, 0.1), {"dtype": []}, TypeError, "dtype: "),
        ((X, 0.1), {"dtype": None}, TypeError, "dtype: "),
        ((X, 0.1), {}, TypeError, "^qdq.quantize: missing a required .*argument: 'dtype', as dtype=\"int8\"$"),
        ((X,), {"dtype": "int8"}, TypeError, "^qdq.quantize: missing a required argument: 'scale'$"),
        ((X, 0.1, 0, "int8"), {}, TypeError, "^qdq.quantize: too many positional arguments$"),
        ((X, 0.1), {"dtype": "int8", "scale": 1}, TypeError, "^qdq.quantize: multiple values for argument 'scale'$"),
        ((X, 0.1), {"dtype": "int8", "bad": 1}, TypeError, "^qdq.quantize: got an unexpected keyword argument 'bad'$"),
        ((X, 0.1), {"dtype": "int8", "axes": 1}, TypeError, "keyword argument 'axes'; is axis meant?"),
        ((X, 0.1), {"dtype": "int8", "saturate": 1}, TypeError, "^qdq.quantize: saturate: it is no bool$"),
        ((X, 0.1), {"dtype": "int8", "nan": "highest"}, ValueError, 'nan: "highest" is none of lowest, zero$'),
        ((X, 0.1), {"dtype": "int8", "packed": None}, TypeError, "^qdq.quantize: packed: it is no bool$"),
        ((X.astype("f8"), 0.1), {"dtype": "int8"}, TypeError, "x: dtype float64 is no type of qdq's: use float32$"),
        ((X, X.astype("f8")), {"dtype": "int8"}, TypeError, "scale: dtype float64 is no type of qdq's: use float32$"),
        ((X.astype(">f4"), 0.1), {"dtype": "int8"}, TypeError, "x: dtype >f4"),
        (("x", 0.1), {"dtype": "int8"}, TypeError, "x: str is no array"),
        ((X, None), {"dtype": "int8"}, TypeError, "scale: NoneType is no array"),
        ((X, True), {"dtype": "int8"}, TypeError, "scale: bool is no array"),
        ((X, ["a"]), {"dtype": "int8"}, ValueError, "scale: "),
        ((X, 0.1, 2**31), {"dtype": "int8"}, ValueError, "zero_point: 2147483648 is not in the range of int32"),
        ((X, 0.1, [2**31]), {"dtype": "int8"}, ValueError, "zero_point: a number is not in the range of int32"),
        ((X, [0.1] * 3), {"dtype": "int8", "axis": 0}, ValueError, "scale: "),
        ((X, [0.1] * 4), {"dtype": "int8", "axis": 2}, ValueError, "axis"),
        ((X, [0.1] * 4), {"dtype": "int8", "axis": 2**40}, ValueError, "axis"),
        ((X, 0.1), {"dtype": "int8", "axis": 0.5}, TypeError, "axis: it is no integer"),
        ((X, 0.1), {"dtype": "int8", "block_size": "4"}, TypeError, "block_size: it is no integer"),
        ((X, 0.1), {"dtype": "int8", "block_size": (1, 2, 3)}, ValueError, "block_size: 3 sizes for 2 dimensions"),
        ((X, 0.1), {"dtype": "int8", "block_size": 2**70}, ValueError, "block_size: 1180591620717411303424 is not in"),
        ((X, 0.1), {"dtype": "int8", "rounding": "up_or_down"}, ValueError, '"up_or_down" is none of nearest_even'),
        ((X, 0.1), {"dtype": "int8", "seed": 2**64}, ValueError, "seed: 18446744073709551616 is not in the range of uint64"),
        ((X, 0.1), {"dtype": "int8", "seed": -1}, ValueError, "seed: -1 is not in the range of uint64"),
        ((X, 0.1), {"dtype": "int8", "offset": 0.5}, TypeError, "offset: it is no integer"),
        ((X, 0.1), {"dtype": "int8", "offset": None}, TypeError, "offset: it is no integer"),
        ((X, 0.1), {"dtype": "int8", "rounding": "stochastic", "offset": 2**64 - 1}, ValueError, "random_offset"),
        ((X, 0.1), {"dtype": "int8", "scale_mode": 1}, TypeError, "scale_mode: it is no string"),
        ((X, 0.1), {"dtype": "int8", "profile": "none"}, ValueError, '"none" is none of onnx'),
        ((X, 0.1), {"dtype": "float32"}, ValueError, "y: dtype f32 is not a quantized type"),
        ((X, 0.1), {"dtype": "int16", "packed": True}, TypeError, "packed: bytes hold types of at most 8 bits"),
        ((X, 0.1), {"dtype": "int8", "out": numpy.empty((4, 6), "u1")}, TypeError, "out: dtype uint8 is not int8"),
        ((X, 0.1), {"dtype": "int8", "out": numpy.empty((6, 4), "i1")}, ValueError, "y: shape"),
        ((X, 0.1), {"dtype": "int8", "out": [1]}, TypeError, "out: list is no array"),
        ((X, 0.1), {"dtype": "int4", "packed": True, "out": numpy.empty(11, "u1")}, ValueError, "out: 11 bytes"),
        ((X, 0.1), {"dtype": "int4", "packed": True, "out": numpy.empty((4, 6), "u1")[:, ::2]}, ValueError, "dense"),
        ((X.reshape((1,) * 7 + (4, 6)), 0.1), {"dtype": "int8"}, ValueError, "x: 9 dimensions are more than 8"),
        ((X, 0.1, 1), {"dtype": "float8_e5m2"}, ValueError, "zero_point: element 0 is not 0"),
    ],
)
def test_a_bad_argument_is_named(arguments, keywords, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        qdq.quantize(*arguments, **keywords)


def test_a_bad_argument_of_other_functions_is_named():
    with pytest.raises(TypeError, match="^qdq.dequantize: dtype: 'float64' is no type of qdq's: use float32$"):
        qdq.dequantize(numpy.zeros(2, "i1"), 0.1, dtype="float64")
    with pytest.raises(TypeError, match="^qdq.dequantize: got an unexpected keyword argument 'scal'; is scale meant"):
        qdq.dequantize(numpy.zeros(2, "i1"), scal=0.1)
    with pytest.raises(TypeError, match="^qdq.plan_quantize: missing a required .*argument: 'dtype'"):
        qdq.plan(qdq.quantize, X, 0.1)
    with pytest.raises(TypeError, match="^qdq.force_target: missing a required argument: 'name'"):
        qdq.force_target()
    with pytest.raises(TypeError, match="^qdq.targets: too many positional arguments"):
        qdq.targets(1)


@pytest.mark.parametrize(
    "keywords, error, message",
    [
        ({}, TypeError, "^qdq.transcode: missing a required .*argument: 'new_scale'$"),
        ({"new_scale": [0.1] * 6}, ValueError, "^qdq.transcode: new_axis: several dimensions of q have new_scale's"),
        ({"new_scale": numpy.ones((6, 4), "f4")}, ValueError, "new_scale: shape.1., 4, does not .*: new_block_size says"),
        ({"new_scale": None}, TypeError, "^qdq.transcode: new_scale: NoneType is no array"),
        ({"new_scale": 1.0, "new_zero_point": 2**31}, ValueError, "new_zero_point: 2147483648 is not in the range"),
        ({"new_scale": 1.0, "new_axis": True}, TypeError, "^qdq.transcode: new_axis: it is a bool"),
        ({"new_scale": 1.0, "new_block_size": (1,)}, ValueError, "new_block_size: 1 sizes for 2 dimensions"),
        ({"new_scale": 1.0, "new_zero_point_mode": "add"}, ValueError, 'new_zero_point_mode: "add" is none of after'),
        ({"new_scale": 1.0, "zero_point_mode": "up"}, ValueError, 'zero_point_mode: "up" is none of subtract'),
        ({"new_scale": 1.0, "new_profile": "none"}, ValueError, '"none" is none of onnx'),
        ({"new_scale": [1.0] * 5, "new_axis": 0}, ValueError, "^qdq_transcode, quantizing y: scale: "),
        ({"new_scale": 1.0, "block_size": (3, 3)}, ValueError, "^qdq_transcode, dequantizing x: "),
        ({"new_scale": 1.0, "out": numpy.empty((6, 5), "u1")}, ValueError, "^qdq_transcode, quantizing y: y: shape"),
        ({"new_scale": 1.0, "out": numpy.empty((6, 6), "i1")}, TypeError, "out: dtype int8 is not uint8"),
        ({"new_scale": 1.0, "dtype": "float32"}, ValueError, "y: dtype f32 is not a quantized type"),
        ({"new_scale": 1.0, "stored": "int4"}, TypeError, "q: bytes are uint8"),
    ],
)
def test_a_bad_argument_of_transcode_is_named(keywords, error, message):
    with pytest.raises(error, match=message):
        qdq.transcode(numpy.zeros((6, 6), "i1"), 0.1, **{"dtype": "uint8", **keywords})


def test_transcode_refuses_an_out_over_an_argument():
    q, scale = numpy.ones(24, "i1"), numpy.ones(24, "f4")
    with pytest.raises(ValueError, match="^qdq_transcode: y: it overlaps x$"):
        qdq.transcode(q, 1.0, dtype="uint8", new_scale=1.0, out=q.view("u1"))
    with pytest.raises(ValueError, match="^qdq_transcode: y: it overlaps x's scale$"):
        qdq.transcode(q, scale, dtype="uint8", new_scale=1.0, out=scale.view("u1")[:24])
    assert q.tolist() == [1] * 24 and scale.tolist() == [1] * 24


def test_what_an_arguments_code_raises_is_no_wrong_argument():
    class Raises:
        def __index__(self):
            raise TypeError("of its own")

    with pytest.raises(TypeError, match="it is no integer"):
        qdq.quantize(X, [0.1] * 4, dtype="int8", axis="x")
    with pytest.raises(TypeError, match="axis"):
        qdq.quantize(X, [0.1] * 4, dtype="int8", axis=Raises())


class TestShapesThatSayLessThanTheyMean:
    SQUARE = numpy.ones((4, 4), "f4")

    def test_a_scale_for_each_channel_of_a_square_matrix_wants_an_axis(self):
        for call in (qdq.quantize, lambda *arguments, **keywords: qdq.plan(qdq.quantize, *arguments, **keywords)):
            with pytest.raises(ValueError, match="axis: several dimensions of x have scale's length, 4: it says which"):
                call(self.SQUARE, [1.0, 2.0, 3.0, 4.0], dtype="int8")
        with pytest.raises(ValueError, match="qdq.dequantize: axis: several dimensions of q"):
            qdq.dequantize(numpy.ones((2, 4, 4), "i1"), [1.0, 2.0, 3.0, 4.0])
        for axis, first in ((0, [1, 1, 1, 1]), (1, [1, 0, 0, 0]), (-1, [1, 0, 0, 0])):
            y = qdq.quantize(self.SQUARE, [1.0, 2.0, 3.0, 4.0], dtype="int8", axis=axis)
            assert y[0].tolist() == first

    def test_where_shapes_say_which_dimension_is_meant_the_axis_may_be_left_out(self):
        assert qdq.quantize(X, [1.0] * 4, dtype="int8").shape == X.shape
        assert qdq.quantize(X[:, 0], [1.0] * 4, dtype="int8").shape == (4,)
        assert qdq.quantize(self.SQUARE, [1.0], dtype="int8").shape == (4, 4)
        assert qdq.quantize(self.SQUARE, numpy.ones((4, 1), "f4"), dtype="int8").shape == (4, 4)

    def test_blocks_that_do_not_divide_want_a_block_size(self):
        x, scale = numpy.ones((2, 4096), "f4"), numpy.ones((2, 33), "f4")
        with pytest.raises(ValueError, match=r"scale: shape\[1\], 33, does not divide x's, 4096: block_size says how long"):
            qdq.quantize(x, scale, dtype="int8")
        for how in ({"axis": 1, "block_size": 125}, {"block_size": (1, 125)}):
            assert (qdq.quantize(x, scale, dtype="int8", **how) == 1).all()
        assert (qdq.quantize(x, scale[:, :32], dtype="int8") == 1).all()
        with pytest.raises(ValueError, match="block_size"):
            qdq.quantize(x[0], scale[0], dtype="int8")


def test_refuses_memory_that_it_cannot_view():
    record = numpy.zeros(4, [("a", "f4"), ("b", "u1")])
    with pytest.raises(ValueError, match="x: a stride of 5 bytes is no multiple of 4"):
        qdq.quantize(record["a"], 0.1, dtype="int8")
    out = numpy.empty((4, 6), "i1")
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out: it is read-only"):
        qdq.quantize(X, 0.1, dtype="int8", out=out)
    codes = numpy.zeros(4, "i1")
    with pytest.raises(ValueError, match="overlap"):
        qdq.dequantize(codes[:1], 1.0, out=codes.view("f4"))


def test_bytes_need_the_type_that_they_hold():
    packed = qdq.quantize(X, 0.5, dtype="int4", packed=True)
    with pytest.raises(ValueError, match="12 bytes are not those of a shape of"):
        qdq.dequantize(packed, 0.5, stored="int4", shape=(5, 5))
    with pytest.raises(TypeError, match="q: bytes are uint8: it is int8"):
        qdq.dequantize(packed.view("i1"), 0.5, stored="int4")


def test_on_an_error_nothing_is_written():
    for name in ("int8", "int4"):
        out = numpy.ones((4, 6), oracle.dtype(name))
        with pytest.raises(ValueError):
            qdq.quantize(X, [0.1] * 5, dtype=name, axis=0, out=out)
        assert (out == 1).all()


def test_a_plan_refuses_another_layout():
    plan = qdq.plan(qdq.quantize, X, 0.1, dtype="int8")
    for other in (X.T, X[:2], X.astype("f2"), numpy.asfortranarray(X)):
        with pytest.raises(ValueError, match="x: its dtype, shape, strides or device are not those of the plan"):
            plan(other)
    with pytest.raises(ValueError, match="out: its dtype, shape"):
        plan(X, numpy.empty((6, 4), "i1").T)
    with pytest.raises(TypeError, match="function: it is none of"):
        qdq.plan(print, X)


def test_targets_give_the_same_bits():
    expected = qdq.quantize(X, 0.1, dtype="int8")
    usable = [name for name, problem in qdq.targets() if problem is None]
    try:
        for name in usable:
            qdq.force_target(name)
            assert qdq.current_target() == name
            assert oracle.same_bits(qdq.quantize(X, 0.1, dtype="int8"), expected)
        with pytest.raises(ValueError, match="z80"):
            qdq.force_target("z80")
    finally:
        qdq.force_target(None)
    assert qdq.current_target() == usable[0]


def test_threads_call_at_once_and_give_the_same_bits():
    x = numpy.random.default_rng(0).normal(size=(256, 1024)).astype("f4")
    expected = qdq.quantize(x, 0.1, dtype="int8")
    plan = qdq.plan(qdq.quantize, x, 0.1, dtype="int8")
    wrong = []

    def work(call):
        for _ in range(20):
            if not oracle.same_bits(call(), expected):
                wrong.append(call)

    calls = [lambda: qdq.quantize(x, 0.1, dtype="int8"), lambda: plan(x)] * 3
    threads = [threading.Thread(target=work, args=(call,)) for call in calls]
    qdq.set_num_threads(2)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    qdq.set_num_threads(0)
    assert not wrong


def test_other_threads_run_while_it_computes():
    """Another thread goes on in a call of some 100 ms: the interpreter's lock is not held, and is not taken away."""
    x = numpy.zeros(2**25, numpy.float32)
    out = numpy.empty(x.shape, "i1")
    ended, turns = threading.Event(), []

    def go_on():
        while not ended.wait(0.001):
            turns.append(None)

    def turns_in_a_call():
        before = len(turns)
        qdq.quantize(x, 0.1, dtype="int8", out=out)
        return len(turns) - before

    qdq.set_num_threads(1)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # of a thread that begins afterwards: none takes the lock away
    other = threading.Thread(target=go_on)
    other.start()
    try:
        assert any(turns_in_a_call() for _ in range(50))  # a machine may be busy
    finally:
        sys.setswitchinterval(interval)
        ended.set()
        other.join()
        qdq.set_num_threads(0)


def test_memory_comes_back():
    import gc
    import resource

    def use():
        for _ in range(200):
            y = qdq.quantize(X_LARGE, [0.1] * 64, dtype="int4", axis=0)
            qdq.dequantize(y, [0.1] * 64, axis=0)
            try:
                qdq.quantize(X_LARGE, [0.1] * 63, dtype="int4", axis=0)
            except ValueError:
                pass

    X_LARGE = numpy.zeros((64, 1024), numpy.float32)
    use()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    use()
    assert (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096
    )  # KiB: one lost array of each call is 50000

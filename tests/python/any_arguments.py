"""One call of anything that qdq has, of arguments that nothing keeps valid, drawn from the bytes of a test or a fuzzer.

A call returns what its arguments ask for, or raises an error that says which argument is wrong. It writes to the
elements of `out` and nowhere else, and not at all where it fails.
"""

import fractions
import itertools

import ml_dtypes
import numpy
import oracle

import qdq
from qdq._core import checkpoint
from qdq.compat import aclnn, nvtripy, pypto, tensorrt, torch_npu


class Hostile(Exception):
    """What the code of an argument raises."""


NAMES = [*oracle.FLOATS, *oracle.STORED, "float8_e8m0fnu"]
OTHERS = ["float64", "int64", "uint32", "bool", "complex64", ">f4", ">i2", "V4", "S3", "U1", "M8[s]", "object",
          [("a", "f4"), ("b", "u1")]]  # fmt: skip
EDGES = [0, 1, -1, 2, 3, 4, 6, 8, 127, 128, 255, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**61, 2**62, 2**63 - 1,
         2**63, -(2**63), 2**64, 10**400, -(10**400), 10**5000]  # fmt: skip
TEXTS = ["", "int8", "onnx", "torch", "divide", "up", "x", "\0", "onnx\0", "int8\0more", "\ud800", "a\udcff",
         "\u20ac" * 170, "\n\x1b[31m", "caf\u00e9"]  # fmt: skip
BASE = 4096  # bytes of the memory that each array is a view of


class Draw:
    """Arguments, and what they need of one another: those that have been drawn may be changed by those that follow."""

    def __init__(self, data):
        self.left = data
        self.arrays, self.lists, self.acted, self.compared, self.depth = [], [], False, False, 0
        self.rarity = self.between(0, 2) * 10 + 1  # of what is wrong: in most calls little is

    def between(self, least, most):
        """A decision takes as many bytes as its range needs; where none are left, it is the least number."""
        size = ((most - least).bit_length() + 7) // 8
        drawn, self.left = self.left[:size], self.left[size:]
        return least + int.from_bytes(drawn, "big") % (most - least + 1)

    def chance(self, one_in):
        return self.between(1, one_in) == one_in

    def odd(self, one_in):
        return self.chance(one_in * self.rarity)

    def one_of(self, values):
        return values[self.between(0, len(values) - 1)]

    def integer(self):
        return self.one_of(EDGES) if self.odd(3) else self.between(-9, 40)

    def text(self):
        return self.one_of(TEXTS)

    def act(self):
        """What an argument's code does while it is read."""
        self.acted = True
        what = self.between(0, 9)
        if what < 4 and self.arrays:
            self.resize(self.one_of(self.arrays))
        elif what < 6 and self.lists:
            self.one_of(self.lists).clear()
        elif what < 8 and self.lists:
            self.one_of(self.lists).extend([1] * self.one_of([1, 9, 1000]))
        elif what == 8 and self.depth == 0:
            self.depth = 1
            attempt(self, one_call)
            self.depth = 0
        elif self.chance(3):
            raise Hostile
        elif self.chance(2):
            raise self.one_of([TypeError, ValueError, OverflowError, MemoryError, BufferError])("of an argument")

    def resize(self, array):
        try:
            array.resize(self.one_of([0, 1, 3, 100000]), refcheck=False)
        except ValueError:  # an array that has not its own memory
            return
        self.kept = [numpy.ones(4096, "u1") for _ in range(4)]

    def hostile_number(self, value):
        draw = self

        class Acts(self.one_of([object, int, float]) if isinstance(value, int) and abs(value) < 2**63 else object):
            def __index__(self):
                draw.act()
                return value

            def __float__(self):
                draw.act()
                return float(value)

        return Acts() if Acts.__base__ is object else Acts(value)

    def number(self):
        if not self.odd(3):
            return self.integer() if self.chance(2) else self.one_of([0.5, 2.5])
        if self.chance(3):
            return self.one_of([0.0, -0.0, 1.0, 1e-40, 3e38, 1e39, float("inf"), float("nan")])
        if self.chance(2):
            return self.hostile_number(self.integer())
        return self.one_of([True, None, numpy.float32(0.5), numpy.int8(3), numpy.float64(2), numpy.array(0.5, "f4"),
                            "3", b"3", 1j, fractions.Fraction(1, 2), object(), ml_dtypes.bfloat16(2)])  # fmt: skip

    def list_of(self, item, most=9):
        made = [item() for _ in range(self.between(0, most))]
        self.lists.append(made)
        if self.odd(30):
            made.append(made)
        if self.odd(8):
            return self.one_of([tuple, iter, lambda items: itertools.chain(items, itertools.count()), set_of])(made)
        return made

    def anything(self):
        """What no argument is."""
        kinds = [self.number, self.text, lambda: self.list_of(self.number), self.dtype, self.array, dict, object,
                 lambda: Hostile, lambda: numpy.dtype("int8"), lambda: itertools.count()]  # fmt: skip
        return self.one_of(kinds)()

    def dtype(self, likely=NAMES):
        name = self.one_of(NAMES if self.odd(9) else likely)
        if self.odd(9):
            return self.one_of(
                [self.text(), None, 3, [], b"int8", object(), numpy.float64, torch_npu.qint8, self.named()]
            )
        return self.one_of([name, name, oracle.dtype(name), oracle.dtype(name).type])

    def named(self):
        draw = self

        class Named:
            name = draw.one_of(["int8", "\ud800", 3, None, "int8\0"])

            def __hash__(self):
                draw.act()
                return hash("int8")

            def __eq__(self, other):
                return True

            def __repr__(self):
                return draw.text()

        return Named()

    def shape(self):
        if self.odd(12):
            return tuple(self.one_of([0, 1, 2, 2**40, 2**62, 2**63 - 1]) for _ in range(self.between(0, 4)))
        return tuple(self.between(0, 6) for _ in range(self.between(0, 4) if not self.odd(20) else 9))

    def size_of(self, shape, itemsize):
        return int(numpy.prod(shape, dtype=object)) * itemsize

    def array(self, shape=None, names=NAMES):
        """An array of NumPy's over BASE bytes, of a layout that keeps inside."""
        shape = self.shape() if shape is None or self.odd(12) else shape
        dtype = numpy.dtype(self.one_of(OTHERS)) if self.odd(25) else oracle.dtype(self.one_of(names))
        if dtype.hasobject or self.size_of(shape, dtype.itemsize) > BASE or len(shape) > 8:
            return self.large(shape, dtype)
        if self.chance(2):  # which may be resized
            made = numpy.random.default_rng(self.between(0, 255)).bytes(self.size_of(shape, dtype.itemsize))
            made = numpy.frombuffer(made, dtype).reshape(shape).copy()
            self.arrays.append(made)
            return self.wrapped(made)
        return self.wrapped(self.view(shape, dtype))

    def large(self, shape, dtype):
        """One element in each place of a shape that no memory has room for, or an array of Python's objects."""
        if dtype.hasobject:
            return numpy.full(min(shape, default=1) % 7, None, dtype)
        try:
            return numpy.broadcast_to(numpy.zeros((), dtype), [2**50 if size > 6 else size for size in shape])
        except ValueError:  # more than 64 bits, or dimensions
            return numpy.zeros((1,) * min(len(shape), 30), dtype)

    def memory(self):
        memory = numpy.empty(BASE, "u1")
        memory[:] = numpy.frombuffer(numpy.random.default_rng(self.between(0, 255)).bytes(BASE), "u1")
        return memory

    def view(self, shape, dtype):
        memory, where = self.memory(), self.layout(shape, dtype.itemsize)
        if dtype.name in oracle.STORED:
            memory &= self.one_of([0xFF, 0x0F, 0x03])
        made = numpy.ndarray(shape, dtype, memory, *where)
        if self.odd(20):
            made.flags.writeable = False
        return made

    def layout(self, shape, itemsize):
        """An offset and strides in bytes, so that all elements are inside BASE bytes."""
        strides, step = [], itemsize
        for size in reversed(shape):
            strides.insert(0, step)
            step *= max(size, 1)
        kind = self.between(0, 7)
        if kind == 1 and shape:
            at = self.between(0, len(shape) - 1)
            strides[at] = self.one_of([0, itemsize, 1, 2 * itemsize]) if self.odd(2) else -strides[at]
        elif kind == 2:
            strides = [-stride for stride in strides]
        elif kind == 3:
            strides = strides[::-1]
        elif kind == 4:
            strides = [stride * 2 for stride in strides]
        low = sum(min(0, stride * (size - 1)) for stride, size in zip(strides, shape))
        high = sum(max(0, stride * (size - 1)) for stride, size in zip(strides, shape)) + itemsize
        if 0 in shape or high - low > BASE:
            return 0, None
        offset = -low + (self.between(0, 9) if self.odd(4) else itemsize * self.between(0, 3))
        return (offset, strides) if offset + high <= BASE else (-low, strides)

    def wrapped(self, array):
        if not self.odd(5):
            return array
        kind = self.between(0, 1)
        draw, given = self, self.one_of([array, array, None, 3])
        device = self.one_of([(1, 0), (1, 0), (1, 0), (1, 0), (2, 0), (99, -1), (), None, 3, ("1", "0"), {0: 1}])
        if kind == 0:

            class Capsule:
                capsule = None

                def __dlpack_device__(self):
                    return device

                def __dlpack__(self, **_):
                    if draw.chance(3):
                        draw.act()
                    # A capsule's memory is its producer's to keep, which NumPy does but for resize(refcheck=False).
                    draw.arrays = [each for each in draw.arrays if each is not array]
                    if Capsule.capsule is None or not draw.chance(9):
                        Capsule.capsule = given.__dlpack__() if given is array else given
                    return Capsule.capsule

            return Capsule()

        class Array:
            __module__ = draw.one_of(["any", "torch", "jax", "cupy", 3])

            def __array__(self, *_, **__):
                if draw.chance(3):
                    draw.act()
                return array

        return Array()

    def scale_shape(self, shape):
        at = self.between(0, max(len(shape) - 1, 0))
        kinds = [(), (1,), shape[at : at + 1], shape]
        if shape:
            blocks = list(shape)
            blocks[at] = max(1, blocks[at] // 2) if blocks[at] < 2**40 else 1
            kinds.append(tuple(blocks))
        return self.one_of(kinds)

    def operand(self, shape, names):
        if self.chance(3):
            return self.number()
        if self.odd(6):
            return self.list_of(self.number, 4)
        return self.array(self.scale_shape(shape), names)

    def out(self, shape, name):
        """None, or an array to write to, and the memory that it is in with those bytes of it that it is."""
        if self.chance(2):
            return None, None, None
        if self.odd(8):
            return self.anything(), None, None
        try:
            dtype = oracle.dtype(name) if isinstance(name, str) else numpy.dtype(name)
        except (TypeError, AttributeError):
            return None, None, None
        shape = self.shape() if self.odd(12) else shape
        if dtype.itemsize == 0 or self.size_of(shape, dtype.itemsize) > BASE or len(shape) > 8:
            return self.large(shape, dtype), None, None
        memory, mask = self.memory(), numpy.zeros(BASE, "u1")
        where = self.layout(shape, dtype.itemsize)
        if 0 not in shape:  # NumPy takes its time over (2**40, 0)
            numpy.ndarray(shape, f"V{dtype.itemsize}", mask, *where)[...] = b"\xff" * dtype.itemsize
        out = numpy.ndarray(shape, dtype, memory, *where)
        return (self.wrapped(out) if self.odd(2) else out), memory, mask

    def keywords(self, quantizes):
        """Some of the keywords of quantize or dequantize."""
        names = ["axis", "block_size", "zero_point_mode", "profile"]
        names += ["scale_mode", "rounding", "saturate", "packed", "nan", "seed", "offset"] if quantizes else []
        zero_point_modes = ["after_rounding", "before_rounding"] if quantizes else ["subtract", "add"]
        makers = {
            "axis": self.axis,
            "block_size": self.block_size,
            "scale_mode": lambda: self.one_of(["divide", "multiply", "reciprocal"]),
            "rounding": lambda: self.one_of([*oracle.ROUNDINGS, "stochastic"]),
            "zero_point_mode": lambda: self.one_of(zero_point_modes),
            "profile": lambda: self.one_of(["onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto", None]),
            "saturate": lambda: self.chance(2),
            "packed": lambda: self.chance(2),
            "nan": lambda: self.one_of(["lowest", "zero"]),
            "seed": self.number,
            "offset": self.number,
        }
        made = {name: makers[name]() for name in names if self.chance(4)}
        return {name: self.anything() if self.odd(25) else value for name, value in made.items()}

    def storage(self):
        """Some of the keywords about how scales and codes are stored."""
        makers = {
            "scale_layout": lambda: self.one_of(["tiled_128x4", "column_words", None, "?"]),
            "scale_dtype": lambda: self.dtype(["float8_e8m0fnu", "float8_e4m3fn", "float32"]),
            "global_sense": lambda: self.one_of(["scale", "inverse", None]),
            "global_scale": self.number,
            "packing": lambda: self.one_of(["dense", None, "?"]),
        }
        made = {name: make() for name, make in makers.items() if self.chance(2)}
        return {name: self.anything() if self.odd(25) else value for name, value in made.items()}

    def axis(self):
        if self.odd(4):
            return self.number()
        return self.hostile_number(self.between(-3, 3)) if self.odd(3) else self.between(-3, 3)

    def block_size(self):
        if self.chance(2):
            return self.integer()
        return self.list_of(lambda: self.hostile_number(self.between(0, 6)) if self.odd(3) else self.between(0, 6), 5)


def set_of(items):
    return {id(item): item for item in items}.values()


RAISED = (TypeError, ValueError, OverflowError, MemoryError, BufferError, Hostile)  # by the code of arguments


def attempt(draw, call):
    """The result of a call, or None where it raises an error of those that it may."""
    try:
        return call(draw)
    except (Hostile, nvtripy.TripyException):
        return None
    except Exception as error:
        kind = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
        if kind in RAISED if draw.acted else kind in (TypeError, ValueError, MemoryError, BufferError):
            return None
        if type(error) is RuntimeError and str(error).startswith(FRONT_ENDS):
            return None
        raise


FRONT_ENDS = ("pypto", "torch_npu", "nvtripy", "TensorRT")


def quantize_or_dequantize(draw):
    quantizes = draw.chance(2)
    stores = not quantizes and draw.chance(5)
    x = draw.array(names=oracle.FLOATS if quantizes else ["uint8"] if stores else oracle.STORED)
    shape = x.shape if isinstance(x, numpy.ndarray) else draw.shape()
    scale = draw.operand(shape, [*oracle.FLOATS, "float8_e8m0fnu", "float8_e4m3fn"])
    zero_point = None if not draw.chance(3) else draw.operand(shape, ["int8", "uint8", "int16", "int32", "float32"])
    name = draw.dtype(oracle.STORED if quantizes else oracle.FLOATS)
    keywords = draw.keywords(quantizes)
    if stores:
        keywords["stored"] = draw.dtype(oracle.STORED)
        if draw.chance(2):
            keywords["shape"] = draw.list_of(draw.integer, 5) if draw.chance(2) else draw.shape()
    function = qdq.quantize if quantizes else qdq.dequantize
    out, memory, mask = draw.out(shape, "uint8" if keywords.get("packed") is True else name)
    arguments = [x, scale, *([] if zero_point is None else [zero_point])]
    keywords |= {"dtype": name, "out": out}
    if draw.odd(20):
        arguments[draw.between(0, len(arguments) - 1)] = draw.anything()
    if draw.chance(6):
        keywords |= draw.storage()
    before = None if memory is None else memory.copy()
    made = call_and_plan(draw, function, arguments, keywords, before, memory)
    if made is None or draw.acted:
        return
    check_result(draw, function, arguments, keywords, made)
    if memory is not None:
        assert (memory[mask == 0] == before[mask == 0]).all(), "it has written beside the elements of out"


def call_and_plan(draw, function, arguments, keywords, before, memory):
    """The result; None where an error is raised, and then nothing is written."""
    if draw.chance(4):
        plan = attempt(draw, lambda _: qdq.plan(function, *arguments, **keywords))
        if plan is not None:
            other = draw.anything() if draw.chance(4) else arguments[0]
            attempt(draw, lambda _: plan(other, draw.anything() if draw.chance(9) else keywords["out"]))
            draw.acted = True  # of which results are not compared
            return None
    made = attempt(draw, lambda _: function(*arguments, **keywords))
    if made is None and memory is not None and not draw.acted:
        assert (memory == before).all(), "it has written to out, and failed"
    return made


def transcode(draw):
    x = draw.array(names=oracle.STORED)
    shape = x.shape if isinstance(x, numpy.ndarray) else draw.shape()
    name, keywords = draw.dtype(oracle.STORED), draw.keywords(False)
    for key, value in draw.keywords(True).items():
        if key in ("seed", "offset"):
            continue
        keywords[f"new_{key}" if key in ("axis", "block_size", "zero_point_mode", "profile") else key] = value
    for prefix in ("", "new_"):
        keywords[f"{prefix}scale"] = draw.operand(shape, [*oracle.FLOATS, "float8_e8m0fnu", "float8_e4m3fn"])
        if draw.chance(3):
            keywords[f"{prefix}zero_point"] = draw.operand(shape, ["int8", "uint8", "int16", "int32", "float32"])
    out, memory, mask = draw.out(shape, "uint8" if keywords.get("packed") is True else name)
    keywords |= {"dtype": name, "out": out}
    before = None if memory is None else memory.copy()
    made = attempt(draw, lambda _: qdq.transcode(x, **keywords))
    if draw.acted:
        return
    if made is None:
        assert memory is None or (memory == before).all(), "it has written to out, and failed"
        return
    check_result(draw, lambda q, scale, **rest: qdq.transcode(q, scale, **rest), [x, keywords.pop("scale")], keywords, made)
    if memory is not None:
        assert (memory[mask == 0] == before[mask == 0]).all(), "it has written beside the elements of out"
    draw.compared = True


def dynamic(draw):
    """quantize_dynamic or compute_scales."""
    x = draw.anything() if draw.odd(20) else draw.array(names=oracle.FLOATS)
    shape = x.shape if isinstance(x, numpy.ndarray) else draw.shape()
    name = draw.dtype(oracle.STORED)
    makers = {
        "rule": lambda: draw.one_of(["absmax", "minmax", "power_floor", "power_ceil", "power_even", "power_round_up", "?"]),
        "axis": draw.axis,
        "block_size": draw.block_size,
        "scale_dtype": lambda: draw.dtype([*oracle.FLOATS, "float8_e8m0fnu", "float8_e4m3fn"]),
        "zero_point_dtype": lambda: draw.dtype(["int8", "uint8", "int16", "uint16", "int32"]),
        "clip_ratio": draw.number,
        "least_scale": draw.number,
        "quant_range": lambda: (draw.between(-9, 0), draw.between(1, 9)) if draw.chance(2) else draw.list_of(draw.number, 3),
        "packed": lambda: draw.chance(2),
    }
    keywords = {key: make() for key, make in makers.items() if draw.chance(4)}
    keywords = {key: draw.anything() if draw.odd(25) else value for key, value in keywords.items()} | {"dtype": name}
    makes_codes = draw.chance(2)
    function, out, memory, mask = (qdq.quantize_dynamic if makes_codes else qdq.compute_scales), None, None, None
    if makes_codes:
        out, memory, mask = draw.out(shape, "uint8" if keywords.get("packed") is True else name)
        keywords["out"] = out
    else:
        keywords.pop("packed", None)
    if draw.chance(6):
        profiles = ["onnx", "torchao", "mx", "compressed-tensors", "vllm", "vllm-group", "acl", "?"]
        keywords["profile"] = draw.anything() if draw.odd(25) else draw.one_of(profiles)
    before = None if memory is None else memory.copy()
    call = call_and_plan if makes_codes else lambda *_: attempt(draw, lambda _: function(x, **keywords))
    made = call(draw, function, [x], keywords, before, memory)
    if made is None or draw.acted:
        return
    made = made if isinstance(made, tuple) else (made,)
    assert out is None or made[0] is out
    if makes_codes and out is None and draw.chance(3):
        pair_and_groups(draw, x, keywords, made)
    if isinstance(x, numpy.ndarray):
        again = function(numpy.array(x, order="C", copy=True), **(keywords | ({"out": None} if makes_codes else {})))
        for one, other in zip(made, again if isinstance(again, tuple) else (again,), strict=True):
            same = not isinstance(one, numpy.ndarray) or oracle.same_bits(other.ravel(), one.ravel())
            assert draw.acted or same, "strides have changed the result"
    if memory is not None:
        assert (memory[mask == 0] == before[mask == 0]).all(), "it has written beside the elements of out"
    if makes_codes and draw.chance(3):
        by_chance_and_planned(draw, x, keywords | {"out": None})
    draw.compared = True


def by_chance_and_planned(draw, x, keywords):
    """A plan of a pair, one of whose outputs is rounded by any rule with any numbers."""
    chance = {"rounding": draw.one_of(["stochastic", "up", "?"]), "seed": draw.number(), "offset": draw.number()}
    plan = attempt(draw, lambda _: qdq.plan(qdq.quantize_dynamic_pair, x, keywords, keywords | chance))
    made = None if plan is None else attempt(draw, lambda _: plan(x))
    alone = attempt(draw, lambda _: qdq.quantize_dynamic(x, **keywords, **chance))
    if made is not None and alone is not None and not draw.acted:
        same = not isinstance(alone[0], numpy.ndarray) or oracle.same_bits(made[1][0].ravel(), alone[0].ravel())
        assert same, "a plan of a pair differs from one call"


def pair_and_groups(draw, x, keywords, made):
    """Two outputs that are those of one call, and rows in groups by offsets that may be any."""
    pair = attempt(draw, lambda _: qdq.quantize_dynamic_pair(x, keywords, keywords))
    for outputs in pair or ():
        for one, other in zip(outputs, made, strict=True):
            same = not isinstance(one, numpy.ndarray) or oracle.same_bits(other.ravel(), one.ravel())
            assert draw.acted or same, "a pair differs from one call"
    rows = x.shape[0] if isinstance(x, numpy.ndarray) and x.ndim > 0 else 0
    offsets = draw.list_of(draw.number) if draw.chance(3) else [0, *sorted(draw.between(0, rows) for _ in range(2)), rows]
    keywords = {key: value for key, value in keywords.items() if key not in ("block_size", "global_sense")}
    grouped = attempt(draw, lambda _: qdq.quantize_dynamic_grouped(x, offsets, **keywords))
    if grouped is not None and len(grouped) == 2 and not draw.acted and not keywords.get("packed"):
        codes, scale = grouped
        attempt(draw, lambda _: qdq.dequantize_grouped(codes, offsets, scale, axis=keywords.get("axis")))


def check_result(draw, function, arguments, keywords, made):
    """Dense copies of the arguments give the same bits, unless one acts when it is read again."""
    x, out = arguments[0], keywords["out"]
    assert out is None or made is out
    if not isinstance(made, numpy.ndarray) or not isinstance(x, numpy.ndarray) or 0 in x.shape:
        return
    assert keywords.get("packed") or "stored" in keywords or made.shape == x.shape
    dense = [numpy.array(each, order="C", copy=True) if isinstance(each, numpy.ndarray) else each for each in arguments]
    again = function(*dense, **{**keywords, "out": None})
    if keywords.get("packed"):  # bytes, for which out may have any shape
        again, made = again.ravel(), made.ravel()
    assert draw.acted or oracle.same_bits(again, made), "strides have changed the result"


def npu_operator(draw):
    """One of torch_npu's functions that came after npu_quantize."""
    types = [*torch_npu.ScalarType, "int8", None, 258, -1]
    kind = draw.between(0, 2)
    if kind == 0:
        x = draw.array(names=["int8", "int32", "float8_e4m3fn", "uint8", "float32"])
        offset = None if draw.chance(2) else draw.array(names=["float32"])
        keywords = {"offset": offset, "dst_dtype": draw.one_of(types), "src_dtype": draw.one_of(types)}
        torch_npu.npu_anti_quant(x, draw.array(names=["float32", "bfloat16"]), **keywords)
    elif kind == 1:
        smooth_scales = None if draw.chance(2) else draw.array(names=["float16", "bfloat16"])
        group_index = None if draw.chance(2) else draw.array(names=["int32"])
        mode = draw.one_of(["pertoken", "pertensor", "perchannel", "", None])
        keywords = {"smooth_scales": smooth_scales, "group_index": group_index, "dst_type": draw.one_of(types)}
        function = draw.one_of([torch_npu.npu_dynamic_quant, torch_npu.npu_dynamic_quant_asymmetric])
        largest = draw.one_of([0, 0.0, 15, -1, None])
        function(draw.array(names=["float16", "bfloat16"]), quant_mode=mode, dst_type_max=largest, **keywords)
    else:
        keywords = {"axis": draw.axis(), "dst_type": draw.one_of(types), "block_size": 32 * draw.between(-1, 3)}
        keywords |= {"scale_alg": draw.between(-1, 2), "round_mode": draw.one_of(["rint", "floor", "round", None])}
        keywords |= {"dst_type_max": draw.one_of([0, 7, 12.5, "7"]), "max_low_bound": draw.one_of([0, 0, 1.5, None])}
        torch_npu.npu_dynamic_mx_quant(draw.array(names=oracle.FLOATS), **keywords)


def front_end(draw):
    kind = draw.between(0, 4)
    if kind == 0:
        x = draw.array(names=["int8", "int16", "int8", "float32", "int4"])
        types = [*pypto.DataType, "int8", None]
        zero_points = None if draw.chance(2) else draw.array(names=["float32"])
        function = pypto.quantize if draw.chance(2) else pypto.dequantize
        function(x, draw.array(names=["float32"]), draw.one_of(types), draw.axis(), zero_points)
    elif kind == 1:
        types = [*torch_npu.ScalarType, "int8", None, []]
        zero_points = None if draw.chance(2) else draw.array()
        arguments = draw.array(names=oracle.FLOATS), draw.array(names=oracle.FLOATS), zero_points
        torch_npu.npu_quantize(*arguments, draw.one_of(types), draw.axis(), draw.chance(2))
    elif kind == 2:
        function = draw.one_of([nvtripy.quantize, nvtripy.dequantize])
        x = draw.array(names=["float32", "int8", "int4", "float8_e4m3fn"])
        if not isinstance(x, numpy.ndarray):
            return
        x = nvtripy.Tensor(x) if x.dtype.name in nvtripy.dtype.__members__ else x
        scale = draw.number() if draw.chance(2) else draw.list_of(draw.number, 4)
        dim = None if draw.chance(2) else draw.axis()
        function(x, scale, draw.one_of([*nvtripy.dtype, "int8", None]), dim)
    elif kind == 3:
        npu_operator(draw)
    else:
        pypto.set_vec_tile_shapes(*[draw.number() for _ in range(draw.between(0, 4))])
        pypto.set_vec_tile_shapes()


class Lines(tensorrt.ILogger):
    """A logger that acts."""

    def __init__(self, draw):
        super().__init__()
        self.draw, self.network = draw, None

    def log(self, severity, message):
        assert message
        if self.draw.chance(3):
            attempt(self.draw, Draw.act)
        if self.network is not None and self.draw.chance(3):
            attempt(self.draw, lambda draw: self.network.add_input(draw.text(), tensorrt.float32, (2,)))


def tensorrt_network(draw):
    logger = Lines(draw)
    builder = tensorrt.Builder(logger)
    network, other = builder.create_network(), builder.create_network()
    logger.network = network
    types = list(tensorrt.DataType)
    tensors, layers = [other.add_input("foreign", tensorrt.float32, (2,))], []
    if draw.chance(2):
        del other

    def tensor():
        return draw.one_of(tensors if draw.odd(2) or len(tensors) == 1 else tensors[1:])

    def step(_):
        what = draw.between(0, 8)
        if what < 2:
            shape = draw.list_of(draw.integer, 4) if draw.chance(4) else draw.shape()
            tensors.append(network.add_input(draw.text(), draw.one_of(types), shape))
        elif what < 4:
            weights = draw.array() if draw.chance(2) else numpy.ones(draw.between(0, 4), "f4")
            shape = draw.shape() if draw.chance(3) or not isinstance(weights, numpy.ndarray) else weights.shape
            add = network.add_constant if draw.chance(2) else (
                lambda shape, weights: network._add_constant(shape, draw.one_of(types), weights))  # fmt: skip
            tensors.append(add(shape, weights).get_output(0))
        elif what < 6:
            add = network.add_quantize if draw.chance(2) else network.add_dequantize
            layers.append(add(tensor(), tensor(), draw.one_of(types)))
            tensors.append(layers[-1].get_output(0))
        elif what == 6 and draw.chance(2):
            add = network.add_dynamic_quantize if draw.chance(2) else (
                lambda input, axis, size, *types: network.add_dynamic_quantize_v2(input, (axis, size), *types))  # fmt: skip
            made = add(tensor(), draw.between(-2, 3), draw.one_of([0, 1, 16, 32]), draw.one_of(types), draw.one_of(types))
            layers.append(made)
            tensors.extend((made.get_output(0), made.get_output(1)))
        elif layers:
            layer = draw.one_of(layers)
            if draw.chance(2):
                layer.set_input(draw.between(-1, 3), tensor())
            layer.axis = draw.between(-2, 3)
            layer.name = draw.text()
            network.mark_output(layer.get_output(0))
            network.unmark_output(tensor())
            network.mark_output(tensor())

    for _ in range(draw.between(1, 9)):
        attempt(draw, step)
    engine = builder.build_engine_with_config(network, builder.create_builder_config())
    if engine is None:
        return
    context = engine.create_execution_context()
    memory = {}
    for i in range(engine.num_io_tensors if context is not None else 0):
        name = engine.get_tensor_name(i)
        if draw.size_of(engine.get_tensor_shape(name), 8) > 2**20:
            return
        memory[name] = numpy.ones(draw.size_of(engine.get_tensor_shape(name), 8) + 64, "u1")
        context.set_tensor_address(name, memory[name].ctypes.data)
    if context is not None and draw.acted is False:
        context.execute_async_v3(0)


def blocks(draw):
    """quantize_blocks or dequantize_blocks."""
    x = draw.anything() if draw.odd(20) else draw.array(names=[*oracle.FLOATS, "uint8"])
    format_name = draw.one_of(["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4", "iq4_nl", "q9_0", draw.anything()])
    if draw.chance(2):
        attempt(draw, lambda _: qdq.quantize_blocks(x, format_name))
    else:
        attempt(draw, lambda _: qdq.dequantize_blocks(x, format_name, dtype=draw.dtype(oracle.FLOATS)))


def aclnn_call(draw):
    shape, memory = draw.list_of(draw.integer, 9), draw.memory()
    number = draw.between(0, 10) if draw.odd(2) or not isinstance(shape, list) else len(shape)
    strides = None if draw.chance(2) else draw.list_of(draw.integer, 9)
    kind, form = draw.one_of([aclnn.ACL_FLOAT, aclnn.ACL_INT8, 99, -1]), draw.one_of([aclnn.ACL_FORMAT_ND, 99])
    tensor = aclnn.aclCreateTensor(shape, number, kind, strides, 0, form, shape, number, 0)
    aclnn.aclnnQuantizeGetWorkspaceSize(tensor, draw.one_of([0, tensor]), 0, kind, draw.between(-3, 3), tensor)
    aclnn.aclDestroyTensor(tensor)
    aclnn.aclnnQuantize(memory.ctypes.data, draw.between(0, 1), draw.between(0, 2**40), 0)
    aclnn.aclGetRecentErrMsg()


def settings(draw):
    function = draw.one_of([qdq.force_target, qdq.set_num_threads, qdq.plan])
    try:
        function(draw.anything())
    finally:
        qdq.force_target(None)
        qdq.set_num_threads(1)


def model(draw):
    def path():
        return draw.one_of(["/nonexistent", draw.text(), draw.anything(), b"/nonexistent\xff"])

    try:
        if draw.chance(2):
            checkpoint.Checkpoint(path(), path(), None if draw.chance(2) else path(), draw.text(), draw.chance(2))
        else:
            checkpoint.compare(path(), path(), path(), None)
    except RuntimeError as error:
        assert "cannot open" in str(error)


def one_call(draw):
    calls = [quantize_or_dequantize] * 8 + [front_end] * 3 + [tensorrt_network, aclnn_call, settings] + [dynamic] * 4 + [transcode] * 3 + [blocks]
    (draw.one_of(calls) if not draw.chance(40) else model)(draw)


def one_input(data):
    with numpy.errstate(all="ignore"):
        attempt(Draw(data), one_call)

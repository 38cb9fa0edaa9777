"""quantize, dequantize and transcode beside the oracle: any shape, strides, types and options."""

import numpy
import oracle
from hypothesis import given, settings, strategies as st

import qdq

SHAPES = st.lists(st.integers(0, 9), min_size=0, max_size=4).map(tuple)
SPECIALS = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 0.5, 1.5, 2.5, -0.5, 448.0, 1e-40, 3e38]


def elements(shape, seed):
    """Numbers of many sizes, with halves and specials among them."""
    random = numpy.random.default_rng(seed)
    numbers = random.normal(size=shape) * random.choice([0.1, 3.0, 300.0], shape)
    numbers = numpy.where(random.random(shape) < 0.3, numpy.round(numbers * 2) / 2, numbers)
    return numpy.where(random.random(shape) < 0.1, random.choice(SPECIALS, shape), numbers).astype(numpy.float32)


def strided(array, draw):
    """A view of the same elements, with other strides."""
    order = draw(st.permutations(range(array.ndim)))
    steps = [draw(st.sampled_from([1, 2, -1, -3])) for _ in order]
    large = numpy.zeros([max(0, (array.shape[d] - 1) * abs(steps[d]) + 1) for d in order], array.dtype)
    view = large.transpose(numpy.argsort(order))[(..., *(slice(None, None, step) for step in steps))]
    view[...] = array
    return view


def codes(shape, name, random):
    """Any codes of a type."""
    drawn = random.integers(0, 2 ** (8 * oracle.dtype(name).itemsize), shape, numpy.uint64)
    bits = 2 if name.endswith("int2") else 4 if name.startswith(("int4", "uint4", "float4")) else 6 if "float6" in name else 32
    return (drawn & (2**bits - 1)).astype(f"u{oracle.dtype(name).itemsize}").view(oracle.dtype(name))


@st.composite
def granularities(draw, shape):
    """The shape of a scale, and the keywords that go with it."""
    kind = draw(st.sampled_from(["tensor", "channel", "blocks", "block_size"]))
    if kind == "tensor" or not shape:
        return draw(st.sampled_from([(), (1,)])), {}
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    if kind == "channel":
        return (shape[axis],), {"axis": axis}
    blocks = list(shape)
    if kind == "blocks":
        blocks[axis] = draw(st.sampled_from([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0] or [0]))
        return tuple(blocks), {}
    size = draw(st.integers(1, 4))
    blocks[axis] = -(-shape[axis] // size)
    return tuple(blocks), {"axis": axis, "block_size": size}


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_quantize_gives_the_oracles_bits(data):
    shape, seed, name = (
        data.draw(SHAPES),
        data.draw(st.integers(0, 2**32 - 1)),
        data.draw(st.sampled_from(oracle.STORED)),
    )
    x = strided(elements(shape, seed).astype(oracle.dtype(data.draw(st.sampled_from(oracle.FLOATS)))), data.draw)
    operands, keywords = data.draw(granularities(shape))
    random = numpy.random.default_rng(seed + 1)
    scale = random.uniform(0.05, 4.0, operands).astype(numpy.float32)
    zero_point = None
    if name in oracle.INTEGERS:
        keywords["rounding"] = data.draw(st.sampled_from(list(oracle.ROUNDINGS)))
        keywords["zero_point_mode"] = data.draw(st.sampled_from(["after_rounding", "before_rounding"]))
        keywords["nan"] = data.draw(st.sampled_from(["lowest", "zero"]))
        if data.draw(st.booleans()):
            zero_point = random.integers(-9, 9, operands).astype(data.draw(st.sampled_from(["int8", "int16", "int32"])))
    elif name.startswith("float8") and "fnuz" not in name:
        keywords["saturate"] = data.draw(st.booleans())
    keywords["scale_mode"] = data.draw(st.sampled_from(["divide", "multiply", "reciprocal"]))
    if data.draw(st.integers(0, 3)) == 0:
        keywords |= {"rounding": "stochastic", "seed": data.draw(st.integers(0, 2**64 - 1))}
        keywords["offset"] = data.draw(st.integers(0, 2**63) | st.sampled_from([31, 2**36 - 5]))
    expected = oracle.quantize(x, scale, zero_point, name, **keywords)
    y = qdq.quantize(x, scale, zero_point, dtype=name, **keywords)
    assert oracle.same_bits(y, expected)

    out = strided(numpy.zeros(shape, oracle.dtype(name)), data.draw)
    assert qdq.quantize(x, scale, zero_point, dtype=name, out=out, **keywords) is out
    assert oracle.same_bits(out, expected)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_dequantize_gives_the_oracles_bits(data):
    shape, seed, name = (
        data.draw(SHAPES),
        data.draw(st.integers(0, 2**32 - 1)),
        data.draw(st.sampled_from(oracle.STORED)),
    )
    random = numpy.random.default_rng(seed)
    q = strided(codes(shape, name, random), data.draw)
    operands, keywords = data.draw(granularities(shape))
    scale = random.uniform(0.05, 4.0, operands).astype(numpy.float32)
    zero_point = None
    if name in oracle.INTEGERS:
        keywords["zero_point_mode"] = data.draw(st.sampled_from(["subtract", "add"]))
        if data.draw(st.booleans()):
            zero_point = random.integers(-9, 9, operands).astype(data.draw(st.sampled_from(["int8", "int16", "int32"])))
    dtype = data.draw(st.sampled_from(oracle.FLOATS))
    expected = oracle.dequantize(q, scale, zero_point, dtype, **keywords)
    assert oracle.same_bits(qdq.dequantize(q, scale, zero_point, dtype=dtype, **keywords), expected)

    out = strided(numpy.zeros(shape, oracle.dtype(dtype)), data.draw)
    assert qdq.dequantize(q, scale, zero_point, dtype=dtype, out=out, **keywords) is out
    assert oracle.same_bits(out, expected)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_transcode_gives_the_oracles_bits(data):
    shape, seed = data.draw(SHAPES), data.draw(st.integers(0, 2**32 - 1))
    old, new = (data.draw(st.sampled_from(oracle.STORED)) for _ in range(2))
    random = numpy.random.default_rng(seed)
    q = strided(codes(shape, old, random), data.draw)
    sides = []
    for name, modes in ((old, ["subtract", "add"]), (new, ["after_rounding", "before_rounding"])):
        operands, side = data.draw(granularities(shape))
        side["scale"], side["zero_point"] = random.uniform(0.05, 4.0, operands).astype(numpy.float32), None
        if name in oracle.INTEGERS:
            side["zero_point_mode"] = data.draw(st.sampled_from(modes))
            if data.draw(st.booleans()):
                side["zero_point"] = random.integers(-9, 9, operands).astype("int16")
        sides.append(side)
    options = {"scale_mode": data.draw(st.sampled_from(["divide", "multiply", "reciprocal"]))}
    if new in oracle.INTEGERS:
        options["rounding"] = data.draw(st.sampled_from(list(oracle.ROUNDINGS)))
        options["nan"] = data.draw(st.sampled_from(["lowest", "zero"]))
    elif new in ("float8_e4m3fn", "float8_e5m2"):
        options["saturate"] = data.draw(st.booleans())
    expected = oracle.quantize(oracle.dequantize(q, name="float32", **sides[0]), name=new, **sides[1], **options)
    keywords = {**sides[0], **{f"new_{key}": value for key, value in sides[1].items()}, **options, "dtype": new}
    assert oracle.same_bits(qdq.transcode(q, **keywords), expected)

    out = strided(numpy.zeros(shape, oracle.dtype(new)), data.draw)
    assert qdq.transcode(q, **keywords, out=out) is out
    assert oracle.same_bits(out, expected)


def test_bytes_are_transcoded_to_bytes():
    x = elements((6, 8), 5)
    q = qdq.quantize(x, 0.5, dtype="int4")
    packed = qdq.quantize(x, 0.5, dtype="int4", packed=True)
    new = {"dtype": "uint4", "new_scale": 1.0, "new_zero_point": 8}
    expected = qdq.quantize(qdq.dequantize(q, 0.5), 1.0, 8, dtype="uint4", packed=True)
    assert qdq.transcode(packed, 0.5, stored="int4", packed=True, **new).tolist() == expected.tolist()
    assert qdq.transcode(packed.ravel(), 0.5, stored="int4", shape=(6, 8), packed=True, **new).tolist() == expected.tolist()
    profiles = {"profile": "pypto", "new_profile": "acl"}
    of_profiles = qdq.quantize(qdq.dequantize(q, 0.5, 1, profile="pypto"), 1.0, 8, dtype="uint4", profile="acl")
    assert oracle.same_bits(qdq.transcode(q, 0.5, 1, **profiles, **new), of_profiles)


@settings(deadline=None, max_examples=100)
@given(SHAPES, st.sampled_from([name for name in oracle.STORED if name.startswith(("int4", "uint4", "int2", "uint2", "float4", "float6", "int8"))]))
def test_packed_bytes_hold_the_same_elements(shape, name):
    x = elements(shape, 1)
    apart, packed = (qdq.quantize(x, 0.5, dtype=name, packed=packed) for packed in (False, True))
    per_byte = 4 if name.endswith("int2") else 2 if name.startswith(("int4", "uint4", "float4")) else 1
    fills = per_byte == 1 or (shape and shape[-1] % per_byte == 0)
    in_rows = (*shape[:-1], *(size // per_byte for size in shape[-1:]))
    assert (packed.dtype, packed.shape) == (numpy.uint8, in_rows if fills else (-(-x.size // per_byte),))
    bits = 8 // per_byte
    each = (packed.reshape(-1, 1) >> (numpy.arange(per_byte, dtype="u1") * bits)) & numpy.uint8(2**bits - 1)
    assert each.ravel()[: x.size].tolist() == (apart.view("u1").ravel() & (2**bits - 1)).tolist()
    assert not each.ravel()[x.size :].any()

    y = qdq.dequantize(apart, 0.5)
    assert oracle.same_bits(qdq.dequantize(packed, 0.5, stored=name, shape=shape), y)
    if fills:
        assert oracle.same_bits(qdq.dequantize(packed, 0.5, stored=name), y)
    out = numpy.empty_like(packed)
    assert qdq.quantize(x, 0.5, dtype=name, packed=True, out=out) is out and (out == packed).all()


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_a_plan_computes_what_the_call_does(data):
    shape, name = data.draw(SHAPES), data.draw(st.sampled_from(oracle.STORED))
    first, second = elements(shape, 1), elements(shape, 2)
    operands, keywords = data.draw(granularities(shape))
    scale = numpy.random.default_rng(3).uniform(0.05, 4.0, operands).astype(numpy.float32)
    to_codes = qdq.plan(qdq.quantize, first, scale, dtype=name, **keywords)
    q = to_codes(second)
    assert oracle.same_bits(q, qdq.quantize(second, scale, dtype=name, **keywords))
    back = qdq.plan(qdq.dequantize, q, scale, dtype="bfloat16", **keywords)
    out = numpy.empty(shape, oracle.dtype("bfloat16"))
    assert back(q, out) is out
    assert oracle.same_bits(out, qdq.dequantize(q, scale, dtype="bfloat16", **keywords))


def test_profiles_compute_as_their_systems_do():
    x, scale = numpy.float32([0.273939937]), numpy.float32([0.00214854861])
    # FBGEMM's example: 127 by the division, 128 by the product with the reciprocal.
    assert qdq.quantize(x, scale, dtype="uint8", profile="onnx").tolist() == [127]
    assert qdq.quantize(x, scale, dtype="uint8", profile="torch").tolist() == [128]
    # A keyword that is not at its default replaces the profile's.
    assert qdq.quantize(x, scale, dtype="uint8", profile="onnx", scale_mode="reciprocal").tolist() == [128]
    assert qdq.dequantize(numpy.int8([3]), 2.0, 1, profile="pypto").tolist() == [8.0]


def test_a_block_for_each_dimension():
    x = elements((5, 6), 7)
    scale = numpy.random.default_rng(8).uniform(0.1, 1, (2, 2)).astype("f4")
    spread = scale.repeat(3, 0)[:5].repeat(4, 1)[:, :6]
    expected = oracle.quantize(x, spread, None, "int8")
    assert oracle.same_bits(qdq.quantize(x, scale, dtype="int8", block_size=(3, 4)), expected)

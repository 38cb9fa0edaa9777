"""quantize_dynamic and compute_scales: what Python's side of them adds, beside NumPy's arithmetic."""

import concurrent.futures

import numpy
import oracle
import pytest

import qdq

X = numpy.float32([[1.0, -127.0, 3.0, 0.5], [254.0, 2.0, -4.0, 100.0], [0.0, 0.0, 0.0, 0.0]])


def test_one_scale():
    codes, scale = qdq.quantize_dynamic(X, dtype="int8")
    assert scale.shape == () and scale.dtype == numpy.float32 and scale == numpy.float32(2)
    assert numpy.array_equal(codes, qdq.quantize(X, scale, dtype="int8"))


@pytest.mark.parametrize("axis, amax", [(0, [127, 254, 0]), (-1, [254, 127, 4, 100])])
def test_a_scale_for_each_index_of_an_axis(axis, amax):
    codes, scale = qdq.quantize_dynamic(X, dtype="int8", axis=axis)
    expected = numpy.float32(amax) / numpy.float32(127)
    assert numpy.array_equal(scale, numpy.where(expected == 0, 1, expected).astype("float32"))
    assert numpy.array_equal(codes, qdq.quantize(X, scale, dtype="int8", axis=axis))
    assert numpy.array_equal(qdq.compute_scales(X, dtype="int8", axis=axis), scale)


def test_blocks():
    scale = qdq.compute_scales(X, dtype="int8", axis=1, block_size=3)
    assert numpy.array_equal(scale * 127, [[127, 0.5], [254, 100], [127, 127]])
    scale = qdq.compute_scales(X, dtype="int8", block_size=(2, 4))
    assert numpy.array_equal(scale, [[2], [1]])


def test_zero_points():
    codes, scale, zero_point = qdq.quantize_dynamic(X, dtype="uint8", rule="minmax", axis=0)
    assert zero_point.dtype == numpy.uint8 and zero_point.tolist() == [249, 4, 0]
    assert numpy.array_equal(codes, qdq.quantize(X, scale, zero_point, dtype="uint8", axis=0))
    assert qdq.compute_scales(X, dtype="int4", rule="minmax")[1].dtype == numpy.int8


def test_powers_of_two_are_e8m0():
    codes, scale = qdq.quantize_dynamic(X, dtype="float8_e4m3fn", rule="power_floor", axis=0)
    assert scale.dtype == oracle.dtype("float8_e8m0fnu")
    assert scale.astype("float32").tolist()[:2] == [2.0**-2, 2.0**-1]
    assert numpy.array_equal(codes.view("uint8"), qdq.quantize(X, scale, dtype="float8_e4m3fn", axis=0).view("uint8"))


def test_options():
    assert qdq.compute_scales(X, dtype="int8", clip_ratio=0.5) == 1
    assert qdq.compute_scales(X, dtype="int8", least_scale=4) == 4
    assert qdq.compute_scales(X, dtype="int8", quant_range=(-2, 2)) == 127
    assert qdq.compute_scales(X, dtype="int8", scale_dtype="bfloat16").dtype == oracle.dtype("bfloat16")
    out = numpy.empty(X.shape, "int8")
    assert qdq.quantize_dynamic(X, dtype="int8", out=out)[0] is out and out.any()
    assert qdq.quantize_dynamic(X, dtype="int4", packed=True)[0].shape == (3, 2)


def test_the_best_of_several_clip_ratios():
    x = numpy.float32([[10, 20, 30, 40], [6, 3, 2, 1]])
    scale = qdq.compute_scales(x, dtype="float4_e2m1fn", axis=0, clip_ratio=(1, 1.5, 2))
    assert scale.tolist() == [10, 1]


@pytest.mark.parametrize("sense, value", [("scale", 4.0), ("inverse", 0.25)])
def test_a_global_scale(sense, value):
    x = numpy.float32([[-2688 * 4, 100, 0, 7]])
    keywords = {"dtype": "float4_e2m1fn", "axis": 1, "block_size": 2, "global_sense": sense}
    codes, scale, computed = qdq.quantize_dynamic(x, **keywords, packed=True)
    assert computed == value and scale.dtype == oracle.dtype("float8_e4m3fn")
    assert scale.astype("float32").tolist() == [[448, 0.28125]]
    again, same = qdq.quantize_dynamic(x, **keywords, global_scale=computed, packed=True)
    assert numpy.array_equal(codes, again) and numpy.array_equal(scale.view("uint8"), same.view("uint8"))
    divisor = scale.astype("float32") * 4
    assert numpy.array_equal(codes, qdq.quantize(x, divisor, dtype="float4_e2m1fn", axis=1, block_size=2, packed=True))
    halved = qdq.compute_scales(x, **keywords, global_largest=224)
    assert halved[0].astype("float32")[0, 0] == 224 and halved[1] == (8 if sense == "scale" else 0.125)


def test_diagnostics():
    scale, met = qdq.compute_scales(X, dtype="int8", diagnostics=True, clip_ratio=0.5)
    assert scale == 1 and met["amax"] == 254 and met["clipped"] == 1 and met["flushed"] == 1
    assert met["nan"] == met["infinite"] == 0 and met["squared_error"] == 127.0**2 + 0.25


@pytest.mark.parametrize(
    "dtype, profile, same",
    [
        ("uint8", "onnx", {"rule": "minmax"}),
        ("int8", "vllm", {}),
        ("float8_e4m3fn", "vllm", {"least_scale": 1 / (448 * 512)}),
        ("float8_e4m3fn", "vllm-group", {"least_scale": numpy.float32(1e-10) / numpy.float32(448)}),
        ("float4_e2m1fn", "mx", {"rule": "power_floor"}),
        ("float8_e5m2", "torchao", {}),
        ("float8_e4m3fn", "compressed-tensors", {}),
        ("int4", "acl", {}),
    ],
)
def test_profiles_are_rules_and_options(dtype, profile, same):
    made = qdq.quantize_dynamic(X, dtype=dtype, axis=0, profile=profile)
    expected = qdq.quantize_dynamic(X, dtype=dtype, axis=0, **same)
    assert all(oracle.same_bits(*each) for each in zip(made, expected, strict=True))


def test_a_profile_has_options_of_its_own():
    x = numpy.float32([[1e-6, -1e-6], [3, numpy.nan]])
    codes, scale = qdq.quantize_dynamic(x, dtype="int8", axis=0, profile="torchao")
    assert scale[0] == numpy.float32(1e-5) and codes[1].tolist() == [0, 0]
    assert qdq.quantize_dynamic(x, dtype="int8", axis=0)[0][1].tolist() == [-128, -128]
    assert qdq.compute_scales(x, dtype="int8", axis=0, profile="torchao", least_scale=2)[0] == 2
    scale = qdq.compute_scales(x, dtype="uint8", profile="onnx", rule="power_floor")
    assert scale.dtype == oracle.dtype("float8_e8m0fnu")


@pytest.mark.parametrize("keywords", [{"profile": "gguf"}, {"profile": "onnx"}])
def test_profiles_that_a_type_has_not_are_refused(keywords):
    with pytest.raises(ValueError, match='profile: "gguf" is none of onnx|codes: "onnx" has no i8'):
        qdq.quantize_dynamic(X, dtype="int8", **keywords)


@pytest.mark.parametrize(
    "keywords",
    [
        {"dtype": "int8", "axis": 0},
        {"dtype": "uint8", "profile": "onnx"},
        {"dtype": "float4_e2m1fn", "axis": 1, "block_size": 2, "global_sense": "inverse"},
        {"dtype": "int4", "packed": True, "diagnostics": True},
    ],
)
def test_plans_give_what_calls_do(keywords):
    plan = qdq.plan(qdq.quantize_dynamic, numpy.zeros_like(X), **keywords)
    for x in (X, X[::-1].copy()):
        made, expected = plan(x), qdq.quantize_dynamic(x, **keywords)
        assert len(made) == len(expected)
        for one, other in zip(made, expected, strict=True):
            assert one == other if isinstance(other, float | dict) else oracle.same_bits(one, other)


def test_a_plan_writes_where_it_is_told():
    out = numpy.empty(X.shape, "int8")
    plan = qdq.plan(qdq.quantize_dynamic, X, dtype="int8", axis=0, out=out)
    codes, scale = plan(X, out)
    assert codes is out and numpy.array_equal(out, qdq.quantize(X, scale, dtype="int8", axis=0))


@pytest.mark.parametrize(
    "name, arguments", [("x", (X.T,)), ("x", (X.astype("float16"),)), ("out", (X, numpy.empty((4, 3), "int8").T))]
)
def test_a_plan_refuses_another_layout(name, arguments):
    plan = qdq.plan(qdq.quantize_dynamic, X, dtype="int8")
    with pytest.raises(ValueError, match=f"{name}: its dtype, shape, strides or device|{name}: its shape is not x's"):
        plan(*arguments)


# Each run's numbers are its own.
def test_a_plan_with_diagnostics_runs_on_several_threads():
    plan = qdq.plan(qdq.quantize_dynamic, X, dtype="int8", diagnostics=True)
    inputs = [X * numpy.float32(factor) for factor in range(1, 9)] * 20
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = [met["amax"] for _, _, met in pool.map(plan, inputs)]
    assert found == [254.0 * factor for factor in range(1, 9)] * 20


@pytest.mark.parametrize("layout, size", [("tiled_128x4", 1024), ("column_words", 32)])
def test_layouts_of_scales(layout, size):
    scale = numpy.arange(1, 19, dtype="uint8").reshape(3, 6).view(oracle.dtype("float8_e8m0fnu"))
    arranged = qdq.arrange_scales(scale, layout=layout)
    assert arranged.dtype == numpy.uint8 and arranged.shape == (size,)
    assert arranged[:4].tolist() == [1, 2, 3, 4] and arranged.sum() == sum(range(1, 19))
    back = qdq.restore_scales(arranged, scale.shape, layout=layout, dtype="float8_e8m0fnu")
    assert numpy.array_equal(back.view("uint8"), scale.view("uint8"))
    with pytest.raises(ValueError, match="bytes, and the scales take"):
        qdq.restore_scales(arranged, (300, 6), layout=layout, dtype="float8_e8m0fnu")


@pytest.mark.parametrize("layout", ["tiled_128x4", "column_words"])
@pytest.mark.parametrize(("dtype", "block", "scale_dtype", "sense"), [
    ("float8_e4m3fn", 32, "float8_e8m0fnu", None),
    ("float4_e2m1fn", 32, "float8_e8m0fnu", None),
    ("float4_e2m1fn", 16, "float8_e4m3fn", "scale"),
    ("float4_e2m1fn", 16, "float8_e4m3fn", "inverse"),
])
def test_scales_in_layouts_are_those_of_rows(layout, dtype, block, scale_dtype, sense):
    x = numpy.random.default_rng(0).standard_normal((130, 160), "float32")
    scale = numpy.abs(numpy.random.default_rng(1).standard_normal((130, 160 // block), "float32")).astype(
        oracle.dtype(scale_dtype))
    arranged = qdq.arrange_scales(scale, layout=layout)
    global_scale = numpy.float32(3)
    values = scale.astype("float32")
    by_rows = {None: scale, "scale": values * global_scale, "inverse": values / global_scale}[sense]
    stored = {"block_size": block, "axis": 1, "scale_layout": layout}
    if sense:
        stored |= {"global_sense": sense, "global_scale": float(global_scale)}
    codes = qdq.quantize(x, by_rows, dtype=dtype, block_size=block, axis=1)
    assert numpy.array_equal(
        qdq.quantize(x, arranged, dtype=dtype, scale_dtype=scale_dtype, **stored).view("uint8"), codes.view("uint8"))
    y = qdq.dequantize(codes, by_rows, block_size=block, axis=1)
    assert numpy.array_equal(qdq.dequantize(codes, arranged, scale_dtype=scale_dtype, **stored), y)
    typed = arranged.view(oracle.dtype(scale_dtype)).reshape(-1, 4)
    assert numpy.array_equal(qdq.dequantize(codes, typed, **stored), y)
    plan = qdq.plan(qdq.dequantize, codes, typed, profile="torchao", **stored)
    assert numpy.array_equal(plan(codes), y)


@pytest.mark.parametrize(("message", "keywords"), [
    ("scale_layout: \"rows\" is none of tiled_128x4, column_words", {"scale_layout": "rows"}),
    ("scale: 18 bytes, and scales of the shape", {"block_size": 2}),
    ("block_size: scale_layout needs block sizes", {"block_size": None}),
    ("dtype u8 is not a scale type", {"scale_dtype": None}),
    ("global_scale: None", {"global_sense": "scale"}),
    ("global_sense: None", {"global_scale": 1.0}),
    ("global_sense: \"up\" is none of scale, inverse", {"global_sense": "up", "global_scale": 1.0}),
])
def test_storage_of_scales_that_is_refused(message, keywords):
    arranged = numpy.zeros(18 if keywords.get("block_size", 1) == 2 else 512, "uint8")
    given = {"block_size": 3, "axis": 1, "scale_layout": "tiled_128x4", "scale_dtype": "float8_e8m0fnu"} | keywords
    with pytest.raises((ValueError, TypeError), match=message):
        qdq.dequantize(numpy.zeros((3, 12), "int8"), arranged, **given)


def test_arranged_scales_are_dense_bytes():
    def dequantized(scale):
        return qdq.dequantize(numpy.zeros((3, 12), "int8"), scale, block_size=3, axis=1, scale_layout="tiled_128x4",
                              scale_dtype="float8_e8m0fnu")  # fmt: skip

    with pytest.raises(ValueError, match="arranged scales are dense"):
        dequantized(numpy.zeros((2, 512), "uint8")[:, ::2])
    with pytest.raises(TypeError, match="its bytes are uint8, not float32"):
        dequantized(numpy.zeros(512, "float32"))


@pytest.mark.parametrize("dtype", ["float6_e2m3fn", "float6_e3m2fn"])
@pytest.mark.parametrize("shape", [(3, 64), (2, 37), (0, 4)])
def test_dense_codes_are_four_in_three_bytes(dtype, shape):
    x = numpy.random.default_rng(0).standard_normal(shape, "float32")
    codes = qdq.quantize(x, 0.25, dtype=dtype)
    dense = qdq.quantize(x, 0.25, dtype=dtype, packed=True, packing="dense")
    bits = numpy.unpackbits(codes.view("uint8").reshape(-1, 1), axis=1, bitorder="little")[:, :6]
    assert numpy.array_equal(dense.ravel(), numpy.packbits(bits.ravel(), bitorder="little"))
    assert dense.shape == ((shape[0], shape[1] * 3 // 4) if shape[1] % 4 == 0 else (56,))
    given = {"stored": dtype, "packing": "dense"} | ({} if shape[1] % 4 == 0 else {"shape": shape})
    assert numpy.array_equal(qdq.dequantize(dense, 0.25, **given), qdq.dequantize(codes, 0.25))
    out = numpy.empty_like(dense)
    assert qdq.quantize(x, 0.25, dtype=dtype, packed=True, packing="dense", out=out) is out
    assert numpy.array_equal(out, dense)
    if x.size:
        by_scale, scale = qdq.quantize_dynamic(x, dtype=dtype, axis=0, packed=True, packing="dense")
        assert numpy.array_equal(by_scale, qdq.quantize(x, scale, dtype=dtype, axis=0, packed=True, packing="dense"))


@pytest.mark.parametrize(("error", "message", "keywords"), [
    (ValueError, "packing: it is neither None nor dense", {"packing": "low_first", "packed": True}),
    (ValueError, "packing: dense elements are bytes", {"packing": "dense"}),
    (TypeError, "packed: types of 6 bits are dense, not int4", {"packing": "dense", "packed": True, "dtype": "int4"}),
])
def test_dense_codes_that_are_refused(error, message, keywords):
    for function in (lambda **how: qdq.quantize(X, 1.0, **how), lambda **how: qdq.quantize_dynamic(X, **how)):
        with pytest.raises(error, match=message):
            function(**({"dtype": "float6_e2m3fn"} | keywords))


def test_dense_bytes_that_are_no_threes():
    with pytest.raises(ValueError, match="its last dimension is no multiple of 3 bytes"):
        qdq.dequantize(numpy.zeros((3, 4), "uint8"), 1.0, stored="float6_e2m3fn", packing="dense")


def test_layouts_that_are_none():
    with pytest.raises(ValueError, match="is none of tiled_128x4, column_words"):
        qdq.arrange_scales(X, layout="rows")
    with pytest.raises(ValueError, match="neither e8m0 nor f8e4m3"):
        qdq.arrange_scales(X, layout="tiled_128x4")
    with pytest.raises(ValueError, match="no matrix"):
        qdq.arrange_scales(X[0], layout="tiled_128x4")
    with pytest.raises(ValueError, match="no dense array of uint8"):
        qdq.restore_scales(X, (3, 4), layout="tiled_128x4", dtype="float8_e8m0fnu")


@pytest.mark.parametrize(
    "message, keywords",
    [
        ('rule: "best" is none of absmax, minmax, power_floor, power_ceil, power_even, power_round_up', {"rule": "best"}),
        ("axis: None, and block_size is of one: it says which", {"block_size": 4}),
        ("axis: 2 is not a dimension of x, which has 2", {"axis": 2}),
        ("block_size: 0 is below 1", {"axis": 0, "block_size": 0}),
        ("block_size: 1 sizes for 2 dimensions", {"block_size": (4,)}),
        ("quant_range: 1 numbers, not the lowest and highest code", {"quant_range": (4,)}),
        ("out: its shape is not x's", {"out": numpy.empty(3, "int8")}),
        ("how: clip_ratio 2 is not in 0..1", {"clip_ratio": 2}),
        ("clip_ratio: 2 numbers, not the first, the last, and how many", {"clip_ratio": (1, 2)}),
        ('global_sense: "up" is none of scale, inverse', {"global_sense": "up"}),
        ("global_sense: None, and global_scale has one: scale or inverse", {"global_scale": 1.0}),
    ],
)
def test_what_is_wrong_is_refused(message, keywords):
    with pytest.raises(ValueError) as refused:
        qdq.quantize_dynamic(X, dtype="int8", **keywords)
    assert message in str(refused.value)


def test_what_is_of_a_wrong_type_is_refused():
    with pytest.raises(TypeError):
        qdq.quantize_dynamic(X, dtype="int8", clip_ratio="1")
    with pytest.raises(TypeError):
        qdq.quantize_dynamic(X, dtype="int8", out=numpy.empty(X.shape, "uint8"))


def test_a_pair_is_two_calls_of_one_x():
    x = numpy.random.default_rng(1).standard_normal((96, 4096)).astype("float32")
    rows = {"dtype": "float8_e4m3fn", "rule": "power_floor", "axis": 1, "block_size": 32}
    columns = {"dtype": "int8", "axis": 0, "block_size": 32, "rule": "minmax", "diagnostics": True}
    without_diagnostics = dict(columns, diagnostics=False, clip_ratio=0.5)
    for keywords in (columns, without_diagnostics, dict(rows, axis=0), {"dtype": "int4", "packed": True}):
        for got, own in zip(qdq.quantize_dynamic_pair(x, rows, keywords), (rows, keywords), strict=True):
            expected = qdq.quantize_dynamic(x, **own)
            assert len(got) == len(expected)
            for a, b in zip(got, expected, strict=True):
                assert a == b if isinstance(a, dict) else (a.shape, a.tobytes()) == (b.shape, b.tobytes())


def test_a_plan_of_a_pair_gives_what_two_calls_give():
    draw, keywords = numpy.random.default_rng(2), ({"dtype": "int8", "axis": 0}, {"dtype": "uint8", "rule": "minmax"})
    plan = qdq.plan(qdq.quantize_dynamic_pair, X, *keywords)
    assert isinstance(plan, qdq.DynamicPairPlan)
    for _ in range(2):
        x, out = draw.standard_normal(X.shape).astype(X.dtype), numpy.empty(X.shape, "uint8")
        results = plan(x, second_out=out)
        assert results[1][0] is out
        for got, own in zip(results, keywords, strict=True):
            for a, b in zip(got, qdq.quantize_dynamic(x, **own), strict=True):
                assert (a.shape, a.tobytes()) == (b.shape, b.tobytes())
    with pytest.raises(ValueError, match="second: x: its dtype, shape, strides or device|first: x: its dtype"):
        plan(X[:1])
    with pytest.raises(ValueError, match="second: out: its dtype|second: out: its shape"):
        plan(X, second_out=numpy.empty(X.shape, "uint8")[:, ::-1].T)


def test_codes_are_rounded_stochastically_by_the_numbers_of_elements():
    chance = {"rounding": "stochastic", "seed": 5, "offset": 3}
    codes, scale = qdq.quantize_dynamic(X, dtype="int8", axis=0, **chance)
    assert numpy.array_equal(codes, qdq.quantize(X, scale, dtype="int8", axis=0, **chance))
    assert not numpy.array_equal(codes, qdq.quantize(X, scale, dtype="int8", axis=0))
    first, second = qdq.quantize_dynamic_pair(X, {"dtype": "int8", "axis": 0, **chance}, {"dtype": "int8", "axis": 0})
    assert numpy.array_equal(first[0], codes) and not numpy.array_equal(second[0], codes)
    groups, of_groups = qdq.quantize_dynamic_grouped(X, [0, 1, X.shape[0]], dtype="int8", **chance)
    expected = qdq.quantize_grouped(X, [0, 1, X.shape[0]], of_groups, dtype="int8", **chance)
    assert numpy.array_equal(groups, expected)
    again = qdq.transcode(codes, scale, dtype="int4", new_scale=scale * 16, axis=0, new_axis=0, **chance)
    values = qdq.dequantize(codes, scale, axis=0)
    assert numpy.array_equal(again, qdq.quantize(values, scale * 16, dtype="int4", axis=0, **chance))
    with pytest.raises(ValueError, match="diagnostics are not of codes that are rounded stochastically"):
        qdq.quantize_dynamic(X, dtype="int8", diagnostics=True, **chance)
    with pytest.raises(ValueError, match='rounding: "sometimes" is none of'):
        qdq.quantize_dynamic(X, dtype="int8", rounding="sometimes")


def test_outputs_of_a_pair_may_be_given():
    out, other = numpy.empty(X.shape, "int8"), numpy.empty(X.shape, "uint8")
    first, second = qdq.quantize_dynamic_pair(
        X, {"dtype": "int8", "out": out}, {"dtype": "uint8", "rule": "minmax", "out": other}
    )
    assert first[0] is out and second[0] is other and out.any() and other.any()


@pytest.mark.parametrize(
    "second, message",
    [
        (3, "second: keywords: no dict: 3"),
        ({"dtype": "int8", "axes": 1}, 'second: keywords: "axes" is none of quantize_dynamic'),
        ({"dtype": "int8", "axis": 2}, "second: axis: 2 is not a dimension of x, which has 2"),
        ({"dtype": "int8", "clip_ratio": 2}, "qdq_quantize_dynamic_pair: second: how: clip_ratio 2 is not in 0..1"),
        ({}, "second: dtype: "),
    ],
)
def test_what_is_wrong_of_a_pair_is_refused(second, message):
    with pytest.raises((TypeError, ValueError), match=message):
        qdq.quantize_dynamic_pair(X, {"dtype": "int8"}, second)

"""Tensors of PyTorch, the operators of torch.ops.qdq, and PyTorch's own names.

Skipped where PyTorch is not installed.
"""

import warnings

import numpy
import oracle
import page
import pytest

import qdq

torch = pytest.importorskip("torch")
warnings.filterwarnings("ignore", message=".*will be removed.*")

import qdq.torch  # noqa: E402
from qdq.compat import pypto, torch_npu, torchair as tng  # noqa: E402
from qdq.compat.torchair import CompilerConfig  # noqa: E402

ROWS = torch.tensor([0.5, 0.25, 2.0, 1.0])


def numbers(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(dtype)


class TestTensors:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("stored", [torch.int8, torch.uint8, torch.int32, torch.float8_e4m3fn, torch.float8_e5m2])
    def test_results_are_tensors_with_the_oracles_bits(self, dtype, stored):
        x = numbers(4, 6, dtype=dtype)
        name = str(stored).removeprefix("torch.")
        y = qdq.quantize(x, ROWS, dtype=stored, axis=0)
        expected = oracle.quantize(x.float().numpy(), ROWS.numpy(), None, name)
        assert isinstance(y, torch.Tensor) and y.dtype == stored
        assert (y.view(torch.uint8).numpy() == expected.view("u1")).all()
        z = qdq.dequantize(y, ROWS, axis=0, dtype=dtype)
        assert z.dtype == dtype
        assert (
            z.float().numpy() == oracle.dequantize(expected, ROWS.numpy(), None, oracle_name(dtype)).astype("f4")
        ).all()

    def test_strides_outputs_and_gradients(self):
        x = numbers(6, 4).t().requires_grad_()
        out = torch.empty(6, 4, dtype=torch.int8).t()
        assert qdq.quantize(x, ROWS, dtype="int8", axis=0, out=out) is out
        assert torch.equal(out, qdq.quantize(x.detach().contiguous(), ROWS, dtype="int8", axis=0))

    def test_types_that_torch_has_no_elements_of_are_bytes(self):
        x = numbers(4, 6)
        with pytest.raises(TypeError, match="torch has no elements of int4; packed=True gives bytes"):
            qdq.quantize(x, 0.5, dtype=torch.int4)
        packed = qdq.quantize(x, 0.5, dtype=torch.float4_e2m1fn_x2, packed=True)
        assert (packed.dtype, packed.shape) == (torch.uint8, (4, 3))
        y = qdq.dequantize(packed, 0.5, stored="float4_e2m1fn")
        assert torch.equal(y, qdq.dequantize(packed.view(torch.float4_e2m1fn_x2), 0.5))
        expected = oracle.dequantize(oracle.quantize(x.numpy(), 0.5, None, "float4_e2m1fn"), 0.5, None, "float32")
        assert (y.numpy() == expected).all()

    def test_a_tensor_of_float64_is_named(self):
        for arguments in ((numbers(4).double(), 0.1), (numbers(4), numbers(1).double())):
            with pytest.raises(TypeError, match="dtype float64 is no type of qdq's: use float32"):
                qdq.quantize(*arguments, dtype="int8")
        with pytest.raises(TypeError, match="x: dtype bool is no type of qdq's"):
            qdq.quantize(torch.ones(4, dtype=torch.bool), 0.1, dtype="int8")

    def test_a_plan_of_tensors(self):
        x = numbers(4, 6)
        plan = qdq.plan(qdq.quantize, x, ROWS, dtype="int8", axis=0)
        assert torch.equal(plan(2 * x), qdq.quantize(2 * x, ROWS, dtype="int8", axis=0))


def oracle_name(dtype):
    return str(dtype).removeprefix("torch.")


class TestStorageThatIsTakenAway:
    TAKEN = "its memory was taken away"

    def test_by_an_axis_that_is_read(self):
        class Axis:
            def __index__(self):
                x.resize_(0)
                return 0

        x = torch.ones(4096)
        with pytest.raises(ValueError, match=f"x: {self.TAKEN}"):
            qdq.quantize(x, torch.ones(4096), dtype="int8", axis=Axis())

    def test_of_the_scale_of_a_plan(self):
        x, scale = torch.ones(4096), torch.ones(4096)
        plan = qdq.plan(qdq.quantize, x, scale, dtype="int8", axis=0)
        assert (plan(x) == 1).all()
        scale.untyped_storage().resize_(0)
        with pytest.raises(ValueError, match=f"scale: {self.TAKEN}"):
            plan(x)


class TestOperators:
    def samples(self):
        x = numbers(4, 6)
        yield torch.ops.qdq.quantize, (x, ROWS), {"dtype": torch.int8, "axis": 0}
        yield (
            torch.ops.qdq.quantize,
            (x, torch.tensor(0.5), torch.tensor(3, dtype=torch.int32)),
            {"dtype": torch.uint8, "profile": "torch"},
        )
        yield torch.ops.qdq.quantize, (x, torch.tensor(0.5)), {"dtype": torch.int4, "packed": True}
        yield torch.ops.qdq.quantize, (x[:3, :5], torch.tensor(0.5)), {"dtype": torch.int2, "packed": True}
        yield torch.ops.qdq.quantize, (x, torch.rand(4, 2) + 0.1), {"dtype": torch.int8, "axis": 1, "block_size": [4]}
        yield torch.ops.qdq.dequantize, (qdq.quantize(x, ROWS, dtype="int8", axis=0), ROWS), {"axis": 0}
        yield torch.ops.qdq.fake_quantize, (x.requires_grad_(), ROWS), {"dtype": torch.int8, "axis": 0}

    def test_operators_keep_the_rules_of_pytorch(self):
        """Schemas, fake tensors and autograd, as torch.library's own checks have them."""
        for operator, arguments, keywords in self.samples():
            torch.library.opcheck(operator, arguments, keywords)

    def test_operators_give_the_results_of_the_functions(self):
        x = numbers(4, 6)
        q = torch.ops.qdq.quantize(x, ROWS, None, dtype=torch.int8, axis=0)
        assert torch.equal(q, qdq.quantize(x, ROWS, dtype="int8", axis=0))
        y = torch.ops.qdq.dequantize(q, ROWS, dtype=torch.float16, axis=0)
        assert torch.equal(y, qdq.dequantize(q, ROWS, dtype="float16", axis=0))
        assert torch.equal(
            torch.ops.qdq.fake_quantize(x, ROWS, dtype=torch.int8, axis=0), qdq.dequantize(q, ROWS, axis=0)
        )

    @pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
    def test_compiles_without_graph_breaks(self, backend):
        def through(x, scale):
            q = torch.ops.qdq.quantize(torch.relu(x), scale, dtype=torch.int8, axis=0)
            return torch.ops.qdq.dequantize(q, scale, axis=0) + 1

        x = numbers(4, 6)
        compiled = torch.compile(through, fullgraph=True, backend=backend)
        assert torch.equal(compiled(x, ROWS), through(x, ROWS))

    def test_gradients_pass_straight_through(self):
        x = numbers(4, 6).requires_grad_()
        weights = numbers(4, 6)
        (weights * torch.ops.qdq.fake_quantize(x, ROWS, dtype=torch.int8, axis=0)).sum().backward()
        assert torch.equal(x.grad, weights)

    def test_gradients_of_float8_are_scaled(self):
        x = numbers(4, 6).requires_grad_()
        blocks = torch.tensor([[0.5, 2.0]]).repeat(4, 1)
        q = torch.ops.qdq.quantize(x, blocks, dtype=torch.float8_e5m2, axis=1, block_size=[4])
        y = torch.ops.qdq.dequantize(q, blocks, axis=1, block_size=[4])
        y.sum().backward()  # by 0.5 and 2, and back: exact in float8
        assert torch.equal(x.grad, torch.ones(4, 6))

    def test_gradients_of_products_are_multiplied(self):
        x = numbers(4, 6).requires_grad_()
        scales = torch.tensor([0.5, 2.0, 4.0, 1.0])
        torch.ops.qdq.quantize(x, scales, dtype=torch.float8_e5m2, axis=0, scale_mode="multiply").float().sum().backward()
        assert torch.equal(x.grad, scales[:, None].expand(4, 6))


class TestDynamicOperators:
    CALLS = [
        {"dtype": torch.int8},
        {"dtype": torch.int8, "axis": 0, "quant_range": [-127, 127], "least_scale": 1e-5},
        {"dtype": torch.float8_e4m3fn, "axis": -1, "block_size": [4], "scale_dtype": torch.bfloat16},
        {"dtype": torch.int8, "block_size": [3, 4], "clip_ratio": 0.5},
        {"dtype": torch.float8_e5m2, "axis": 1, "block_size": [4], "rule": "power_floor"},
        {"dtype": torch.float4_e2m1fn_x2, "axis": 1, "block_size": [4], "rule": "power_even", "packed": True},
    ]

    @pytest.mark.parametrize("keywords", CALLS)
    def test_gives_the_functions_results_and_fake_tensors_like_them(self, keywords):
        x = numbers(4, 6)
        codes, scale = torch.ops.qdq.quantize_dynamic(x, **keywords)
        sizes = keywords.get("block_size")
        blocks = sizes and (sizes[0] if len(sizes) == 1 else tuple(sizes))
        expected = qdq.quantize_dynamic(x, **{**keywords, "block_size": blocks})
        for one, other in zip((codes, scale), expected, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            assert torch.equal(one.reshape(-1).view(torch.uint8), other.reshape(-1).view(torch.uint8))
        torch.library.opcheck(torch.ops.qdq.quantize_dynamic.default, (x,), keywords)

    @pytest.mark.parametrize("keywords", [{"dtype": torch.uint8}, {"dtype": torch.int8, "axis": 0}, {
        "dtype": torch.uint4, "axis": 1, "block_size": [3], "packed": True}])  # fmt: skip
    def test_minmax_has_zero_points(self, keywords):
        x = numbers(4, 6)
        codes, scale, zero_point = torch.ops.qdq.quantize_dynamic_minmax(x, **keywords)
        assert zero_point.dtype in (torch.uint8, torch.int8) and zero_point.shape == scale.shape
        torch.library.opcheck(torch.ops.qdq.quantize_dynamic_minmax.default, (x,), keywords)
        with pytest.raises(ValueError, match="minmax has zero points: quantize_dynamic_minmax"):
            torch.ops.qdq.quantize_dynamic(x, dtype=torch.uint8, rule="minmax")

    @pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.float4_e2m1fn_x2])
    @pytest.mark.parametrize("rule", ["absmax", "power_even"])
    def test_fake_ones_are_quantize_and_dequantize_with_a_gradient_of_1(self, dtype, rule):
        x = numbers(4, 8).requires_grad_()
        y = torch.ops.qdq.fake_quantize_dynamic(x, dtype=dtype, rule=rule, axis=1, block_size=[4])
        packed = dtype == torch.float4_e2m1fn_x2
        codes, scale = qdq.quantize_dynamic(x.detach(), dtype=dtype, rule=rule, axis=1, block_size=4, packed=packed)
        given = {"stored": dtype, "shape": (4, 8)} if packed else {}
        assert torch.equal(y, qdq.dequantize(codes, scale, axis=1, block_size=4, **given))
        weights = numbers(4, 8)
        (weights * y).sum().backward()
        assert torch.equal(x.grad, weights)
        torch.library.opcheck(torch.ops.qdq.fake_quantize_dynamic.default, (x,), {"dtype": dtype, "axis": 0})

    def test_fake_minmax(self):
        x = numbers(4, 6) + 3
        y = torch.ops.qdq.fake_quantize_dynamic(x, dtype=torch.uint8, rule="minmax", axis=0)
        codes, *parts = qdq.quantize_dynamic(x, dtype="uint8", rule="minmax", axis=0)
        assert torch.equal(y, qdq.dequantize(codes, *parts, axis=0))

    @pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
    def test_compiles_without_graph_breaks_for_any_shape(self, backend):
        def through(x):
            q, scale = torch.ops.qdq.quantize_dynamic(torch.relu(x), dtype=torch.int8, axis=1, block_size=[4])
            return torch.ops.qdq.dequantize(q, scale, axis=1, block_size=[4]) + 1

        compiled = torch.compile(through, fullgraph=True, dynamic=True, backend=backend)
        for shape in ((4, 6), (3, 9)):
            x = numbers(*shape)
            assert torch.equal(compiled(x), through(x))


class TestPytorchsNames:
    @pytest.mark.parametrize("dtype", [torch.qint8, torch.quint8, torch.qint32])
    def test_per_tensor_gives_pytorchs_results(self, dtype):
        x = torch.cat([numbers(1000), numbers(1000) * 100, torch.arange(-300, 300) / 2])
        for scale, zero_point in ((0.1, 3), (0.00214854861, 0), (0.5, 0 if dtype == torch.qint32 else 100)):
            expected = torch.quantize_per_tensor(x, scale, zero_point, dtype)
            y = qdq.torch.quantize_per_tensor(x, scale, zero_point, dtype)
            assert y.dtype == dtype and (y.q_scale(), y.q_zero_point()) == (expected.q_scale(), expected.q_zero_point())
            assert torch.equal(y.int_repr(), expected.int_repr())
            assert torch.equal(qdq.torch.dequantize(y), expected.dequantize())

    @pytest.mark.parametrize("axis", [0, 1])
    def test_per_channel_gives_pytorchs_results(self, axis):
        x = numbers(4, 4) * 3
        arguments = ROWS, torch.tensor([0, 1, -2, 3]), axis, torch.qint8
        expected, y = torch.quantize_per_channel(x, *arguments), qdq.torch.quantize_per_channel(x, *arguments)
        assert torch.equal(y.int_repr(), expected.int_repr()) and y.q_per_channel_axis() == axis
        assert torch.equal(y.q_per_channel_scales(), expected.q_per_channel_scales())
        assert torch.equal(qdq.torch.dequantize(y), expected.dequantize())

    def test_documented_example_of_per_channel(self):
        x = torch.tensor([[-1.0, 0.0], [1.0, 2.0]])
        y = qdq.torch.quantize_per_channel(x, torch.tensor([0.1, 0.01]), torch.tensor([10, 0]), 0, torch.quint8)
        assert y.int_repr().tolist() == [[0, 10], [100, 200]]

    def test_errors_are_runtime_errors(self):
        with pytest.raises(RuntimeError, match="dtype: torch.int8 is not one of"):
            qdq.torch.quantize_per_tensor(ROWS, 0.1, 0, torch.int8)
        with pytest.raises(RuntimeError, match="input: torch.float64 is not"):
            qdq.torch.quantize_per_tensor(ROWS.double(), 0.1, 0, torch.qint8)


class TestFrontEnds:
    def test_documented_examples_of_torch_npu(self):
        if not hasattr(torch.Tensor, "npu"):
            import importlib

            importlib.reload(torch_npu)  # as of a program that imports torch first
        x = torch.randn(1, 1, 12).bfloat16().npu()
        scale = torch.tensor([0.1] * 12).bfloat16().npu()
        out = torch_npu.npu_quantize(x, scale, None, torch.qint8, -1, False)
        assert (out.dtype, out.shape) == (torch.int8, x.shape)
        expected = oracle.quantize(
            x.float().numpy(), scale.float().numpy(), None, "int8", axis=-1, scale_mode="multiply"
        )
        assert (out.numpy() == expected).all()

        x = torch.randn(2, 3, 12).npu()
        scale = torch.tensor([3.0] * 12).npu()
        out = torch_npu.npu_quantize(x, scale, None, torch.qint8, -1, False)
        assert (
            out.numpy() == oracle.quantize(x.numpy(), scale.numpy(), None, "int8", axis=-1, scale_mode="multiply")
        ).all()

    def test_documented_example_of_a_graph_of_torch_npu(self):
        """The document's third sample, line by line."""
        x = torch.randn((2, 3, 12), dtype=torch.float16).npu()
        scale = torch.tensor(([3] * 12), dtype=torch.float16).npu()
        div_mode = False

        class Network(torch.nn.Module):
            def __init__(self):
                super(Network, self).__init__()

            def forward(self, x, scale, zero_points, dst_type, div_mode):
                return torch_npu.npu_quantize(x, scale, zero_points=zero_points, dtype=dst_type, div_mode=div_mode)

        model = Network()
        config = CompilerConfig()
        npu_backend = tng.get_npu_backend(compiler_config=config)
        config.debug.graph_dump.type = "pbtxt"
        model = torch.compile(model, fullgraph=True, backend=npu_backend, dynamic=True)
        output_data = model(x, scale, None, dst_type=torch.qint8, div_mode=div_mode)
        assert torch.equal(output_data, Network()(x, scale, None, torch.qint8, div_mode))
        x = torch.randn((5, 7, 12), dtype=torch.float16)
        assert torch.equal(model(x, scale, None, torch.qint8, False), Network()(x, scale, None, torch.qint8, False))

    @pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
    @pytest.mark.parametrize("dtype", ["qint8", "quint8", "int32", "quint4x2"])
    def test_torch_npu_compiles_without_graph_breaks(self, backend, dtype):
        def through(x, scales):
            how = {"axis": -2, "div_mode": False} if dtype == "quint4x2" else {"axis": 0}
            q = torch_npu.npu_quantize(input=torch.relu(x), scales=scales, zero_points=None, dtype=to, **how)
            return q + 1

        x, scales = numbers(4, 16), ROWS
        torch.compiler.reset()  # it counts how often one function is compiled
        compiled = torch.compile(through, fullgraph=True, dynamic=True, backend=backend)
        for to in (getattr(torch, dtype), getattr(torch_npu, dtype)):
            made, expected = compiled(x, scales), through(x, scales)
            assert made.dtype == expected.dtype and torch.equal(made, expected)

    def test_npu_quantize_keeps_the_rules_of_operators(self):
        none, x, eight = None, numbers(4, 16), torch.full((16,), 0.5)
        for arguments in (
            (x, ROWS, none, 12, 0, True), (x, ROWS, torch.ones(4, dtype=torch.int32), 13, 0),
            (x, eight, none, 3), (x, eight, none, 14), (x.bfloat16(), eight.bfloat16(), none, 12, -1, False),
            (x, ROWS[:1], none, 16, -1, False), (x[0], eight, none, 12, 1, False), (x[:0], ROWS[:1], none, 13),
            (x, ROWS, none, 290, 0), (x, eight, none, 290, -1, False),
        ):  # fmt: skip
            torch.library.opcheck(torch.ops.qdq.npu_quantize.default, arguments)

    def test_torch_npus_other_operators_keep_the_rules_of_operators(self):
        x, codes, scale = numbers(4, 16).half(), torch.ones((4, 16), dtype=torch.int8), torch.tensor([0.5])
        smooth, groups = torch.ones((2, 16), dtype=torch.float16), torch.tensor([1, 4], dtype=torch.int32)
        ops = torch.ops.qdq
        for operator, arguments, keywords in (
            (ops.npu_anti_quant, (codes, scale), {"offset": scale, "dst_dtype": 15}),
            (ops.npu_anti_quant, (codes[:, :2].int(), scale), {"src_dtype": 16}),
            (ops.npu_dynamic_quant, (x,), {}),
            (ops.npu_dynamic_quant, (x,), {"smooth_scales": smooth, "group_index": groups, "dst_type": 16}),
            (ops.npu_dynamic_quant, (x,), {"quant_mode": "perchannel", "dst_type": 24}),
            (ops.npu_dynamic_quant, (x,), {"quant_mode": "pertensor", "dst_type": 23}),
            (ops.npu_dynamic_quant_asymmetric, (x,), {"smooth_scales": smooth, "group_index": groups}),
            (ops.npu_dynamic_quant_asymmetric, (x,), {"quant_mode": "perchannel", "dst_type": 16}),
            (ops.npu_dynamic_mx_quant, (x,), {}),
            (ops.npu_dynamic_mx_quant, (x,), {"axis": 0, "dst_type": 24, "scale_alg": 1}),
            (ops.npu_anti_quant, (codes.view(torch.uint8), scale), {"src_dtype": 290}),
            (ops.npu_dynamic_quant, (x,), {"dst_type": 290, "dst_type_max": 15.0}),
            (ops.npu_dynamic_mx_quant, (x,), {"dst_type": 297, "round_mode": "floor"}),
            (ops.npu_dynamic_mx_quant, (x,), {"scale_alg": 2, "dst_type_max": 7.0}),
            (ops.npu_dynamic_mx_quant, (x,), {"dst_type": 24, "scale_alg": 1, "max_low_bound": 0.5}),
        ):
            torch.library.opcheck(operator.default, arguments, keywords)

    def test_torch_npus_other_functions_compile_without_graph_breaks(self):
        def through(x):
            codes, scale = torch_npu.npu_dynamic_quant(x, dst_type=torch.int8)
            blocks, _ = torch_npu.npu_dynamic_mx_quant(x, dst_type=torch.float8_e4m3fn)
            values = torch_npu.npu_anti_quant(codes, torch.ones(1), dst_dtype=torch.bfloat16)
            tapered, of_tapered = torch_npu.npu_dynamic_quant(x, dst_type=torch_npu.hifloat8, quant_mode="pertensor")
            restored = torch_npu.npu_anti_quant(tapered, of_tapered, src_dtype=torch_npu.hifloat8)
            quarters, _ = torch_npu.npu_dynamic_mx_quant(x, dst_type=torch_npu.float4_e1m2fn_x2)
            return values + 1, scale, blocks.float(), tapered, restored, quarters

        x = numbers(4, 16).half()
        torch.compiler.reset()
        compiled = torch.compile(through, fullgraph=True, backend="aot_eager")
        for made, expected in zip(compiled(x), through(x)):
            assert made.dtype == expected.dtype and torch.equal(made, expected)

    def test_torch_npus_hifloat8_is_bytes_of_the_librarys_codes(self):
        x, scale = numbers(4, 16), torch.tensor([0.25])
        y = torch_npu.npu_quantize(x, scale, None, torch_npu.hifloat8)
        assert y.dtype == torch.uint8
        assert torch.equal(y, qdq.quantize(x, 0.25, dtype="hifloat8", packed=True))
        y, scale = torch_npu.npu_dynamic_quant(x.half(), dst_type=torch_npu.hifloat8, quant_mode="pertensor")
        assert torch.equal(y, qdq.quantize(x.half(), scale.item(), dtype="hifloat8", packed=True))
        values = torch_npu.npu_anti_quant(y, scale, dst_dtype=torch.bfloat16)
        assert torch.equal(values, qdq.dequantize(y, scale.item(), stored="hifloat8", dtype="bfloat16"))

    def test_torch_npu_refuses_tensors_as_arrays(self):
        x = numbers(4, 16)
        with pytest.raises(RuntimeError, match="npu_quantize: scales: shape"):
            torch_npu.npu_quantize(x, ROWS, None, torch.qint8)
        with pytest.raises(TypeError, match="axis: it is a bool, and no integer"):
            torch_npu.npu_quantize(x, ROWS, None, torch.qint8, False)
        with pytest.raises(TypeError, match="div_mode: it is no bool"):
            torch_npu.npu_quantize(x, ROWS, None, torch.qint8, 0, 1)
        mixed = torch_npu.npu_quantize(x, ROWS.numpy(), None, torch.qint8, 0)
        assert torch.equal(mixed, torch_npu.npu_quantize(x, ROWS, None, torch.qint8, 0))

    @pytest.mark.parametrize("dtype", [torch.quint8, torch.int32, torch.qint32])
    def test_torch_npu_takes_the_dtypes_of_torch(self, dtype):
        out = torch_npu.npu_quantize(
            torch.tensor([[3.0]]), torch.tensor([2.0]), torch.tensor([1], dtype=torch.int32), dtype
        )
        assert out.tolist() == [[2]] and out.dtype == (torch.uint8 if dtype == torch.quint8 else torch.int32)
        with pytest.raises(RuntimeError, match="dtype: float16 is not one of"):
            torch_npu.npu_quantize(torch.ones(1, 1), torch.ones(1), None, torch.float16)

    def test_pypto_takes_tensors(self):
        y = pypto.dequantize(torch.tensor([[1, 2]], dtype=torch.int8), torch.tensor([0.5]), pypto.DT_FP32, -1)
        assert torch.equal(y, torch.tensor([[0.5, 1.0]]))


def test_numpy_and_tensors_may_be_mixed():
    x = numbers(4, 6)
    y = qdq.quantize(x, ROWS.numpy(), dtype="int8", axis=0)
    assert isinstance(y, torch.Tensor)
    assert isinstance(qdq.quantize(x.numpy(), ROWS, dtype="int8", axis=0), numpy.ndarray)


def test_the_examples_of_the_page_hold():
    assert page.run(lambda title: title == "PyTorch") > 5

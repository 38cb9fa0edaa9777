"""Arrays of PyTorch, CuPy and JAX in a GPU's memory: the results that the host gives, in the stream of the framework.

Skipped where PyTorch has no CUDA, or the build no kernels for it. tools/gpu_lease.sh takes it to a machine that has both.
"""

import pytest

import qdq

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or "cuda" not in [name for name, _ in qdq.targets()]:
    pytest.skip("PyTorch has no CUDA, or qdq no kernels for it", allow_module_level=True)

import qdq.torch  # noqa: E402

SHAPE = (96, 512)
ROWS = torch.linspace(0.01, 0.2, SHAPE[0])
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
STORED = [torch.int8, torch.uint8, torch.int32, torch.float8_e4m3fn, torch.float8_e5m2]


def numbers(*shape, dtype=torch.float32):
    return (3 * torch.randn(*shape, generator=torch.Generator().manual_seed(1))).to(dtype)


def same(on_device, on_host):
    assert on_device.is_cuda and on_device.dtype == on_host.dtype and on_device.shape == on_host.shape
    one, other = (tensor.reshape(-1).view(torch.uint8) for tensor in (on_device.cpu(), on_host))
    return torch.equal(one, other)


class TestTorch:
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("stored", STORED)
    def test_results_are_the_hosts(self, dtype, stored):
        x = numbers(*SHAPE, dtype=dtype)
        codes = qdq.quantize(x, ROWS, dtype=stored, axis=0)
        assert same(qdq.quantize(x.cuda(), ROWS.cuda(), dtype=stored, axis=0), codes)
        back = qdq.dequantize(codes, ROWS, axis=0, dtype=dtype)
        assert same(qdq.dequantize(codes.cuda(), ROWS.cuda(), axis=0, dtype=dtype), back)

    def test_blocks_of_int4_packed(self):
        x, scale = numbers(*SHAPE, dtype=torch.bfloat16), torch.rand(SHAPE[0], SHAPE[1] // 32) + 0.1
        how = {"dtype": torch.int4, "axis": 1, "block_size": 32, "packed": True}
        codes = qdq.quantize(x, scale, **how)
        assert same(qdq.quantize(x.cuda(), scale.cuda(), **how), codes)
        how = {"stored": "int4", "axis": 1, "block_size": 32, "dtype": torch.bfloat16}
        assert same(qdq.dequantize(codes.cuda(), scale.cuda(), **how), qdq.dequantize(codes, scale, **how))

    @pytest.mark.parametrize("view", [lambda x: x.t(), lambda x: x[::2, 3:], lambda x: x[:, ::3], lambda x: x[5:6]])
    def test_views_are_read_where_they_are(self, view):
        x = numbers(*SHAPE)
        assert same(qdq.quantize(view(x.cuda()), 0.05, dtype="int8"), qdq.quantize(view(x), 0.05, dtype="int8"))

    @pytest.mark.parametrize("view", [lambda x: x, lambda x: x.t(), lambda x: x[:, ::3]])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_rounding_by_chance_is_the_hosts(self, dtype, view):
        x, how = numbers(*SHAPE, dtype=dtype), {"rounding": "stochastic", "seed": 7, "offset": 8}
        for stored in ("int8", torch.float8_e4m3fn):
            assert same(qdq.quantize(view(x.cuda()), 0.05, dtype=stored, **how), qdq.quantize(view(x), 0.05, dtype=stored, **how))

    def test_a_given_output_is_written(self):
        x, out = numbers(*SHAPE).cuda(), torch.full((SHAPE[1], SHAPE[0]), 99, dtype=torch.int8, device="cuda").t()
        assert qdq.quantize(x, 0.05, dtype="int8", out=out) is out
        assert same(out, qdq.quantize(x.cpu(), 0.05, dtype="int8"))

    def test_more_elements_than_a_grid_of_65535_blocks(self):
        x = numbers(1 << 26, dtype=torch.bfloat16)
        assert same(qdq.quantize(x.cuda(), 0.05, dtype="int8"), qdq.quantize(x, 0.05, dtype="int8"))

    def test_work_follows_what_its_stream_has(self):
        """`x` is written late, by the same stream: what is read before that is 0."""
        stream = torch.cuda.Stream()
        later = numbers(1 << 22).cuda()
        with torch.cuda.stream(stream):
            x = torch.zeros_like(later)
            torch.cuda._sleep(50_000_000)
            x.copy_(later)
            y = qdq.quantize(x, 0.05, dtype="int8")
            z = y.int() + 1
        stream.synchronize()
        assert same(z, qdq.quantize(later.cpu(), 0.05, dtype="int8").int() + 1)

    def test_a_plan_in_a_graph(self):
        x, y = numbers(*SHAPE).cuda(), torch.empty(SHAPE, dtype=torch.int8, device="cuda")
        plan = qdq.plan(qdq.quantize, x, ROWS.cuda(), dtype="int8", axis=0, out=y)
        plan(x, y)
        y.zero_()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            plan(x, y)
        assert not y.any()
        for sign in (1, -1):
            x.mul_(sign)
            graph.replay()
            assert same(y, qdq.quantize(x.cpu(), ROWS, dtype="int8", axis=0))

    def test_operators_compile_without_graph_breaks(self):
        def through(x, scale):
            q = torch.ops.qdq.quantize(torch.relu(x), scale, dtype=torch.int8, axis=0)
            return torch.ops.qdq.dequantize(q, scale, axis=0) + 1

        x, scale = numbers(*SHAPE).cuda(), ROWS.cuda()
        assert same(torch.compile(through, fullgraph=True)(x, scale), through(x.cpu(), ROWS))

    def test_gradients_pass_straight_through(self):
        x, weights = numbers(*SHAPE).cuda().requires_grad_(), numbers(*SHAPE).cuda()
        (weights * torch.ops.qdq.fake_quantize(x, ROWS.cuda(), dtype=torch.int8, axis=0)).sum().backward()
        assert torch.equal(x.grad, weights)

    def test_a_scale_on_the_host_is_refused(self):
        with pytest.raises(ValueError, match="scale: "):
            qdq.quantize(numbers(*SHAPE).cuda(), ROWS, dtype="int8", axis=0)

    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("stored", [torch.int8, torch.float8_e4m3fn])
    @pytest.mark.parametrize("how", [{}, {"axis": 0}, {"axis": 1}, {"axis": 1, "block_size": 128}, {"block_size": (32, 64)},
                                     {"axis": 1, "block_size": 32, "rule": "power_floor"}])  # fmt: skip
    def test_scales_are_computed_there(self, dtype, stored, how):
        x = numbers(*SHAPE, dtype=dtype)
        for there, here in zip(qdq.quantize_dynamic(x.cuda(), dtype=stored, **how),
                               qdq.quantize_dynamic(x, dtype=stored, **how), strict=True):  # fmt: skip
            assert same(there, here)

    def test_zero_points_are_computed_there(self):
        x = numbers(*SHAPE)
        for there, here in zip(torch.ops.qdq.quantize_dynamic_minmax(x.cuda(), dtype=torch.uint8, axis=0),
                               torch.ops.qdq.quantize_dynamic_minmax(x, dtype=torch.uint8, axis=0), strict=True):  # fmt: skip
            assert same(there, here)

    def test_a_dynamic_call_in_a_graph(self):
        x = numbers(*SHAPE).cuda()
        qdq.quantize_dynamic(x, dtype="int8", axis=0)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            codes, scale = torch.ops.qdq.quantize_dynamic(x, dtype=torch.int8, axis=0)
        x.mul_(2)
        graph.replay()
        torch.cuda.synchronize()
        expected_codes, expected_scale = qdq.quantize_dynamic(x.cpu(), dtype="int8", axis=0)
        assert same(codes, expected_codes) and same(scale, expected_scale)

    def test_a_search_is_refused_by_name(self):
        with pytest.raises(ValueError, match="clip_ratio_count"):
            qdq.quantize_dynamic(numbers(*SHAPE).cuda(), dtype="int8", axis=0, clip_ratio=(1, 0.5, 3))


def test_cupy():
    cupy = pytest.importorskip("cupy")
    x = numbers(*SHAPE)
    y = qdq.quantize(cupy.asarray(x.numpy()), cupy.asarray(ROWS.reshape(-1, 1).numpy()), dtype="int8")
    assert isinstance(y, cupy.ndarray)
    expected = qdq.quantize(x.numpy(), ROWS.reshape(-1, 1).numpy(), dtype="int8")
    assert (cupy.asnumpy(y) == expected).all()
    with cupy.cuda.Stream(non_blocking=True):
        assert (cupy.asnumpy(qdq.quantize(cupy.asarray(x.numpy()), 0.05, dtype="int8")) ==
                qdq.quantize(x.numpy(), 0.05, dtype="int8")).all()  # fmt: skip


def test_jax_by_torch():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    x = jax.numpy.asarray(numbers(*SHAPE).numpy())
    with pytest.raises(TypeError, match="x: JAX's arrays are taken from the host alone"):
        qdq.quantize(x, 0.05, dtype="int8")
    y = qdq.quantize(torch.from_dlpack(x), 0.05, dtype="int8")
    assert same(y, qdq.quantize(numbers(*SHAPE), 0.05, dtype="int8"))

"""Peers that are called from Python, as native_peers.py has those that are called in C. What PyTorch compiles is C: its
kernel is called without the code around it, which allocates."""

import ctypes
import importlib.metadata
import os
import warnings

import ml_dtypes
import numpy

from conversion import BLOCK, BUILD, INTEGER_RANGE, PACKED, TYPES, NativeCall, PythonCall

FLOAT8 = {"f8e4m3", "f8e5m2"}


class OnnxRuntime:
    """One node of QuantizeLinear or DequantizeLinear with bound input and output: a run allocates and copies neither."""

    TYPES = {"f32": "FLOAT", "f16": "FLOAT16", "i8": "INT8", "u8": "UINT8", "f8e4m3": "FLOAT8E4M3FN", "f8e5m2": "FLOAT8E5M2"}

    def __init__(self):
        import onnx
        import onnxruntime

        self.onnx, self.runtime = onnx, onnxruntime
        self.version = onnxruntime.__version__

    def calls(self, c):
        if c.x_type not in self.TYPES or c.y_type not in self.TYPES:
            return {}
        onnx, runtime = self.onnx, self.runtime
        of_x, of_y, of_codes = (getattr(onnx.TensorProto, self.TYPES[t]) for t in (c.x_type, c.y_type, c.code_type))
        scale_type = c.x_type if c.function == "quantize" else c.y_type
        scale_shape = {"tensor": (), "channel_axis0": (-1,), "block32": c.scale_shape}[c.granularity]
        scale = c.scale.astype(TYPES[scale_type]).reshape(scale_shape)
        zero_points = numpy.full(scale.shape, 0 if c.zero_point is None else c.zero_point[0, 0]).astype(TYPES[c.code_type])
        constants = [onnx.numpy_helper.from_array(scale, "s"),
                     onnx.helper.make_tensor("z", of_codes, scale.shape, zero_points.tobytes(), raw=True)]
        axis = {"tensor": {}, "channel_axis0": {"axis": 0}, "block32": {"axis": 1, "block_size": BLOCK}}[c.granularity]
        operator = "QuantizeLinear" if c.function == "quantize" else "DequantizeLinear"
        info, shape = onnx.helper.make_tensor_value_info, (c.rows, c.columns)
        graph = onnx.helper.make_graph([onnx.helper.make_node(operator, ["x", "s", "z"], ["y"], **axis)], operator,
                                       [info("x", of_x, shape)], [info("y", of_y, shape)], constants)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for bind, name, array, of in ((binding.bind_input, "x", c.x, of_x), (binding.bind_output, "y", c.y, of_y)):
            bind(name, "cpu", 0, of, shape, array.ctypes.data)
        return {c.modes[0]: PythonCall(lambda: session.run_with_iobinding(binding), lambda: c.y)}


class MlDtypes:
    """NumPy's assignment to and from the types of ml_dtypes, with a product in f32: three passes over memory."""

    def __init__(self):
        self.version = f"{ml_dtypes.__version__}, NumPy {numpy.__version__}"

    def calls(self, c):
        if not {c.x_type, c.y_type} & (FLOAT8 | {"bf16"}) or {c.x_type, c.y_type} & PACKED or c.granularity != "tensor":
            return {}
        values = numpy.empty((c.rows, c.columns), numpy.float32)
        scale = c.scale_of("multiply")

        def call():
            if c.x_type == "f32":
                numpy.multiply(c.x, scale, out=values)
            else:
                numpy.copyto(values, c.x, casting="unsafe")
                numpy.multiply(values, scale, out=values)
            if c.y_type in INTEGER_RANGE:
                numpy.rint(values, out=values)
                numpy.clip(values, *INTEGER_RANGE[c.y_type], out=values)
            numpy.copyto(c.y, values, casting="unsafe")

        return {"multiply": PythonCall(call, lambda: c.y)}


class Tensors:
    """A conversion's operands as PyTorch has them; what is not its own type in NumPy goes by its bits."""

    BITS = {"bf16": numpy.int16, "f8e4m3": numpy.uint8, "f8e5m2": numpy.uint8}

    def __init__(self, torch, c):
        names = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i4": "uint8",
                 "f4e2m1": "uint8", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
        self.torch, self.c = torch, c
        self.dtypes = {name: getattr(torch, full) for name, full in names.items()}
        self.x, self.y = self.of(c.x, c.x_type), self.of(c.y, c.y_type)

    def of(self, array, name):
        bits = self.BITS.get(name)
        tensor = self.torch.from_numpy(array if bits is None else array.view(bits))
        return tensor if bits is None else tensor.view(self.dtypes[name])

    def array_of(self, tensor):
        return tensor.view(self.torch.uint8).numpy()


class TorchEager:
    """quantize_per_tensor, quantize_per_channel (which multiply by the reciprocal) and dequantize where they take the types;
    otherwise one operator after another, each into a tensor that is there."""

    def __init__(self):
        import torch

        torch.set_num_threads(1)
        # They are deprecated, and what users have.
        warnings.filterwarnings("ignore", message=".*quantize_per_(tensor|channel)")
        self.torch, self.version = torch, torch.__version__

    def calls(self, c):
        if {c.x_type, c.y_type} & PACKED:
            return {}
        torch, t = self.torch, Tensors(self.torch, c)
        if {c.x_type, c.y_type} <= {"f32", "i8", "u8"} and c.granularity != "block32":
            return {"multiply": self._quantized(t)}
        of_blocks = (c.scale.size, BLOCK) if c.granularity == "block32" else (c.rows, c.columns)
        x, y = t.x.view(of_blocks), t.y.view(of_blocks)
        scale = torch.from_numpy(c.scale_of("multiply")).view((-1, 1))
        values = torch.empty(of_blocks, dtype=torch.float32)

        def call():
            if c.x_type == "f32":
                torch.mul(x, scale, out=values)
            else:
                values.copy_(x)
                values.mul_(scale)
            if c.y_type in INTEGER_RANGE:
                values.round_().clamp_(*INTEGER_RANGE[c.y_type])
            y.copy_(values)

        return {"multiply": PythonCall(call, lambda: c.y)}

    def _quantized(self, t):
        torch, c = self.torch, t.c
        dtype = {"i8": torch.qint8, "u8": torch.quint8}[c.code_type]
        zero_point = 0 if c.zero_point is None else int(c.zero_point[0, 0])
        if c.granularity == "tensor":
            def quantize(x, scale=float(c.scale[0, 0])):
                return torch.quantize_per_tensor(x, scale, zero_point, dtype)
        else:
            scales = torch.from_numpy(c.scale.reshape(-1))
            zero_points = torch.full(scales.shape, zero_point)

            def quantize(x):
                return torch.quantize_per_channel(x, scales, zero_points, 0, dtype)
        if c.function == "quantize":
            return PythonCall(lambda: quantize(t.x), lambda: t.array_of(quantize(t.x).int_repr()))
        codes = quantize((t.x.float() - zero_point) * torch.from_numpy(c.scale))
        return PythonCall(codes.dequantize, lambda: t.array_of(codes.dequantize()))


class TorchCompile:
    """The kernel that torch.compile makes of a few operators, for the conversion's size, called in C with its tensors."""

    def __init__(self):
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(BUILD.parent / "inductor"))
        os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
        import torch
        import torch._inductor.codecache

        torch.set_num_threads(1)
        self.torch, self.version = torch, torch.__version__

    def calls(self, c):
        if c.y_type == "f4e2m1":  # PyTorch has no conversion to it
            return {}
        return {mode: self._compiled(Tensors(self.torch, c), mode) for mode in c.modes}

    def _compiled(self, t, mode):
        torch, c = self.torch, t.c
        scale = torch.from_numpy(c.scale_of(mode)).view((-1, 1))
        shifts = torch.tensor([0, 4], dtype=torch.uint8)
        decoded = torch.from_numpy(numpy.arange(16, dtype=numpy.uint8).view(TYPES["f4e2m1"]).astype(numpy.float32))
        zero_point = 0 if c.zero_point is None else int(c.zero_point[0, 0])
        of_blocks = (-1, BLOCK) if c.granularity == "block32" else (c.rows, c.columns)

        def quantize(x, scale, shifts, decoded):
            values = x.to(torch.float32).view(of_blocks)
            values = values / scale if mode == "divide" else values * scale
            if c.y_type in INTEGER_RANGE:
                values = (torch.round(values) + zero_point).clamp(*INTEGER_RANGE[c.y_type])
            if c.y_type == "i4":
                pairs = values.to(torch.int8).view(torch.uint8).view(-1, 2)
                return (pairs[:, 0] & 15) | (pairs[:, 1] << 4)
            return values.to(t.dtypes[c.y_type])

        def dequantize(x, scale, shifts, decoded):
            if c.x_type in PACKED:
                x = x.view(-1, 1) >> shifts & 15
                x = decoded[x.to(torch.int64)] if c.x_type == "f4e2m1" else (x.to(torch.int8) ^ 8) - 8
            values = x.to(torch.float32).view(of_blocks) - zero_point
            return (values * scale).to(t.dtypes[c.y_type])

        torch._dynamo.reset()
        cache = torch._inductor.codecache.PyCodeCache
        cache.cache_clear()
        function = quantize if c.function == "quantize" else dequantize
        compiled = torch.compile(function, dynamic=False, fullgraph=True)
        inputs = (t.x, scale, shifts, decoded)
        compiled(*inputs)
        code = vars(cache.modules[-1])
        kernels = [name for name in code if name.startswith("cpp_fused")]
        if len(kernels) != 1:
            return PythonCall(lambda: compiled(*inputs), lambda: t.array_of(compiled(*inputs)))
        kernel, tensors = code[kernels[0]], []
        code[kernels[0]] = lambda *arguments: (tensors.extend(arguments), kernel(*arguments))
        y = compiled(*inputs)
        code[kernels[0]] = kernel
        function = ctypes.CDLL(kernel.__self__.__file__).kernel
        addresses = [c.y if tensor.data_ptr() == y.data_ptr() else tensor.data_ptr() for tensor in tensors]
        return NativeCall(function, addresses, lambda: c.y, (tensors, y))


class Torchao:
    """Its quantization primitives, which give tensors of their own. To integers they multiply by the reciprocal."""

    def __init__(self):
        import torch
        from torchao.quantization import quant_primitives

        torch.set_num_threads(1)
        self.torch, self.primitives = torch, quant_primitives
        self.version = importlib.metadata.version("torchao")

    def calls(self, c):
        if {c.x_type, c.y_type} & PACKED:
            return {}
        torch, p, t = self.torch, self.primitives, Tensors(self.torch, c)
        scale = torch.from_numpy(c.scale)
        if c.code_type in INTEGER_RANGE:
            block = {"tensor": (c.rows, c.columns), "channel_axis0": (1, c.columns), "block32": (1, BLOCK)}[c.granularity]
            zero_points = torch.full(scale.shape, 0 if c.zero_point is None else int(c.zero_point[0, 0]), dtype=torch.int32)
            common = (t.x, block, scale, zero_points, t.dtypes[c.code_type], *INTEGER_RANGE[c.code_type])
            if c.function == "quantize":
                def call():
                    return p.quantize_affine(*common)
            else:
                def call():
                    return p.dequantize_affine(*common, output_dtype=t.dtypes[c.y_type])
        elif c.function == "quantize":
            def call():
                return p._quantize_affine_float8(t.x, scale, t.dtypes[c.y_type])
        else:
            def call():
                return p._dequantize_affine_float8(t.x, scale, t.dtypes[c.y_type])
        divides = c.function == "quantize" and c.code_type in FLOAT8
        return {"divide" if divides else "multiply": PythonCall(call, lambda: t.array_of(call()))}


PEERS = {"ONNX Runtime": OnnxRuntime, "PyTorch eager": TorchEager, "torch.compile": TorchCompile, "torchao": Torchao,
         "ml_dtypes": MlDtypes}

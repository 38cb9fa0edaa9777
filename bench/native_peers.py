"""Peers that are called in C, from the libraries that Python packages carry. A peer's `calls` gives those it has for a
conversion, by whether they divide or multiply; one call stands for both where a library has but one arithmetic."""

import ctypes
import importlib.metadata
import importlib.util
import pathlib

import numpy

from conversion import BLOCK, INTEGER_RANGE, NativeCall, memory


def package_folder(package):
    found = importlib.util.find_spec(package)
    if found is None:
        raise ImportError(f"no package {package}")
    return pathlib.Path(found.submodule_search_locations[0])


def check(status, what):
    if status != 0:
        raise RuntimeError(f"{what} gives {status}")


class Fbgemm:
    """QuantizeAvx2 and QuantizeGroupwise, which multiply by the reciprocal. Quantize itself would call QuantizeAvx2, if
    what it reads of cpuinfo in PyTorch's library lay where it looks. Dequantize is inline in a header."""

    class Parameters(ctypes.Structure):  # TensorQuantizationParams
        _fields_ = [("scale", ctypes.c_float), ("zero_point", ctypes.c_int32), ("precision", ctypes.c_int)]

    LETTER = {"i8": "a", "u8": "h"}  # of the mangled names

    def __init__(self):
        import torch  # its library needs PyTorch's  # noqa: F401

        self.library = ctypes.CDLL(str(package_folder("fbgemm_gpu") / "fbgemm.so"))
        self.version = importlib.metadata.version("fbgemm_gpu-cpu")

    def calls(self, c):
        if c.function != "quantize" or c.x_type != "f32" or c.y_type not in self.LETTER:
            return {}
        letter = self.LETTER[c.y_type]
        if c.granularity == "tensor":
            zero_point = 0 if c.zero_point is None else int(c.zero_point[0, 0])
            parameters = self.Parameters(float(c.scale[0, 0]), zero_point, 8)
            quantize = self.library[f"_ZN6fbgemm12QuantizeAvx2I{letter}EEvPKfPT_lRKNS_24TensorQuantizationParamsE"]
            arguments = [c.x, c.y, c.elements, ctypes.addressof(parameters)]
            return {"multiply": NativeCall(quantize, arguments, lambda: c.y, parameters)}
        groups = c.scale.size
        zero_points = numpy.zeros(groups, numpy.int32)
        quantize = self.library[f"_ZN6fbgemm17QuantizeGroupwiseI{letter}LNS_8layout_tE0EEEvPKfiiiiS3_PKiPT_"]
        arguments = [c.x, 1, groups, c.elements // groups, groups, c.scale, zero_points, c.y]
        return {"multiply": NativeCall(quantize, arguments, lambda: c.y)}


class Onednn:
    """A reorder primitive with scales: of the source, which multiply, or of the destination, which divide."""

    TYPES = {"f16": 1, "bf16": 2, "f32": 3, "s32": 4, "i8": 5, "u8": 6, "f8e5m2": 9, "f8e4m3": 10}
    SOURCE, DESTINATION, SCALES, ZERO_POINTS = 1, 17, 4096, 8192
    MASK = {"tensor": 0, "channel_axis0": 1}

    class Argument(ctypes.Structure):  # dnnl_exec_arg_t
        _fields_ = [("index", ctypes.c_int), ("memory", ctypes.c_void_p)]

    class Version(ctypes.Structure):  # the beginning of dnnl_version_t
        _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]

    def __init__(self):
        self.library = ctypes.CDLL(str(package_folder("paddle") / "libs/libdnnl.so.3"))
        self.library.dnnl_version.restype = ctypes.POINTER(self.Version)
        version = self.library.dnnl_version()[0]
        self.version = (f"{version.major}.{version.minor}.{version.patch} of paddlepaddle "
                        f"{importlib.metadata.version('paddlepaddle')}")
        self.engine = self._made("engine_create", 1, ctypes.c_size_t(0))
        self.stream = self._made("stream_create", self.engine, 1)

    def _made(self, function, *arguments):
        handle = ctypes.c_void_p()
        check(getattr(self.library, "dnnl_" + function)(ctypes.byref(handle), *arguments), function)
        return handle

    def _descriptor(self, shape, name):
        strides = [int(numpy.prod(shape[i + 1:])) for i in range(len(shape))]
        return self._made("memory_desc_create_with_strides", len(shape), (ctypes.c_int64 * 12)(*shape), self.TYPES[name],
                          (ctypes.c_int64 * 12)(*strides))

    def _memory(self, descriptor, array):
        return self._made("memory_create", descriptor, self.engine, ctypes.c_void_p(array.ctypes.data))

    def calls(self, c):
        if c.x_type not in self.TYPES or c.y_type not in self.TYPES or c.granularity not in self.MASK:
            return {}
        return {mode: self._call(c, mode) for mode in c.modes}

    def _call(self, c, mode):
        attributes = self._made("primitive_attr_create")
        side = self.DESTINATION if mode == "divide" else self.SOURCE
        scale = c.scale_of(mode)
        check(self.library.dnnl_primitive_attr_set_scales_mask(attributes, side, self.MASK[c.granularity]), "scales")
        x_descriptor, y_descriptor = (self._descriptor((c.rows, c.columns), t) for t in (c.x_type, c.y_type))
        memories = {self.SOURCE: self._memory(x_descriptor, c.x), self.DESTINATION: self._memory(y_descriptor, c.y),
                    self.SCALES | side: self._memory(self._descriptor((scale.size,), "f32"), scale)}
        zero_point = None if c.zero_point is None else c.zero_point.reshape(-1).astype(numpy.int32)
        if zero_point is not None:
            side = self.DESTINATION if c.function == "quantize" else self.SOURCE
            check(self.library.dnnl_primitive_attr_set_zero_points_mask(attributes, side, 0), "zero points")
            memories[self.ZERO_POINTS | side] = self._memory(self._descriptor((1,), "s32"), zero_point)
        description = self._made("reorder_primitive_desc_create", x_descriptor, self.engine, y_descriptor, self.engine,
                                 attributes)
        primitive = self._made("primitive_create", description)
        arguments = (self.Argument * len(memories))(*(self.Argument(*item) for item in memories.items()))
        return NativeCall(self.library.dnnl_primitive_execute,
                          [primitive, self.stream, len(memories), ctypes.addressof(arguments)], lambda: c.y,
                          (arguments, memories, scale, zero_point))


class Xnnpack:
    """The operator that converts, of the version that ExecuTorch links. It multiplies by the reciprocal."""

    TYPES = {"f32": 1, "f16": 2, "i8": 3, "u8": 4}
    CONVERT = 5  # xnn_unary_convert

    class Quantization(ctypes.Structure):  # xnn_quantization_params
        _fields_ = [("zero_point", ctypes.c_int32), ("scale", ctypes.c_float)]

    def __init__(self):
        self.library = ctypes.CDLL(str(package_folder("executorch") / "lib/libexecutorch_backend_xnnpack.so"))
        self.version = f"of executorch {importlib.metadata.version('executorch')}"
        check(self.library.xnn_initialize(None), "xnn_initialize")

    def calls(self, c):
        if c.x_type not in self.TYPES or c.y_type not in self.TYPES or c.granularity != "tensor":
            return {}
        one = self.Quantization(0, 1)
        codes = self.Quantization(0 if c.zero_point is None else int(c.zero_point[0, 0]), float(c.scale[0, 0]))
        of_x, of_y = (one, codes) if c.function == "quantize" else (codes, one)
        operator, size = ctypes.c_void_p(), ctypes.c_size_t(c.elements)
        check(self.library.xnn_create_unary_elementwise_nc(self.CONVERT, self.TYPES[c.x_type], self.TYPES[c.y_type], None, None,
                                                           ctypes.byref(of_x), ctypes.byref(of_y), 0, ctypes.byref(operator)),
              "xnn_create_unary_elementwise_nc")
        check(self.library.xnn_reshape_unary_elementwise_nc(operator, ctypes.c_size_t(1), size, size, size, None), "reshape")
        check(self.library.xnn_setup_unary_elementwise_nc(operator, ctypes.c_void_p(c.x.ctypes.data),
                                                          ctypes.c_void_p(c.y.ctypes.data)), "setup")
        return {"multiply": NativeCall(self.library.xnn_run_operator, [operator, None], lambda: c.y, (of_x, of_y))}


class Ggml:
    """Its nearest block formats: scales lie among the codes, and those that quantize also find each block's scale, so only
    what is dequantized from q8_0 and q4_0 is comparable bit for bit."""

    QUANTIZE = {"quantize_f32_i8/block32": ("q8_0", 34), "quantize_f32_i4/block32": ("q4_0", 18)}
    DEQUANTIZE = {"dequantize_i8_f32/block32": "q8_0", "dequantize_i4_f32/block32": "q4_0",
                  "dequantize_f4e2m1_f32/block32": "mxfp4"}

    def __init__(self):
        found = list(package_folder("pywhispercpp").parent.glob("pywhispercpp.libs/libggml-cpu*"))
        if not found:
            raise ImportError("pywhispercpp carries no libggml-cpu")
        self.library = ctypes.CDLL(str(found[0]))
        self.library.ggml_cpu_init()
        self.library.ggml_version.restype = ctypes.c_char_p
        self.version = (f"{self.library.ggml_version().decode()} of pywhispercpp "
                        f"{importlib.metadata.version('pywhispercpp')}")

    def calls(self, c):
        if c.name in self.QUANTIZE:
            name, block_bytes = self.QUANTIZE[c.name]
            blocks = memory((c.scale.size, block_bytes), numpy.uint8)
            return {"multiply": NativeCall(self.library[f"quantize_row_{name}"], [c.x, blocks, c.elements])}
        if c.name in self.DEQUANTIZE:
            name = self.DEQUANTIZE[c.name]
            result = None if name == "mxfp4" else lambda: c.y  # its scales are powers of two
            return {"multiply": NativeCall(self.library[f"dequantize_row_{name}"], [self._blocks(c), c.y, c.elements], result)}
        return {}

    @staticmethod
    def _blocks(c):
        """Scales and codes as ggml keeps them: 4-bit codes in split halves, integers excess 8."""
        scales = c.scale.reshape(-1, 1)
        if c.x_type == "i8":
            parts = [scales.astype(numpy.float16).view(numpy.uint8), c.x.reshape(-1, BLOCK).view(numpy.uint8)]
        else:
            pairs = c.x.reshape(-1, BLOCK // 2)
            codes = numpy.stack([pairs & 15, pairs >> 4], -1).reshape(-1, BLOCK)
            if c.x_type in INTEGER_RANGE:
                codes, scale = codes ^ 8, scales.astype(numpy.float16).view(numpy.uint8)
            else:
                scale = numpy.full(scales.shape, 122, numpy.uint8)
            parts = [scale, codes[:, :BLOCK // 2] | codes[:, BLOCK // 2:] << 4]
        blocks = memory((len(scales), sum(part.shape[1] for part in parts)), numpy.uint8)
        numpy.concatenate(parts, 1, out=blocks)
        return blocks


PEERS = {"FBGEMM": Fbgemm, "oneDNN": Onednn, "XNNPACK": Xnnpack, "ggml": Ggml}

"""TensorRT's quantize and dequantize layers, in networks of nothing else, with the names of its Python package.

Steps are TensorRT's: Builder, create_network, add_input, add_constant, add_quantize, add_dequantize,
add_dynamic_quantize, mark_output, build_engine_with_config, create_execution_context, set_tensor_address,
execute_async_v3. Addresses are the host's, and a context has computed when execute_async_v3 returns. What fails is a
line of the logger, and None or False. A plan of build_serialized_network has a buffer, for a file or
Runtime.deserialize_cuda_engine, which takes anybody's bytes.
"""

import sys
from typing import Any

from qdq._core import compat as _compat
from qdq._core.compat import (
    Builder as Builder,
    DataType as DataType,
    IBuilderConfig as IBuilderConfig,
    IConstantLayer as IConstantLayer,
    ICudaEngine as ICudaEngine,
    IDequantizeLayer as IDequantizeLayer,
    IDynamicQuantizeLayer as IDynamicQuantizeLayer,
    IExecutionContext as IExecutionContext,
    IHostMemory as IHostMemory,
    ILayer as ILayer,
    ILogger as ILogger,
    INetworkDefinition as INetworkDefinition,
    IQuantizeLayer as IQuantizeLayer,
    ITensor as ITensor,
    LayerType as LayerType,
    NetworkDefinitionCreationFlag as NetworkDefinitionCreationFlag,
    Runtime as Runtime,
    TensorIOMode as TensorIOMode,
)

float32 = DataType.FLOAT
float16 = DataType.HALF
bfloat16 = DataType.BF16
int8 = DataType.INT8
int32 = DataType.INT32
int64 = DataType.INT64
uint8 = DataType.UINT8
bool = DataType.BOOL
fp8 = DataType.FP8
int4 = DataType.INT4
fp4 = DataType.FP4
e8m0 = DataType.E8M0

_NUMPY_NAMES = {
    DataType.FLOAT: "float32",
    DataType.HALF: "float16",
    DataType.BF16: "bfloat16",
    DataType.INT8: "int8",
    DataType.INT32: "int32",
    DataType.UINT8: "uint8",
    DataType.FP8: "float8_e4m3fn",
    DataType.INT4: "int4",
    DataType.FP4: "float4_e2m1fn",
    DataType.E8M0: "float8_e8m0fnu",
}
_DATA_TYPES = {name: dtype for dtype, name in _NUMPY_NAMES.items()}


def nptype(trt_type: DataType) -> Any:
    """NumPy's type, or ml_dtypes', for one of TensorRT's. TypeError where there is none."""
    from qdq._frameworks import numpy_dtype

    if trt_type not in _NUMPY_NAMES:
        raise TypeError(f"TensorRT: {trt_type} is no type of NumPy or ml_dtypes that qdq has")
    return numpy_dtype(_NUMPY_NAMES[trt_type]).type


class Logger(ILogger):
    """Writes what is as severe as `min_severity` to standard error."""

    INTERNAL_ERROR = ILogger.Severity.INTERNAL_ERROR
    ERROR = ILogger.Severity.ERROR
    WARNING = ILogger.Severity.WARNING
    INFO = ILogger.Severity.INFO
    VERBOSE = ILogger.Severity.VERBOSE

    def __init__(self, min_severity: ILogger.Severity = ILogger.Severity.WARNING) -> None:
        super().__init__()
        self.min_severity = min_severity

    def log(self, severity: ILogger.Severity, msg: str) -> None:
        if severity.value <= self.min_severity.value:
            print(f"[TRT] [{severity.name[0]}] {msg}", file=sys.stderr)


class Weights:
    """The elements of a constant: of an array, whose memory it shares, none of a type, or `count` at an address.

    Args:
        a: an array; or a DataType, and then
        ptr, count: where its elements are, and how many. The address is trusted, as in C++.
    """

    def __init__(self, a: Any = None, ptr: int | None = None, count: int = 0, *, type: DataType | None = None) -> None:
        import numpy

        a = type if a is None else a
        self._address, self._count = ptr or 0, count
        self._dtype = a if isinstance(a, DataType) and ptr is not None else None
        self._array = None if self._dtype else numpy.empty(0, nptype(a)) if isinstance(a, DataType) else (
            numpy.ascontiguousarray(a))  # fmt: skip

    @property
    def dtype(self) -> DataType:
        if self._dtype is not None:
            return self._dtype
        name = self._array.dtype.name
        if name not in _DATA_TYPES:
            raise TypeError(f"TensorRT: weights: dtype {name} is none of TensorRT's that qdq has")
        return _DATA_TYPES[name]

    @property
    def size(self) -> int:
        return self._count if self._array is None else self._array.size

    def numpy(self) -> Any:
        """The array. Of an address one of its elements, which lasts as long as they do; where two are a byte, a copy."""
        if self._array is not None:
            return self._array
        import ctypes

        import numpy

        element = numpy.dtype(nptype(self.dtype))
        if self.dtype in (DataType.INT4, DataType.FP4):
            pairs = numpy.frombuffer((ctypes.c_char * ((self.size + 1) // 2)).from_address(self._address), "u1")
            return numpy.stack([pairs & 15, pairs >> 4], -1).reshape(-1)[: self.size].view(element)
        return numpy.frombuffer((ctypes.c_char * (self.size * element.itemsize)).from_address(self._address), element)


def _add_constant(self: INetworkDefinition, shape: Any, weights: Any) -> IConstantLayer:
    """A layer whose output is a constant. The network keeps a copy of the weights."""
    weights = weights if isinstance(weights, Weights) else Weights(weights)
    if weights._array is None:
        return self._add_constant_at(shape, weights.dtype, weights._address, weights.size)
    return self._add_constant(shape, weights.dtype, weights.numpy())


def _get_weights(self: IConstantLayer) -> Any:
    """The weights of a constant, as a NumPy array of their own; two elements of 4 bits are bytes."""
    import numpy

    dtype, held, count = self._get_weights()
    if dtype in (DataType.INT4, DataType.FP4):
        return numpy.frombuffer(held, "u1")
    return numpy.frombuffer(held, nptype(dtype), count)


def _set_weights(self: IConstantLayer, weights: Any) -> None:
    weights = weights if isinstance(weights, Weights) else Weights(weights)
    self._set_weights(weights.dtype, weights.numpy())


INetworkDefinition.add_constant = _add_constant
IConstantLayer.weights = property(_get_weights, _set_weights)

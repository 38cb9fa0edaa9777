"""Arrays in CUDA's memory, by a `cupy` that has what qdq asks of one: over the driver that is there, or tests/ptx."""

import ctypes
import sys
import types

import numpy
import pytest

try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    driver = None

import qdq

if driver is None or driver.cuInit(0) != 0 or "cuda" not in [name for name, _ in qdq.targets()]:
    pytest.skip("no driver of CUDA, or no kernels for it", allow_module_level=True)


def check(error):
    assert error == 0, error


class Tensor(ctypes.Structure):  # DLPack's DLManagedTensor
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]  # fmt: skip


class ndarray:
    """A dense array in the device's memory, which it keeps."""

    __module__ = "cupy"
    CODES = {"i": 0, "u": 1, "f": 2}

    def __init__(self, like):
        self.dtype, self.shape, self.bytes = like.dtype, like.shape, like.nbytes
        address = ctypes.c_uint64()
        check(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(max(self.bytes, 1))))
        self.address = address.value

    @classmethod
    def of(cls, array):
        made = cls(array)
        check(driver.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(made.address), numpy.ascontiguousarray(array).ctypes.data_as(ctypes.c_void_p),
                                          ctypes.c_size_t(made.bytes), stream))  # fmt: skip
        check(driver.cuStreamSynchronize(stream))
        return made

    def get(self):
        """A copy on the host, after what is in the stream."""
        check(driver.cuStreamSynchronize(stream))
        made = numpy.empty(self.shape, self.dtype)
        check(driver.cuMemcpyDtoH_v2(made.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.address), ctypes.c_size_t(self.bytes)))
        return made

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, stream):
        assert stream == -1, "qdq puts its work into the current stream, and asks for no other's to be waited for"
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        self.exported = Tensor(self.address, 2, 0, len(self.shape), self.CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1,
                               shape, None, 0, None, None)  # fmt: skip
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.exported), b"dltensor", None)


context, stream, device = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
check(driver.cuDeviceGet(ctypes.byref(device), 0))
check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
check(driver.cuCtxSetCurrent(context))
check(driver.cuStreamCreate(ctypes.byref(stream), 1))

cupy = types.ModuleType("cupy")
cupy.ndarray, cupy.asarray = ndarray, ndarray.of
cupy.empty = lambda shape, dtype: ndarray(numpy.empty(shape, dtype))
cupy.int8, cupy.uint8, cupy.float32, cupy.float16 = numpy.int8, numpy.uint8, numpy.float32, numpy.float16
cupy.cuda = types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=stream.value))


@pytest.fixture(autouse=True)
def imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy)


X = numpy.random.default_rng(1).normal(0, 2, (6, 40)).astype(numpy.float32)
SCALES = numpy.linspace(0.02, 0.1, 6, dtype=numpy.float32).reshape(6, 1)


def test_the_result_is_in_the_devices_memory():
    y = qdq.quantize(cupy.asarray(X), cupy.asarray(SCALES), dtype="int8")
    assert isinstance(y, ndarray)
    assert numpy.array_equal(y.get(), qdq.quantize(X, SCALES, dtype="int8"))
    back = qdq.dequantize(y, cupy.asarray(SCALES))
    assert numpy.array_equal(back.get(), qdq.dequantize(y.get(), SCALES))


def test_numbers_go_there():
    y = qdq.quantize(cupy.asarray(X), 0.05, 3, dtype="uint8")
    assert numpy.array_equal(y.get(), qdq.quantize(X, 0.05, 3, dtype="uint8"))


def test_out_and_packed_codes():
    out = cupy.empty((6, 20), "uint8")
    assert qdq.quantize(cupy.asarray(X), 0.5, dtype="int4", packed=True, out=out) is out
    assert numpy.array_equal(out.get(), qdq.quantize(X, 0.5, dtype="int4", packed=True))


@pytest.mark.parametrize("offset", [0, 3])
def test_rounding_by_chance_is_the_hosts(offset):
    how = {"dtype": "int8", "rounding": "stochastic", "seed": 5, "offset": offset}
    assert numpy.array_equal(qdq.quantize(cupy.asarray(X), cupy.asarray(SCALES), **how).get(), qdq.quantize(X, SCALES, **how))
    on_device, on_host = (qdq.quantize_dynamic(x, axis=0, **how) for x in (cupy.asarray(X), X))
    assert numpy.array_equal(on_device[0].get(), on_host[0])


def test_a_scale_on_the_host_is_refused():
    with pytest.raises(ValueError, match="scale: "):
        qdq.quantize(cupy.asarray(X), SCALES, dtype="int8")


def test_the_work_is_in_the_current_stream():
    """What is put there before is done before."""
    x, later = cupy.asarray(X), numpy.ascontiguousarray(X[::-1])
    check(driver.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(x.address), later.ctypes.data_as(ctypes.c_void_p),
                                      ctypes.c_size_t(x.bytes), stream))  # fmt: skip
    assert numpy.array_equal(qdq.quantize(x, 0.05, dtype="int8").get(), qdq.quantize(later, 0.05, dtype="int8"))


@pytest.mark.parametrize("how", [{}, {"axis": 0}, {"axis": 1}, {"axis": 1, "block_size": 8}, {"block_size": (4, 16)},
                                 {"axis": -1, "block_size": 32, "rule": "power_even", "scale_dtype": "float32"},
                                 {"axis": 0, "rule": "minmax"}])  # fmt: skip
def test_scales_are_computed_there(how):
    on_device, on_host = (qdq.quantize_dynamic(x, dtype="int8", **how) for x in (cupy.asarray(X), X))
    for there, here in zip(on_device, on_host, strict=True):
        assert isinstance(there, ndarray) and there.shape == here.shape
        assert numpy.array_equal(there.get(), here)
    alone = qdq.compute_scales(cupy.asarray(X), dtype="int8", **how)
    scale = alone[0] if isinstance(alone, tuple) else alone
    assert numpy.array_equal(scale.get(), on_host[1])


@pytest.mark.parametrize("how, named", [({"clip_ratio": (1.0, 0.5, 3)}, "clip_ratio_count"), ({"diagnostics": True}, "diagnostics"),
                                        ({"global_sense": "scale", "scale_dtype": "float8_e4m3fn"}, "")])  # fmt: skip
def test_what_devices_do_not_do_is_refused(how, named):
    with pytest.raises((TypeError, ValueError), match=named):
        qdq.quantize_dynamic(cupy.asarray(X), dtype="int8", axis=0, **how)


def test_a_dynamic_call_is_in_the_current_stream():
    x, later = cupy.asarray(X), numpy.ascontiguousarray(X[::-1])
    check(driver.cuMemcpyHtoDAsync_v2(ctypes.c_uint64(x.address), later.ctypes.data_as(ctypes.c_void_p),
                                      ctypes.c_size_t(x.bytes), stream))  # fmt: skip
    codes, scale = qdq.quantize_dynamic(x, dtype="int8", axis=0)
    expected_codes, expected_scale = qdq.quantize_dynamic(later, dtype="int8", axis=0)
    assert numpy.array_equal(codes.get(), expected_codes) and numpy.array_equal(scale.get(), expected_scale)

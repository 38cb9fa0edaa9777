"""GGUF files that the command line has written, loaded by ggml's own C code of the package pywhispercpp, and its reference.

Bytes are those of its quantize_row_*_ref, and values those of its dequantize_row_*.
"""

import ctypes
import os
import pathlib
import subprocess
import tempfile
import unittest

import comparison

try:
    import pywhispercpp
except ImportError as missing:
    comparison.skip(missing)

import numpy
import qdq_ctypes
from safetensors.numpy import load_file, save_file

TYPES = ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl")


class Context(ctypes.Structure):
    _fields_ = [("no_alloc", ctypes.c_bool), ("context", ctypes.POINTER(ctypes.c_void_p))]


def loaded_library():
    """The base library, after those that it needs."""
    folder = pathlib.Path(pywhispercpp.__file__).parents[1] / "pywhispercpp.libs"
    library = ctypes.CDLL(str(next(folder.glob("libggml-base*"))), mode=ctypes.RTLD_GLOBAL)
    for name, result, arguments in (
        ("gguf_init_from_file", ctypes.c_void_p, [ctypes.c_char_p, Context]),
        ("gguf_find_tensor", ctypes.c_int64, [ctypes.c_void_p, ctypes.c_char_p]),
        ("gguf_get_tensor_type", ctypes.c_int, [ctypes.c_void_p, ctypes.c_int64]),
        ("ggml_get_tensor", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]),
        ("ggml_get_data", ctypes.c_void_p, [ctypes.c_void_p]),
        ("ggml_nbytes", ctypes.c_size_t, [ctypes.c_void_p]),
        ("ggml_nelements", ctypes.c_int64, [ctypes.c_void_p]),
        ("ggml_type_name", ctypes.c_char_p, [ctypes.c_int]),
        ("ggml_validate_row_data", ctypes.c_bool, [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Ggml(unittest.TestCase):
    def test_loads_what_the_command_line_writes(self):
        ggml = loaded_library()
        x = numpy.random.default_rng(0).standard_normal((64, 256), numpy.float32)
        with tempfile.TemporaryDirectory() as folder:
            source, blocks, back = (pathlib.Path(folder, name) for name in ("x.safetensors", "x.gguf", "y.safetensors"))
            save_file({"a.weight": x}, source)
            for name in TYPES:
                with self.subTest(name=name):
                    for command in (["quantize", source, "-o", blocks, "--dtype", name, "--force"],
                                    ["dequantize", blocks, "-o", back, "--force"]):  # fmt: skip
                        subprocess.run([os.environ["QDQ_CLI"], *command], check=True, stdout=subprocess.DEVNULL)
                    self.check(ggml, name, x, os.fsencode(blocks), load_file(back)["a.weight"])

    def test_blocks_of_iq4_nl_are_its_own(self):
        """Of every size, by the library."""
        ggml, iq4_nl, count = loaded_library(), 6, 1 << 17
        random = numpy.random.default_rng(1)
        x = (random.standard_normal((count // 32, 32)) * 2.0 ** random.integers(-40, 20, (count // 32, 1))).astype("f4")
        expected, values = numpy.empty((count // 32, 18), numpy.uint8), numpy.empty(x.shape, numpy.float32)
        ggml.quantize_row_iq4_nl_ref(*map(ctypes.c_void_p, (x.ctypes.data, expected.ctypes.data)), ctypes.c_int64(count))
        ggml.dequantize_row_iq4_nl(*map(ctypes.c_void_p, (expected.ctypes.data, values.ctypes.data)), ctypes.c_int64(count))
        blocks, back = numpy.empty_like(expected), numpy.empty_like(values)
        for function, a, b in (("quantize_blocks", x, blocks), ("dequantize_blocks", expected, back)):
            comparison.QDQ.call(function, *(ctypes.byref(qdq_ctypes.tensor_of(each)) for each in (a, b)), iq4_nl)
        self.assertEqual(blocks.tobytes(), expected.tobytes())
        self.assertEqual(back.tobytes(), values.tobytes())

    def check(self, ggml, name, x, path, values):
        context = ctypes.c_void_p()
        file = ggml.gguf_init_from_file(path, Context(False, ctypes.pointer(context)))
        self.assertTrue(file)
        kind = ggml.gguf_get_tensor_type(file, ggml.gguf_find_tensor(file, b"a.weight"))
        self.assertEqual(ggml.ggml_type_name(kind).decode(), name)
        tensor = ggml.ggml_get_tensor(context, b"a.weight")
        data, size, count = ggml.ggml_get_data(tensor), ggml.ggml_nbytes(tensor), ggml.ggml_nelements(tensor)
        self.assertEqual(count, x.size)
        self.assertTrue(ggml.ggml_validate_row_data(kind, data, size))
        expected_bytes, expected = numpy.empty(size, numpy.uint8), numpy.empty(x.shape, numpy.float32)
        quantize, dequantize = ggml[f"quantize_row_{name}_ref"], ggml[f"dequantize_row_{name}"]
        quantize(*map(ctypes.c_void_p, (x.ctypes.data, expected_bytes.ctypes.data)), ctypes.c_int64(count))
        dequantize(ctypes.c_void_p(data), ctypes.c_void_p(expected.ctypes.data), ctypes.c_int64(count))
        self.assertEqual(ctypes.string_at(data, size), expected_bytes.tobytes())
        self.assertEqual(values.tobytes(), expected.tobytes())


if __name__ == "__main__":
    unittest.main()

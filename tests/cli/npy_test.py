import struct
import unittest

import numpy as np

from support import CliTest, in_blocks, per_channel, per_tensor, random, run


def load_all(path):
    """Codes, scale and, if there is one, zero point: the arrays of a file, in order."""
    arrays = []
    with open(path, "rb") as file:
        while file.peek(1):
            arrays.append(np.load(file))
    return arrays


def save_all(path, *arrays):
    with open(path, "wb") as file:
        for array in arrays:
            np.save(file, array)


class Npy(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "x.npy"
        self.codes = self.dir / "q.npy"
        self.output = self.dir / "y.npy"

    def quantize(self, array, *options):
        np.save(self.input, array)
        self.succeed("quantize", self.input, "-o", self.codes, *options)
        return load_all(self.codes)

    def dequantize(self):
        self.succeed("dequantize", self.codes, "-o", self.output)
        return np.load(self.output)

    def test_round_trip(self):
        x = random((5, 8))
        codes, scale = self.quantize(x)
        expected = per_channel(x)
        self.assert_same(codes, expected[0])
        self.assert_same(scale, expected[1])
        self.assertEqual(self.files(), ["q.npy", "x.npy"])
        self.assert_same(np.load(self.codes), codes)  # what knows of one array finds the codes
        self.assert_same(self.dequantize(), codes.astype(np.float32) * scale)
        self.assertEqual(self.files(), ["q.npy", "x.npy", "y.npy"])

    def test_every_type_numpy_has(self):
        for code in ("i16", "u16", "i32"):
            for options in ([], ["--asymmetric"]):
                with self.subTest(code=code, options=options):
                    x = random((5, 8))
                    codes, scale, *_ = self.quantize(x, "--dtype", code, *options)
                    expected = per_channel(x, code=code, asymmetric=bool(options))
                    self.assert_same(codes, expected[0])
                    self.assert_same(scale, expected[1])
                    restored = (codes.astype(np.int64) - expected[2]).astype(np.float32) * scale
                    self.assert_same(self.dequantize(), restored)

    def test_refuses_types_numpy_does_not_have(self):
        np.save(self.input, random((4, 32)))
        for code in ("i4", "u4", "f8e4m3", "f8e5m2", "f8e4m3fnuz", "f4e2m1", "mxfp8", "nvfp4"):
            self.fail_with(f"array (F32 [4, 32]): numpy has no type for {code}", "quantize", self.input,
                           "-o", self.codes, "--dtype", code)  # fmt: skip

    def test_zero_point(self):
        x = random((5, 8))
        codes, scale, zero_point = self.quantize(x, "--asymmetric", "--dtype", "u8", "--axis", 1)
        expected = per_channel(x, 1, code="u8", asymmetric=True)
        for actual, wanted in zip((codes, scale, zero_point), expected):
            self.assert_same(actual, wanted)
        restored = (codes.astype(np.float32) - zero_point.astype(np.float32)) * scale
        self.assert_same(self.dequantize(), restored)

    def test_parts_in_files_beside_the_codes(self):
        codes, scale, zero_point = per_channel(random((5, 8)), asymmetric=True)
        np.save(self.codes, codes)
        np.save(self.dir / "q.scale.npy", scale)
        self.assert_same(self.dequantize(), codes.astype(np.float32) * scale)
        np.save(self.dir / "q.zero_point.npy", zero_point)
        self.assert_same(self.dequantize(), (codes.astype(np.float32) - zero_point) * scale)
        (self.dir / "q.scale.npy").unlink()
        self.fail_with("no quantized tensor with its scale beside it", "dequantize", self.codes, "-o", self.output)

    def test_parts_in_the_file_come_before_those_beside_it(self):
        codes, scale = self.quantize(random((5, 8)))
        np.save(self.dir / "q.scale.npy", scale * 2)
        self.assert_same(self.dequantize(), codes.astype(np.float32) * scale)

    def test_refuses_to_write_beside_what_would_be_taken_for_parts(self):
        np.save(self.input, random((5, 8)))
        for name in ("q.scale.npy", "q.zero_point.npy"):
            np.save(self.dir / name, np.ones(1, np.float32))
            self.fail_with(f"{name}: would be taken for a part of", "quantize", self.input, "-o", self.codes)
            (self.dir / name).unlink()
        self.quantize(random((5, 8)))
        np.save(self.dir / "y.scale.npy", np.ones(1, np.float32))
        self.dequantize()  # a float array has no parts

    def test_blocks(self):
        x = random((4, 12))
        codes, scale = self.quantize(x, "--block-size", 4)
        expected = in_blocks(x, 4)
        self.assert_same(codes, expected[0])
        self.assert_same(scale, expected[1])
        self.assert_same(self.dequantize(), codes.astype(np.float32) * np.repeat(scale, 4, 1))

    def test_refuses_blocks_that_the_shapes_do_not_tell(self):
        np.save(self.input, random((4, 10)))
        self.fail_with("cannot record blocks of 8", "quantize", self.input, "-o", self.codes, "--block-size", 8)
        for size in (4, 10, 100):  # 4 4 2 is what three blocks of ten are
            codes, scale = self.quantize(random((4, 10)), "--block-size", size)
            self.assert_same(self.dequantize(), codes.astype(np.float32) * np.repeat(scale, size, 1)[:, :10])

    def test_any_rank(self):
        for shape in ((), (1,), (7,), (2, 3, 4), (1, 1, 1, 1, 1, 1, 1, 2)):
            with self.subTest(shape=shape):
                x = random(shape)
                codes, scale = self.quantize(x)
                expected = per_tensor(x) if len(shape) < 2 else per_channel(x)
                self.assert_same(codes, expected[0])
                self.assert_same(scale, expected[1])
                self.assertEqual(self.dequantize().shape, shape)

    def test_axis_of_a_vector(self):
        x = random((5,))
        codes, scale = self.quantize(x, "--axis", 0)
        self.assert_same(scale, per_channel(x)[1])
        self.assert_same(self.dequantize(), codes.astype(np.float32) * scale)

    def test_empty_arrays(self):
        for shape in ((0,), (0, 3), (3, 0)):
            with self.subTest(shape=shape):
                codes, scale = self.quantize(np.zeros(shape, np.float32))
                self.assertEqual((codes.dtype, codes.shape, scale.shape), (np.int8, shape, (1,)))
                self.assertEqual(self.dequantize().shape, shape)

    def test_fortran_order(self):
        for shape in ((5, 8), (2, 3, 4), (3, 1, 2, 5)):
            for axis in range(len(shape)):
                with self.subTest(shape=shape, axis=axis):
                    x = random(shape)
                    codes, scale = self.quantize(np.asfortranarray(x), "--axis", axis)
                    self.assertIn(b"'fortran_order': True", self.input.read_bytes())
                    self.assert_same(codes, per_channel(x, axis)[0])
                    self.assert_same(scale, per_channel(x, axis)[1])

    def test_fortran_order_of_each_part(self):
        codes, scale = self.quantize(random((6, 8)), "--block-size", 2)
        save_all(self.codes, np.asfortranarray(codes), np.asfortranarray(scale))
        self.assert_same(self.dequantize(), codes.astype(np.float32) * np.repeat(scale, 2, 1))

    def test_versions(self):
        x = random((4, 6))
        for version in ((1, 0), (2, 0), (3, 0)):
            with self.subTest(version=version):
                with open(self.input, "wb") as file:
                    np.lib.format.write_array(file, x, version)
                self.succeed("quantize", self.input, "-o", self.codes)
                self.assert_same(np.load(self.codes), per_channel(x)[0])

    def test_data_is_aligned(self):
        self.quantize(random((4, 6)))
        raw = self.codes.read_bytes()
        self.assertEqual((10 + struct.unpack("<H", raw[8:10])[0]) % 64, 0)

    def test_compare(self):
        self.quantize(random((5, 8)))
        self.assertRegex(self.succeed("compare", self.input, self.codes), r"(?m)^array +\[5, 8\] +160 +60 .* 0$")
        self.dequantize()
        self.assertRegex(self.succeed("compare", self.input, self.output), r"(?m)^array +\[5, 8\] +160 +160 .* -$")

    def test_f16_works_or_is_refused(self):
        x = random((5, 8)).astype(np.float16)
        np.save(self.input, x)
        arguments = ("quantize", self.input, "-o", self.codes)
        if run(*arguments).returncode == 0:
            self.assert_same(np.load(self.codes), per_channel(x.astype(np.float32))[0])
        else:
            self.fail_with("array (F16 [5, 8]): QDQ_UNSUPPORTED", *arguments)

    def test_refuses_other_types(self):
        unsupported = [np.zeros((2, 2), ">f4"), np.zeros(2, "S3"), np.zeros(2, np.complex128), np.zeros(2, "O")]
        for array in unsupported:
            np.save(self.input, array, allow_pickle=True)
            self.fail_with(f"arrays of type {array.dtype.str} are not supported",
                           "quantize", self.input, "-o", self.codes)
        np.save(self.input, np.zeros(2, [("a", "<f4")]))
        self.fail_with("structured arrays are not supported", "quantize", self.input, "-o", self.codes)
        np.save(self.input, np.zeros((2, 2), np.float64))
        self.fail_with("no tensor to quantize", "quantize", self.input, "-o", self.codes)

    def test_refuses_codes_without_their_scale(self):
        np.save(self.codes, np.zeros((2, 2), np.int8))
        self.fail_with("no quantized tensor with its scale beside it", "dequantize", self.codes, "-o", self.output)

    def test_refuses_mixing_kinds_of_file(self):
        np.save(self.input, random((2, 2)))
        self.fail_with("an .npy array is written to an .npy file", "quantize", self.input,
                       "-o", self.dir / "q.safetensors", code=2)

    def test_refuses_to_replace_the_input(self):
        np.save(self.input, random((2, 2)))
        link = self.dir / "link.npy"
        link.hardlink_to(self.input)
        self.fail_with("would replace an input", "quantize", self.input, "-o", link, code=2)
        for part, array in zip(("q.npy", "q.scale.npy", "q.zero_point.npy"), per_channel(random((2, 2)))):
            np.save(self.dir / part, array)
        for part in ("q.npy", "q.scale.npy", "q.zero_point.npy"):
            self.fail_with("would replace an input", "dequantize", self.codes, "-o", self.dir / part, code=2)


class CorruptNpy(CliTest):
    def refuse(self, message, raw):
        (self.dir / "x.npy").write_bytes(raw)
        self.fail_with(message, "quantize", self.dir / "x.npy", "-o", self.dir / "q.npy")

    @staticmethod
    def array(header, data=bytes(24), version=1):
        size = struct.pack("<H" if version == 1 else "<I", len(header))
        return b"\x93NUMPY" + bytes([version, 0]) + size + header.encode("latin1") + data

    def test_every_truncation(self):
        x = self.dir / "whole.npy"
        np.save(x, random((2, 3)))
        whole = x.read_bytes()
        for length in range(len(whole)):
            self.refuse("x.npy: ", whole[:length])

    def test_not_npy(self):
        for raw in (b"", b"\x93NUMPY", b"\x93NUMPX\x01\x00\x00\x00", b"PK\x03\x04" + bytes(100)):
            self.refuse("not an .npy file", raw)

    def test_version(self):
        for version in (0, 4, 255):
            self.refuse(f"version {version} is not supported", self.array("{}", version=version))

    def test_sizes(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
        self.refuse("it has 23 bytes of data, its shape [2, 3] takes 24", self.array(header, bytes(23)))
        self.refuse("1 bytes at the end belong to no array", self.array(header, bytes(25)))
        huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }"
        self.refuse("too large", self.array(huge % (2**40, 2**40)))
        self.refuse("too large", self.array(huge % (2**31, 2**31)))
        self.refuse("corrupt", self.array(huge % (2**63, 1)))
        self.refuse("corrupt", self.array(huge % (2**64 + 2, 3)))  # modulo 2**64 it would fit
        self.refuse("the .npy header is truncated", b"\x93NUMPY\x02\x00\xff\xff\x00\x00{")
        self.refuse("would have 4294967295 bytes, more than the limit", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")

    def test_headers(self):
        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}"
        (self.dir / "x.npy").write_bytes(self.array(good))
        self.succeed("quantize", self.dir / "x.npy", "-o", self.dir / "q.npy")
        replacements = [("False", "Maybe"), ("(2, 3)", "(2, -3)"), ("(2, 3)", "(2 3)"), ("(2, 3)", "[2, 3]"),
                        ("(2, 3)", "(2, 3"), ("(2, 3)", "(2.0, 3)"), ("(2, 3)", "(,)"), ("'shape'", "'shapes'"),
                        ("'<f4'", "<f4"), ("'<f4'", "'<f4"), ("'descr'", "'shape'"), ("}", ", 'shape': (2, 3)}"),
                        ("fortran_order", "order"), (",", ";")]
        wrongs = ["", "{", "{}", "[]", good[:-1], good + "x", "\0" * 50]
        for wrong in wrongs + [good.replace(*each) for each in replacements]:
            with self.subTest(header=wrong):
                self.refuse("the .npy header is corrupt", self.array(wrong))

    def test_empty_arrays_of_huge_shapes(self):
        """In column-major order, too: strides that no int64 holds are not computed."""
        header = "{'descr': '<f4', 'fortran_order': True, 'shape': (%d, %d, 0)}" % (2**40, 2**40)
        (self.dir / "x.npy").write_bytes(self.array(header, b""))
        self.assertIn(run("quantize", self.dir / "x.npy", "-o", self.dir / "q.npy").returncode, (0, 1))

    def test_dimensions(self):
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s)}"
        self.refuse("tells more than 64 dimensions", self.array(header % ("1, " * 65), bytes(4)))
        self.refuse("rank 64 is not in 0..8", self.array(header % ("1, " * 64), bytes(4)))

    def test_arrays_behind_the_codes(self):
        codes, scale, zero_point = per_channel(random((2, 2)))
        path, output = self.dir / "q.npy", self.dir / "y.npy"
        for arrays, message in (
            ([codes, scale, zero_point, scale], "q.npy: 136 bytes at the end belong to no array"),
            ([scale, codes], "q.npy: 132 bytes at the end belong to no array"),
            ([codes, codes], "q.npy: its scale is I8"),
            ([codes, scale, scale], "its zero point is F32"),
            ([codes, np.ones((3, 1), np.float32)], "a scale of shape [3, 1] does not fit"),
        ):
            save_all(path, *arrays)
            self.fail_with(message, "dequantize", path, "-o", output)
        save_all(path, codes, scale)
        whole = path.read_bytes()
        for length in range(path.stat().st_size - scale.nbytes - 127, len(whole)):
            path.write_bytes(whole[:length])
            self.fail_with("q.npy: ", "dequantize", path, "-o", output)

    def test_corrupt_scale(self):
        np.save(self.dir / "q.npy", np.zeros((2, 2), np.int8))
        (self.dir / "q.scale.npy").write_bytes(b"\x93NUM")
        self.fail_with("q.scale.npy: not an .npy file", "dequantize", self.dir / "q.npy", "-o", self.dir / "y.npy")


if __name__ == "__main__":
    unittest.main()

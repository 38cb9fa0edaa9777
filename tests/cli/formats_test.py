"""Every value of --dtype: scales and codes as NumPy computes them, and files as compressed-tensors lays them out."""

import random as random_numbers
import unittest

import ml_dtypes
import numpy as np

from support import (INTEGERS, RANGES, CliTest, ModelTest, encode, entry, in_blocks, load_model, oracle, per_channel,
                     per_tensor, quantize, random, read_header, run, safetensors_bytes, save_model)

PACKED = ["i4", "u4", "f4e2m1"]
SHAPES = [(4, 16), (5, 33), (3, 1), (2, 3, 5), (2, 2, 3, 8)]
FIXED_BLOCKS = {"mxfp8": 32, "mxfp6e2m3": 32, "mxfp6e3m2": 32, "mxfp4": 32, "nvfp4": 16}
F6 = {"f6e2m3": (ml_dtypes.float6_e2m3fn, -7.5, 7.5), "f6e3m2": (ml_dtypes.float6_e3m2fn, -28, 28)}


def pack_rows(codes, in_element, dtype):
    """Rows of 4-bit codes, one to a byte, as rows of `dtype` with so many in each, the first in the lowest bits."""
    nibbles = codes.view(np.uint8) & 15
    padding = [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % in_element)]
    nibbles = np.pad(nibbles, padding)
    return np.ascontiguousarray(nibbles[..., ::2] | nibbles[..., 1::2] << 4).view(dtype)


def pack_zero_points(zero_points):
    """int8 in [-8, 7], eight of the last dimension but one to an int32."""
    swapped = np.ascontiguousarray(np.swapaxes(zero_points + 8, -1, -2))
    return np.swapaxes(pack_rows(swapped, 8, np.int32), -1, -2)


class Formats(ModelTest):
    def quantize(self, x, *options):
        save_model(self.input, {"x.weight": x})
        self.succeed("quantize", self.input, "-o", self.codes, *options)
        return load_model(self.codes)

    def restore(self, **options):
        self.succeed("dequantize", self.codes, "-o", self.output, **options)
        return load_model(self.output)["x.weight"]

    def assert_files(self, actual, expected):
        self.assertEqual(set(actual), set(expected))
        for name in expected:
            with self.subTest(name=name):
                self.assert_same(actual[name], expected[name])

    def check(self, x, options, code, expected, asymmetric=False, block=None):
        """The file and the restored tensor for `expected`: codes, scale and zero point of a code type."""
        actual = self.quantize(x, "--dtype", code, *options)
        self.assert_files(actual, stored(code, *expected, asymmetric))
        self.assert_same(self.restore(), dequantize(code, *expected, block).astype(x.dtype))

    def test_every_type_per_channel_per_tensor_and_in_blocks(self):
        for code in RANGES:
            for shape in SHAPES:
                x = random(shape) * np.float32(3)
                with self.subTest(code=code, shape=shape):
                    self.check(x, [], code, per_channel(x, code=code))
                    self.check(x, ["--axis", -1], code, per_channel(x, -1, code=code))
                    self.check(x, ["--per-tensor"], code, per_tensor(x, code=code))
                    size = 4 if shape[-1] % 4 == 0 else shape[-1]
                    self.check(x, ["--block-size", size], code, in_blocks(x, size, code=code))

    def test_asymmetric_integers(self):
        for code in INTEGERS:
            for shape in [*SHAPES, (17, 9)]:
                x = random(shape) + np.linspace(-2, 2, shape[-1], dtype=np.float32)
                with self.subTest(code=code, shape=shape):
                    self.check(x, ["--asymmetric"], code, per_channel(x, code=code, asymmetric=True), True)
                    expected = per_channel(x, -1, code=code, asymmetric=True)
                    self.check(x, ["--asymmetric", "--axis", -1], code, expected, True)
                    expected = per_tensor(x, code=code, asymmetric=True)
                    self.check(x, ["--asymmetric", "--per-tensor"], code, expected, True)

    def test_ragged_blocks(self):
        x = random((3, 37))
        for code in RANGES:
            with self.subTest(code=code):
                self.check(x, ["--block-size", 16], code, in_blocks(x, 16, code=code), block=16)

    def test_ragged_blocks_of_rows_and_columns(self):
        """Of 4 rows and 2 columns: the shapes alone, [9, 7] and [3, 4], would tell 3 rows."""
        x = random((9, 7)) * np.linspace(1, 9, 9, dtype=np.float32)[:, None]
        result = self.quantize(x, "--dtype", "f8e4m3", "--block-size", "4x2")
        codes, scale, _ = quantize(x, (3, 4), (4, 2), code="f8e4m3")
        self.assert_same(result["x.weight"], codes)
        self.assert_same(result["x.weight_scale_inv"], scale)
        wide = np.kron(scale, np.ones((4, 2), np.float32))[:9, :7]
        self.assert_same(self.restore(), codes.astype(np.float32) * wide)

    def test_every_float_source(self):
        for code in RANGES:
            for source in (np.float16, ml_dtypes.bfloat16):
                with self.subTest(code=code, source=source):
                    x = random((6, 10)).astype(source)
                    self.check(x, [], code, per_channel(x.astype(np.float32), code=code))

    def test_other_names_give_the_same_file(self):
        names = {
            "i8": ["int8"], "u8": ["uint8"], "i16": ["int16"], "u16": ["uint16"], "i32": ["int32"], "i4": ["int4"],
            "u4": ["uint4"], "f8e4m3": ["fp8", "e4m3", "e4m3fn", "float8_e4m3fn"], "f8e5m2": ["e5m2", "float8_e5m2"],
            "f8e4m3fnuz": ["e4m3fnuz", "float8_e4m3fnuz"], "f8e5m2fnuz": ["e5m2fnuz", "float8_e5m2fnuz"],
            "f4e2m1": ["fp4", "e2m1", "e2m1fn", "float4_e2m1fn"],
        }  # fmt: skip
        self.assertEqual(set(names), set(RANGES))
        x = random((4, 16))
        for code, others in names.items():
            self.quantize(x, "--dtype", code)
            expected = self.codes.read_bytes()
            for other in [*others, others[0].upper()]:
                with self.subTest(other=other):
                    self.quantize(x, "--dtype", other)
                    self.assertEqual(self.codes.read_bytes(), expected)

    def test_the_padding_of_several_tensors_is_zero(self):
        tensors = {f"{name}.weight": random((5, 33), seed) for seed, name in enumerate("abc")}
        for code, in_element, dtype in (("i4", 8, np.int32), ("f4e2m1", 2, np.uint8)):
            save_model(self.input, tensors)
            self.succeed("quantize", self.input, "-o", self.codes, "--dtype", code)
            result = load_model(self.codes)
            for name, x in tensors.items():
                codes = per_channel(x, code=code)[0]
                packed = pack_rows(codes + 8 if code == "i4" else codes, in_element, dtype)
                self.assert_same(result[name + "_packed"], packed)

    def test_u4_is_i4_with_zero_points(self):
        x = random((8, 16))
        self.quantize(x, "--dtype", "i4")
        signed = load_model(self.codes)
        unsigned = self.quantize(x, "--dtype", "u4")
        self.assert_same(unsigned.pop("x.weight_zero_point"), np.full((1, 1), 0x88888888 - 2**32, np.int32))
        self.assert_files(unsigned, signed)
        signed = self.quantize(x, "--dtype", "i4", "--asymmetric")
        self.assert_files(self.quantize(x, "--dtype", "u4", "--asymmetric"), signed)

    def test_empty_tensors(self):
        for code in [*RANGES, *FIXED_BLOCKS]:
            for shape in ((0, 4), (4, 0), (2, 0, 3)):
                with self.subTest(code=code, shape=shape):
                    self.quantize(np.zeros(shape, np.float32), "--dtype", code)
                    self.assertEqual(self.restore().shape, shape)

    def test_an_already_quantized_tensor_stays(self):
        for code in [*PACKED, *FIXED_BLOCKS]:
            with self.subTest(code=code):
                first = self.quantize(random((4, 33)), "--dtype", code)
                save_model(self.input, {**first, "y": random((2, 2), 2)})
                self.succeed("quantize", self.input, "-o", self.output, "--dtype", "i8")
                second = load_model(self.output)
                self.assertEqual(set(second), {*first, "y", "y_scale"})
                self.assert_files({name: second[name] for name in first}, first)

    def test_mx(self):
        """Power-of-two scales, 2^-2 and 2^-8 of amax rounded down to a power of two, or up from 7/8 of one."""
        for code, base, offset in (("mxfp4", "f4e2m1", 2), ("mxfp8", "f8e4m3", 8), ("mxfp6e2m3", "f6e2m3", 2),
                                   ("mxfp6e3m2", "f6e3m2", 4)):  # fmt: skip
            dtype, _, _ = (RANGES | F6)[base]
            for shape in ((4, 64), (4, 37)):
                x = random(shape) * 2.0 ** np.random.default_rng(5).integers(-130, 120, (shape[0], 1))
                x = x.astype(np.float32)
                x[1, :32] = 0
                x[2, :3] = [7, 448, -6.9999995]
                x[2, 32:] = -6.9999995  # a block whose amax is just below 7/8 of a power of two
                with self.subTest(code=code, shape=shape):
                    exponent, codes = [], np.zeros(shape, dtype)
                    for row, begin in np.ndindex(shape[0], -(-shape[1] // 32)):
                        part = np.s_[row, begin * 32 : begin * 32 + 32]
                        mantissa, e = np.frexp(np.abs(x[part]).max())
                        e = e - 1 + (mantissa >= 0.875) if mantissa else -127 - 9
                        exponent.append(max(-127, e - offset))
                        scale = np.ldexp(np.float32(1), exponent[-1])
                        codes[part] = oracle.quantize(x[part], scale, None, codes.dtype.name)
                    exponent = np.array(exponent).reshape(shape[0], -1)
                    biased = (exponent + 127).astype(np.uint8)
                    biased = biased.view(ml_dtypes.float8_e8m0fnu) if base in F6 else biased
                    expected = stored(base, codes, biased, None, False)
                    self.assert_files(self.quantize(x, "--dtype", code), expected)
                    scale = np.repeat(np.ldexp(np.float32(1), exponent), 32, 1)[:, : shape[1]]
                    self.assert_same(self.restore(), codes.astype(np.float32) * scale)

    def test_f6_is_four_codes_in_three_bytes_of_safetensors_own_types(self):
        x = np.arange(16, dtype=np.float32).reshape(2, 8) / 2 - 4
        self.quantize(x, "--dtype", "mxfp6e2m3")
        header, length = read_header(self.codes)
        self.assertEqual((header["x.weight"]["dtype"], header["x.weight"]["shape"]), ("F6_E2M3", [2, 8]))
        self.assertEqual((header["x.weight_scale"]["dtype"], header["x.weight_scale"]["shape"]), ("F8_E8M0", [2, 1]))
        begin, end = header["x.weight"]["data_offsets"]
        raw = self.codes.read_bytes()[8 + length + begin : 8 + length + end]
        codes = x.astype(ml_dtypes.float6_e2m3fn).view(np.uint8).ravel()  # of scales of 1
        bits = np.unpackbits(codes, bitorder="little").reshape(-1, 8)[:, :6]
        self.assertEqual(raw, np.packbits(bits.ravel(), bitorder="little").tobytes())
        by_name = self.codes.read_bytes()
        self.quantize(x, "--dtype", "mxfp6_e2m3")  # as others write it
        self.assertEqual(self.codes.read_bytes(), by_name)

    def test_f6_wants_whole_bytes(self):
        save_model(self.input, {"x": random((3, 37))})
        self.fail_with("its 111 elements of 6 bits fill no whole bytes", "quantize", self.input, "-o", self.codes,
                       "--dtype", "mxfp6e2m3")  # fmt: skip

    def test_onnx_has_no_f6(self):
        self.quantize(random((4, 32)), "--dtype", "mxfp6e3m2")
        self.fail_with("ONNX has no such type", "convert", self.codes, "-o", self.dir / "x.onnx")

    def test_nvfp4(self):
        """e4m3fn scales in blocks of 16, and one f32 for the tensor."""
        for shape in ((4, 64), (3, 37)):
            x = random(shape) * np.linspace(1, 300, shape[0], dtype=np.float32)[:, None]
            x[1, :16] = 0
            with self.subTest(shape=shape):
                largest = np.float32(6 * 448) / np.abs(x).max()
                blocks = -(-shape[1] // 16)
                scale = np.zeros((shape[0], blocks), ml_dtypes.float8_e4m3fn)
                codes = np.zeros(shape, ml_dtypes.float4_e2m1fn)
                effective = np.zeros(shape, np.float32)
                for row, block in np.ndindex(*scale.shape):
                    part = np.s_[row, block * 16 : block * 16 + 16]
                    wanted = np.abs(x[part]).max() / np.float32(6) * largest
                    scale[row, block] = min(wanted, 448) or 0.125
                    effective[part] = scale[row, block].astype(np.float32) / largest
                    codes[part] = encode(x[part], effective[part], 0, "f4e2m1")
                expected = stored("f4e2m1", codes, scale, None, False)
                expected["x.weight_global_scale"] = largest.reshape(1)
                self.assert_files(self.quantize(x, "--dtype", "nvfp4"), expected)
                self.assert_same(self.restore(), codes.astype(np.float32) * effective)

    def test_values_too_small_for_a_global_scale(self):
        x = np.full((2, 32), 1e-38, np.float32)
        actual = self.quantize(x, "--dtype", "nvfp4")
        self.assertEqual(actual["x.weight_global_scale"], [1])
        self.assertEqual(set(actual["x.weight_scale"].astype(np.float32).ravel()), {0.125})

    def test_compare(self):
        x = random((16, 64))
        for code in [*RANGES, *FIXED_BLOCKS]:
            with self.subTest(code=code):
                self.quantize(x, "--dtype", code)
                text = self.succeed("compare", self.input, self.codes)
                row = text.splitlines()[1].split()
                self.assertEqual(row[:4], ["x.weight", "[16,", "64]", "4096"])
                header, _ = read_header(self.codes)
                ends = [each["data_offsets"][1] for name, each in header.items() if name != "__metadata__"]
                self.assertEqual(int(row[4]), max(ends))
                noise = (self.restore().astype(np.float64) - x) ** 2
                self.assertEqual(row[5], f"{10 * np.log10((x.astype(np.float64) ** 2).sum() / noise.sum()):.2f}")
                self.assertEqual(row[6] == "-", code not in INTEGERS)
                if code not in ("mxfp4", "nvfp4"):  # whose scales may put the largest values outside the codes
                    self.assertEqual(row[7], "0")

    def test_compare_counts_what_float_codes_clip(self):
        x = np.array([[448, 463, -463, 465, -465, 1e9, 1]], np.float32)
        codes = np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)
        save_model(self.input, {"x": x})
        save_model(self.codes, {"x": codes, "x_scale": np.ones((1, 1), np.float32)})
        self.assertRegex(self.succeed("compare", self.input, self.codes), r"(?m)^x .* -  +3$")

    def test_reads_scales_of_other_programs(self):
        """Half-precision scales, F8_E8M0 instead of U8, one e4m3fn level without the other."""
        codes = np.arange(-8, 8, dtype=np.int8).reshape(2, 8)
        packed = pack_rows(codes + 8, 8, np.int32)
        shape = np.array([2, 8])
        for scale in (np.array([[2], [3]], np.float16), np.array([[2], [3]], ml_dtypes.bfloat16)):
            save_model(self.codes, {"x.weight_packed": packed, "x.weight_shape": shape, "x.weight_scale": scale})
            self.assert_same(self.restore(), codes.astype(np.float32) * scale.astype(np.float32))
        values = np.tile(np.arange(16, dtype=np.uint8), (2, 1)).view(ml_dtypes.float4_e2m1fn)
        packed = pack_rows(values, 2, np.uint8)
        for scale, wide in (
            (np.array([[126], [128]], np.uint8), [[0.5], [2]]),
            (np.array([[0.5], [2]], ml_dtypes.float8_e4m3fn), [[0.5], [2]]),
            (np.array([[0], [255]], np.uint8), [[2.0**-127], [np.nan]]),
            (np.array([[0.5], [2]], np.float16), [[0.5], [2]]),
        ):
            save_model(self.codes, {"x.weight_packed": packed, "x.weight_scale": scale})
            restored = self.restore(warned="NaN or infinite")
            self.assert_same(restored, values.astype(np.float32) * np.array(wide, np.float32))
            save_model(self.codes, {"x.weight_packed": packed, "x.weight_scale": scale,
                                    "x.weight_global_scale": np.array([4], np.float32)})  # fmt: skip
            restored = self.restore(warned="NaN or infinite")
            self.assert_same(restored, values.astype(np.float32) * (np.array(wide, np.float32) / np.float32(4)))


def stored(code, codes, scale, zero_point, asymmetric):
    """The tensors of a file for codes, scale and zero point."""
    tensors = {"x.weight_scale": scale}
    if code in ("i4", "u4"):
        tensors["x.weight_packed"] = pack_rows(codes + 8 if code == "i4" else codes, 8, np.int32)
        tensors["x.weight_shape"] = np.array(codes.shape)
    elif code == "f4e2m1":
        tensors["x.weight_packed"] = pack_rows(codes, 2, np.uint8)
        if codes.shape[-1] % 2:
            tensors["x.weight_shape"] = np.array(codes.shape)
    else:
        tensors["x.weight"] = codes
    if asymmetric or code.startswith("u"):
        if code in ("i4", "u4"):
            zero_point = (zero_point - (8 if code == "u4" else 0)).astype(np.int8)
            zero_point = pack_zero_points(zero_point) if scale.ndim > 1 else zero_point
        tensors["x.weight_zero_point"] = zero_point
    return tensors


def dequantize(code, codes, scale, zero_point, block=None):
    """In f32; blocks of the last axis that its extent does not tell are given."""
    zero_point = zero_point if code in INTEGERS else None
    return oracle.dequantize(codes, scale, zero_point, "float32", axis=codes.ndim - 1, block_size=block)


class Refusals(CliTest):
    """What is beside packed codes must fit them."""

    def setUp(self):
        super().setUp()
        self.codes = self.dir / "codes.safetensors"
        self.i4 = {
            "x_packed": np.zeros((3, 2), np.int32),
            "x_shape": np.array([3, 9]),
            "x_scale": np.ones((3, 1), np.float32),
        }
        self.f4 = {
            "x_packed": np.zeros((3, 5), np.uint8),
            "x_scale": np.full((3, 1), 127, np.uint8),
        }

    def refuse(self, message, tensors):
        save_model(self.codes, tensors)
        for command in (("dequantize", self.codes, "-o", self.dir / "out.safetensors"),
                        ("compare", self.codes, self.codes)):  # fmt: skip
            self.fail_with(message, *command)

    def test_the_base_of_these_tests_is_accepted(self):
        for tensors in (self.i4, self.f4):
            save_model(self.codes, tensors)
            self.succeed("dequantize", self.codes, "-o", self.dir / "out.safetensors")

    def test_packed_sizes(self):
        for shape in ([3, 4], [3, 17], [2, 9], [27], [3, 3, 3], [0, 9], [2**40, 9]):
            self.refuse("x_packed (I32 [3, 2]): codes of shape", {**self.i4, "x_shape": np.array(shape)})
        self.refuse("x_packed (I32 [3, 2]): x_shape is [3, -9]", {**self.i4, "x_shape": np.array([3, -9])})
        self.refuse("x_packed (I32 [3, 2]): shape [9223372036854775807, 9] is too large",
                    {**self.i4, "x_shape": np.array([2**63 - 1, 9, 9])})  # fmt: skip
        self.refuse("x_packed (U8 [3, 5]): codes of shape [3, 8] are packed in shape [3, 4]",
                    {**self.f4, "x_shape": np.array([3, 8])})  # fmt: skip

    def test_shapes_of_another_kind(self):
        for shape in (np.array([3, 9], np.int32), np.array([[3, 9]]), np.array([], np.int64), np.array(27)):
            self.refuse("x_packed (I32 [3, 2]): x_shape is ", {**self.i4, "x_shape": shape})

    def test_a_missing_shape(self):
        del self.i4["x_shape"]
        self.refuse("x_packed (I32 [3, 2]): there is no x_shape beside it", self.i4)

    def test_more_dimensions_than_the_library_takes(self):
        tensors = {"x_packed": np.zeros([1] * 9, np.int32), "x_shape": np.ones(9, np.int64),
                   "x_scale": np.ones(1, np.float32)}  # fmt: skip
        self.refuse("x_packed (I32 [1, 1, 1, 1, 1, 1, 1, 1, 1]): QDQ_INVALID_ARGUMENT", tensors)

    def test_a_scale_that_does_not_fit(self):
        for shape in ((4, 1), (3, 10), (3, 1, 1)):
            self.refuse("x_packed (I32 [3, 2]): a scale of shape", {**self.i4, "x_scale": np.ones(shape, np.float32)})

    def test_a_global_scale_that_does_not_fit(self):
        scale = np.ones((3, 1), ml_dtypes.float8_e4m3fn)
        for wrong in (np.ones(2, np.float32), np.ones(1, np.float16), np.ones(0, np.float32)):
            self.refuse("its global scale is", {**self.f4, "x_scale": scale, "x_global_scale": wrong})

    def test_zero_points_that_do_not_fit(self):
        for wrong in (np.zeros((2, 1), np.int32), np.zeros((3, 1), np.int32), np.zeros((1, 1), np.int16),
                      np.zeros((2, 1), np.int8)):  # fmt: skip
            self.refuse("its zero point", {**self.i4, "x_zero_point": wrong})
        self.refuse("takes no zero point", {**self.f4, "x_zero_point": np.ones(1, np.int8)})

    def test_a_name_that_no_tensor_has(self):
        names = {"__metadata__" + name[1:]: tensor for name, tensor in self.i4.items()}
        save_model(self.codes, names)
        self.fail_with("no tensor can be named __metadata__", "dequantize", self.codes, "-o", self.dir / "out")

    def test_shapes_that_overflow(self):
        """Empty tensors may have extents of any size; twice or eight times that may be no int64."""
        shape = {"data": np.array([0, 2**63 - 1]).tobytes()}
        cases = (
            ("shape [4611686018427387904, 2] is too large",
             {"x_packed": entry("U8", [0, 2**62], 0, 0), "x_scale": entry("U8", [0, 1], 0, 0)}, b""),
            ("shape [1152921504606846976, 8] is too large",
             {"x_packed": entry("I32", [0, 1], 16, 16), "x_shape": entry("I64", [2], 0, 16),
              "x_scale": entry("F32", [0, 1], 16, 16)}, shape["data"]),
        )  # fmt: skip
        for message, header, data in cases:
            self.codes.write_bytes(safetensors_bytes(header, data))
            self.fail_with(message, "dequantize", self.codes, "-o", self.dir / "out")
            self.fail_with(message, "compare", self.codes, self.codes)

    def test_an_activation_order(self):
        self.refuse("its groups follow x_g_idx", {**self.i4, "x_g_idx": np.zeros(9, np.int32)})

    def test_two_tensors_of_one_name(self):
        self.refuse("it has both x and x_packed", {**self.i4, "x": random((3, 9))})

    def test_packed_codes_without_a_scale_are_kept(self):
        del self.i4["x_scale"]
        codes, scale, _ = per_channel(random((4, 6)))
        save_model(self.codes, {**self.i4, "y": codes, "y_scale": scale})
        self.succeed("dequantize", self.codes, "-o", self.dir / "out.safetensors")
        restored = load_model(self.dir / "out.safetensors")
        self.assertEqual(set(restored), {"x_packed", "x_shape", "y"})

    def test_random_damage_never_crashes(self):
        numbers = random_numbers.Random(7)
        for options in (["--dtype", "i4", "--asymmetric"], ["--dtype", "nvfp4"]):
            save_model(self.codes, {"x": random((9, 33))})
            self.succeed("quantize", self.codes, "-o", self.dir / "whole.safetensors", *options)
            whole = (self.dir / "whole.safetensors").read_bytes()
            header, length = read_header(self.dir / "whole.safetensors")
            shape = header.get("x_shape", {"data_offsets": [0, 0]})["data_offsets"]  # its numbers matter as much
            places = [*range(8 + length), *(8 + length + i for i in range(*shape))] * 2
            for _ in range(100):
                raw = bytearray(whole)
                for _ in range(numbers.choice((1, 1, 2, 5))):
                    raw[numbers.choice(places)] = numbers.choice(b'{}[]:,"0192FIx \\\x00\xff')
                self.codes.write_bytes(raw)
                result = run("dequantize", self.codes, "-o", self.dir / "out.safetensors")
                self.assertIn(result.returncode, (0, 1), bytes(raw))

    def test_refuses_names_that_are_taken(self):
        for taken in ("x_packed", "x_shape", "x_scale", "x_g_idx"):
            save_model(self.codes, {"x": random((2, 16)), taken: random((3,))})
            self.fail_with(f"already has a tensor named {taken}", "quantize", self.codes, "-o", self.dir / "out",
                           "--dtype", "i4")  # fmt: skip


if __name__ == "__main__":
    unittest.main()

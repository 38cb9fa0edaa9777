import os
import re
import resource
import stat
import subprocess
import unittest

import numpy as np
from safetensors.numpy import load_file, save_file

from support import (QDQ, CliTest, entry, in_blocks, peak_memory, per_channel, per_tensor, random,
                     read_header, run, safetensors_bytes)


class Quantize(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"
        self.output = self.dir / "out.safetensors"

    def quantize(self, tensors, *options, metadata=None):
        save_file(tensors, self.input, metadata)
        self.succeed("quantize", self.input, "-o", self.output, *options)
        return load_file(self.output)

    def check(self, x, options, expected, zero_point=False):
        """x.weight gives these codes, this scale and, if any, this zero point, and nothing else."""
        result = self.quantize({"x.weight": x}, *options)
        names = {"x.weight", "x.weight_scale"} | ({"x.weight_zero_point"} if zero_point else set())
        self.assertEqual(set(result), names)
        self.assert_same(result["x.weight_scale"], expected[1])
        self.assert_same(result["x.weight"], expected[0])
        if zero_point:
            self.assert_same(result["x.weight_zero_point"], expected[2])

    def test_is_i8_per_channel_along_axis_0_by_default(self):
        x = random((48, 33))
        self.check(x, [], per_channel(x))
        self.assertEqual(load_file(self.output)["x.weight_scale"].shape, (48, 1))

    def test_any_axis(self):
        x = random((5, 6, 7))
        for axis in (0, 1, 2, -1, -3):
            with self.subTest(axis=axis):
                self.check(x, ["--dtype", "i8", "--axis", axis], per_channel(x, axis))

    def test_per_tensor(self):
        x = random((17, 19))
        self.check(x, ["--per-tensor"], per_tensor(x))

    def test_blocks_along_the_last_axis(self):
        x = random((6, 64))
        self.check(x, ["--block-size", 16], in_blocks(x, 16))
        self.assertEqual(load_file(self.output)["x.weight_scale"].shape, (6, 4))

    def test_the_last_block_may_be_short(self):
        x = random((4, 10))
        self.check(x, ["--block-size", 8], in_blocks(x, 8))

    def test_a_block_may_exceed_the_axis(self):
        x = random((4, 10))
        self.check(x, ["--block-size", 100], in_blocks(x, 10))

    def test_blocks_along_another_axis(self):
        x = random((10, 5, 3))
        self.check(x, ["--block-size", 4, "--axis", 0], in_blocks(x, 4, axis=0))
        self.check(x, ["--block-size", 2, "--axis", 1], in_blocks(x, 2, axis=1))

    def test_u8_is_symmetric_about_128(self):
        x = random((9, 31))
        self.check(x, ["--dtype", "u8"], per_channel(x, code="u8"), zero_point=True)
        self.assertEqual(set(load_file(self.output)["x.weight_zero_point"].ravel()), {128})

    def test_asymmetric(self):
        x = random((9, 31)) + np.linspace(-3, 3, 9, dtype=np.float32)[:, None]
        for code in ("i8", "u8"):
            with self.subTest(code=code):
                expected = per_channel(x, code=code, asymmetric=True)
                self.assertGreater(len(set(expected[2].ravel())), 3)
                self.check(x, ["--asymmetric", "--dtype", code], expected, zero_point=True)

    def test_asymmetric_ranges_include_zero(self):
        x = np.array([[10, 11], [-10, -11]], np.float32)
        self.check(x, ["--asymmetric"], per_channel(x, asymmetric=True), zero_point=True)

    def test_refuses_an_asymmetric_range_wider_than_f32(self):
        x = np.array([[3e38, -3e38]], np.float32)
        save_file({"x": x}, self.input)
        self.fail_with("x (F32 [1, 2]): its range, from the least value to the greatest, is wider than the largest f32",
                       "quantize", self.input, "-o", self.output, "--asymmetric")  # fmt: skip
        self.succeed("quantize", self.input, "-o", self.output, "--asymmetric", "--clip", 0.5)

    def test_all_zero_channel_has_a_positive_scale(self):
        x = random((3, 8))
        x[1] = 0
        for options in ([], ["--asymmetric"], ["--dtype", "u8"]):
            with self.subTest(options=options):
                result = self.quantize({"x": x}, *options)
                self.assertEqual(result["x_scale"][1, 0], 2.0**-23)
                zero = result["x_zero_point"][1] if "x_zero_point" in result else 0
                self.assertTrue((result["x"][1] == zero).all())

    def test_large_tensor(self):
        x = random((1024, 1031))
        self.check(x, [], per_channel(x))
        self.check(x, ["--axis", 1], per_channel(x, 1))

    def test_keeps_what_is_not_a_float_matrix(self):
        kept = {
            "bias": random((7,)),
            "scalar": np.array(2.5, np.float32),
            "ids": np.arange(6, dtype=np.int64).reshape(2, 3),
            "mask": np.array([[True, False]]),
            "bytes": np.arange(4, dtype=np.uint8).reshape(2, 2),
            "double": random((3, 3)).astype(np.float64),
        }
        result = self.quantize({"w": random((2, 3)), **kept})
        self.assertEqual(set(result), {"w", "w_scale", *kept})
        for name, tensor in kept.items():
            self.assert_same(result[name], tensor)

    def test_keeps_types_numpy_does_not_have(self):
        header = {
            "f8": entry("F8_E4M3", [2, 2], 0, 4),
            "f4": entry("F4", [2, 3], 4, 7),
            "w": entry("F32", [1, 2], 7, 15),
        }
        self.input.write_bytes(safetensors_bytes(header, b"abcdefg" + np.float32([1, 2]).tobytes()))
        self.succeed("quantize", self.input, "-o", self.output)
        written, length = read_header(self.output)
        raw = self.output.read_bytes()[8 + length :]
        for name, data in (("f8", b"abcd"), ("f4", b"efg")):
            begin, end = written[name]["data_offsets"]
            self.assertEqual(raw[begin:end], data)
            self.assertEqual(written[name]["dtype"], header[name]["dtype"])

    def test_empty_tensors(self):
        for shape in ((0, 4), (4, 0), (2, 0, 3)):
            for options in ([], ["--block-size", 2], ["--asymmetric"]):
                with self.subTest(shape=shape, options=options):
                    result = self.quantize({"x": np.zeros(shape, np.float32)}, *options)
                    self.assertEqual((result["x"].dtype, result["x"].shape), (np.int8, shape))
                    self.assertEqual(result["x_scale"].shape, (1,))

    def test_odd_names(self):
        names = ["", " ", 'a"b', "a\\b", "new\nline", "weights/größe/重み", "\x01", "__metadata", "x" * 5000,
                 "a.b_scale"]
        x = {name: random((2, 3), seed) for seed, name in enumerate(names)}
        result = self.quantize(x)
        for name in names:
            self.assert_same(result[name], per_channel(x[name])[0])
            self.assert_same(result[name + "_scale"], per_channel(x[name])[1])

    def test_keeps_metadata(self):
        self.quantize({"x": random((2, 2))}, metadata={"format": "pt", "ключ": "a\nb"})
        metadata = read_header(self.output)[0]["__metadata__"]
        self.assertEqual(metadata.pop("format"), "pt")
        self.assertEqual(metadata.pop("ключ"), "a\nb")
        self.assertEqual(set(metadata), {"qdq"})

    def test_keeps_metadata_of_megabytes(self):
        long = {"a": "x" * (3 << 20)}
        self.quantize({"x": random((2, 2)), "y": random((2, 2))}, metadata=long)
        metadata = read_header(self.output)[0]["__metadata__"]
        self.assertEqual(metadata["a"], long["a"])

    def test_tensors_are_aligned_and_without_gaps(self):
        self.quantize({"a": random((3, 5)), "b": random((3,)), "c": np.zeros((3, 1), np.float64), "d": random((1, 1))})
        header, length = read_header(self.output)
        self.assertEqual(length % 8, 0)
        sizes = {"I8": 1, "F32": 4, "F64": 8}
        spans = [(t["data_offsets"], t["dtype"]) for n, t in header.items() if n != "__metadata__"]
        end = 0
        for (begin, stop), dtype in sorted(spans):
            self.assertEqual((begin, begin % sizes[dtype]), (end, 0))
            end = stop
        self.assertEqual(self.output.stat().st_size, 8 + length + end)

    def test_an_already_quantized_tensor_stays(self):
        first = self.quantize({"x": random((4, 4))})
        second = self.quantize({**first, "y": random((2, 2))})
        self.assertEqual(set(second), {"x", "x_scale", "y", "y_scale"})
        self.assert_same(second["x_scale"], first["x_scale"])
        self.assert_same(second["x"], first["x"])

    def test_refuses_a_name_that_is_taken(self):
        save_file({"x": random((2, 2)), "x_scale": random((2, 1))}, self.input)
        self.fail_with("already has a tensor named x_scale", "quantize", self.input, "-o", self.output)

    def test_refuses_names_that_become_one(self):
        """a_global_scale is a part of a and the scale of a_global."""
        save_file({"a": random((2, 16)), "a_global": random((2, 16))}, self.input)
        self.fail_with("a_global (F32 [2, 16]): two tensors are named a_global_scale", "quantize", self.input,
                       "-o", self.output, "--dtype", "nvfp4")  # fmt: skip

    def test_refuses_parts_of_what_had_none(self):
        """The new tensors beside it would make another one quantized, or a packed one."""
        x = random((2, 16))
        for dtype, name, tensor, message in (
            ("nvfp4", "a_global", np.zeros((2, 16), np.int8), "would make them parts of a_global"),
            ("i8", "a_packed", np.zeros((2, 8), np.uint8), "it has both a and a_packed"),
            ("i8", "a_zero_point", np.zeros(1, np.int8), "would make them parts of a"),
            ("nvfp4", "a_zero_point", np.zeros(1, np.int8), "would make them parts of a"),
            ("mxfp4", "a_global_scale", np.ones(1, np.float32), "would make them parts of a"),
            ("mxfp4", "a_shape", np.array([2, 16]), "would make them parts of a"),
        ):
            save_file({"a": x, name: tensor}, self.input)
            self.fail_with(message, "quantize", self.input, "-o", self.output, "--dtype", dtype)
        save_file({"a": x, "a_shape": np.array([2, 16])}, self.input)  # which codes of a byte do not have
        self.succeed("quantize", self.input, "-o", self.output, "--dtype", "i8")

    def test_refuses_nan_and_infinity(self):
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            for options in ([], ["--axis", 1], ["--asymmetric"]):
                with self.subTest(value=value, options=options):
                    x = random((3, 5000))
                    x[1, 4321] = value
                    save_file({"fine": random((2, 2)), "bad": x}, self.input)
                    self.fail_with("bad (F32 [3, 5000]): it holds NaN or infinite values",
                                   "quantize", self.input, "-o", self.output, *options)

    def test_the_largest_finite_values_are_fine(self):
        x = np.array([[3.4028235e38, -1], [1, -3.4028235e38]], np.float32)
        self.check(x, [], per_channel(x))

    def test_refuses_an_axis_out_of_range(self):
        save_file({"x": random((2, 2))}, self.input)
        for axis in (2, -3, 2**33):
            self.fail_with(f"x (F32 [2, 2]): axis {axis} is out of range",
                           "quantize", self.input, "-o", self.output, "--axis", axis)

    def test_refuses_more_dimensions_than_the_library_takes(self):
        save_file({"x": np.ones([1] * 9, np.float32)}, self.input)
        self.fail_with("x (F32 [1, 1, 1, 1, 1, 1, 1, 1, 1]): QDQ_INVALID_ARGUMENT", "quantize", self.input,
                       "-o", self.output)

    def test_refuses_a_model_without_weights(self):
        save_file({"x": random((2,))}, self.input)
        self.fail_with("no tensor to quantize", "quantize", self.input, "-o", self.output)
        save_file({}, self.input)
        self.fail_with("no tensor to quantize", "quantize", self.input, "-o", self.output)

    def check_half(self, dtype, raw, widened):
        """Half-precision sources either work or are refused by name."""
        self.input.write_bytes(safetensors_bytes({"h": entry(dtype, list(widened.shape), 0, len(raw))}, raw))
        arguments = ("quantize", self.input, "-o", self.output)
        if run(*arguments).returncode == 0:
            result = load_file(self.output)
            self.assert_same(result["h_scale"], per_channel(widened)[1])
            self.assert_same(result["h"], per_channel(widened)[0])
        else:
            self.fail_with(f"h ({dtype} [6, 16]): QDQ_UNSUPPORTED", *arguments)

    def test_f16(self):
        x = random((6, 16)).astype(np.float16)
        x[0] *= np.float16(1e-5)  # subnormals
        self.check_half("F16", x.tobytes(), x.astype(np.float32))

    def test_bf16(self):
        bits = (random((6, 16)).view(np.uint32) >> 16).astype(np.uint16)
        self.check_half("BF16", bits.tobytes(), (bits.astype(np.uint32) << 16).view(np.float32))


class Output(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"
        self.output = self.dir / "out.safetensors"
        save_file({"x": random((64, 64))}, self.input)

    def quantize(self, *options, output=None):
        return self.succeed("quantize", self.input, "-o", output or self.output, *options)

    def test_a_report_replaces_neither_input_nor_output(self):
        before = self.input.read_bytes()
        self.fail_with("exists already, and is no report", "quantize", self.input, "-o", self.output, "--report",
                       self.input)  # fmt: skip
        self.assertEqual(self.input.read_bytes(), before)
        for path in (self.output, self.dir / "." / self.output.name):
            self.fail_with("the report would replace the output", "quantize", self.input, "-o", self.output, "--report",
                           path, code=2)  # fmt: skip

    def test_reports_sizes_rate_and_target(self):
        text = self.quantize()
        self.assertRegex(text, r"^quantized 1 of 1 tensors to i8: 16\.4 kB -> 4\.4 kB\n"
                               r"\d+\.\d\d ms in kernels, \d+\.\d GB/s, target \w+\n$")

    def usable_targets(self):
        names = re.findall(r"^(\S+) +yes", self.succeed("targets"), re.MULTILINE)
        return [name for name in names if name not in ("cuda", "opencl")]

    def test_every_usable_target_can_be_named_and_gives_the_same_bytes(self):
        results = set()
        targets = self.usable_targets()
        self.assertTrue(targets)
        for target in targets:
            self.assertIn(f"target {target}\n", self.quantize("--target", target))
            results.add(self.output.read_bytes())
        self.assertEqual(len(results), 1)

    def test_any_number_of_threads_gives_the_same_bytes(self):
        save_file({"x": random((1500, 1500))}, self.input)
        results = set()
        for threads in (0, 1, 2, 7):
            self.quantize("--threads", threads)
            results.add(self.output.read_bytes())
        self.assertEqual(len(results), 1)

    def test_refuses_an_unknown_target(self):
        self.fail_with("--target z80: QDQ_INVALID_ARGUMENT", "quantize", self.input, "-o", self.output,
                       "--target", "z80")

    def test_replaces_an_old_output(self):
        self.output.write_text("old")
        self.quantize()
        self.assertEqual(set(load_file(self.output)), {"x", "x_scale"})
        self.assertEqual(self.files(), ["in.safetensors", "out.safetensors"])

    def test_writes_through_a_symbolic_link(self):
        (self.dir / "sub").mkdir()
        target = self.dir / "sub" / "real"
        target.write_text("old")
        self.output.symlink_to(target)
        self.quantize()
        self.assertTrue(self.output.is_symlink())
        self.assertEqual(set(load_file(target)), {"x", "x_scale"})
        self.assertEqual(os.listdir(self.dir / "sub"), ["real"])

    def test_obeys_the_umask(self):
        subprocess.run([QDQ, "quantize", self.input, "-o", self.output], umask=0o027, check=True, capture_output=True)
        self.assertEqual(stat.S_IMODE(self.output.stat().st_mode), 0o640)

    def test_takes_the_longest_file_name(self):
        self.quantize(output=self.dir / ("n" * 243 + ".safetensors"))

    def test_takes_a_path_relative_to_the_current_folder(self):
        self.succeed("quantize", "in.safetensors", "-o", "out.safetensors", cwd=self.dir)
        self.assertEqual(self.files(), ["in.safetensors", "out.safetensors"])

    def test_refuses_to_replace_the_input(self):
        (self.dir / "hard").hardlink_to(self.input)
        (self.dir / "soft").symlink_to(self.input)
        before = self.input.read_bytes()
        for name in ("in.safetensors", "./in.safetensors", "hard", "soft"):
            self.fail_with("would replace an input", "quantize", self.input, "-o", self.dir / name, code=2)
        self.assertEqual(self.input.read_bytes(), before)

    def test_refuses_what_cannot_be_written(self):
        (self.dir / "folder").mkdir()
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        self.fail_with("No such file or directory", "quantize", self.input, "-o", self.dir / "none" / "out")
        self.fail_with("Not a directory", "quantize", self.input, "-o", self.input / "out")
        self.fail_with("not a regular file", "quantize", self.input, "-o", self.dir / "folder")
        self.fail_with("not a regular file", "quantize", self.input, "-o", fifo)
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))

    def test_a_full_disk_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        save_file({"x": random((1100, 1000))}, self.input)
        self.output.write_text("old")
        self.fail_with("cannot write: File too large", "quantize", self.input, "-o", self.output, preexec_fn=limit)
        self.assertEqual(self.output.read_text(), "old")

    @unittest.skipIf(os.environ.get("QDQ_SANITIZE"), "a sanitizer's own memory counts too")
    def test_memory_is_bounded_by_the_largest_tensor(self):
        """Eight tensors take the memory of one: 27 MiB here, and 49 MiB once on another machine, so no figure is asked."""
        restored = self.dir / "restored.safetensors"
        peaks = []
        for count in (1, 8):
            save_file({f"x{i}": np.ones((2048, 2048), np.float32) for i in range(count)}, self.input)  # 16 MiB each
            runs = [(peak_memory("quantize", self.input, "-o", self.output, "--force"),
                     peak_memory("dequantize", self.output, "-o", restored, "--force")) for _ in range(3)]  # fmt: skip
            peaks.append(np.min(runs, axis=0))
        self.assertTrue((peaks[1] < peaks[0] + (8 << 20)).all(), peaks)


if __name__ == "__main__":
    unittest.main()

"""What does not fail, and may not be what was meant: it is told on standard error, and in --json, and the exit code is 0."""

import json
import struct
import unittest

import ml_dtypes
import numpy as np

from support import FolderTest, ModelTest, load_model, random, run, save_folder, save_model


def told(result):
    """The warnings of a run that succeeds."""
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert all(line.startswith("qdq: warning: ") for line in lines), result.stderr
    return [line.removeprefix("qdq: warning: ") for line in lines]


class Globs(FolderTest):
    def setUp(self):
        super().setUp()
        save_folder(self.model, [{"a.up.weight": random((8, 32))}, {"a.down.weight": random((8, 32))}])
        self.recipe = self.dir / "recipe.json"

    def quantize(self, *options):
        return run("quantize", self.model, "-o", self.out, *options)

    def test_one_that_matches_nothing_is_told(self):
        self.recipe.write_text('{"rules": [{"match": "*.up.*", "dtype": "i8"}, {"match": "up", "dtype": "i8"}]}')
        options = ("--exclude", "*.dwon.*", "--exclude", "*.down.*", "--include", "a.head", "--recipe", self.recipe)
        expected = ["--exclude: no tensor matches *.dwon.*", "--include: no tensor matches a.head",
                    "--recipe: no tensor matches up"]
        self.assertEqual(told(self.quantize(*options)), expected)
        for dry in ([], ["--dry-run"]):
            result = self.quantize(*options, "--json", *dry)
            self.assertEqual(told(result), expected)
            self.assertEqual(json.loads(result.stdout)["warnings"], expected)

    def test_many_are_one_line(self):
        self.recipe.write_text(json.dumps({"rules": [{"match": f"x{i}"} for i in range(9000)]}))
        self.assertEqual(told(self.quantize("--recipe", self.recipe)),
                         ["--recipe: no tensor matches x0, x1, x2, x3, x4 and 8995 more"])  # fmt: skip

    def test_quiet_leaves_warnings_out(self):
        result = self.quantize("--exclude", "x", "--quiet")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_one_that_an_earlier_one_covers_has_matched(self):
        self.assertEqual(told(self.quantize("--exclude", "*.up.*", "--exclude", "a.up*")), [])

    def test_the_names_of_globs_are_escaped(self):
        result = self.quantize("--exclude", "\x1b[31m\udcff", "--json")
        self.assertIn("\\x1b[31m\\xff", told(result)[0])
        self.assertEqual(json.loads(result.stdout)["warnings"], told(result))

    def test_4_bit_integers_without_blocks_are_given_a_hint(self):
        for options, hinted in ((["--dtype", "i4"], True), (["--dtype", "u4"], True), (["--dtype", "i8"], False),
                                (["--dtype", "i4", "--block-size", 32], False), (["--dtype", "mxfp4"], False),
                                (["--dtype", "i4", "--per-tensor"], False)):  # fmt: skip
            with self.subTest(options=options):
                result = self.quantize(*options)
                self.assertEqual(told(result), [])
                self.assertEqual("--block-size 32 or 128" in result.stdout, hinted)
                hints = json.loads(self.quantize(*options, "--json").stdout)["hints"]
                self.assertEqual([hint for hint in hints if "--block-size 32 or 128" in hint] != [], hinted)


class Scales(ModelTest):
    """Those that no quantizer computes, in a file that is read."""

    def save(self, scale):
        save_model(self.codes, {"x": np.array([[1, -2], [3, 4]], np.int8), "x_scale": scale,
                                "y": np.ones((2, 2), np.int8), "y_scale": np.ones((2, 1), np.float32)})  # fmt: skip

    def commands(self):
        return (("dequantize", self.codes, "-o", self.output), ("compare", self.codes, self.codes), ("inspect", self.codes),
                ("convert", self.codes, "-o", self.dir / "x.onnx", "--force"))  # fmt: skip

    def test_odd_ones_are_told_by_each_command(self):
        for values, said in (([0, 1], "1 of 4 scales is 0: their values are 0 (x)"),
                             ([-1, -0.5], "2 of 4 scales are negative: codes stand for values of the other sign (x)"),
                             ([np.nan, 1], "1 of 4 scales is NaN or infinite: no values (x)"),
                             ([-np.inf, 1], "1 of 4 scales is NaN or infinite: no values (x)")):
            for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
                self.save(np.array(values, dtype).reshape(2, 1))
                for command in self.commands():
                    with self.subTest(values=values, dtype=dtype, command=command[0]):
                        times = 2 if command[0] == "compare" else 1
                        self.assertEqual(told(run(*command)), [f"{self.codes}: {said}"] * times)
                        result = run(*command, "--json")
                        self.assertEqual(json.loads(result.stdout)["warnings"], told(result))

    def test_ordinary_ones_are_not(self):
        self.save(np.array([[1e-38], [1]], np.float32))
        for command in self.commands():
            self.assertEqual(told(run(*command)), [])

    def test_exponents_and_global_scales_count(self):
        codes = np.zeros((2, 16), np.uint8)
        save_model(self.codes, {"x_packed": codes, "x_scale": np.array([[255], [0]], np.uint8)})
        self.assertEqual(told(run("inspect", self.codes)),
                         [f"{self.codes}: 1 of 2 scales is NaN or infinite: no values (x)"])
        save_model(self.codes, {"x_packed": codes, "x_scale": np.ones((2, 1), ml_dtypes.float8_e4m3fn),
                                "x_global_scale": np.array([-2], np.float32)})  # fmt: skip
        self.assertEqual(told(run("inspect", self.codes)),
                         [f"{self.codes}: 2 of 2 scales are negative: codes stand for values of the other sign (x)"])

    def test_dequantizing_multiplies_by_them_all_the_same(self):
        for scale in (0.0, -0.5, np.nan, np.inf):
            self.save(np.array([[scale], [1]], np.float32))
            run("dequantize", self.codes, "-o", self.output)
            with np.errstate(invalid="ignore"):
                np.testing.assert_array_equal(load_model(self.output)["x"][0], np.float32([1, -2]) * np.float32(scale))

    def test_those_of_gguf_may_be_0_or_negative(self):
        """llama.cpp's own: Q4_0 divides by -8 what is farthest from 0, and a block of zeros has a scale of 0."""
        for scale, expected in ((0.0, 0), (-0.25, 0), (np.nan, 1)):
            def text(value):
                return struct.pack("<Q", len(value)) + value

            header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + text(b"x") + struct.pack("<IQQIQ", 2, 32, 1, 2, 0)
            data = np.float16(scale).tobytes() + bytes(16)
            file = self.dir / "x.gguf"
            file.write_bytes(header + bytes(-len(header) % 32) + data + bytes(-len(data) % 32))
            self.assertEqual(len(told(run("inspect", file))), expected)


if __name__ == "__main__":
    unittest.main()

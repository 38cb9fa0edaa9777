import unittest

import numpy as np
from safetensors.numpy import load_file, save_file

from support import ModelTest, encode, oracle, random, run


def half_steps():
    """A row whose scale is 0.00214854861, and the multiples of half of it."""
    scale = np.float32(0.00214854861)
    x = np.arange(-255, 256).astype(np.float32) * np.float32(0.5) * scale
    return x.reshape(1, -1), np.abs(x).max() / np.float32(127.5)


class Profile(ModelTest):
    def quantize(self, x, *options):
        save_file({"x": x}, self.input)
        self.succeed("quantize", self.input, "-o", self.codes, *options)
        return load_file(self.codes)

    def test_onnx_is_the_default(self):
        x, _ = half_steps()
        self.assert_same(self.quantize(x, "--profile", "onnx")["x"], self.quantize(x)["x"])

    def test_torch_multiplies_by_the_reciprocal(self):
        x, scale = half_steps()
        by_division = encode(x, scale, 0, "i8")
        by_reciprocal = oracle.quantize(x, scale, None, "int8", scale_mode="reciprocal")
        self.assertGreater((by_division != by_reciprocal).sum(), 10)
        self.assert_same(self.quantize(x)["x"], by_division)
        self.assert_same(self.quantize(x, "--profile", "torch")["x"], by_reciprocal)
        self.assert_same(self.quantize(x, "--profile", "torchao")["x"], by_reciprocal)

    def test_acl_adds_the_zero_point_before_rounding(self):
        x = np.arange(-198, 313, dtype=np.float32).reshape(1, -1) / 2  # scale 1, zero point -29
        after = (np.rint(x) - 29).astype(np.int8)
        before = np.rint(x - 29).astype(np.int8)
        self.assertTrue((after != before).any())
        self.assert_same(self.quantize(x, "--asymmetric")["x"], after)
        self.assert_same(self.quantize(x, "--asymmetric", "--profile", "acl")["x"], before)

    def test_pypto_adds_the_zero_point_when_dequantizing(self):
        codes = self.quantize(random((3, 40)) + 1, "--asymmetric")
        self.succeed("dequantize", self.codes, "-o", self.output, "--profile", "pypto")
        expected = (codes["x"].astype(np.float32) + codes["x_zero_point"].astype(np.float32)) * codes["x_scale"]
        self.assert_same(load_file(self.output)["x"], expected)

    def test_rounds_stochastically_by_the_numbers_of_elements(self):
        x = random((4, 96))
        save_file({"a": x, "b": x}, self.input)
        for options, seed in ((("--seed", 7), 7), ((), 0)):
            self.succeed("quantize", self.input, "-o", self.codes, "--rounding", "stochastic", *options, "--force")
            codes = load_file(self.codes)
            for name, offset in (("a", 0), ("b", x.size)):
                expected = oracle.quantize(x, codes[f"{name}_scale"].reshape(-1), None, "int8", rounding="stochastic",
                                           seed=seed, offset=offset)  # fmt: skip
                self.assert_same(codes[name], expected)
            self.assertFalse((codes["a"] == codes["b"]).all())

    def test_stochastic_rounding_is_refused_where_it_is_not(self):
        save_file({"x": random((4, 32))}, self.input)
        for options in (("--rounding", "odd"), ("--seed", 1)):
            result = run("quantize", self.input, "-o", self.codes, *options)
            self.assertEqual((result.returncode, "--rounding" in result.stderr), (2, True), result.stderr)
        blocks = self.dir / "x.gguf"
        self.fail_with("blocks are rounded as ggml rounds them", "quantize", self.input, "-o", blocks, "--dtype", "q8_0",
                       "--rounding", "stochastic", code=2)  # fmt: skip

    def test_every_profile_takes_every_type(self):
        save_file({"x": random((4, 32))}, self.input)
        for profile in ("onnx", "torch", "torchao", "acl", "tensorrt", "tripy", "pypto"):
            for dtype in ("i8", "i32", "u4", "f8e5m2", "f8e4m3fnuz", "f4e2m1", "nvfp4"):
                with self.subTest(profile=profile, dtype=dtype):
                    options = ("--profile", profile)
                    self.succeed("quantize", self.input, "-o", self.codes, "--dtype", dtype, *options)
                    self.succeed("dequantize", self.codes, "-o", self.output, *options)

    def test_refuses_an_unknown_profile(self):
        self.quantize(random((2, 2)))
        for command in (("quantize", self.input), ("dequantize", self.codes)):
            self.fail_with('--profile caffe: qdq_profile_options: profile: "caffe" is none of onnx, torch',
                           *command, "-o", self.output, "--profile", "caffe", code=2)  # fmt: skip


if __name__ == "__main__":
    unittest.main()

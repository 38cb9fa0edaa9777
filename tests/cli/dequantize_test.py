import json
import unittest

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from support import ModelTest, per_channel, random, run


class Dequantize(ModelTest):
    def restore(self, tensors, metadata=None):
        save_file(tensors, self.codes, metadata)
        self.succeed("dequantize", self.codes, "-o", self.output)
        return load_file(self.output)

    def refuse(self, message, tensors, metadata=None):
        save_file(tensors, self.codes, metadata)
        self.fail_with(message, "dequantize", self.codes, "-o", self.output)

    def round_trip(self, tensors, *options):
        save_file(tensors, self.input, {"format": "pt"})
        self.succeed("quantize", self.input, "-o", self.codes, *options)
        self.succeed("dequantize", self.codes, "-o", self.output)
        return load_file(self.codes), load_file(self.output)

    def test_round_trip_restores_names_shapes_types_and_metadata(self):
        original = {"w": random((6, 10)), "conv": random((4, 3, 2)), "bias": random((5,)), "ids": np.arange(3),
                    "empty": np.zeros((3, 0), np.float32), "scalar": np.array(1.5, np.float32)}
        _, restored = self.round_trip(original)
        self.assertEqual({n: (t.dtype, t.shape) for n, t in restored.items()},
                         {n: (t.dtype, t.shape) for n, t in original.items()})
        for name in ("bias", "ids", "scalar"):
            self.assert_same(restored[name], original[name])
        with safe_open(self.output, "np") as file:
            self.assertEqual(file.metadata(), {"format": "pt"})

    def test_values_are_code_minus_zero_point_times_scale(self):
        x = random((12, 40)) + np.float32(0.7)
        for options in ([], ["--per-tensor"], ["--axis", 1], ["--asymmetric"], ["--dtype", "u8"],
                        ["--asymmetric", "--dtype", "u8", "--axis", -1], ["--per-tensor", "--asymmetric"]):
            with self.subTest(options=options):
                codes, restored = self.round_trip({"x": x}, *options)
                zero_point = codes.get("x_zero_point", np.int8(0)).astype(np.float32)
                self.assert_same(restored["x"], (codes["x"].astype(np.float32) - zero_point) * codes["x_scale"])
                self.assertLess(np.abs(restored["x"] - x).max(), 0.51 * codes["x_scale"].max())

    def test_blocks_of_every_size(self):
        x = random((7, 10)) * np.float32(10) ** np.arange(10, dtype=np.float32)  # a wrong block would show
        for axis in (0, 1):
            for size in range(1, 12):
                with self.subTest(axis=axis, size=size):
                    codes, restored = self.round_trip({"x": x}, "--block-size", size, "--axis", axis)
                    scale = np.repeat(codes["x_scale"], min(size, x.shape[axis]), axis)
                    scale = scale[: x.shape[0], : x.shape[1]]
                    self.assert_same(restored["x"], codes["x"].astype(np.float32) * scale)

    def test_files_of_other_programs(self):
        codes, scale, _ = per_channel(random((4, 6)))
        expected = codes.astype(np.float32) * scale
        blocks = np.repeat(np.abs(random((4, 3), 2)), 2, 1)
        cases = {
            "[out, 1]": (scale, expected),
            "[out]": (scale.reshape(4), expected),
            "[1]": (scale[:1, 0], codes.astype(np.float32) * scale[0]),
            "[]": (scale[0].reshape(()), codes.astype(np.float32) * scale[0]),
            "[out, groups]": (blocks[:, ::2].copy(), codes.astype(np.float32) * blocks),
        }
        for name, (scale, expected) in cases.items():
            with self.subTest(scale=name):
                restored = self.restore({"x.weight": codes, "x.weight_scale": scale})
                self.assertEqual(set(restored), {"x.weight"})
                self.assert_same(restored["x.weight"], expected)

    def test_zero_point_with_one_element(self):
        codes, scale, _ = per_channel(random((4, 6)))
        restored = self.restore({"x": codes, "x_scale": scale, "x_zero_point": np.array([5], np.int8)})
        self.assert_same(restored["x"], (codes.astype(np.float32) - 5) * scale)

    def test_keeps_codes_without_a_scale(self):
        codes, scale, _ = per_channel(random((4, 6)))
        kept = {"plain": codes, "lone_scale": scale, "norm": scale, "norm_scale": scale,
                "ids": codes, "ids_scale": np.full(scale.shape, 127, np.uint8)}  # exponents are of float codes
        restored = self.restore({"x": codes, "x_scale": scale, **kept})
        self.assertEqual(set(restored), {"x", *kept})
        for name, tensor in kept.items():
            self.assert_same(restored[name], tensor)

    def test_a_recorded_type_is_restored_or_refused_by_name(self):
        codes, scale, _ = per_channel(random((4, 6)))
        save_file({"x": codes, "x_scale": scale}, self.codes, {"qdq": json.dumps({"x": {"source_dtype": "F16"}})})
        arguments = ("dequantize", self.codes, "-o", self.output)
        if run(*arguments).returncode == 0:
            self.assert_same(load_file(self.output)["x"], (codes.astype(np.float32) * scale).astype(np.float16))
        else:
            self.fail_with("x (I8 [4, 6]): QDQ_UNSUPPORTED", *arguments)

    def test_refuses_a_model_without_codes(self):
        self.refuse("no quantized tensor", {"x": random((2, 2))})

    def test_refuses_a_scale_that_does_not_fit(self):
        codes = np.zeros((4, 6), np.int8)
        for shape in ((3, 1), (4, 7), (4, 1, 1), (0,)):
            self.refuse("x (I8 [4, 6]): ", {"x": codes, "x_scale": np.ones(shape, np.float32)})

    def test_refuses_a_zero_point_that_does_not_fit(self):
        codes, scale, _ = per_channel(random((4, 6)))
        for zero_point in (np.zeros((3, 1), np.int8), np.zeros((0,), np.int8), np.zeros((4, 1), np.int32)):
            self.refuse("its zero point", {"x": codes, "x_scale": scale, "x_zero_point": zero_point})

    def test_refuses_corrupt_records(self):
        codes, scale, _ = per_channel(random((4, 6)))
        wrong = ["", "{", "[1]", "5", '{"x": 3}', '{"x": {}}', '{"x": {"source_dtype": 4}}',
                 '{"x": {"source_dtype": "I8"}}', '{"x": {"source_dtype": "none"}}',
                 '{"x": {"source_dtype": "F32", "block_size": 2}}',
                 '{"x": {"source_dtype": "F32", "block_size": -1, "axis": 0}}',
                 '{"x": {"source_dtype": "F32", "block_size": 1, "axis": 99999999999}}',
                 '{"x": {"source_dtype": "F32", "block_size": 6, "axis": 1, "block_rows": -1}}']
        for text in wrong:
            with self.subTest(text=text):
                self.refuse('its "qdq" metadata is corrupt', {"x": codes, "x_scale": scale}, {"qdq": text})

    def test_refuses_recorded_blocks_that_do_not_fit(self):
        codes = np.zeros((4, 6), np.int8)
        for shape, axis, size in (((4, 1), 0, 2), ((4, 1), 1, 5), ((4, 1), 7, 3), ((4, 1), 0, 2**62), ((1, 6), 0, 2),
                                  ((1, 1), 1, 3)):
            record = json.dumps({"x": {"source_dtype": "F32", "axis": axis, "block_size": size}})
            self.refuse("x (I8 [4, 6]): a scale of shape",
                        {"x": codes, "x_scale": np.ones(shape, np.float32)}, {"qdq": record})


if __name__ == "__main__":
    unittest.main()

"""--scale-rule and --clip: scales as NumPy computes them by the rules of docs/dynamic.md, and blocks of rows and columns
of every type."""

import json
import unittest

import ml_dtypes
import numpy as np

from support import (INTEGERS, RANGES, FolderTest, ModelTest, encode, load_folder, load_model, quantize, random, run, save_folder,
                     save_model)  # fmt: skip

POWERS = ["power-floor", "power-ceil", "power-even", "power-round-up"]
MANTISSA = {"f8e4m3": 3, "f8e5m2": 2, "f8e4m3fnuz": 3, "f8e5m2fnuz": 2, "f4e2m1": 1}
OPTION_OF = {"f8e4m3": "mxfp8", "f4e2m1": "mxfp4"}


def exponent_of(value):
    """floor(log2), exactly."""
    return np.frexp(value)[1] - 1


def power_of(rule, amax, code):
    largest = RANGES[code][2]
    if amax == 0:
        return np.float32(2.0**-127)
    e, exact = exponent_of(amax), np.frexp(amax)[0] == 0.5
    if rule == "power-ceil":
        e += not exact
    elif rule == "power-even":
        bits = MANTISSA.get(code, exponent_of(largest))
        e = exponent_of(np.float64(amax) + 2.0 ** (e - bits - 1))
    elif rule == "power-round-up":
        quotient = np.float32(amax / np.float32(largest))
        return np.ldexp(np.float32(1), max(-127, exponent_of(quotient) + (np.frexp(quotient)[0] != 0.5)))
    return np.ldexp(np.float32(1), max(-127, e - exponent_of(largest)))


def scale_by(rule, values, code, clip=1.0):
    """The scale, and the zero point of minmax, of one block."""
    _, lowest, highest = RANGES[code]
    clip = np.float32(clip)
    least, most = min(values.min(), np.float32(0)) * clip, max(values.max(), np.float32(0)) * clip
    amax = max(-least, most)
    if rule == "absmax":
        return np.float32(amax / np.float32(highest)) or np.float32(1), None
    if rule == "minmax":
        scale = np.float32((most - least) / np.float32(highest - lowest)) or np.float32(1)
        return scale, int(np.clip(np.rint(np.float32(lowest) - least / scale), lowest, highest))
    return power_of(rule, amax, code), None


class ScaleRules(ModelTest):
    def quantize(self, x, *options):
        save_model(self.input, {"x.weight": x})
        self.succeed("quantize", self.input, "-o", self.codes, *options)
        return load_model(self.codes)

    def rows(self, result, x, rule, code, clip=1.0):
        """Codes and scales of a scale for each row, as the rule has them."""
        for i, row in enumerate(x.astype(np.float32)):
            scale, zero_point = scale_by(rule, row, code, clip)
            self.assertEqual(result["x.weight_scale"][i, 0], scale, (rule, code, i))
            if "x.weight" in result:
                self.assert_same(result["x.weight"][i], encode(row, scale, zero_point, code))
            if zero_point is not None:
                self.assertEqual(result["x.weight_zero_point"][i, 0], zero_point)

    def spread(self, dtype=np.float32):
        x = random((12, 33)) * 2.0 ** np.random.default_rng(3).integers(-90, 90, (12, 1))
        x[0] = 0
        x[1] = np.abs(x[1])
        x[2, :] = np.linspace(-1, 1.75, 33)
        return x.astype(dtype)

    def test_every_rule(self):
        for rule in ("absmax", "minmax", *POWERS):
            for code in ("i8", "i16", "f8e4m3", "f8e5m2", "f8e4m3fnuz"):
                if rule != "minmax" or code in INTEGERS:
                    for x in (self.spread(), self.spread(ml_dtypes.bfloat16)):
                        self.rows(self.quantize(x, "--dtype", code, "--scale-rule", rule), x, rule, code)

    def test_mx_types_take_every_power_of_two(self):
        for code, option in OPTION_OF.items():
            for rule in POWERS:
                x = self.spread()[:, :32]
                result = self.quantize(x, "--dtype", option, "--scale-rule", rule)
                expected = [exponent_of(scale_by(rule, row, code)[0]) + 127 for row in x]
                self.assertEqual(result["x.weight_scale"].ravel().tolist(), expected, (rule, code))

    def test_a_rule_changes_what_is_stored(self):
        x = random((4, 32))
        results = [self.quantize(x, "--scale-rule", rule)["x.weight_scale"].tobytes() for rule in ("absmax", *POWERS[:2])]
        results.append(self.quantize(x)["x.weight_scale"].tobytes())
        self.assertEqual(len(set(results)), 4)

    def test_clip_multiplies_the_largest_values(self):
        x = self.spread()
        for rule in ("absmax", "minmax", "power-floor"):
            self.rows(self.quantize(x, "--scale-rule", rule, "--clip", 0.7), x, rule, "i8", 0.7)
        plain, clipped = self.quantize(x[2:]), self.quantize(x[2:], "--clip", 0.5)
        self.assert_same(clipped["x.weight_scale"], plain["x.weight_scale"] / 2)
        plain, clipped = (self.quantize(x[:, :32], "--dtype", "mxfp4", *options)["x.weight_scale"]
                          for options in ([], ["--clip", 0.5]))  # fmt: skip
        self.assert_same(clipped, np.maximum(plain, 1) - 1)
        plain, clipped = (self.quantize(x[2:, :32], "--dtype", "nvfp4", *options)["x.weight_global_scale"]
                          for options in ([], ["--clip", 0.5]))  # fmt: skip
        self.assert_same(clipped, plain * 2)

    def test_minmax_is_asymmetric_but_for_zeros(self):
        x = self.spread()
        default, by_rule = self.quantize(x, "--asymmetric"), self.quantize(x, "--scale-rule", "minmax")
        self.assertEqual((default["x.weight_scale"][0, 0], by_rule["x.weight_scale"][0, 0]), (2.0**-23, 1))
        for name, tensor in default.items():
            self.assert_same(by_rule[name][1:], tensor[1:])

    def test_f16_has_no_powers_of_two_that_are_small(self):
        save_folder(self.dir / "model", [{"a.proj.weight": random((8, 8)).astype(np.float16)}])
        self.fail_with("its scales are of F16, and power-even makes powers of two that it has not", "quantize",
                       self.dir / "model", "-o", self.dir / "out", "--scale-rule", "power-even", force=False)  # fmt: skip

    def test_what_does_not_go_together(self):
        save_model(self.input, {"x": random((2, 32))})
        for options, message in ((["--scale-rule", "absmax", "--asymmetric"], "it has no zero points"),
                                 (["--scale-rule", "absmax", "--dtype", "mxfp4"], "scales of mxfp4 are powers of two"),
                                 (["--scale-rule", "power-even", "--dtype", "nvfp4"], "nvfp4 are those of absmax"),
                                 (["--scale-rule", "minmax", "--dtype", "f8e4m3"], "has no zero points"),
                                 (["--scale-rule", "absmax", "--dtype", "u8"], "no codes for negative values"),
                                 (["--scale-rule", "largest"], "--scale-rule: largest not in"),
                                 (["--clip", "0"], "--clip: it is above 0, and at most 1"),
                                 (["--clip", "1.5"], "--clip: it is above 0, and at most 1"),
                                 (["--clip", "nan"], "--clip: it is above 0, and at most 1"),
                                 (["--clip", "x"], "--clip")):  # fmt: skip
            result = self.run_failing("quantize", self.input, "-o", self.codes, *options)
            self.assertIn(message, result)

    def run_failing(self, *arguments):
        result = run(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertFalse(self.codes.exists())
        return result.stderr


class TwoDimensionalBlocks(ModelTest):
    def check(self, code, shape, rows, columns):
        """Restored, each value is that of the codes and scales of NumPy."""
        x = random(shape) * np.linspace(1, 9, shape[0], dtype=np.float32)[:, None]
        save_model(self.input, {"x.weight": x})
        self.succeed("quantize", self.input, "-o", self.codes, "--dtype", code, "--block-size", f"{rows}x{columns}")
        scale_shape = (-(-shape[0] // rows), -(-shape[1] // columns))
        codes, scale, zero_point = quantize(x, scale_shape, (rows, columns), code=code)
        name = "x.weight_scale_inv" if code == "f8e4m3" else "x.weight_scale"
        self.assert_same(load_model(self.codes)[name], scale)
        self.succeed("dequantize", self.codes, "-o", self.output)
        shift = zero_point if code in INTEGERS else np.zeros_like(scale)
        wide_scale, wide_shift = (np.kron(each, np.ones((rows, columns)))[: shape[0], : shape[1]]
                                  for each in (scale, shift))  # fmt: skip
        expected = ((codes.astype(np.float64) - wide_shift).astype(np.float32) * wide_scale.astype(np.float32))
        self.assert_same(load_model(self.output)["x.weight"], expected)

    def test_every_type(self):
        for code in RANGES:
            with self.subTest(code=code):
                self.check(code, (12, 16), 4, 8)
                self.check(code, (9, 7), 4, 2)  # the shapes alone would tell 3 rows

    def test_mx_types_have_rows_of_their_own_blocks(self):
        x = random((64, 96))
        save_model(self.input, {"x.weight": x})
        for option, rows, columns in (("mxfp4", 32, 32), ("mxfp8", 2, 32), ("nvfp4", 16, 16), ("mxfp6e3m2", 32, 32)):
            self.succeed("quantize", self.input, "-o", self.codes, "--dtype", option, "--block-size", f"{rows}x{columns}")
            self.assertEqual(load_model(self.codes)["x.weight_scale"].shape, (64 // rows, 96 // columns))
            self.succeed("dequantize", self.codes, "-o", self.output)
            restored = load_model(self.output)["x.weight"]
            self.assertLess(np.square(restored - x).sum() / np.square(x).sum(), 0.03)
            for wrong in (f"{rows}x{columns * 2}", str(columns)):
                self.fail_with(f"no other --block-size than ROWSx{columns}", "quantize", self.input, "-o", self.codes,
                               "--dtype", option, "--block-size", wrong, code=2)  # fmt: skip

    def test_of_an_array_whose_shapes_tell(self):
        np.save(self.dir / "x.npy", random((8, 12)))
        quantize_to = ("quantize", self.dir / "x.npy", "-o", self.dir / "y.npy", "--block-size")
        self.succeed(*quantize_to, "4x6")
        self.succeed("dequantize", self.dir / "y.npy", "-o", self.dir / "z.npy")
        for size in ("5x6", "4x5"):
            self.fail_with(f"an .npy file cannot record blocks of {size}", *quantize_to, size)

    def test_take_no_axis(self):
        save_model(self.input, {"x": random((8, 8))})
        self.fail_with("blocks of rows and columns take no --axis", "quantize", self.input, "-o", self.codes, "--axis", 0,
                       "--block-size", "4x4", code=2)  # fmt: skip


class Recipes(FolderTest):
    def quantize(self, recipe, name="recipe.json"):
        (self.dir / name).write_text(recipe)
        self.succeed("quantize", self.model, "-o", self.out, "--recipe", self.dir / name)
        return load_folder(self.out)

    def test_a_rule_has_a_scale_rule_and_a_clip_ratio_of_its_own(self):
        x = random((8, 32))
        save_folder(self.model, [{"a.proj.weight": x, "b.proj.weight": x}])
        result = self.quantize("""{"default": {"dtype": "i8", "scale_rule": "absmax", "clip": 0.5},
                                   "rules": [{"match": "b.*", "dtype": "mxfp4", "scale_rule": "power-ceil"}]}""")
        expected = [[scale_by("absmax", row, "i8", 0.5)[0]] for row in x]
        self.assertEqual(result["a.proj.weight_scale"].tolist(), np.array(expected, ml_dtypes.bfloat16).tolist())
        expected = [exponent_of(scale_by("power-ceil", row, "f4e2m1")[0]) + 127 for row in x]
        self.assertEqual(result["b.proj.weight_scale"].ravel().tolist(), expected)

    def test_blocks_that_compressed_tensors_lacks_are_qdq_s_own(self):
        save_folder(self.model, [{"a.proj.weight": random((64, 64))}])
        result = self.quantize('{"default": {"dtype": "i4", "block_size": [32, 16]}}')
        self.assertEqual(result["a.proj.weight_scale"].shape, (2, 4))
        config = json.loads((self.out / "config.json").read_text())
        self.assertEqual(config["quantization_config"], {"quant_method": "qdq"})
        self.succeed("dequantize", self.out, "-o", self.dir / "restored")
        restored = load_folder(self.dir / "restored")["a.proj.weight"]
        self.assertLess(np.abs(restored - random((64, 64))).max(), 0.5)

    def test_what_a_recipe_says_wrongly(self):
        save_folder(self.model, [{"a.proj.weight": random((8, 32))}])
        for scheme, message in (('"scale_rule": "largest"', '"scale_rule" is largest, which is no rule'),
                                ('"scale_rule": 1', '"scale_rule" is 1, which it cannot be'),
                                ('"clip": "much"', '"clip" is "much", which is no number'),
                                ('"clip": 2', "clip: it is above 0, and at most 1"),
                                ('"scale_rule": "absmax", "asymmetric": true', "scale_rule absmax: it has no zero points")):
            (self.dir / "recipe.json").write_text('{"default": {' + scheme + "}}")
            self.fail_with(message, "quantize", self.model, "-o", self.out, "--recipe", self.dir / "recipe.json",
                           force=False)  # fmt: skip

    def test_the_plan_names_rule_and_ratio(self):
        save_folder(self.model, [{"a.proj.weight": random((8, 32))}])
        text = self.succeed("quantize", self.model, "--dry-run", "--scale-rule", "minmax", "--clip", 0.9, force=False)
        self.assertIn("i8 per channel, asymmetric, scales by minmax, clipped to 0.9", text)


if __name__ == "__main__":
    unittest.main()

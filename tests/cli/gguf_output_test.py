"""GGUF files that qdq writes, read by the package gguf, against its own quantize."""

import unittest

import gguf
import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType as Kind

from support import CliTest, content, load_model, random, save_folder, save_model

TYPES = {"q8_0": Kind.Q8_0, "q4_0": Kind.Q4_0, "q4_1": Kind.Q4_1, "q5_0": Kind.Q5_0, "q5_1": Kind.Q5_1,
         "mxfp4": Kind.MXFP4, "iq4_nl": Kind.IQ4_NL}
FILE_TYPES = {"q8_0": 7, "q4_0": 2, "q4_1": 3, "q5_0": 8, "q5_1": 9, "mxfp4": 38, "iq4_nl": 25}


def quantized(x, kind):
    """By gguf, or of IQ4_NL, which gguf dequantizes alone, by what ggml's reference does."""
    if kind != Kind.IQ4_NL:
        return gguf.quants.quantize(x, kind)
    blocks, values = x.reshape(-1, 32), np.array(gguf.quants.IQ4_NL.kvalues, np.float32)
    far = np.take_along_axis(blocks, np.abs(blocks).argmax(1)[:, None], 1)  # the first of several
    is_small = np.abs(far) < np.float32(1e-15)
    scaled = np.where(is_small, 0, blocks * (1 / (np.where(is_small, 1, far) / values[0])))
    codes = np.searchsorted((values[1:] + values[:-1]) / 2, scaled, side="right")  # of two values the greater
    near = values[codes]
    above, below = ((blocks * blocks * near * each).cumsum(1, np.float32)[:, -1:] for each in (blocks, near))
    scale = np.where(is_small, 0, above / np.where(is_small, 1, below)).astype(np.float16)
    nibbles = (codes[:, :16] | codes[:, 16:] << 4).astype(np.uint8)
    return np.concatenate([scale.view(np.uint8), nibbles], 1).reshape(*x.shape[:-1], -1)


def values_with_edges(shape, seed=1):
    """Numbers of many sizes; ties, zeros of both signs, halves, and blocks all zero, equal or as small as they come."""
    drawn = np.random.default_rng(seed)
    x = (drawn.normal(size=shape) * drawn.choice([1e-6, 0.02, 1.0, 300.0], shape)).astype(np.float32)
    x[drawn.random(shape) < 0.2] = np.float32(0.5)
    x[drawn.random(shape) < 0.1] *= 0
    rows = x.reshape(-1, 32)
    rows[0], rows[1], rows[2], rows[3] = 0.0, 1e-30, 3.0, -7.5  # -0 alone: tests/peers/gguf_test.py
    rows[4] = np.arange(-16, 16)
    rows[5] = np.arange(32) / 8 - 1  # halves of a step
    rows[6] *= np.float32(1e-7)  # scales below f16's normal numbers
    rows[7, ::2], rows[7, 1::2] = 2.0, -2.0  # two that are farthest from 0
    rows[8] = np.float32(2.0**-24) * np.arange(32)
    rows[9] = (np.arange(32) - 15.5) / 8  # halves of a step of Q8_0
    rows[9, 0] = 127 / 8
    table = np.array(gguf.quants.IQ4_NL.kvalues, np.float32)
    rows[10, :16] = np.append((table[1:] + table[:-1]) / 2, table[0])  # halves between values of IQ4_NL
    for steps, of_type in ((8, rows[16::3]), (16, rows[17::3])):  # nearly halves of a step of Q4_0 and Q5_0
        step = drawn.random((len(of_type), 1), np.float32) + np.float32(0.01)
        of_type[:] = step * (drawn.integers(-steps, steps, of_type.shape) + np.float32(0.5))
        of_type[:, :1] = step * -steps
    return x


class GgufOutput(CliTest):
    def setUp(self):
        super().setUp()
        self.input, self.output = self.dir / "in.safetensors", self.dir / "out.gguf"

    def read(self, path):
        """The tensors by the package gguf: type, shape, and the bytes of the data."""
        reader = gguf.GGUFReader(path)
        self.assertEqual(path.stat().st_size % 32, 0)
        return reader, {each.name: (each.tensor_type, [int(size) for size in reversed(each.shape)], each.data)
                        for each in reader.tensors}  # fmt: skip

    def fields(self, reader):
        """The metadata that say something of the model."""
        return {name: field.contents() for name, field in reader.fields.items() if not name.startswith("GGUF.")}

    def write_gguf(self, path, tensors, metadata=True):
        writer = gguf.GGUFWriter(path, "llama")
        if metadata:
            writer.add_name("a model")
            writer.add_block_count(2)
            writer.add_custom_alignment(64)
            writer.add_file_type(1)
            writer.add_token_list(["<s>", "a", "\u00e4\u20ac"])
            writer.add_token_scores([0.5, -1.0, 2.0])
            writer.add_array("nested", [[1, 2], [3, 4]])
        for name, (array, kind) in tensors.items():
            data = array if kind is None else gguf.quants.quantize(array, kind)
            writer.add_tensor(name, data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def test_blocks_are_those_of_ggufs_own_quantize_or_ggmls_reference(self):
        x = values_with_edges((96, 1024))
        save_model(self.input, {"a.weight": x, "norm": random(7)})
        for name, kind in TYPES.items():
            with self.subTest(name=name):
                self.succeed("quantize", self.input, "-o", self.output, "--dtype", name)
                reader, tensors = self.read(self.output)
                found, shape, data = tensors["a.weight"]
                self.assertEqual((found, shape), (kind, [96, 1024]))
                self.assert_same(data, quantized(x, kind))
                self.assert_same(tensors["norm"][2], random(7))
                self.assertEqual(self.fields(reader), {"general.architecture": "unknown", "general.quantization_version": 2,
                                                       "general.file_type": FILE_TYPES[name]})  # fmt: skip

    def test_values_of_16_bits_are_quantized_as_f32(self):
        for dtype in (np.float16, ml_dtypes.bfloat16):
            x = (values_with_edges((8, 96), 3) / 8).astype(dtype)
            save_model(self.input, {"a": x})
            for name, kind in TYPES.items():
                self.succeed("quantize", self.input, "-o", self.output, "--dtype", name)
                self.assert_same(self.read(self.output)[1]["a"][2], quantized(x.astype(np.float32), kind))

    def test_what_is_written_is_read(self):
        x = values_with_edges((33, 96))
        save_model(self.input, {"a": x, "b": random((4, 5)), "c": random(3).astype(np.float16)})
        for name, kind in TYPES.items():
            with self.subTest(name=name):
                self.succeed("quantize", self.input, "-o", self.output, "--dtype", name, "--exclude", "b")
                self.succeed("dequantize", self.output, "-o", self.dir / "back.safetensors")
                restored = load_model(self.dir / "back.safetensors")
                self.assert_same(restored["a"], gguf.quants.dequantize(self.read(self.output)[1]["a"][2], kind))
                self.assert_same(restored["b"], random((4, 5)))
                self.succeed("compare", self.input, self.output)

    def test_mxfp4_is_ggmls_in_a_gguf_file_alone(self):
        x = random((4, 64))
        save_model(self.input, {"a": x, "b": x})
        (self.dir / "r.json").write_text('{"default": {"dtype": "mxfp4"}, "rules": [{"match": "b", "dtype": "q8_0"}]}')
        self.succeed("quantize", self.input, "-o", self.output, "--recipe", self.dir / "r.json")
        self.assertEqual([each[0] for each in self.read(self.output)[1].values()], [Kind.MXFP4, Kind.Q8_0])
        self.succeed("quantize", self.input, "-o", self.dir / "q.safetensors", "--dtype", "mxfp4")
        self.assertIn("a_scale", load_model(self.dir / "q.safetensors"))
        self.fail_with("mxfp4: its blocks have the scales of ggml's", "quantize", self.input, "-o", self.output, "--dtype", "mxfp4",
                       "--scale-rule", "power-floor", code=2)  # fmt: skip

    def test_metadata_are_those_of_the_input(self):
        source = self.dir / "in.gguf"
        self.write_gguf(source, {"blk.0.a.weight": (random((4, 64)), None), "blk.0.norm": (random(5), None)})
        before = self.fields(gguf.GGUFReader(source))
        self.succeed("quantize", source, "-o", self.output, "--dtype", "q5_1")
        reader, tensors = self.read(self.output)
        after = self.fields(reader)
        self.assertEqual(after, {name: value for name, value in before.items() if name != "general.alignment"}
                         | {"general.file_type": 9, "general.quantization_version": 2})  # fmt: skip
        self.assertEqual(after["tokenizer.ggml.tokens"], ["<s>", "a", "\u00e4\u20ac"])
        self.assert_same(tensors["blk.0.a.weight"][2], gguf.quants.quantize(random((4, 64)), Kind.Q5_1))

    def test_metadata_of_another_file(self):
        other = self.dir / "other.gguf"
        self.write_gguf(other, {"x": (random(3), None)})
        save_model(self.input, {"a": random((4, 64))})
        self.succeed("quantize", self.input, "-o", self.output, "--dtype", "q8_0", "--metadata", other)
        self.assertEqual(self.fields(self.read(self.output)[0])["general.name"], "a model")
        self.succeed("dequantize", self.output, "-o", self.dir / "floats.gguf", "--dtype", "f16", "--metadata", other)
        reader, tensors = self.read(self.dir / "floats.gguf")
        self.assertEqual((tensors["a"][0], self.fields(reader)["general.file_type"]), (Kind.F16, 1))
        self.assert_same(tensors["a"][2], gguf.quants.dequantize(gguf.quants.quantize(random((4, 64)), Kind.Q8_0), Kind.Q8_0)
                         .astype(np.float16))  # fmt: skip

    def test_a_recipe_mixes_types(self):
        save_model(self.input, {"a.weight": random((4, 64)), "b.weight": random((4, 64), 2), "c.weight": random((4, 64), 3)})
        (self.dir / "r.json").write_text('{"default": {"dtype": "q4_0"}, "rules": [{"match": "b*", "dtype": "q8_0"},'
                                         '{"match": "c*", "dtype": "keep"}]}')  # fmt: skip
        self.succeed("quantize", self.input, "-o", self.output, "--recipe", self.dir / "r.json")
        kinds = {name: each[0] for name, each in self.read(self.output)[1].items()}
        self.assertEqual(kinds, {"a.weight": Kind.Q4_0, "b.weight": Kind.Q8_0, "c.weight": Kind.F32})

    def test_codes_go_there_and_back(self):
        source, codes = self.dir / "in.gguf", self.dir / "codes.safetensors"
        self.write_gguf(source, {"a": (random((8, 96)), Kind.Q8_0), "b": (random((3, 5, 64), 2), Kind.Q4_0),
                                 "c": (random((4096, 1024), 3), Kind.Q4_0), "d": (random((2, 3), 4), None)})  # fmt: skip
        self.succeed("convert", source, "-o", codes, warned="negative")
        self.succeed("convert", codes, "-o", self.output, "--metadata", source, warned="negative")
        _, before = self.read(source)
        reader, after = self.read(self.output)
        self.assertEqual(set(before), set(after))
        for name, (kind, shape, data) in before.items():
            self.assertEqual(after[name][:2], (kind, shape))
            self.assert_same(after[name][2], data)
        self.assertEqual(self.fields(reader)["tokenizer.ggml.tokens"][1], "a")
        self.succeed("convert", codes, "-o", self.dir / "codes.onnx", warned="negative")
        self.succeed("convert", self.dir / "codes.onnx", "-o", self.output, "--force", warned="negative")
        self.assert_same(self.read(self.output)[1]["b"][2], before["b"][2])

    def test_blocks_that_are_there_already_stay(self):
        source = self.dir / "in.gguf"
        self.write_gguf(source, {"a": (random((8, 96)), Kind.Q8_0), "b": (random((8, 64), 2), None),
                                 "c": (random((8, 64), 3), Kind.Q4_1)})  # fmt: skip
        self.succeed("quantize", source, "-o", self.output, "--dtype", "q4_0")
        tensors = self.read(self.output)[1]
        self.assertEqual({name: each[0] for name, each in tensors.items()}, {"a": Kind.Q8_0, "b": Kind.Q4_0, "c": Kind.Q4_0})
        self.assert_same(tensors["a"][2], self.read(source)[1]["a"][2])

    def test_names_of_types_are_those_of_ggml(self):
        save_model(self.input, {"a": random((4, 64))})
        plan = self.succeed("quantize", self.input, "--dry-run", "--dtype", "Q4_0")
        self.assertRegex(plan, r"a +\[4, 64\] +F32 +q4_0 in blocks of 32 +1024 +144")
        self.assertNotIn("--block-size", plan)
        verbose = self.succeed("quantize", self.input, "-o", self.output, "--dtype", "q4_0", "--verbose")
        self.assertIn("quantized 1 of 1 tensors to q4_0", verbose)

    def test_what_cannot_be_is_refused(self):
        save_model(self.input, {"a": random((4, 64)), "b": random((4, 33))})
        for options, message, code in (
            (["--dtype", "q8_0"], "b (F32 [4, 33]): its rows are no whole number of blocks of 32", 1),
            (["--dtype", "i8"], "out.gguf: a .gguf file has ggml's blocks, as q8_0 or q4_0, and no i8", 2),
            (["--dtype", "q4_1", "--asymmetric"], "take no --asymmetric, --scale-rule or --clip", 2),
            (["--dtype", "q4_1", "--scale-rule", "minmax"], "q4_1: its blocks have the scales of ggml's", 2),
            (["--dtype", "q8_0", "--clip", "0.5"], "take no --asymmetric, --scale-rule or --clip", 2),
            (["--dtype", "q8_0", "--block-size", "2x32"], "q8_0: its blocks are of one row", 2),
            (["--dtype", "q8_0", "--block-size", "64"], "q8_0 has blocks of 32", 2),
            (["--dtype", "q8_0", "--per-tensor"], "q8_0 has blocks of 32", 2),
            (["--dtype", "q8_0", "--exclude", "b", "--metadata", self.input], "in.safetensors: not a GGUF file", 1),
        ):
            with self.subTest(message=message):
                self.fail_with(message, "quantize", self.input, "-o", self.output, *options, code=code)
        other = self.dir / "x.safetensors"
        self.fail_with("x.safetensors: q8_0 is of .gguf files alone", "quantize", self.input, "-o", other, "--dtype", "q8_0",
                       "--exclude", "b", code=2)  # fmt: skip
        self.fail_with("--metadata is of an output that is a .gguf file", "quantize", self.input, "-o", other, "--metadata",
                       self.input, code=2)  # fmt: skip
        save_model(self.input, {"a": np.array([[np.nan] * 32], np.float32)})
        self.fail_with("holds NaN or infinite values", "quantize", self.input, "-o", self.output, "--dtype", "q5_0")
        for name, largest in (("q8_0", 65520 * 127), ("q4_0", -65520 * 8), ("q4_1", 3e38), ("q5_1", -65520),
                              ("iq4_nl", -65520 * 127), ("iq4_nl", 3e20)):  # sums that overflow have NaN
            x = np.zeros((1, 32), np.float32)
            x[0, 3], x[0, 4] = largest, -largest if name == "q4_1" else 0
            save_model(self.input, {"a": x})
            message = "in.safetensors: a (F32 [1, 32]): its values need a scale or a minimum beyond F16's"
            self.fail_with(message, "quantize", self.input, "-o", self.output, "--dtype", name)

    def test_tensors_that_ggml_has_not_are_refused(self):
        for message, tensors in {
            "c is of type U8, which ggml has not": {"c": np.zeros(3, np.uint8)},
            "ggml has names of at most 63 bytes, and 4 dimensions": {"c" * 64: random(3)},
            "c [1, 1, 1, 1, 2]: ggml has names": {"c": random((1, 1, 1, 1, 2)).astype(np.float16)},
        }.items():
            with self.subTest(message=message):
                save_model(self.input, {"a": random((4, 64))} | tensors)
                self.fail_with(message, "quantize", self.input, "-o", self.output, "--dtype", "q8_0", "--exclude", "c*")
        for parts in ({"a_scale": np.ones((4, 2), np.float32)}, {"a_scale": np.ones((4, 1), np.float16)},
                      {"a_scale": np.ones((4, 2), np.float16), "a_zero_point": np.ones((4, 2), np.int8)}):  # fmt: skip
            save_model(self.input, {"a": np.ones((4, 64), np.int8)} | parts)
            self.fail_with("a: of codes ggml has those of 8 and 4 bits in blocks of 32", "convert", self.input, "-o", self.output)

    def test_names_that_would_make_tensors_parts_of_others_are_refused(self):
        for dtype, names in (("q8_0", ("a", "a_scale")), ("q8_0", ("a", "a_zero_point")), ("q4_0", ("a", "a_shape")),
                             ("q4_0", ("a", "a_g_idx")), ("q4_0", ("a", "a_packed"))):  # fmt: skip
            with self.subTest(names=names):
                save_model(self.input, {name: random((2, 32)) for name in names})
                self.fail_with("out.gguf: ", "quantize", self.input, "-o", self.output, "--dtype", dtype, "--exclude", "a_*")
                self.succeed("quantize", self.input, "-o", self.output, "--dtype", "q4_1", "--force")
                self.succeed("inspect", self.output)
                self.output.unlink()

    def test_scales_are_rounded_to_f16_as_numpy_does(self):
        bits = np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
        halves = (bits[:-1] + bits[1:]) / 2  # ties
        scales = np.concatenate([bits, halves, np.nextafter(halves, np.float32(0)), np.nextafter(halves, np.float32(1e9))])
        scales = scales[scales < 65520].astype(np.float32)
        blocks = np.zeros((len(scales), 32), np.float32)
        blocks[:, 0] = scales * -8  # exact
        save_model(self.input, {"a": blocks})
        self.succeed("quantize", self.input, "-o", self.output, "--dtype", "q4_0")
        with np.errstate(all="ignore"):
            self.assert_same(self.read(self.output)[1]["a"][2][:, :2].copy().view(np.float16).ravel(), scales.astype(np.float16))

    def test_a_folder_becomes_no_gguf_file(self):
        save_folder(self.dir / "model", [{"a.weight": random((4, 64))}])
        before = content(self.dir / "model")
        for command in (["quantize", "--dtype", "q8_0"], ["dequantize"], ["convert"]):
            self.fail_with("out.gguf: a model's folder becomes a folder, and no GGUF file", *command, self.dir / "model", "-o",
                           self.output, code=2)  # fmt: skip
        self.fail_with("q8_0 is of .gguf files alone", "quantize", self.dir / "model", "-o", self.dir / "out", "--dtype", "q8_0",
                       code=2)  # fmt: skip
        self.assertEqual(content(self.dir / "model"), before)

    def test_tensors_without_elements(self):
        save_model(self.input, {"a": random((4, 64)), "b": np.zeros((0, 32), np.float32), "c": np.float32([]).reshape(0)})
        self.succeed("quantize", self.input, "-o", self.output, "--dtype", "q4_0")
        self.succeed("inspect", self.output)
        self.succeed("compare", self.input, self.output)


if __name__ == "__main__":
    unittest.main()

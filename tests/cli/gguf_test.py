"""GGUF files, as gguf's own writer makes them, against its own dequantize."""

import json
import struct
import unittest

import gguf
import ml_dtypes
import numpy as np
from gguf import GGMLQuantizationType

from support import CliTest, load_model, random

Q8_0, Q4_0 = GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_0
OTHER_BLOCKS = [GGMLQuantizationType[name] for name in ("Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
                                                        "IQ4_NL", "MXFP4")]  # fmt: skip


def value(text):
    return struct.pack("<Q", len(text)) + text


def info(name, shape, kind, offset):
    return value(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


def file_of(infos, data=b"", version=3, tensors=None, values=b"", value_count=0):
    head = b"GGUF" + struct.pack("<IQQ", version, len(infos) if tensors is None else tensors, value_count)
    head += values + b"".join(infos)
    return head + bytes(-len(head) % 32) + data


class Gguf(CliTest):
    def setUp(self):
        super().setUp()
        self.input, self.output = self.dir / "in.gguf", self.dir / "out.safetensors"

    def write(self, tensors, version=3, **values):
        writer = gguf.GGUFWriter(self.input, "llama")
        writer.add_array("tokens", ["a", "bc", ""])
        writer.add_array("numbers", [1, 2, 3])
        for key, each in values.items():
            writer.add_custom_alignment(each)
        expected = {}
        for name, (array, kind) in tensors.items():
            if kind is None:
                writer.add_tensor(name, array)
            else:
                codes = gguf.quants.quantize(array, kind)
                writer.add_tensor(name, codes, raw_dtype=kind)
                expected[name] = gguf.quants.dequantize(codes, kind).reshape(array.shape)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return expected

    def test_values_are_those_of_ggufs_own_dequantize(self):
        expected = self.write({"a.weight": (random((8, 96)) * 5, Q8_0), "b.weight": (random((3, 5, 64), 2), Q4_0),
                               "c": (random((4096, 64), 3), Q4_0), "d": (np.zeros((2, 32), np.float32), Q4_0),
                               "e": (random((2, 3), 4), None), "f": (random(5, 5).astype(np.float16), None)})  # fmt: skip
        self.succeed("dequantize", self.input, "-o", self.output)
        restored = load_model(self.output)
        self.assertEqual(set(restored), {"a.weight", "b.weight", "c", "d", "e", "f"})
        for name, values in expected.items():
            with self.subTest(name=name):
                self.assert_same(restored[name], values)
        self.assert_same(restored["e"], random((2, 3), 4))
        self.assert_same(restored["f"], random(5, 5).astype(np.float16))

    def test_bf16_is_rounded_from_these_values(self):
        expected = self.write({"a.weight": (random((8, 96)), Q8_0)})
        self.succeed("dequantize", self.input, "-o", self.output, "--dtype", "bf16")
        self.assert_same(load_model(self.output)["a.weight"], expected["a.weight"].astype(ml_dtypes.bfloat16))

    def test_inspect_and_compare_read_it(self):
        self.write({"a.weight": (random((8, 96)), Q8_0), "b": (random((8, 64)), Q4_0)})
        output = self.succeed("inspect", self.input)
        self.assertIn("a.weight", output)
        self.assertIn("[8, 64]", output)
        self.assertIn("I4", output)
        self.succeed("dequantize", self.input, "-o", self.output)
        self.succeed("compare", self.input, self.output)

    def test_another_alignment(self):
        expected = self.write({"a": (random((1, 32)), Q8_0), "b": (random((1, 32), 2), Q4_0)}, alignment=128)
        self.succeed("dequantize", self.input, "-o", self.output)
        self.assert_same(load_model(self.output)["b"], expected["b"])

    def test_many_tensors_without_elements_lie_where_the_next_one_does(self):
        tensors = {f"{i:02}": (random((1, 32), i), Q8_0) if i % 2 else (np.empty((0, 32), np.float32), None)
                   for i in range(60)}  # fmt: skip
        expected = self.write(tensors)
        self.succeed("dequantize", self.input, "-o", self.output)
        restored = load_model(self.output)
        for name, (array, _) in tensors.items():
            self.assert_same(restored[name], expected.get(name, array))

    def test_metadata_of_every_type_are_passed_over(self):
        writer = gguf.GGUFWriter(self.input, "llama")
        for kind in ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "uint64", "int64",
                     "float64"):  # fmt: skip
            getattr(writer, f"add_{kind}")(kind, 1)
        writer.add_array("truths", [True, False, True])
        writer.add_array("lists", [[1, 2], [3]])
        writer.add_tensor("e", random((2, 3)))
        writer.add_tensor("q", gguf.quants.quantize(random((2, 32)), Q8_0), raw_dtype=Q8_0)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        self.succeed("dequantize", self.input, "-o", self.output)
        self.assert_same(load_model(self.output)["e"], random((2, 3)))

    def described(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json"))

    def block_bytes(self, kind, count):
        """Blocks of random bytes, some of which have scales of 0, infinity, NaN, the least and the largest."""
        size = gguf.GGML_QUANT_SIZES[kind][1]
        blocks = np.random.default_rng(kind).integers(0, 256, (count, size), np.uint8)
        special = np.array([0, 0x8000, 1, 0x03FF, 0x7BFF, 0x7C00, 0xFC00, 0x7E00], np.uint16).view(np.uint8).reshape(-1, 2)
        for at in [*range(0, 4, 2), *range(size - 4, size, 2)]:  # where a type has its scales
            chosen = np.random.default_rng(at).permutation(count)[: 4 * len(special)]
            blocks[chosen, at : at + 2] = np.tile(special, (4, 1))
        blocks[:3, 0] = 0, 1, 255  # a power of two, of MXFP4
        return blocks

    def test_values_of_blocks_without_one_scale_are_ggufs_own(self):
        expected = {}
        writer = gguf.GGUFWriter(self.input, "llama")
        for kind in OTHER_BLOCKS:
            elements, size = gguf.GGML_QUANT_SIZES[kind]
            rows = self.block_bytes(kind, 5000).reshape(1000, 5 * size)  # more than are read at once
            writer.add_tensor(kind.name, rows, raw_dtype=kind)
            with np.errstate(all="ignore"):
                expected[kind.name] = gguf.quants.dequantize(rows, kind)
            self.assertEqual(expected[kind.name].shape, (1000, 5 * elements))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        self.succeed("dequantize", self.input, "-o", self.output)
        restored = load_model(self.output)
        for name, values in expected.items():
            with self.subTest(name=name):
                self.assertLess(np.isnan(values).mean(), 0.5)
                nan = np.isnan(values)  # of which no bit but the kind is gguf's to say
                np.testing.assert_array_equal(np.isnan(restored[name]), nan)
                self.assert_same(np.where(nan, np.float32(0), restored[name]), np.where(nan, np.float32(0), values))
        self.succeed("dequantize", self.input, "-o", self.dir / "b.safetensors", "--dtype", "bf16")
        rounded = load_model(self.dir / "b.safetensors")
        for name, values in expected.items():
            with self.subTest(name=name), np.errstate(all="ignore"):
                nan = np.isnan(values)
                self.assert_same(np.where(nan, 0, rounded[name]), np.where(nan, 0, values.astype(ml_dtypes.bfloat16)))
        self.succeed("compare", self.input, self.output)
        described = {each["name"]: each for each in self.described("inspect", self.input)["tensors"]}
        for kind in OTHER_BLOCKS:
            self.assertEqual((described[kind.name]["dtype"], described[kind.name]["bytes"]),
                             (kind.name, 5000 * gguf.GGML_QUANT_SIZES[kind][1]))  # fmt: skip

    def test_they_are_quantized_as_f32(self):
        rows = gguf.quants.quantize(random((64, 256)), GGMLQuantizationType.Q5_1)
        writer = gguf.GGUFWriter(self.input, "llama")
        writer.add_tensor("a", rows, raw_dtype=GGMLQuantizationType.Q5_1)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        plain = self.dir / "plain.safetensors"
        self.fail_with("`qdq dequantize` restores them", "convert", self.input, "-o", self.output)
        self.succeed("dequantize", self.input, "-o", plain)
        self.succeed("quantize", plain, "-o", self.dir / "a.safetensors", "--dtype", "i8")
        plan = self.described("quantize", self.input, "-o", self.dir / "b.safetensors", "--dtype", "i8")
        self.assertEqual((plan["tensors"][0]["dtype"], plan["tensors"][0]["bytes_before"]), ("Q5_1", 64 * 8 * 24))
        codes, others = load_model(self.dir / "a.safetensors"), load_model(self.dir / "b.safetensors")
        for name in ("a", "a_scale"):
            self.assert_same(others[name], codes[name])

    def test_a_zero_point_that_fits_none_is_refused_before_it_is_copied(self):
        self.write({"a": (random((8, 64)), Q8_0), "a_zero_point": (random((1,)), None), "b": (random((4, 64)), None)})
        for command in ("inspect", "convert", "quantize", "dequantize"):
            output = [] if command == "inspect" else ["-o", self.output]
            self.fail_with("in.gguf: a (I8 [8, 64]): its zero point is F32 [1]", command, self.input, *output)

    def test_types_that_are_not_read_are_named(self):
        readable = np.arange(2, dtype=np.float32)
        self.input.write_bytes(file_of([info(b"a", [256], 19, 0), info(b"b", [512], 16, 64), info(b"c", [3], 99, 256),
                                        info(b"d", [2], 0, 288)], bytes(288) + readable.tobytes()))  # fmt: skip
        tensors = {each["name"]: each for each in self.described("inspect", self.input)["tensors"]}
        self.assertEqual([(name, each["dtype"], each["shape"], each["bytes"]) for name, each in tensors.items()],
                         [("a", "IQ1_S", [256], 50), ("b", "IQ2_XXS", [512], 132), ("c", "type 99", [3], 0),
                          ("d", "F32", [2], 8)])  # fmt: skip
        self.assertNotIn("min", tensors["a"])
        self.assertEqual([each.get("unsupported", False) for each in tensors.values()], [True, True, True, False])
        self.assertEqual((tensors["d"]["min"], tensors["d"]["max"]), (0, 1))
        self.assertIn("IQ2_XXS (unsupported)", self.succeed("inspect", self.input))
        named = "not supported: a (IQ1_S), b (IQ2_XXS), c (type 99); `qdq inspect` lists all"
        self.fail_with(named, "dequantize", self.input, "-o", self.output)
        self.fail_with(named, "quantize", self.input, "-o", self.output, "--dtype", "i8")
        self.fail_with(named, "convert", self.input, "-o", self.output)
        self.fail_with(named, "compare", self.input, self.input)
        self.assertFalse(self.output.exists())
        self.input.write_bytes(file_of([info(b"%d" % i, [1], 99, 0) for i in range(8)]))
        self.fail_with("4 (type 99) and 3 more", "dequantize", self.input, "-o", self.output)

    def test_every_truncation_is_refused(self):
        self.write({"a.weight": (random((1, 32)), Q8_0)})
        whole = self.input.read_bytes()
        for length in range(len(whole) - 30):  # the writer pads the end
            self.input.write_bytes(whole[:length])
            self.fail_with("in.gguf: ", "dequantize", self.input, "-o", self.output)

    def test_malformed_files_are_refused(self):
        good = info(b"a", [32], 8, 0)
        big = 2**64 - 1
        for message, raw in {
            "not a GGUF file": b"GGML" + bytes(100),
            "version 1 is not supported": file_of([], version=1),
            "big-endian": file_of([], version=3 << 24),
            "truncated": file_of([good], tensors=big),
            "at 32, end after": file_of([info(b"a", [32], 8, 32)], bytes(34)),
            "end after the file's 33": file_of([good], bytes(33)),
            "multiple of 32": file_of([info(b"a", [32], 8, 8)], bytes(64)),
            "overlap another": file_of([good, info(b"b", [32], 8, 0)], bytes(64)),
            "two tensors are named a": file_of([good, info(b"a", [32], 8, 64)], bytes(128)),
            "blocks of 32": file_of([info(b"a", [33], 8, 0)], bytes(64)),
            "too large": file_of([info(b"a", [2**62, 32], 8, 0)], bytes(64)),
            "a has 65 dimensions": file_of([info(b"a", [1] * 65, 0, 0)], bytes(64)),
            f"{2**62} bytes at byte": file_of([], values=struct.pack("<Q", 2**62), value_count=1),  # of a name
            "a dimension of": file_of([info(b"a", [big], 0, 0)], bytes(64)),
            "not valid UTF-8": file_of([info(b"\xff", [1], 0, 0)], bytes(64)),
            "more than the file has": file_of([], values=value(b"k") + struct.pack("<IIQ", 9, 10, big), value_count=1),
            "more than its": file_of([], values=value(b"k") + struct.pack("<IQ", 8, big), value_count=1),
            "of type 13, which there is not": file_of([], values=value(b"k") + struct.pack("<I", 13), value_count=1),
            "too many arrays": file_of([], values=value(b"k") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 99,
                                       value_count=1),
            "alignment is 0": file_of([], values=value(b"general.alignment") + struct.pack("<II", 4, 0), value_count=1),
        }.items():  # fmt: skip
            with self.subTest(message=message):
                self.input.write_bytes(raw)
                self.fail_with(message, "dequantize", self.input, "-o", self.output)


if __name__ == "__main__":
    unittest.main()

import json
import os
import random as random_numbers
import struct
import unittest

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from support import CliTest, entry, random, run, safetensors_bytes

GOOD = entry("F32", [2, 2], 0, 16)


class Corrupt(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"

    def refuse(self, message, raw):
        """Every command refuses the file."""
        self.input.write_bytes(raw)
        output = self.dir / "out.safetensors"
        self.fail_with(message, "quantize", self.input, "-o", output)
        self.fail_with(message, "dequantize", self.input, "-o", output)
        self.fail_with(message, "compare", self.input, self.input)

    def refuse_header(self, message, header, data=bytes(16)):
        self.refuse("in.safetensors: ", safetensors_bytes(header, data))
        self.fail_with(message, "quantize", self.input, "-o", self.dir / "out.safetensors")

    def refuse_entry(self, message, **changes):
        self.refuse_header(message, {"x": {**GOOD, **changes}})

    def test_the_base_of_these_tests_is_accepted(self):
        self.input.write_bytes(safetensors_bytes({"x": GOOD}, bytes(16)))
        self.succeed("quantize", self.input, "-o", self.dir / "out.safetensors")
        self.assertEqual(load_file(self.dir / "out.safetensors")["x"].shape, (2, 2))

    def test_missing_file(self):
        self.fail_with("none.safetensors: cannot open: No such file", "quantize", self.dir / "none.safetensors",
                       "-o", self.dir / "out")

    def test_not_a_file(self):
        os.mkfifo(self.dir / "fifo")
        self.fail_with("neither model.safetensors.index.json nor model.safetensors", "quantize", self.dir, "-o", self.dir / "out")
        self.fail_with("not a regular file", "quantize", self.dir / "fifo", "-o", self.dir / "out", timeout=20)

    def test_every_truncation(self):
        save_file({"x": random((2, 3)), "ids": np.arange(2)}, self.input, {"format": "pt"})
        whole = self.input.read_bytes()
        for length in range(len(whole)):
            self.input.write_bytes(whole[:length])
            self.fail_with("in.safetensors: ", "quantize", self.input, "-o", self.dir / "out.safetensors")

    def test_short_files(self):
        for length in range(8):
            self.refuse(f"not a safetensors file: it has only {length} bytes", bytes(length))

    def test_other_files(self):
        for raw in (b"PK\x03\x04" + os.urandom(96), b"GGUF" + bytes(100), b"x" * 100, b"\x7fELF" + bytes(60)):
            self.refuse("in.safetensors: ", raw)
        self.refuse("not a safetensors file: its header is not a JSON object", safetensors_bytes("[]"))
        self.refuse("not a safetensors file: its header is not a JSON object", safetensors_bytes(""))
        self.refuse("not a safetensors file: its header is not a JSON object", safetensors_bytes(' {"x": 1}'))

    def test_header_length(self):
        for length in (3, 2**20, 100_000_000):
            self.refuse(f"the header is truncated: it should have {length} bytes, the file has 2",
                        struct.pack("<Q", length) + b"{}")
        for length in (100_000_001, 2**32, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1):
            self.refuse(f"its header would have {length} bytes", struct.pack("<Q", length) + b"{}")

    def test_invalid_json(self):
        for header in ("{", "{}}", "{]", '{"x"}', '{"x":}', "{'x': 1}", '{"x": nul}', '{"__metadata__": {},}',
                       b'{"\xff": 1}', b'{"x": "\xc3"}', "{\0}", '{"x": "\\ud800"}', "{" * 1000, '{"x":' * 19, '{"a": 1e999}'):
            with self.subTest(header=header[:20]):
                self.refuse_header("the header is not valid JSON", header)

    def test_deep_nesting(self):
        """Of a list in an entry, which is at the third level."""
        depth = 18
        self.refuse_header('the entry of x has no "dtype"', '{"x": ' + "[" * depth + "]" * depth + "}")
        self.refuse_header("the type of x is unknown", '{"x": {"dtype": ' + "[" * depth + "]" * depth + "}}")
        self.refuse_header('has no "dtype"', '{"x": ' + '{"a":' * depth + "1" + "}" * depth + "}")
        for depth in (20, 200000):
            for text in ("[" * depth + "]" * depth, "[" * depth, '{"a":' * depth + "1" + "}" * depth):
                self.refuse_header("the header has more than 20 levels of lists and objects", '{"x": ' + text + "}")

    def test_duplicate_names(self):
        good = json.dumps(GOOD)
        self.refuse_header("two tensors are named x", f'{{"x": {good}, "x": {good}}}')
        self.refuse_header("two tensors are named x", f'{{"x": {good}, "\\u0078": {good}}}')
        self.refuse_header('the entry of x has two "dtype"', f'{{"x": {good[:-1]}, "dtype": "F32"}}}}')
        self.refuse_header("has two __metadata__", f'{{"__metadata__": {{}}, "x": {good}, "__metadata__": {{}}}}')
        self.refuse_header("names a twice", f'{{"__metadata__": {{"a": "b", "a": "b"}}, "x": {good}}}')

    def test_metadata(self):
        for metadata in (3, "x", ["a"], None, {"a": 1}, {"a": None}, {"a": {"b": "c"}}):
            self.refuse_header("__metadata__ is not a map from strings to strings",
                               {"__metadata__": metadata, "x": GOOD})

    def test_entries(self):
        for value in (None, 3, "x", [], [1, 2], {}):
            self.refuse_header('the entry of x has no "dtype"', {"x": value})
        for key in GOOD:
            partial = {k: v for k, v in GOOD.items() if k != key}
            self.refuse_header(f'the entry of x has no "{key}"', {"x": partial})

    def test_types(self):
        for dtype in ("F33", "f32", "", None, 3, ["F32"], {"F32": 1}):
            self.refuse_entry("the type of x is unknown", dtype=dtype)

    def test_shapes(self):
        for shape in (None, 4, "4", {}, [2, -2], [2.0, 2], ["2", 2], [2, None], [[2], 2], [2, True], [2**64, 1],
                      [2**63, 1], [-(2**63), 1]):
            self.refuse_entry('"shape" of x is not a list of natural numbers', shape=shape)
        for shape in ([2**62, 2**62], [2**61, 4], [2**59, 1], [2**32] * 8):
            self.refuse_entry("is too large", shape=shape)
        for shape in ([2, 3], [], [1], [4, 0], [2**40, 1]):
            self.refuse_entry("x has 16 bytes, but its shape", shape=shape)

    def test_empty_tensors_of_huge_shapes(self):
        """Nothing is multiplied that need not be; what the library then says of them is its matter."""
        output = self.dir / "out.safetensors"
        for shape in ([0, 2**62, 2**62], [2**62, 0, 2**62], [2**62, 2**62, 0], [2**63 - 1, 0]):
            for header in ({"x": entry("F32", shape, 0, 0), "y": entry("F32", [1, 1], 0, 4)},
                           {"x": entry("I8", shape, 0, 0), "x_scale": entry("F32", [1], 0, 4)},
                           {"x": entry("I8", shape, 0, 0), "x_scale": entry("F32", [1] * len(shape), 0, 4)}):
                self.input.write_bytes(safetensors_bytes(header, bytes(4)))
                for command in (("quantize", self.input, "-o", output), ("dequantize", self.input, "-o", output),
                                ("compare", self.input, self.input)):
                    self.assertIn(run(*command).returncode, (0, 1))

    def test_dimensions(self):
        self.refuse_header('more than 64 values in the "shape" of x',
                           {"x": entry("F32", [1] * 65, 0, 4)}, bytes(4))
        self.input.write_bytes(safetensors_bytes({"x": entry("F32", [1] * 64, 0, 4)}, bytes(4)))
        self.fail_with("rank 64 is not in 0..8", "quantize", self.input, "-o", self.dir / "out.safetensors")

    def test_offsets(self):
        for offsets in (None, 16, "0", {}, [0, "16"], [-16, 0], [0, 16.0], [0, 2**64], [None, 16]):
            self.refuse_entry('"data_offsets" of x is not a list of natural numbers', data_offsets=offsets)
        for offsets in ([], [16], [0, 8, 16], [16, 0]):
            self.refuse_entry("not a begin and an end", data_offsets=offsets)
        for offsets in ([0, 15], [0, 17], [0, 0], [0, 2**62]):
            self.refuse_entry(f"x has {offsets[1]} bytes, but its shape [2, 2] of F32 takes 16", data_offsets=offsets)
        self.refuse_entry("the data of x leaves a gap before it", data_offsets=[4, 20])
        self.refuse_entry("the data of x leaves a gap before it", data_offsets=[2**62, 2**62 + 16])

    def test_data(self):
        self.refuse_header("the data of x ends at byte 16, out of the file's 15", {"x": GOOD}, bytes(15))
        self.refuse_header("the data of x ends at byte 16, out of the file's 0", {"x": GOOD}, b"")
        self.refuse_header("1 bytes at the end belong to no tensor", {"x": GOOD}, bytes(17))
        self.refuse_header("8 bytes at the end belong to no tensor", {}, bytes(8))

    def test_overlaps(self):
        for begin in (0, 4, 12):
            self.refuse_header("overlaps another tensor", {"x": GOOD, "y": entry("F32", [2, 2], begin, begin + 16)},
                               bytes(begin + 16))
        self.refuse_header("overlaps another tensor", {"x": GOOD, "y": entry("I8", [2], 4, 6)})
        self.refuse_header("overlaps another tensor", {"x": GOOD, "y": entry("I8", [0], 4, 4)})
        self.refuse_header("leaves a gap before it", {"x": GOOD, "y": entry("I8", [1], 17, 18)}, bytes(18))

    def test_escapes_names_in_messages(self):
        self.input.write_bytes(safetensors_bytes({"\x1b[31m\n": {}}))
        self.fail_with("the entry of \\x1b[31m\\x0a has", "quantize", self.input, "-o", self.dir / "out")

    def test_random_damage_never_crashes(self):
        """What both the reference reader and qdq accept, qdq reads as the same shapes; nothing ends by a signal."""
        save_file({"x": random((2, 3)), "y.weight": random((4, 1)), "ids": np.arange(2)}, self.input, {"format": "pt"})
        whole = self.input.read_bytes()
        header_end = 8 + struct.unpack("<Q", whole[:8])[0]
        output = self.dir / "out.safetensors"
        numbers = random_numbers.Random(7)
        accepted = 0
        for _ in range(400):
            raw = bytearray(whole)
            for _ in range(numbers.choice((1, 1, 1, 2, 5))):
                raw[numbers.randrange(header_end)] = numbers.choice(b'{}[]:,"0192FIx \\\x00\xff')
            self.input.write_bytes(raw)
            result = run("quantize", self.input, "-o", output)
            self.assertIn(result.returncode, (0, 1), bytes(raw))
            self.assertEqual(output.exists(), result.returncode == 0)
            if result.returncode == 0:
                accepted += 1
                try:
                    reference = load_file(self.input)
                except (SafetensorError, KeyError):
                    self.fail(f"the reference reader refuses {bytes(raw)}")
                for name, tensor in reference.items():
                    self.assertEqual(load_file(output)[name].shape, tensor.shape)
                output.unlink()
        self.assertGreater(accepted, 10)


if __name__ == "__main__":
    unittest.main()

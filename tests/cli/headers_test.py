"""Files with very many tensors, and headers made to be slow: time and memory in proportion to the header."""

import json
import os
import signal
import time
import unittest

from support import CliTest, entry, proceed, processor_time, safetensors_bytes, start, stop_when, usage

SANITIZED = bool(os.environ.get("QDQ_SANITIZE"))
EMPTY_RUN = 16 << 20  # the bytes that a run with one small tensor holds


def many_tensors(count, dtype="F32", size=4):
    header = {f"layers.{i:06}.weight": entry(dtype, [1, 1], i * size, i * size + size) for i in range(count)}
    return safetensors_bytes(header, bytes(size * count))


class Headers(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"
        self.codes = self.dir / "codes.safetensors"
        self.output = self.dir / "out.safetensors"

    def commands(self):
        yield "quantize", self.input, "-o", self.codes, "--force"
        yield "dequantize", self.codes, "-o", self.output, "--force"
        yield "compare", self.input, self.codes
        yield "compare", self.input, self.codes, "--json"

    def test_time_and_memory_grow_with_the_number_of_tensors(self):
        """Eight times the tensors took 64 times the time when it was quadratic, and 80 times the header in memory."""
        seconds = {}
        for count in (2000, 16000):
            self.input.write_bytes(many_tensors(count))
            for command in self.commands():
                status, memory, seconds[command, count] = usage(*command)
                self.assertEqual(status, 0)
                header = max(path.stat().st_size for path in (self.input, self.codes))
                if not SANITIZED:
                    self.assertLess(memory, EMPTY_RUN + 16 * header, command)
        for command in self.commands():
            self.assertLess(seconds[command, 16000], 24 * max(seconds[command, 2000], 0.02), command)

    def hostile_headers(self):
        size = 2_000_000
        good = json.dumps(entry("F32", [1, 1], 0, 4))[1:-1]
        yield "dimensions", '{"x": {"dtype": "F32", "shape": [' + "1," * size + '1], "data_offsets": [0, 4]}}'
        yield "offsets", '{"x": {"dtype": "F32", "shape": [1, 1], "data_offsets": [' + "0," * size + '4]}}'
        yield "a list", '{"x": {' + good + ', "more": [' + "1," * size + "1]}}"
        yield "lists", '{"x": {' + good + ', "more": [' + "[]," * 60 + "[" * size + "]" * size + "]}}"
        yield "entries", '{"x": [' + "{}," * size + "{}]}"
        yield "depth", '{"x": ' + "[" * size + "]" * size + "}"
        yield "objects", '{"x": ' + '{"a":' * (size // 2) + "1" + "}" * (size // 2) + "}"
        yield "fields", '{"x": {' + '"a":1,' * size + '"b":1}}'
        yield "a name", '{"' + "n" * size + '": {}}'
        yield "a type", '{"x": {"dtype": "' + "t" * size + '", "shape": [1, 1], "data_offsets": [0, 4]}}'
        yield "metadata", '{"__metadata__": {"a": [' + '"b",' * size + '"c"]}, "x": {' + good + "}}"
        records = ('{"x": ' + "[" * size + "]" * size + "}", '{"x": {"a": [' + "1," * size + "1]}}", "[" * size)
        for text in records:
            yield "records", json.dumps({"__metadata__": {"qdq": text}, "x": entry("F32", [1, 1], 0, 4)})

    def test_hostile_headers_are_refused_briefly(self):
        for name, header in self.hostile_headers():
            with self.subTest(name=name):
                self.input.write_bytes(safetensors_bytes(header, bytes(4)))
                status, memory, _ = usage("compare", self.input, self.input)
                if not SANITIZED:
                    self.assertLess(memory, EMPTY_RUN + 8 * len(header))
                if status:
                    process = start("compare", self.input, self.input)
                    error = process.communicate()[1]
                    self.assertEqual(process.returncode, 1)
                    self.assertLess(len(error), 500)

    def test_many_metadata(self):
        self.input.write_bytes(safetensors_bytes({"__metadata__": {f"{i:06}": "" for i in range(200000)},
                                                  "x": entry("F32", [1, 1], 0, 4)}, bytes(4)))  # fmt: skip
        status, memory, _ = usage("quantize", self.input, "-o", self.codes)
        self.assertEqual(status, 0)
        if not SANITIZED:
            self.assertLess(memory, EMPTY_RUN + 16 * self.input.stat().st_size)

    def test_refuses_to_write_a_header_that_none_would_read(self):
        self.input.write_bytes(safetensors_bytes({"n" * 34_000_000: entry("F32", [1, 1], 0, 4)}, bytes(4)))
        self.fail_with("more than the limit of 100000000", "quantize", self.input, "-o", self.output)

    def test_signals_are_heard_while_a_header_is_read(self):
        self.input.write_bytes(many_tensors(100000, "I64", 8))
        _, _, whole = usage("compare", self.input, self.input)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = start("compare", self.input, self.input)
            stop_when(process, lambda: processor_time(process) > 0.1 * whole)
            process.send_signal(number)
            before = time.process_time(), os.times().children_user + os.times().children_system
            self.assertEqual(proceed(process), (-number, "", ""))
            used = os.times().children_user + os.times().children_system - before[1]
            self.assertLess(used, 0.5 * whole)


if __name__ == "__main__":
    unittest.main()

"""ONNX models of a few MB that are made to be slow: time and memory in proportion to the file, and signals are heard."""

import os
import resource
import signal
import unittest

from onnx_test import message, number
from support import CliTest, proceed, processor_time, start, stop_when, usage

SANITIZED = bool(os.environ.get("QDQ_SANITIZE"))
EMPTY_RUN = 16 << 20  # the bytes that a run with one small tensor holds
F32, I8 = 1, 3


def tensor(name, dtype=F32, dims=(), raw=b"", more=b""):
    shape = b"".join(number(1, extent) for extent in dims)
    return message(5, shape + number(2, dtype) + message(8, name) + message(9, raw) + more)


def node(operator, inputs, outputs, more=b""):
    names = b"".join(message(1, name) for name in inputs) + b"".join(message(2, name) for name in outputs)
    return message(1, names + message(4, operator) + more)


def model(*of_graph, of_model=b""):
    return number(1, 10) + message(8, number(2, 21)) + of_model + message(7, b"".join(of_graph))


W = tensor("w", F32, (4, 4), bytes(64))
LAYER = W + node("MatMul", ["x", "w"], ["y"])


def codes(count, shape=(1,), own_scales=True):
    """Codes, and scales for them."""
    for i in range(count):
        yield tensor(f"c{i}", I8, shape, b"\0")
        if own_scales or i == 0:
            yield tensor(f"s{i}", F32, (), bytes(4))


def dequantize(inputs, output):
    return node("DequantizeLinear", inputs, [output])


def numbers(name, dtype, count, field):
    """A tensor whose data are fields of one number each."""
    return message(5, number(1, count) + number(2, dtype) + message(8, name) + field * count)


def nested(depth):
    graph = b""
    for _ in range(depth):
        graph = node("If", [], [], message(5, message(1, "then_branch") + message(6, graph)))
    return graph


def models(n):
    """By what there is much of; about 100 * n bytes of it."""
    yield "zero points that are codes", model(  # each node's, of the next one, of which the last is used otherwise
        LAYER, *codes(n + 1, shape=()), *(dequantize([f"c{i}", f"s{i}", f"c{i + 1}"], f"y{i}") for i in range(n)),
        node("Identity", [f"c{n}"], ["z"]))  # fmt: skip
    yield "quantized tensors", model(*codes(n), *(dequantize([f"c{i}", f"s{i}"], f"y{i}") for i in range(n)))
    yield "uses of one scale", model(*codes(n, own_scales=False),
                                     *(dequantize([f"c{i}", "s0"], f"y{i}") for i in range(n)))  # fmt: skip
    yield "uses of a scale that stays", model(LAYER, *codes(n, own_scales=False), node("Identity", ["s0"], ["z"]),
                                              *(dequantize([f"c{i}", "s0"], f"y{i}") for i in range(n)))  # fmt: skip
    yield "uses of the same codes", model(*codes(1), *(dequantize(["c0", "s0"], f"y{i}") for i in range(n)))
    yield "weights", model(*(tensor(f"w{i}", F32, (1, 1), bytes(4)) + node("MatMul", ["x", f"w{i}"], [f"y{i}"])
                             for i in range(n)))  # fmt: skip
    yield "uses of a weight", model(W, *(node("MatMul", ["x", "w"], [f"y{i}"]) for i in range(4 * n)))
    name = message(3, "/a." * (16 * n))
    yield "inputs of a long name", model(W, node("MatMul", ["x"] + ["w"] * (16 * n), ["y"], name))
    yield "parts of a name", model(tensor("a." * (16 * n), F32, (4, 4), bytes(64)),
                                   node("MatMul", ["x", "a." * (16 * n)], ["y"]))  # fmt: skip
    yield "a long beginning", model(*(tensor("n" * 2000 + f"{i}", F32, (1, 1), bytes(4)) +
                                      node("MatMul", ["x", "n" * 2000 + f"{i}"], [f"y{i}"]) for i in range(n // 16)))
    yield "attributes", model(LAYER, node("Op", [], [], b"".join(message(5, message(1, f"a{i}") + number(3, i))
                                                                 for i in range(8 * n))))  # fmt: skip
    yield "small nodes", model(LAYER, node("O", [], []) * (16 * n))
    yield "empty fields", model(LAYER, message(99, b"") * (16 * n), of_model=message(98, b"") * (16 * n))
    yield "empty inputs", model(LAYER, node("Op", [""] * (32 * n), []))
    yield "empty outputs", model(LAYER, node("Op", [], [""] * (32 * n)))
    yield "outputs of one name", model(LAYER, node("Op", [], ["z"]) * (8 * n))
    yield "domains", model(LAYER, of_model=message(8, message(1, "d") + number(2, 1)) * (8 * n))
    yield "values", model(LAYER, *(message(field, message(1, f"v{i}")) for i in range(4 * n) for field in (11, 12)))
    entries = b"".join(message(13, message(1, f"k{i}") + message(2, "v")) for i in range(8 * n))
    yield "entries", model(tensor("v", F32, (4, 4), bytes(64), entries), LAYER)
    yield "dimensions", model(LAYER, tensor("v", F32, (1,) * (32 * n), bytes(4)))
    yield "numbers", model(LAYER, numbers("v", I8, 16 * n, number(5, 1)), numbers("f", F32, 8 * n, b"\x25" + bytes(4)))
    yield "packed numbers", model(LAYER, message(5, number(1, 32 * n) + number(2, I8) + message(8, "v") +
                                                 message(5, b"\1" * (32 * n))))  # fmt: skip
    yield "other fields", model(tensor("v", F32, (4, 4), bytes(64), message(12, b"") * (16 * n)), LAYER)
    yield "graphs in graphs", model(LAYER, nested(30) * (n // 32))
    yield "nodes of a graph in one", model(LAYER, node("If", [], [], message(5, message(1, "b") + message(6, b"".join(
        node("Op", [f"a{i}"], [f"b{i}"]) for i in range(n))))))  # fmt: skip
    constant = message(5, message(1, "value") + message(5, tensor("t")[2:]))
    yield "functions", model(LAYER, of_model=message(25, message(7, node("Op", ["a"], ["b"], constant)[2:])) * n)
    yield "sparse tensors", model(LAYER, message(15, message(1, tensor("t")[2:]) + message(2, tensor("i")[2:])) * n)


class OnnxHeaders(CliTest):
    def setUp(self):
        super().setUp()
        self.input, self.output = self.dir / "in.onnx", self.dir / "out.onnx"

    def commands(self):
        for name in "quantize", "dequantize":
            yield name, self.input, "-o", self.output, "--force"

    def test_time_and_memory_grow_with_the_file(self):
        """A signal ends what takes longer, as a chain of 16 000 zero points took 100 s."""
        seconds = 60 if SANITIZED else 4
        for name, content in models(16000):
            self.input.write_bytes(content)
            for command in self.commands():
                with self.subTest(name=name, command=command[0]):
                    status, memory, _ = usage(
                        *command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
                    self.assertIn(status, (0, 1))
                    if not SANITIZED:
                        self.assertLess(memory, EMPTY_RUN + 128 * len(content))

    def test_signals_are_heard(self):
        for name, content in models(64000):
            if name not in ("zero points that are codes", "weights"):
                continue  # the others take half a second
            self.input.write_bytes(content)
            command = ["quantize", self.input, "-o", self.output]
            _, _, whole = usage(*command)
            self.output.unlink()
            for part in 0.2, 0.5, 0.7:
                with self.subTest(name=name, part=part):
                    process = start(*command)
                    stop_when(process, lambda: processor_time(process) > part * whole)
                    process.send_signal(signal.SIGTERM)
                    before = children_time()
                    self.assertEqual(proceed(process), (-signal.SIGTERM, "", ""))
                    self.assertLess(children_time() - before, (part + 0.25) * whole)
                    self.assertEqual(self.files(), ["in.onnx"])


def children_time():
    return os.times().children_user + os.times().children_system


if __name__ == "__main__":
    unittest.main()

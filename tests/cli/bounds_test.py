"""What anyone's files and folders may hold: values nested deep, files that are long, names that steer a terminal."""

import json
import os
import re
import shutil
import struct
import subprocess
import unittest

import numpy as np
import onnx

from support import QDQ, CliTest, entry, random, run, safetensors_bytes, save_model, usage

SANITIZED = bool(os.environ.get("QDQ_SANITIZE"))
READS_YAML = os.environ["QDQ_READS_YAML"] == "1"  # no build for another processor does
EMPTY_RUN = 16 << 20  # the bytes that a run with one small tensor holds
LEVELS, TEXT_BYTES, YAML_BYTES = 20, 100_000_000, 1_000_000
TOO_DEEP = f"more than {LEVELS} levels of lists and objects"


def lists(depth):
    return "[" * depth + "]" * depth


def objects(depth):
    return '{"a":' * depth + "1" + "}" * depth


class SmallFolderTest(CliTest):
    """A model with one weight, and what its folder holds beside it."""

    def setUp(self):
        super().setUp()
        self.model, self.out = self.dir / "model", self.dir / "out"
        self.config, self.index = self.model / "config.json", self.model / "model.safetensors.index.json"
        self.recipe, self.yaml = self.dir / "recipe.json", self.dir / "recipe.yaml"
        self.model.mkdir()
        self.config.write_text("{}")
        save_model(self.model / "model.safetensors", {"a.weight": random((4, 4))})

    def quantize(self, *options):
        return ("quantize", self.model, "-o", self.out, *options)

    def place_of_a_note(self):
        """Where a run that was killed has left one: in a folder of its own, which lists the model's files."""
        partial = self.dir / ".out.qdq-partial"
        (partial / "digests").mkdir(parents=True)
        partial.chmod(0o700)
        (partial / "files.json").write_text('["model.safetensors"]')
        return partial / "digests" / "model.safetensors.json"

    def refuse(self, message, *command, **options):
        self.fail_with(message, *(command or self.quantize()), force=False, timeout=60, **options)

    def refuse_recipe(self, message, text):
        self.recipe.write_text(text)
        self.refuse(f"recipe.json: {message}", *self.quantize("--recipe", self.recipe))

    def refuse_yaml(self, message, text):
        self.yaml.write_text(text)
        self.refuse(f"recipe.yaml: {message}", *self.quantize("--recipe", self.yaml))


class Depth(SmallFolderTest):
    DEPTHS = (LEVELS + 1, 10_000, 100_000, 1_000_000)

    def nested(self):
        for depth in self.DEPTHS:
            for form in (lists, objects):
                with self.subTest(depth=depth, form=form.__name__):
                    yield form(depth)

    def test_of_config_json(self):
        for value in self.nested():
            for text in (value, f'{{"a": {value}}}', f'{{"quantization_config": {value}}}'):
                self.config.write_text(text)
                self.refuse(f"config.json: it has {TOO_DEEP}")

    def test_of_the_index(self):
        for value in self.nested():
            self.index.write_text(f'{{"metadata": {value}, "weight_map": {{"a.weight": "model.safetensors"}}}}')
            self.refuse(f"index.json: it has {TOO_DEEP}")

    def test_of_a_recipe(self):
        for value in self.nested():
            self.refuse_recipe(f"it has {TOO_DEEP}", value)
            self.refuse_recipe(f"it has {TOO_DEEP}", f'{{"rules": [{{"match": {value}}}]}}')

    @unittest.skipUnless(READS_YAML, "this build reads no YAML")
    def test_of_a_recipe_in_yaml(self):
        for depth in (LEVELS + 1, 499, 10_000, 100_000):
            for text in (lists(depth), "{a: " * depth + "}" * depth, "- " * depth + "a"):
                with self.subTest(text=text[:9], depth=depth):
                    self.refuse_yaml(f"it has {TOO_DEEP}", text)

    def test_of_a_header(self):
        for value in self.nested():
            header = '{"x": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4], "more": ' + value + "}}"
            (self.model / "model.safetensors").write_bytes(safetensors_bytes(header, bytes(4)))
            self.refuse(f"the header has {TOO_DEEP}")

    def test_of_recorded_metadata(self):
        for value in self.nested():
            header = {"__metadata__": {"qdq": f'{{"x": {value}}}'}, "x": entry("F32", [1, 1], 0, 4)}
            (self.model / "model.safetensors").write_bytes(safetensors_bytes(header, bytes(4)))
            self.refuse('its "qdq" metadata is corrupt', "dequantize", self.model, "-o", self.out)

    def test_of_arrays_of_gguf(self):
        path = self.dir / "in.gguf"
        for depth in self.DEPTHS:
            arrays = struct.pack("<Q", 1) + b"k" + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * (depth + 1)
            path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + arrays)
            self.refuse("too many arrays", "inspect", path)

    def test_of_the_note_of_a_shard(self):
        for text in (lists(1_000_000), objects(1_000_000), '{"digest": 1e999}'):
            self.place_of_a_note().write_text(text)
            self.succeed(*self.quantize(), timeout=60)

    def test_of_the_list_of_files(self):
        for text in (lists(1_000_000), objects(1_000_000), "{"):
            listed = self.place_of_a_note().parent.parent / "files.json"
            listed.write_text(text)
            self.refuse("files.json: ")
            shutil.rmtree(listed.parent)

    def test_up_to_the_bound_is_kept(self):
        self.config.write_text(objects(LEVELS))
        self.recipe.write_text('{"rules": []}')
        self.succeed(*self.quantize("--recipe", self.recipe), force=False)
        config = json.loads((self.out / "config.json").read_text())
        del config["quantization_config"]
        self.assertEqual(config, json.loads(objects(LEVELS)))
        self.refuse_recipe('"a" is not a key', objects(LEVELS))
        if READS_YAML:
            self.refuse_yaml('"a" is not a key', objects(LEVELS))


class Size(SmallFolderTest):
    def grow(self, path, bytes_):
        path.touch()
        os.truncate(path, bytes_)

    def test_of_each_file_is_bounded(self):
        for path, most in ((self.config, TEXT_BYTES), (self.index, TEXT_BYTES), (self.recipe, TEXT_BYTES)) + (
            ((self.yaml, YAML_BYTES),) if READS_YAML else ()
        ):
            with self.subTest(path=path.name):
                before = path.read_bytes() if path.exists() else None
                self.grow(path, most + 1)
                command = self.quantize("--recipe", path) if path.name.startswith("recipe") else self.quantize()
                self.refuse(f"{path.name}: it has more than {most} bytes", *command)
                path.unlink() if before is None else path.write_bytes(before)

    def test_of_a_recipe_in_a_pipe_is_bounded(self):
        command = self.quantize("--recipe", "/dev/stdin")
        result = run(*command, force=False, stdin=subprocess.DEVNULL)
        self.assertIn("/dev/stdin: it is not valid JSON", result.stderr)
        self.assertIn("quantized 1 of 1", self.succeed(*command, input='{"default": {"dtype": "i4"}}', force=False))
        with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
            self.refuse(f"/dev/stdin: it has more than {TEXT_BYTES} bytes", *command, "--force", stdin=endless.stdout)

    def test_of_a_header_of_gguf_is_bounded(self):
        path = self.dir / "in.gguf"
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1)
        for values in (struct.pack("<Q", TEXT_BYTES), struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 0, TEXT_BYTES)):
            path.write_bytes(head + values)
            os.truncate(path, 2 * TEXT_BYTES)
            self.refuse(f"its header has more than {TEXT_BYTES} bytes", "inspect", path)

    def test_what_is_written_is_in_proportion_to_what_was_read(self):
        """10 000 levels in 20 kB were written as 200 MB of indentation."""
        size = 200_000
        for inner in ("[" + "1," * size + "1]", "[" + "{}," * size + "{}]"):
            depth = LEVELS - 2 - (inner[1] == "{")
            self.config.write_text('{"a": ' + "[" * depth + inner + "]" * depth + "}")
            self.succeed(*self.quantize("--force"), force=False, timeout=60)
            written = (self.out / "config.json").stat().st_size
            self.assertLess(written, (LEVELS + 2) * self.config.stat().st_size)

    def hostile(self, size):
        yield "lists", "[" + "[]," * (size // 3) + "[]]"
        yield "objects", "[" + "{}," * (size // 3) + "{}]"
        yield "numbers", "[" + "1," * (size // 2) + "1]"
        yield "keys", "{" + ",".join(f'"{i}":1' for i in range(size // 9)) + "}"
        yield "one key", "{" + '"a":1,' * (size // 6) + '"a":1}'
        yield "a text", '"' + "t" * size + '"'

    def test_time_and_memory_are_in_proportion_to_json(self):
        seconds = {}
        for size in (500_000, 4_000_000):
            for name, value in self.hostile(size):
                self.config.write_text(f'{{"a": {value}}}')
                status, memory, seconds[name, size] = usage(*self.quantize("--dry-run"))
                self.assertEqual(status, 0)
                if not SANITIZED:
                    self.assertLess(memory, EMPTY_RUN + 80 * size, name)
        for name, _ in self.hostile(0):
            self.assertLess(seconds[name, 4_000_000], 24 * max(seconds[name, 500_000], 0.02), name)

    @unittest.skipUnless(READS_YAML, "this build reads no YAML")
    def test_time_and_memory_are_in_proportion_to_yaml(self):
        texts = {name: text for name, text in self.hostile(YAML_BYTES - 1000)}
        texts |= {text[:6]: text * (YAML_BYTES // len(text)) for text in ("[", "{", "? a\n", "- *a\n", "a,", "[{", "&a ")}
        texts["values"] = "{" + "a," * (YAML_BYTES // 2 - 1) + "}"
        texts["repeated"] = "- &a " + "x" * 100_000 + "\n" + "- *a\n" * 100_000
        for name, text in texts.items():
            with self.subTest(name=name):
                self.yaml.write_text(text)
                status, memory, seconds = usage(*self.quantize("--dry-run", "--recipe", self.yaml))
                self.assertEqual(status, 1)
                if not SANITIZED:
                    self.assertLess(memory, EMPTY_RUN + 500 * YAML_BYTES)
                    self.assertLess(seconds, 20)

    @unittest.skipUnless(READS_YAML, "this build reads no YAML")
    def test_aliases_are_bounded_by_what_they_stand_for(self):
        written_out = f"its values, with aliases written out, have more than {YAML_BYTES} bytes"
        self.refuse_yaml(written_out, "- &a " + "x" * 100_000 + "\n" + "- *a\n" * 10)
        self.refuse_yaml(written_out, f"- &a {{{'x' * 1000}: 1}}\n" + "- *a\n" * 1000)
        laughs = "a: &a [1,1,1,1,1,1,1,1,1]\n"
        for level in "bcdefgh":
            laughs += f"{level}: &{level} [{','.join(['*' + chr(ord(level) - 1)] * 9)}]\n"
        self.refuse_yaml(written_out, laughs)
        self.refuse_yaml(f"it has {TOO_DEEP}", "a: &a [*a]")
        rules = [{"match": f"{'x' * 40}{i}", "dtype": "i4"} for i in range(9000)]
        self.yaml.write_text("rules:\n" + "".join(f"- {{match: {rule['match']}, dtype: &a i4}}\n" for rule in rules))
        self.succeed(*self.quantize("--dry-run", "--recipe", self.yaml), force=False, warned="no tensor matches")

    def test_of_a_kind_that_has_no_end(self):
        for path in (self.config, self.index):
            path.unlink(missing_ok=True)
            os.mkfifo(path)
            self.refuse(f"{path.name}: not a regular file")
            path.unlink()
            self.config.write_text("{}")
        os.mkfifo(self.place_of_a_note())
        self.succeed(*self.quantize(), timeout=60)


EVIL = "evil\x1b]0;t\x07\x9b2J\x7f\r\u202e\u2028\t"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Terminal(SmallFolderTest):
    """No control character comes out but the end of a line, and no byte that is no UTF-8."""

    def shown(self, *command):
        command = [each if isinstance(each, bytes) else str(each) for each in command]
        result = subprocess.run([QDQ, *command], capture_output=True, timeout=60)
        text = (result.stdout + result.stderr).decode()
        self.assertIsNone(CONTROL.search(text), text)
        return result.returncode, text

    def shows(self, message, *command, code=1):
        """It fails with a message of one line that holds this."""
        self.assertEqual(self.shown(*command)[0], code)
        text = self.shown(*command)[1]
        self.assertIn(message, text)
        self.assertLess(len(text), 40_000)
        self.assertEqual(text.count("\n"), 1 if code == 1 else 2, text)

    def test_names_on_the_command_line(self):
        for name in (EVIL, "a\nqdq: b"):
            for command in (("inspect", self.dir / name), ("quantize", self.model / "model.safetensors", "-o", self.dir / name / "out"),
                            ("quantize", self.model, "-o", self.dir / "out", "--recipe", self.dir / name),
                            ("verify", "--target", name)):  # fmt: skip
                self.shows(name[:1], *command)
            for command in (("inspect", self.model, name), ("inspect", "--" + name), (name,),
                            ("quantize", self.model, "-o", self.out, "--dtype", name),
                            ("quantize", self.model, "-o", self.out, "--block-size", name),
                            ("quantize", self.model, "-o", self.out, "--profile", name)):  # fmt: skip
                status, text = self.shown(*command)
                self.assertEqual(status, 2, text)
                self.assertNotIn("\nqdq: b", text)
        self.shows("\\x9b\\xff\\xc1\\x81\\xe2\\x80.onnx: cannot open", "inspect",
                   os.fsencode(self.dir) + b"/\x9b\xff\xc1\x81\xe2\x80.onnx")  # fmt: skip
        self.shows("\\x1b", "quantize", self.model, "-o", self.dir / ("\x1b" + "x" * 300))

    def test_names_in_an_index(self):
        for name, message in (
            (EVIL, "cannot open"),
            ("\u00e9\x1b[31m", "é\\x1b[31m: cannot open"),
            ("../" + EVIL, "not a file of the folder"),
            ("x" * 1_000_000, "File name too long"),
        ):
            self.index.write_text(json.dumps({"weight_map": {"a.weight": name}}))
            self.shows(message, *self.quantize())
        save_model(self.model / EVIL, {"b.weight": random((4, 4))})
        self.index.write_text(json.dumps({"weight_map": {EVIL + "c": EVIL}}))
        self.shows("is not in evil\\x1b]0;t\\x07\\xc2\\x9b2J\\x7f\\x0d\\xe2\\x80\\xae\\xe2\\x80\\xa8\\x09", *self.quantize())

    def test_what_a_recipe_holds(self):
        for recipe in ({EVIL: 1}, {"default": {"dtype": EVIL}}, {"default": {"axis": EVIL}}, [EVIL], {"rules": EVIL},
                       {"default": {"block_size": [EVIL]}}):  # fmt: skip
            self.recipe.write_text(json.dumps(recipe, ensure_ascii=False))
            self.shows("recipe.json: ", *self.quantize("--recipe", self.recipe))

    @unittest.skipUnless(READS_YAML, "this build reads no YAML")
    def test_what_a_recipe_in_yaml_holds(self):
        for text in (f"*{EVIL}", f"!{EVIL} x", f"!<{EVIL}> x", f"{{{EVIL}: 1}}", f"[{EVIL}", f"%{EVIL}\n--- 1",
                     f'{{"{EVIL}": 1, "{EVIL}": 1}}', f'"\\{EVIL}"', "*" + "\x1b" * 900_000, f"&{EVIL} &b x",
                     f"%YAML {EVIL}\n--- 1", f"%TAG ! {EVIL}\n--- !x 1"):  # fmt: skip
            with self.subTest(text=text[:30]):
                self.yaml.write_text(text)
                self.shows("recipe.yaml: ", *self.quantize("--recipe", self.yaml))

    def test_a_location_of_external_data(self):
        path = self.dir / "in.onnx"
        for location in (EVIL, "../" + EVIL, "\x1b" * 300):
            tensor = onnx.TensorProto(name="x", dims=[2, 2], data_type=1, data_location=1)
            tensor.external_data.add(key="location", value=location)
            graph = onnx.helper.make_graph([], "g", [], [], [tensor])
            path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
            self.shows("in.onnx: ", "inspect", path)

    def test_names_in_tables(self):
        model, other = self.dir / "in.safetensors", self.dir / "out.safetensors"
        names = (EVIL + ".weight", "größe.weight")
        save_model(model, {name: random((4, 4)) for name in names})
        for command in (("quantize", model, "-o", other, "--verbose"), ("quantize", model, "--dry-run"),
                        ("inspect", other), ("compare", model, other, "--verbose"),
                        ("dequantize", other, "-o", self.dir / "back.safetensors", "--verbose"),
                        ("convert", other, "-o", self.dir / "out.onnx", "--verbose")):  # fmt: skip
            status, text = self.shown(*command)
            self.assertEqual(status, 0, text)
            self.assertIn("größe.weight", text)
            self.assertIn("evil\\x1b]0;t\\x07\\xc2\\x9b2J\\x7f\\x0d\\xe2\\x80\\xae\\xe2\\x80\\xa8\\x09.weight", text)

    def test_names_in_json(self):
        model, other = self.dir / "in.safetensors", self.dir / "out.safetensors"
        names = [EVIL + ".weight", "größe.weight"]
        save_model(model, {name: random((4, 4)) for name in names})
        for command in (("quantize", model, "-o", other), ("inspect", model), ("compare", model, other)):
            status, text = self.shown(*command, "--json")
            self.assertEqual(status, 0, text)
            self.assertTrue(text.isascii())
            self.assertEqual([tensor["name"] for tensor in json.loads(text)["tensors"]], sorted(names))

    def test_names_in_a_report(self):
        model, page = self.dir / f"{EVIL}<b>.safetensors", self.dir / "report.html"
        save_model(model, {EVIL + "<b>.weight": random((4, 4))})
        self.shown("quantize", model, "-o", self.dir / "out.safetensors", "--report", page)
        text = page.read_text()
        self.assertIsNone(CONTROL.search(text))
        self.assertNotIn("<b>", text)
        self.assertIn("&lt;b&gt;", text)

    def test_a_zero_and_a_long_name(self):
        """A zero would end the message, and the middle of a character is no UTF-8."""
        for name, shown in (("a\0b", "the entry of a\\x00b has no"), ("ü" * 150, f"the entry of {'ü' * 100}... has no"),
                            ("x" + "ü" * 150, f"the entry of x{'ü' * 99}... has no")):  # fmt: skip
            (self.model / "model.safetensors").write_bytes(safetensors_bytes({name: {}}))
            self.shows(shown, *self.quantize())

    def test_a_tensor_that_cannot_be_quantized(self):
        save_model(self.model / "model.safetensors", {EVIL + ".weight": np.full((4, 4), np.nan, np.float32)})
        self.shows("evil\\x1b", *self.quantize())


if __name__ == "__main__":
    unittest.main()

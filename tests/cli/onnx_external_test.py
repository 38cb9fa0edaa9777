"""External data of ONNX models: which files are read, and what becomes of those that are written and replaced."""

import os
import random as random_numbers
import signal
import stat
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

from onnx_test import IDS, initializers, layers, run_model, tensor, value
from support import (
    CliTest, RandomKills, counting_in, killed_at_renaming, killed_at_unlinking, load_model, proceed, random, run, seccomp_works, start,
    stop_when,
)  # fmt: skip


def save_external(model, path, location, threshold=0):
    onnx.save_model(model, path, save_as_external_data=True, location=location, size_threshold=threshold)


def set_location(path, location):
    model = onnx.load(path, load_external_data=False)
    for each in model.graph.initializer:
        for entry in each.external_data:
            entry.value = location if entry.key == "location" else entry.value
    path.write_bytes(model.SerializeToString())


def one_layer(weights):
    rows, columns = weights.shape
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "one", [value("x", [1, rows])],
                              [value("y", [1, columns])], [tensor("w", weights)])  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class External(CliTest):
    def setUp(self):
        super().setUp()
        self.folder = self.dir / "folder"
        self.folder.mkdir()
        self.input, self.codes = self.folder / "in.onnx", self.folder / "codes.onnx"

    def files(self):
        return sorted(os.listdir(self.folder))


def leads_to_tensors(descriptor, seen=()):
    return descriptor.name == "TensorProto" or any(
        leads_to_tensors(field.message_type, (*seen, descriptor.name))
        for field in descriptor.fields if field.message_type and field.message_type.name not in seen)  # fmt: skip


def places_of_tensors(descriptor=onnx.ModelProto.DESCRIPTOR, seen=()):
    """All paths of fields from a model to a tensor on which no kind of message, but a graph, comes twice."""
    if descriptor.name == "TensorProto":
        yield ()
        return
    for field in descriptor.fields:
        inner = field.message_type
        if inner and leads_to_tensors(inner) and seen.count(inner.name) < (2 if inner.name == "GraphProto" else 1):
            for rest in places_of_tensors(inner, (*seen, inner.name)):
                yield (field, *rest)


def add_tensor(model, path):
    message = model
    for field in path:
        inner = getattr(message, field.name)
        message = inner if field.name == "graph" else inner.add() if field.is_repeated else inner
        if isinstance(message, onnx.NodeProto):
            message.op_type = "Op"
    message.name, message.data_type, message.raw_data = "t", TensorProto.UINT8, b"0123"
    message.dims.append(4)
    return message


class Places(External):
    def test_external_data_are_refused_wherever_a_tensor_is_copied(self):
        places = {".".join(field.name for field in path): path for path in places_of_tensors()}
        del places["graph.initializer"]
        self.assertGreaterEqual(set(places), {
            "graph.sparse_initializer.values", "graph.sparse_initializer.indices", "graph.node.attribute.t",
            "graph.node.attribute.tensors", "graph.node.attribute.g.initializer", "functions.node.attribute.t",
            "functions.attribute_proto.sparse_tensors.values", "training_info.initialization.initializer",
        })  # fmt: skip
        for name, path in places.items():
            with self.subTest(place=name):
                model = layers()
                message = add_tensor(model, path)
                self.input.write_bytes(model.SerializeToString())
                self.succeed("quantize", self.input, "-o", self.codes)
                message.ClearField("raw_data")
                for kind, location in (TensorProto.EXTERNAL, "../../../etc/passwd"), (TensorProto.DEFAULT, "w.bin"):
                    message.data_location = kind
                    message.ClearField("external_data")
                    message.external_data.add(key="location", value=location)
                    self.input.write_bytes(model.SerializeToString())
                    self.fail_with(f"the tensor t has external data in {location}, which only initializers of",
                                   "quantize", self.input, "-o", self.codes)  # fmt: skip

    def test_external_data_of_unknown_types_are_refused(self):
        for kind in (TensorProto.EXTERNAL, TensorProto.DEFAULT):
            model = layers()
            each = model.graph.initializer.add(name="t", data_type=TensorProto.STRING, data_location=kind)
            each.external_data.add(key="location", value="weights.bin")
            self.input.write_bytes(model.SerializeToString())
            self.fail_with("external data of the type 8 are not supported", "quantize", self.input, "-o", self.codes)

    def test_what_is_copied_as_it_is_comes_with_its_data(self):
        """By their names i and i_scale were codes and scale, but no node says so."""
        model = layers()
        model.graph.initializer.extend([tensor("i", np.arange(4000), TensorProto.INT8), tensor("i_scale", random(1))])
        expected = {each.name: each.raw_data for each in model.graph.initializer}
        save_external(model, self.input, "weights.bin")
        other = self.dir / "other"
        other.mkdir()
        self.succeed("quantize", self.input, "-o", other / "codes.onnx")
        found = initializers(onnx.load(other / "codes.onnx"))
        for name in ("i", "i_scale"):
            self.assertEqual(found[name].raw_data, expected[name])

    def test_a_model_that_passes_the_limit_without_its_data_is_refused(self):
        size = 2**31
        model = layers()
        each = model.graph.initializer.add(name="i", data_type=TensorProto.INT8, dims=[size], data_location=1)
        each.external_data.add(key="location", value="weights.bin")
        model.graph.initializer.append(tensor("i_scale", random(1)))
        self.input.write_bytes(model.SerializeToString())
        (self.folder / "weights.bin").touch()
        os.truncate(self.folder / "weights.bin", size)
        self.fail_with("and protobuf takes at most 2147483647", "quantize", self.input, "-o", self.codes)


class Links(External):
    def setUp(self):
        super().setUp()
        model = layers()
        save_external(model, self.input, "weights.bin")
        self.weights = self.folder / "weights.bin"
        self.outside = self.dir / "outside.bin"
        os.rename(self.weights, self.outside)

    def refuse(self, message):
        self.fail_with(message, "quantize", self.input, "-o", self.codes)

    def quantize(self):
        self.succeed("quantize", self.input, "-o", self.codes)
        return [actual.tobytes() for actual in run_model(str(self.codes), IDS)]

    def test_a_link_out_of_the_folder_is_named_and_not_followed(self):
        for target in ("../outside.bin", str(self.outside), "sub/../../outside.bin", "../folder/../outside.bin", "/"):
            with self.subTest(target=target):
                self.weights.symlink_to(target)
                (self.folder / "sub").mkdir(exist_ok=True)
                self.refuse(f"weights.bin: the link weights.bin, to {target}, leads out of the folder")
                self.weights.unlink()

    def test_nor_is_a_folder_that_is_one(self):
        set_location(self.input, "data/outside.bin")
        (self.folder / "sub").mkdir()
        for target in ("..", "/", "sub/../.."):
            with self.subTest(target=target):
                (self.folder / "data").symlink_to(target)
                self.refuse(f"the link data, to {target}, leads out of the folder")
                (self.folder / "data").unlink()

    def test_links_inside_the_folder_are_followed(self):
        os.rename(self.outside, self.weights)
        expected = self.quantize()
        store = self.folder / "a" / "store"
        store.mkdir(parents=True)
        os.rename(self.weights, store / "real.bin")
        (store / "second").symlink_to("./real.bin")
        (self.folder / "data").symlink_to("a//store/../store")
        for target in ("data/second", "./data/../../weights2", "a/store/../../data/real.bin"):
            with self.subTest(target=target):
                (self.folder / "weights2").unlink(missing_ok=True)
                (self.folder / "weights2").symlink_to("data/real.bin")
                self.weights.symlink_to(target)
                self.assertEqual(self.quantize(), expected)
                self.weights.unlink()

    def test_what_is_no_file_is_refused(self):
        self.refuse("weights.bin: cannot open: No such file or directory")
        self.weights.symlink_to("weights.bin")
        self.refuse("the link weights.bin, to weights.bin, is in a circle")
        self.weights.unlink()
        self.weights.mkdir()
        self.refuse("weights.bin: not a regular file")
        self.weights.rmdir()
        os.mkfifo(self.weights)
        self.refuse("weights.bin: not a regular file")

    def test_a_name_that_ends_early_is_refused(self):
        set_location(self.input, "weights.bin\0x")
        os.rename(self.outside, self.weights)
        self.refuse("outside the model's folder")


class Replacing(External):
    """A model and its data are two files, and one thing."""

    def setUp(self):
        super().setUp()
        self.restored = self.folder / "restored.safetensors"
        self.inputs, self.expected = [], set()

    def prepare(self, is_external, count=3):
        """Inputs, and a first output. What is restored from an output tells which input it is from."""
        for i in range(count):
            folder = self.dir / f"input{i}"
            folder.mkdir()
            self.inputs.append(folder / "in.onnx")
            model = one_layer(random((256, 256), i) * np.float32(3**i))
            save_external(model, self.inputs[-1], "w.bin") if is_external else onnx.save_model(model, self.inputs[-1])
            self.quantize(self.inputs[-1])
            self.expected.add(self.restore())
        self.assertEqual(len(self.expected), count)

    def command(self, path):
        return ["quantize", path, "-o", self.codes, "--force"]

    def quantize(self, path):
        self.succeed(*self.command(path), force=False)

    def restore(self):
        self.succeed("dequantize", self.codes, "-o", self.restored)
        return load_model(self.restored)["w"].tobytes()

    def data(self):
        """The one file of data that is there."""
        found = [name for name in self.files() if name.endswith(".data")]
        self.assertEqual(len(found), 1)
        return self.folder / found[0]

    def locks(self):
        return sorted(self.folder.glob(".qdq-*.onnx"))

    def test_data_get_a_name_that_no_file_has(self):
        self.prepare(is_external=True)
        (self.folder / "codes.onnx.3.data").write_text("another's")
        names = []
        for path in self.inputs:
            (self.folder / "codes.onnx.3.data").unlink(missing_ok=True)
            self.quantize(path)
            names.append(self.data().name)
        self.assertEqual(names, ["codes.onnx.1.data", "codes.onnx.data", "codes.onnx.1.data"])

    def test_data_of_other_models_stay(self):
        self.prepare(is_external=True)
        kept = self.folder / "kept.onnx"
        os.rename(self.codes, kept)
        before = self.data().read_bytes()
        names = self.files()
        for path in self.inputs:
            self.quantize(path)
        for name in names:
            self.assertIn(name, self.files())
        self.assertEqual((self.folder / "codes.onnx.data").read_bytes(), before)
        for name in ("codes.onnx.5.data", "codes.onnx.x.data", "codes.onnx.", "codes.onnx..data", "other.data"):
            (self.folder / name).write_text("another's")
        self.quantize(self.inputs[0])
        self.assertEqual(len([name for name in self.files() if (self.folder / name).read_bytes() == b"another's"]), 5)

    def test_only_files_that_runs_name_so_are_removed(self):
        self.prepare(is_external=True)
        for name in ("codes.onnx.x.data", "weights.bin", "codes.onnx.data2", "sub/codes.onnx.data", "codes.onnx.1data"):
            with self.subTest(name=name):
                self.quantize(self.inputs[0])
                (self.folder / name).parent.mkdir(exist_ok=True)
                os.rename(self.data(), self.folder / name)
                set_location(self.codes, name)
                self.quantize(self.inputs[1])
                (self.folder / name).unlink()  # which is there

    def test_links_stay(self):
        self.prepare(is_external=True)
        old, elsewhere = self.data(), self.folder / "elsewhere"
        os.rename(old, elsewhere)
        old.symlink_to("elsewhere")
        self.quantize(self.inputs[0])
        self.assertTrue(old.is_symlink() and elsewhere.exists())

    def test_data_that_the_input_reads_stay(self):
        self.prepare(is_external=True)
        source = self.folder / "source.onnx"
        source.write_bytes(self.codes.read_bytes())
        before = self.data().read_bytes()
        self.succeed("dequantize", source, "-o", self.codes)
        self.assertEqual((self.folder / "codes.onnx.data").read_bytes() == before
                         or (self.folder / "codes.onnx.1.data").read_bytes() == before, True)  # fmt: skip
        self.succeed("inspect", source)

    def test_data_go_with_a_model_that_has_none(self):
        self.prepare(is_external=True)
        self.data()
        onnx.save_model(layers(), self.input)
        self.quantize(self.input)
        self.assertEqual(self.files(), ["codes.onnx", "in.onnx", "restored.safetensors"])

    def test_data_have_the_permissions_of_those_before(self):
        self.prepare(is_external=True)
        for mode in (0o600, 0o640, 0o666):
            self.data().chmod(mode)
            self.codes.chmod(0o644)
            self.quantize(self.inputs[0])
            self.assertEqual(stat.S_IMODE(self.data().stat().st_mode), mode)
        self.data().unlink()
        self.codes.chmod(0o600)
        self.quantize(self.inputs[0])
        self.assertEqual(stat.S_IMODE(self.data().stat().st_mode), 0o600)

    def kill_at(self, kill, path, force=True):
        command = self.command(path)[: None if force else -1]
        result = run(*command, force=False, preexec_fn=kill, env=counting_in(self.dir))
        self.assertEqual(result.returncode, -signal.SIGSYS, result.stderr)

    @unittest.skipUnless(seccomp_works(), "no seccomp")
    def test_a_kill_between_any_two_steps_leaves_a_whole_model(self):
        self.prepare(is_external=True)
        whole = len(self.files())
        for step, kill in (("data", killed_at_renaming(replacing=False)), ("model", killed_at_renaming(replacing=True)),
                           ("old data", killed_at_unlinking())):  # fmt: skip
            with self.subTest(step=step):
                self.quantize(self.inputs[0])
                before = self.restore()
                self.kill_at(kill, self.inputs[1])
                self.assertIn(self.restore(), self.expected)
                self.assertEqual(self.restore() == before, step != "old data")
                before = self.restore()
                self.kill_at(killed_at_renaming(replacing=False), self.inputs[2])
                self.assertEqual(self.restore(), before)
                self.quantize(self.inputs[2])
                self.assertEqual(len(self.files()), whole)
                self.data()

    @unittest.skipUnless(seccomp_works(), "no seccomp")
    def test_what_a_killed_run_lists_goes_only_where_no_model_names_it(self):
        self.prepare(is_external=True)
        self.quantize(self.inputs[0])
        before, old = self.restore(), self.data()
        self.kill_at(killed_at_renaming(replacing=True), self.inputs[1])
        self.assertEqual(sum(name.endswith(".data") for name in self.files()), 2)
        self.codes.rename(self.folder / "kept")
        self.codes.write_text("no model")
        self.quantize(self.inputs[2])
        self.assertTrue(old.exists())  # nobody knows what the text would have named
        (self.folder / "kept").rename(self.codes)
        self.assertEqual(self.restore(), before)

    @unittest.skipUnless(seccomp_works(), "no seccomp")
    def test_a_lock_is_no_link_and_is_believed_for_names_alone(self):
        self.prepare(is_external=True)
        self.kill_at(killed_at_renaming(replacing=False), self.inputs[1])
        [lock] = self.locks()
        self.assertEqual(set(lock.read_text().split()), {"codes.onnx.data", "codes.onnx.1.data"})
        for name in ("other", "codes.onnx.x.data"):
            (self.folder / name).write_text("another's")
        (self.folder / "codes.onnx.8.data").symlink_to("other")
        (self.folder / "codes.onnx.9.data").write_text("not ended by a newline")
        lock.write_text("other\n../folder/other\ncodes.onnx.x.data\n/etc\n\0\n\ncodes.onnx.8.data\ncodes.onnx.9.data")
        before = set(self.files())
        self.quantize(self.inputs[0])
        self.assertLessEqual({name for name in before if not name.startswith((".qdq-", "codes.onnx.data",
                                                                              "codes.onnx.1.data"))}, set(self.files()))
        self.assertFalse(lock.exists())
        before = self.restore()
        for kind, message in (("link", "Too many levels of symbolic links"), ("folder", "Is a directory")):
            lock.symlink_to("other") if kind == "link" else lock.mkdir()
            self.fail_with(message, *self.command(self.inputs[1]), force=False)
            lock.unlink() if kind == "link" else lock.rmdir()
        self.assertEqual(self.restore(), before)
        self.assertEqual((self.folder / "other").read_text(), "another's")

    def written_files(self):
        """How many temporary files have something in them, and so are locked."""
        try:
            return sum((self.folder / name).stat().st_size > 0 for name in self.files() if name.endswith(".tmp"))
        except OSError:  # one got its name
            return 0

    def test_one_run_at_a_time_writes_a_model(self):
        self.prepare(is_external=True)
        save_external(one_layer(np.zeros((4096, 4096), np.float32)), self.input, "zeros.bin")
        process = stop_when(start(*self.command(self.input)), lambda: self.written_files() == 2)
        self.fail_with("codes.onnx: another process is writing it", *self.command(self.inputs[1]), force=False)
        self.assertEqual(proceed(process)[0], 0)
        self.assertEqual(self.restore(), np.zeros((4096, 4096), np.float32).tobytes())
        self.assertEqual(self.locks(), [])

    def check_killed_writers(self, is_external):
        self.prepare(is_external)
        numbers, kills = random_numbers.Random(5), RandomKills(5)
        kills.time(self.quantize, self.inputs[0])
        whole = len(self.files())
        for _ in range(60):
            kills.kill(start(*self.command(numbers.choice(self.inputs)), env=counting_in(self.dir)))
            self.assertIn(self.restore(), self.expected)
        self.assertGreater(kills.killed, 5)
        self.quantize(self.inputs[0])
        self.assertEqual(len(self.files()), whole)

    def test_when_writers_are_killed(self):
        self.check_killed_writers(is_external=False)

    def test_when_writers_of_external_data_are_killed(self):
        self.check_killed_writers(is_external=True)

    def check_several_writers(self, is_external):
        self.prepare(is_external)
        whole = len(self.files())
        refused = (f"qdq: {self.codes}: another process is writing it\n", 1)
        for _ in range(20):
            runs = [start(*self.command(path)) for path in self.inputs]
            ends = sorted((process.communicate()[1], process.returncode) for process in runs)
            self.assertEqual(ends[0], ("", 0))
            self.assertLessEqual(set(ends), {("", 0), refused})
            self.assertIn(self.restore(), self.expected)
            self.assertEqual(len(self.files()), whole)

    def test_when_several_write(self):
        self.check_several_writers(is_external=False)

    def test_when_several_write_external_data(self):
        self.check_several_writers(is_external=True)


if __name__ == "__main__":
    unittest.main()

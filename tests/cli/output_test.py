"""What becomes of the files that are written, and of those that were there: whatever happens, none is lost or mixed."""

import os
import random as random_numbers
import resource
import shutil
import stat
import time
import unittest

import numpy as np
from safetensors.numpy import load_file, save_file

from support import QDQ, CliTest, RandomKills, counting_in, proceed, random, sparse_model, start, stop_when


class Output(CliTest):
    def setUp(self):
        super().setUp()
        self.input = self.dir / "in.safetensors"
        self.output = self.dir / "out.safetensors"
        self.x = random((64, 64))
        save_file({"x": self.x}, self.input)

    def quantize(self, output=None, **options):
        return self.succeed("quantize", self.input, "-o", output or self.output, **options)

    def mode(self, path):
        return stat.S_IMODE(path.stat().st_mode)


class Replacing(Output):
    def test_needs_force(self):
        self.output.write_text("old")
        message = "out.safetensors: exists already; --force replaces it"
        for command in ("quantize", "dequantize"):
            self.quantize(self.dir / "codes.safetensors")
            source = self.input if command == "quantize" else self.dir / "codes.safetensors"
            self.fail_with(message, command, source, "-o", self.output, force=False)
        self.assertEqual(self.output.read_text(), "old")
        self.quantize()
        self.assertEqual(set(load_file(self.output)), {"x", "x_scale"})

    def test_a_new_file_needs_no_force(self):
        self.quantize(force=False)
        self.assertEqual(self.files(), ["in.safetensors", "out.safetensors"])

    def test_a_file_that_appears_meanwhile_needs_force_too(self):
        sparse_model(self.input, 16, 2048)
        process = self.stop_while_writing("quantize", self.input, "-o", self.output)
        self.output.write_text("new")
        code, _, error = proceed(process)
        self.assertEqual((code, error), (1, f"qdq: {self.output}: exists already; --force replaces it\n"))
        self.assertEqual(self.output.read_text(), "new")
        self.assertEqual(self.files(), ["in.safetensors", "out.safetensors"])

    def test_a_folder_that_appears_meanwhile_stays(self):
        sparse_model(self.input, 16, 2048)
        process = self.stop_while_writing("quantize", self.input, "-o", self.output, "--force")
        self.output.mkdir()
        error = f"qdq: {self.output}: cannot rename the finished file to this name: Is a directory\n"
        self.assertEqual(proceed(process), (1, "", error))
        self.assertEqual(self.files(), ["in.safetensors", "out.safetensors"])

    @unittest.skipIf(os.environ.get("QDQ_SANITIZE"), "a sanitizer needs address space of its own")
    def test_too_little_memory_leaves_nothing(self):
        sparse_model(self.input, 1, 16384)
        self.fail_with("qdq: out of memory\n", "quantize", self.input, "-o", self.output,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)))  # fmt: skip

    def test_one_of_two_that_write_a_new_file_fails(self):
        for _ in range(10):
            runs = [start("quantize", self.input, "-o", self.output) for _ in range(2)]
            errors = sorted((process.communicate()[1], process.returncode) for process in runs)
            self.assertEqual(errors, [("", 0), (f"qdq: {self.output}: exists already; --force replaces it\n", 1)])
            self.output.unlink()

    def test_keeps_the_mode(self):
        for mode in (0o600, 0o640, 0o666, 0o444):
            self.output.write_text("old")
            self.output.chmod(mode)
            self.quantize()
            self.assertEqual(self.mode(self.output), mode)
            self.output.unlink()

    def test_nobody_else_may_read_a_private_file_while_it_is_written(self):
        sparse_model(self.input, 16, 2048)
        self.output.touch(0o600)
        process = self.stop_while_writing("quantize", self.input, "-o", self.output, "--force")
        self.assertEqual(self.mode(self.dir / self.temporary_files()[0]), 0o600)
        self.assertEqual(proceed(process)[0], 0)

    @unittest.skipIf(os.geteuid() != 0, "only root may give files away")
    def test_keeps_owner_and_group(self):
        self.output.touch(0o640)
        os.chown(self.output, 12345, 23456)
        self.quantize()
        status = self.output.stat()
        self.assertEqual((status.st_uid, status.st_gid, self.mode(self.output)), (12345, 23456, 0o640))

    @unittest.skipIf(os.geteuid() != 0, "only root may become someone else")
    def test_a_group_that_cannot_be_kept_is_no_other_group(self):
        self.output.touch(0o644)
        os.chown(self.output, 12345, 23456)
        for path in (self.dir, self.input):
            os.chown(path, 12345, 12345)
        program = shutil.copy(QDQ, self.dir)  # they may not enter the folder that the build is in
        self.quantize(user=12345, group=12345, extra_groups=[], env=counting_in(self.dir), program=program, cwd=self.dir)
        status = self.output.stat()
        self.assertEqual((status.st_uid, status.st_gid, self.mode(self.output)), (12345, 12345, 0o604))


class Names(Output):
    def test_follows_links_even_to_a_file_that_is_not_there(self):
        (self.dir / "sub").mkdir()
        (self.dir / "sub" / "second").symlink_to("real")
        self.output.symlink_to("sub/second")
        for _ in range(2):
            self.quantize()
            self.assertTrue(self.output.is_symlink() and (self.dir / "sub" / "second").is_symlink())
            self.assertEqual(set(load_file(self.dir / "sub" / "real")), {"x", "x_scale"})
            self.assertEqual(sorted(os.listdir(self.dir / "sub")), ["real", "second"])

    def test_refuses_a_circle_of_links(self):
        self.output.symlink_to("other")
        (self.dir / "other").symlink_to("out.safetensors")
        self.fail_with("Too many levels of symbolic links", "quantize", self.input, "-o", self.output)

    def test_refuses_a_name_that_is_too_long(self):
        self.fail_with("File name too long", "quantize", self.input, "-o", self.dir / ("n" * 256))

    def test_refuses_to_replace_the_input_by_any_path(self):
        (self.dir / "sub").mkdir()
        (self.dir / "link").symlink_to(".")
        (self.dir / "soft").symlink_to("sub/../link/in.safetensors")
        before = self.input.read_bytes()
        for name in ("sub/../in.safetensors", "link/in.safetensors", "link/link/in.safetensors", "soft"):
            self.fail_with("would replace an input", "quantize", self.input, "-o", f"{self.dir}/{name}", code=2)
        for name in ("none/../in.safetensors", "in.safetensors/../in.safetensors"):  # the kernel finds no file there
            self.fail_with(" directory", "quantize", self.input, "-o", f"{self.dir}/{name}")
        self.assertEqual(self.input.read_bytes(), before)

    def test_refuses_names_in_no_folder(self):
        self.fail_with("none: cannot open the folder: No such file", "quantize", self.input,
                       "-o", f"{self.dir}/none/out")  # fmt: skip


class Abandoned(Output):
    def kill_while_writing(self):
        big = self.dir / "big.safetensors"
        if not big.exists():
            sparse_model(big, 16, 2048)
        process = self.stop_while_writing("quantize", big, "-o", self.output, "--force")
        process.kill()
        process.communicate()

    def test_the_next_run_removes_what_a_killed_one_left(self):
        self.kill_while_writing()
        self.kill_while_writing()  # which finds the file of the first
        self.assertEqual(len(self.temporary_files()), 1)
        self.quantize()
        self.assertEqual(self.files(), ["big.safetensors", "in.safetensors", "out.safetensors"])

    def test_but_not_what_a_living_one_writes(self):
        self.kill_while_writing()
        process = self.stop_while_writing("quantize", self.dir / "big.safetensors", "-o", self.dir / "slow")
        self.assertEqual(len(self.temporary_files()), 1)
        self.quantize()
        self.assertEqual(len(self.temporary_files()), 1)
        self.assertEqual(proceed(process)[0], 0)
        self.assertEqual(len(load_file(self.dir / "slow")), 32)

    def test_nor_what_others_named_so(self):
        name = ".qdq-0123456789abcdef.tmp"
        for other in (".qdq-notes.tmp", name + "~", name[:-5] + "G.tmp", name[1:]):
            (self.dir / other).touch()
        (self.dir / name).mkdir()
        (self.dir / name.replace("0", "1")).symlink_to("in.safetensors")
        os.mkfifo(self.dir / name.replace("0", "2"))
        before = self.files()
        self.quantize()
        self.assertEqual(self.files(), sorted([*before, "out.safetensors"]))
        (self.dir / name).rmdir()
        (self.dir / name).touch()
        self.quantize()
        self.assertNotIn(name, self.files())

    @unittest.skipIf(os.geteuid() != 0, "only root may give files away")
    def test_nor_those_of_other_users(self):
        other = self.dir / ".qdq-0123456789abcdef.tmp"
        other.touch()
        os.chown(other, 12345, 12345)
        self.quantize()
        self.assertTrue(other.exists())


class Changing(Output):
    """Input that is written to while it is read is refused: it may be half of one version and half of another."""

    def setUp(self):
        super().setUp()
        sparse_model(self.input, 16, 2048)

    def check(self, change, *arguments):
        process = self.stop_while_writing(*arguments, "-o", self.output)
        time.sleep(0.02)  # longer than a tick of the clock that dates files
        change()
        self.assertEqual(proceed(process), (1, "", f"qdq: {arguments[1]}: it changed while it was read\n"))
        self.assertFalse(self.output.exists())
        self.assertEqual(self.temporary_files(), [])

    def overwrite(self, path):
        with open(path, "r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"\0\0\0\0")

    def test_quantize(self):
        self.check(lambda: self.overwrite(self.input), "quantize", self.input)

    def test_a_file_that_grows(self):
        self.check(lambda: os.truncate(self.input, self.input.stat().st_size + 1), "quantize", self.input)

    def test_dequantize(self):
        codes = self.dir / "codes.safetensors"
        self.quantize(codes)
        self.check(lambda: self.overwrite(codes), "dequantize", codes)

    def test_compare(self):
        other = self.dir / "other.safetensors"
        sparse_model(other, 16, 2048)
        for changed in (self.input, other):
            process = start("compare", self.input, other)
            stop_when(process, lambda: bytes_read(process) > 64 << 20)
            time.sleep(0.02)
            self.overwrite(changed)
            self.assertEqual(proceed(process), (1, "", f"qdq: {changed}: it changed while it was read\n"))

    def test_a_file_that_is_cut_off(self):
        process = self.stop_while_writing("quantize", self.input, "-o", self.output)
        os.truncate(self.input, 1000)
        status, output, error = proceed(process)
        self.assertEqual((status, output), (1, ""))
        self.assertRegex(error, r"^qdq: .*in\.safetensors: the file ends early, at byte \d+\n$")
        self.assertEqual(self.files(), ["in.safetensors"])

    def test_a_file_that_is_replaced_is_read_to_its_end(self):
        process = self.stop_while_writing("quantize", self.input, "-o", self.output)
        save_file({"other": self.x}, self.dir / "new")
        os.rename(self.dir / "new", self.input)
        self.assertEqual(proceed(process)[0], 0)
        self.assertEqual(len(load_file(self.output)), 32)


def bytes_read(process):
    """Until now; 0 once it has ended."""
    try:
        with open(f"/proc/{process.pid}/io") as file:
            return int(file.readline().split()[1])
    except (OSError, IndexError):
        return 0


class Whole(CliTest):
    """At any moment a file is one of those that were written, with codes, scale and zero point of one array."""

    def prepare(self, extension):
        """Inputs, and a first output. What is restored from an output tells which input it is from."""
        self.output, self.restored = self.dir / f"out{extension}", self.dir / f"restored{extension}"
        self.inputs = [self.dir / f"{i}{extension}" for i in range(3)]
        self.expected = set()
        for seed, path in enumerate(self.inputs):
            array = random((64, 32), seed) * np.float32(3**seed) + np.float32(seed)
            np.save(path, array) if extension == ".npy" else save_file({"x": array}, path)
            self.succeed(*self.command(path), force=False)
            self.expected.add(self.restore())
        self.assertEqual(len(self.expected), len(self.inputs))

    def command(self, path):
        return ["quantize", path, "-o", self.output, "--asymmetric", "--force"]

    def restore(self):
        self.succeed("dequantize", self.output, "-o", self.restored)
        return self.restored.read_bytes()

    def test_when_writers_are_killed(self):
        numbers = random_numbers.Random(3)
        for extension in (".npy", ".safetensors"):
            self.prepare(extension)
            kills = RandomKills(3)
            kills.time(self.succeed, *self.command(self.inputs[0]), force=False)
            for _ in range(60):
                kills.kill(start(*self.command(numbers.choice(self.inputs)), env=counting_in(self.dir)))
                self.assertIn(self.restore(), self.expected)
            self.assertGreater(kills.killed, 5)
            self.assertEqual(self.temporary_files(), [])  # restoring removed them

    def test_when_several_write_and_one_reads(self):
        for extension in (".npy", ".safetensors"):
            self.prepare(extension)
            for _ in range(20):
                runs = [start(*self.command(path)) for path in self.inputs]
                self.assertIn(self.restore(), self.expected)
                self.assertEqual([(process.communicate()[1], process.returncode) for process in runs], [("", 0)] * 3)
                self.assertIn(self.restore(), self.expected)
            self.assertEqual(self.temporary_files(), [])


if __name__ == "__main__":
    unittest.main()

"""`qdq quantize --ray` up to the Python package, in whose place is a program of the test's: what that is given, and
what becomes of its end. tests/python/ray_test.py runs it on a cluster."""

import json
import os
import signal
import sys
import time
import unittest
from pathlib import Path

from safetensors.numpy import save_file

from support import CliTest, random, start

OPTIONS = (
    ["--dtype", "i4", "--block-size", 16, "--asymmetric"],
    ["--dtype", "f8e4m3", "--block-size", "16x32"],
    ["--dtype", "nvfp4", "--exclude", "*.down.*", "--include", "*embed*"],
    ["--axis", -1],
    ["--scale-rule", "power-floor", "--clip", 0.7],
    ["--activations", "dynamic", "--dtype", "f8e4m3"],
    ["--per-tensor", "--include", "*embed*"],
)


class Ray(CliTest):
    def setUp(self):
        super().setUp()
        self.model, self.programs = self.dir / "model", self.dir / "programs"
        self.model.mkdir()
        self.programs.mkdir()
        (self.model / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
        names = ("model.embed_tokens.weight", "model.layers.0.up.weight", "model.layers.0.down.weight")
        save_file({name: random((32, 64)) for name in names}, self.model / "model.safetensors")
        self.environment = {**os.environ, "PATH": str(self.programs)}

    def arguments(self, *options):
        return "quantize", self.model, "-o", self.dir / "out", "--ray", "local", *options

    def python3_is(self, script):
        program = self.programs / "python3"
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)

    def test_without_the_package_says_what_to_install(self):
        self.python3_is(f"exec {sys.executable} -I -S \"$@\"")
        self.fail_with("--ray: python3 finds no package qdq, or no ray. Install both, qdq's wheel by `make wheel`",
                       *self.arguments(), env=self.environment)  # fmt: skip

    def test_without_python_says_so(self):
        self.fail_with("--ray: cannot start python3: No such file", *self.arguments(), env=self.environment)

    def test_fails_as_the_package_fails(self):
        self.python3_is("exit 1")
        self.fail_with("--ray: the Python package has failed, with exit code 1\n", *self.arguments(),
                       env=self.environment)  # fmt: skip

    def test_fails_as_the_package_is_killed(self):
        self.python3_is("kill -9 $$")
        self.fail_with("--ray: the Python package has failed, with exit code 137\n", *self.arguments(),
                       env=self.environment)  # fmt: skip

    def test_the_package_replaces_by_force_alone(self):
        given = self.dir / "given"
        self.python3_is(f"shift 2; echo \"$@\" > {given}")
        for force in (False, True):
            self.succeed(*self.arguments(), env=self.environment, force=force)
            self.assertEqual("--replace" in given.read_text(), force)

    def test_the_package_is_given_a_recipe_of_all_options(self):
        recipe, given = self.dir / "given.json", self.dir / "given"
        self.python3_is(f"cat /dev/stdin > {recipe}; shift 2; echo \"$@\" > {given}; echo 100; echo 28")
        for options in OPTIONS:
            with self.subTest(options=options):
                output = self.succeed(*self.arguments("--profile", "onnx", *options), env=self.environment)
                self.assertRegex(output, r"\Aquantized \d of 3 tensors to .*\n\Z")
                self.assertEqual(given.read_text(), "--ray=local --recipe /dev/stdin --print-progress --profile=onnx "
                                 f"--replace -- {self.model} {self.dir}/out\n")
                by_options, by_recipe = self.dir / "by-options", self.dir / "by-recipe"
                self.succeed("quantize", self.model, "-o", by_options, *options)
                self.succeed("quantize", self.model, "-o", by_recipe, "--recipe", recipe)
                for path in by_options.iterdir():
                    self.assertEqual(path.read_bytes(), (by_recipe / path.name).read_bytes(), path.name)

    def test_what_it_is_not_for_is_refused(self):
        file = self.model / "model.safetensors"
        self.fail_with("--ray: " + str(file) + ": it is no folder of a model", "quantize", file, "-o", self.dir / "out",
                       "--ray", "local", code=2)  # fmt: skip
        for option in (["--target", "baseline"], ["--threads", "1"]):
            process = start(*self.arguments(*option))
            self.assertIn("excludes", process.communicate()[1])
            self.assertEqual(process.returncode, 2)

    def test_a_signal_ends_the_package_too(self):
        number = self.dir / "number"
        self.python3_is(f"echo $$ > {number}.new; mv {number}.new {number}; exec sleep 600")
        process = start(*self.arguments(), env=self.environment)
        while not number.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual((process.communicate(timeout=60), process.returncode), (("", ""), -signal.SIGTERM))
        self.assertFalse(Path("/proc", number.read_text().strip()).exists())

    def test_a_signal_says_how_many_shards_are_finished(self):
        told = self.dir / "told"
        self.python3_is(f"echo 100; touch {told}; exec sleep 600")
        process = start(*self.arguments(), env=self.environment)
        while not told.exists():
            time.sleep(0.01)
        time.sleep(0.5)  # what was written is read
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(error, f"qdq: interrupted: 1 of 1 shards are finished, and kept beside {self.dir}/out: "
                                "the same command goes on from there\n")  # fmt: skip

    def test_a_signal_at_once_ends_it(self):
        """One that comes while the package starts: about half of these come before it is waited for."""
        self.python3_is("kill -TERM $PPID; exec sleep 600")
        for _ in range(12):
            process = start(*self.arguments(), env=self.environment)
            self.addCleanup(process.kill)
            self.assertEqual((process.communicate(timeout=60), process.returncode), (("", ""), -signal.SIGTERM))


if __name__ == "__main__":
    unittest.main()

import json
import os
import pathlib
import re
import subprocess
import unittest

import numpy as np
from safetensors.numpy import save_file

from support import QDQ, CliTest, random, run

DTYPES = "{i8,u8,i16,u16,i32,i4,u4,f8e4m3,f8e5m2,f8e4m3fnuz,f8e5m2fnuz,f4e2m1,mxfp8,mxfp6e2m3,mxfp6e3m2,mxfp4,nvfp4,q8_0,q4_0,q4_1,q5_0,q5_1,iq4_nl}"


class Usage(CliTest):
    def usage_error(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
        self.assertNotEqual(result.stderr, "")
        return result.stderr

    def test_help(self):
        text = self.succeed("--help")
        for word in ("quantize", "dequantize", "compare", "inspect", "targets", "--version", "verify", "Exit codes: 0 success, 1 failure, 2 wrong usage"):
            self.assertIn(word, text)

    def test_help_and_version_that_cannot_be_written_are_failures(self):
        for arguments in (["--help"], ["--version"], ["quantize", "--help"]):
            with open("/dev/full", "w") as full:
                result = subprocess.run([QDQ, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual((result.returncode, result.stderr), (1, "qdq: cannot write to standard output\n"))

    def test_help_of_each_command(self):
        words = {
            "quantize": ["--dtype", DTYPES, "--profile", "--axis", "--per-tensor", "--block-size", "--asymmetric",
                         "--target", "x.weight_packed",
                         "--threads", "amax / 127.5", "-128..127", "2^-23", "x.weight_scale", "x.scale.npy", "--force",
                         "--include", "--exclude", "--recipe", "--dry-run", "--report", "quantization_config", "--ray", "ray://HOST:PORT"],
            "dequantize": ["--output", "--dtype", "--force", "--profile", "--target", "--threads", "x_scale"],
            "inspect": ["--json", "--quiet"],
            "compare": ["--json", "--report", "SQNR", "clipped", "steps"],
            "targets": ["List the targets"],
            "verify": ["--full", "--target", "--threads", "docs/conformance.md", "exit code is 1"],
        }
        for command, expected in words.items():
            text = self.succeed(command, "--help")
            without_breaks = re.sub(r",\n +", ",", text)
            for word in expected:
                self.assertIn(word, without_breaks, command)
            self.assertLess(max(map(len, text.splitlines())), 121, command)

    def test_wrong_usage(self):
        save_file({"x": random((2, 2))}, self.dir / "in")
        arguments = ("quantize", self.dir / "in", "-o", self.dir / "out")
        self.assertEqual(run(*arguments).returncode, 0)
        for number in ("-1", "0", "1.5", "99999999999999999999", ""):
            error = self.usage_error(*arguments, "--block-size", number)
            self.assertIn(f"--block-size: {number} is not a positive integer\n", error)
        for name in ("-", ""):
            error = self.usage_error("quantize", self.dir / "in", "-o", name)
            self.assertIn("--output: a result goes to a file with a name, not to standard output\n", error)
        for wrong in (["--dtype", "i7"], ["--dtype", ""], ["--axis", "x"], ["--axis"], ["--block-size", "0"],
                      ["--block-size", "-3"], ["--threads", "-1"], ["--threads", "many"],
                      ["--per-tensor", "--axis", "0"], ["--per-tensor", "--block-size", "2"],
                      ["--unknown"], ["extra"]):
            self.usage_error(*arguments, *wrong)
        self.assertIn(f"--dtype: i7 not in {DTYPES}", self.usage_error(*arguments, "--dtype", "i7"))

    def test_formats_with_blocks_of_their_own_take_no_others(self):
        save_file({"x": random((2, 2))}, self.dir / "in")
        for dtype, size in (("mxfp8", 32), ("mxfp6e3m2", 32), ("mxfp4", 32), ("nvfp4", 16)):
            for options in (["--axis", 0], ["--per-tensor"], ["--block-size", size]):
                self.fail_with(f"--dtype {dtype} has blocks of {size} along the last axis", "quantize", self.dir / "in",
                               "-o", self.dir / "out", "--dtype", dtype, *options, code=2)  # fmt: skip

    def test_float_types_have_no_zero_points(self):
        save_file({"x": random((2, 2))}, self.dir / "in")
        for dtype in ("f8e4m3", "f8e5m2fnuz", "f4e2m1", "nvfp4"):
            self.fail_with(f"--asymmetric: {dtype} has no zero points", "quantize", self.dir / "in",
                           "-o", self.dir / "out", "--dtype", dtype, "--asymmetric", code=2)  # fmt: skip

    def test_sizes_of_blocks_are_one_number_or_two(self):
        save_file({"x": random((2, 2))}, self.dir / "in")
        for wrong in ("128x", "x128", "0x5", "1x2x3", "128X128"):
            self.usage_error("quantize", self.dir / "in", "-o", self.dir / "out", "--block-size", wrong)

    def test_version(self):
        text = self.succeed("--version")
        self.assertRegex(text, r"^qdq \d+\.\d+\.\d+ \(\w+\)\ntargets: \w+")

    def test_quiet_prints_nothing_and_json_parses(self):
        save_file({"x": random((2, 2))}, self.dir / "in")
        commands = (["quantize", self.dir / "in", "-o", self.dir / "out"], ["compare", self.dir / "in", self.dir / "out"],
                    ["dequantize", self.dir / "out", "-o", self.dir / "back"], ["inspect", self.dir / "out"])
        for command in commands:
            self.assertEqual(self.succeed(*command, "--quiet"), "")
            json.loads(self.succeed(*command, "--json"))
        json.loads(self.succeed("targets", "--json"))

    def test_missing_arguments(self):
        for arguments in ([], ["unknown"], ["quantize"], ["quantize", "in"], ["inspect"], ["quantize", "-o", "out"],
                          ["dequantize", "in"], ["compare", "a"], ["targets", "extra"],
                          ["verify", "extra"]):
            self.usage_error(*arguments)

    def test_a_command_or_an_option_that_there_is_not_is_told_with_what_may_be_meant(self):
        for arguments, said in (
            (["quantise", "in"], "quantise is no command: is `qdq quantize` meant?"),
            (["quentise", "in"], "quentise is no command: is `qdq quantize` meant?"),
            (["dequantise"], "dequantise is no command: is `qdq dequantize` meant?"),
            (["inpsect"], "inpsect is no command: is `qdq inspect` meant?"),
            (["frobnicate"], "frobnicate is no command: `qdq --help` lists them"),
            (["\x1b[31m"], "\\x1b[31m is no command"),
            (["quantize", "in", "-o", "out", "--dytpe", "i4"], "--dytpe is no option of `qdq quantize`: is --dtype meant?"),
            (["quantize", "in", "-o", "out", "--blocksize=32"], "`qdq quantize`: is --block-size meant?"),
            (["convert", "in", "-o", "out", "--exclude", "x"],
             "--exclude is no option of `qdq convert`: it is one of quantize\n"),
            (["inspect", "in", "--profile", "x"],
             "--profile is no option of `qdq inspect`: it is one of quantize and dequantize\n"),
            (["inspect", "in", "--frobnicate"], "--frobnicate is no option of `qdq inspect`\n"),
        ):
            with self.subTest(arguments=arguments):
                self.assertIn(said, self.usage_error(*arguments))

    def test_the_layout_has_a_heading_of_its_own(self):
        headings = re.findall(r"^([A-Z][^\n]*):$", self.succeed("quantize", "--help"), re.MULTILINE)
        self.assertIn("Layout", headings)
        layout = self.succeed("quantize", "--help").partition("\nLayout:\n")[2]
        self.assertTrue(layout.lstrip().startswith("Names, types and shapes are those of compressed-tensors"))

    def test_what_no_name_chooses_and_what_rules_leave_alone(self):
        np.save(self.dir / "x.npy", random((2, 32)))
        for option in ("--exclude", "--include"):
            self.fail_with(f"{option}: {self.dir}/x.npy: it holds one array, which no name chooses", "quantize",
                           self.dir / "x.npy", "-o", self.dir / "y.npy", option, "x*", code=2)  # fmt: skip
        save_file({"x": random((2, 32)), "y": random((2, 32))}, self.dir / "in.safetensors")
        self.fail_with("in.safetensors: nothing is quantized: the rules, or the names, of all 2 tensors that could be "
                       "(float, with at least 2 dimensions) leave them alone", "quantize", self.dir / "in.safetensors",
                       "-o", self.dir / "out.safetensors", "--exclude", "*")  # fmt: skip
        save_file({"x": random((32,))}, self.dir / "in.safetensors")
        self.fail_with("it has no tensor to quantize (float, with at least 2 dimensions)", "quantize",
                       self.dir / "in.safetensors", "-o", self.dir / "out.safetensors")  # fmt: skip

    def test_targets(self):
        lines = self.succeed("targets").splitlines()
        self.assertEqual(lines[0].split(), ["target", "usable", "chosen", "problem"])
        rows = [re.fullmatch(r"(\w+) +(?:(yes)( +yes)?|(no) .*\S)", line) for line in lines[1:]]
        self.assertTrue(rows and all(rows))
        chosen = [row[1] for row in rows if row[3]]
        usable = [row[1] for row in rows if row[2] and row[1] not in ("cuda", "opencl")]
        self.assertEqual(chosen, usable[:1])  # the best usable one

    def why(self, **environment):
        result = run("targets", "--why", env={**os.environ, **environment})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.split("\n\n")[0].splitlines()
        self.assertEqual(lines[0].split(), ["target", "usable", "chosen", "why"])
        return lines[1:]

    def test_targets_say_which_kernels_are_written_by_hand(self):
        listed = [(target["name"], kernel["kernel"], kernel["file"]) for target in json.loads(self.succeed("targets", "--json"))["targets"]
                  for kernel in target["handwritten"]]
        lines = self.succeed("targets", "--why").partition("\n\n")[2].splitlines()[1:]
        self.assertEqual([tuple(line.split()) for line in lines], listed)
        for _, _, file in listed:
            self.assertTrue((pathlib.Path(__file__).resolve().parents[2] / file).is_file(), file)

    def test_targets_say_why(self):
        lines = self.why()
        self.assertEqual(sum(line.endswith("  it is the best that can run here") for line in lines), 1)
        self.assertTrue(all(re.fullmatch(r"\w+ +(yes|no) .*\S", line) for line in lines))
        host = [line.split()[0] for line in lines if re.search("(can run here|another is chosen)$", line)][-1]
        forced = [line for line in self.why(QDQ_TARGET=host) if "QDQ_TARGET names it" in line]
        self.assertEqual([line.split()[0] for line in forced], [host])
        self.assertEqual(self.why(QDQ_TARGET="nothing")[-1],
                         'no target is chosen: QDQ_TARGET: no target named "nothing" is built in')


if __name__ == "__main__":
    unittest.main()

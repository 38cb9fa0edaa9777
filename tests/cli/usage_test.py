import re
import unittest

from safetensors.numpy import save_file

from support import CliTest, random, run


class Usage(CliTest):
    def usage_error(self, *arguments):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
        self.assertNotEqual(result.stderr, "")
        return result.stderr

    def test_help(self):
        text = self.succeed("--help")
        for word in ("quantize", "dequantize", "compare", "targets", "Exit codes: 0 success, 1 failure, 2 wrong usage"):
            self.assertIn(word, text)

    def test_help_of_each_command(self):
        words = {
            "quantize": ["--dtype", "{i8,u8}", "--axis", "--per-tensor", "--block-size", "--asymmetric", "--target",
                         "--threads", "amax / 127.5", "-128..127", "2^-23", "x.weight_scale", "out.scale.npy"],
            "dequantize": ["--output", "--target", "--threads", "x_scale"],
            "compare": ["--json", "SQNR", "clipped", "steps"],
            "targets": ["List the targets"],
        }
        for command, expected in words.items():
            text = self.succeed(command, "--help")
            for word in expected:
                self.assertIn(word, text, command)
            self.assertLess(max(map(len, text.splitlines())), 121, command)

    def test_wrong_usage(self):
        save_file({"x": random((2, 2))}, self.dir / "in")
        arguments = ("quantize", self.dir / "in", "-o", self.dir / "out")
        self.assertEqual(run(*arguments).returncode, 0)
        for wrong in (["--dtype", "i7"], ["--dtype", ""], ["--axis", "x"], ["--axis"], ["--block-size", "0"],
                      ["--block-size", "-3"], ["--threads", "-1"], ["--threads", "many"],
                      ["--per-tensor", "--axis", "0"], ["--per-tensor", "--block-size", "2"],
                      ["--unknown"], ["extra"]):
            self.usage_error(*arguments, *wrong)
        self.assertIn("{i8,u8}", self.usage_error(*arguments, "--dtype", "i7"))

    def test_missing_arguments(self):
        for arguments in ([], ["unknown"], ["quantize"], ["quantize", "in"], ["quantize", "-o", "out"],
                          ["dequantize", "in"], ["compare", "a"], ["targets", "extra"]):
            self.usage_error(*arguments)

    def test_targets(self):
        lines = self.succeed("targets").splitlines()
        self.assertEqual(lines[0].split(), ["target", "usable", "chosen"])
        rows = [re.fullmatch(r"(\w+) +(yes|no)( +yes)?", line) for line in lines[1:]]
        self.assertTrue(rows and all(rows))
        chosen = [row[1] for row in rows if row[3]]
        usable = [row[1] for row in rows if row[2] == "yes"]
        self.assertEqual(chosen, usable[:1])  # the best usable one


if __name__ == "__main__":
    unittest.main()

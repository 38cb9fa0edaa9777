"""The manual page and the shells' completions: each knows every option, and each shell takes what it is given."""

import json
import re
import shutil
import subprocess
import unittest

import numpy as np

from support import CliTest, run

COMMANDS = ("quantize", "dequantize", "convert", "compare", "recipe", "inspect", "targets", "verify", "generate")


def shell(program, *arguments, text=None):
    if shutil.which(program) is None:
        raise unittest.SkipTest(f"not run: {program} is not installed")
    done = subprocess.run([program, *arguments], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Generate(CliTest):
    def options(self, command):
        names = re.findall(r"^ +(-[\w,-]+) ", self.succeed(command, "--help"), re.MULTILINE)
        return {name for each in names for name in each.split(",")}

    def completions(self, *words):
        """What bash completes the last word to."""
        ask = 'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _qdq; echo "${COMPREPLY[@]}"'
        status, output, errors = shell("bash", "-c", self.succeed("generate", "bash") + ask, "bash", "qdq", *words)
        self.assertEqual((status, errors), (0, ""))
        return set(output.split())

    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual(self.completions(""), set(COMMANDS))
        self.assertEqual(self.completions("de"), {"dequantize"})
        for command in COMMANDS:
            self.assertEqual(self.completions(command, "-"), self.options(command), command)
        self.assertEqual(self.completions("quantize", "x", "--dtype", "mx"), {"mxfp8", "mxfp6e2m3", "mxfp6e3m2", "mxfp4"})
        self.assertEqual(self.completions("quantize", "model"), set())  # left to the names of files
        self.assertEqual(self.completions("generate", ""), {"man", "bash", "zsh", "fish"})
        self.assertEqual(self.completions("dequantize", "x", "--dtype", "b"), {"bf16"})

    def test_bash_completes_targets_and_profiles(self):
        targets = {each["name"] for each in json.loads(self.succeed("targets", "--json"))["targets"]}
        for command in ("quantize", "dequantize", "compare", "verify"):
            self.assertEqual(self.completions(command, "x", "--target", ""), targets)
        profiles = self.completions("quantize", "x", "--profile", "")
        self.assertEqual(profiles, self.completions("dequantize", "x", "--profile", ""))
        np.save(self.dir / "x.npy", np.ones((2, 2), np.float32))
        unknown = run("quantize", self.dir / "x.npy", "-o", self.dir / "y.npy", "--profile", "?").stderr
        self.assertEqual(profiles, set(re.split(", (?:or )?| or ", unknown.strip().partition("is none of ")[2])))

    def test_the_manual_page_has_every_option(self):
        page = self.succeed("generate", "man")
        for command in COMMANDS:
            section = page[page.index(f".SS {command}\n"):].split("\n.S", 1)[0].replace("\\-", "-")
            headings = " ".join(re.findall(r"^\.BI (.*)", section, re.MULTILINE))
            self.assertEqual(set(re.findall(r"--?[a-z][\w-]*", headings)), self.options(command), command)

    def test_the_manual_page_is_shown_whole_and_without_warnings(self):
        status, shown, warnings = shell("groff", "-man", "-ww", "-Tascii", "-P-cbou", "-rLL=100n",
                                        text=self.succeed("generate", "man"))
        self.assertEqual((status, warnings), (0, ""))
        for text in ("-o, --output PATH", "amax / 127.5 with codes -128..127", "QDQ_TARGET", "Exit codes: 0 success"):
            self.assertIn(text, shown)

    def test_zsh_and_fish_take_their_completions(self):
        for program in ("zsh", "fish"):
            with self.subTest(program):
                script = self.dir / program
                script.write_text(self.succeed("generate", program))
                self.assertEqual(shell(program, "-n", script), (0, "", ""))
                for option in set.union(*map(self.options, COMMANDS)):
                    self.assertRegex(script.read_text(), rf"[- )]{option.lstrip('-')}[ \[]")

    def test_fish_completes_commands_and_values(self):
        for line, expected in (("qdq ta", "targets"), ("qdq quantize --dtype nv", "nvfp4"),
                               ("qdq quantize --profile torcha", "torchao")):
            script = f"{self.succeed('generate', 'fish')}\ncomplete -C '{line}'"
            status, output, _ = shell("fish", "--no-config", "-c", script)
            self.assertEqual((status, output.split()[0]), (0, expected))


if __name__ == "__main__":
    unittest.main()

import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import time
import unittest

from support import QDQ, CliTest, run

BROKEN = os.environ["QDQ_BROKEN_CLI"]
THINNED = "QDQ_TEST_THIN" in os.environ  # an emulator takes minutes for what takes seconds here
DIGESTS = (pathlib.Path(__file__).parents[2] / "docs" / "conformance_digests.txt").read_text().splitlines()
FAMILIES = ("_pair_", "_grouped_", "_blocks_", "_stochastic ")
OTHERS = sum(any(part in line for part in FAMILIES) for line in DIGESTS)
RULES = sum(line.startswith("quantize_dynamic_") for line in DIGESTS if not any(part in line for part in FAMILIES))
KERNELS = sum(not line.startswith("#") and "_every_x" not in line for line in DIGESTS) - RULES - OTHERS
LINE = re.compile(rf"(\w+): {KERNELS} kernels, {RULES} dynamic rules, {OTHERS} other calls, ([\d.]+) s, (\d+) results, as published")


def usable_targets():
    """Those of the processor."""
    rows = [line.split() for line in run("targets").stdout.splitlines()[1:]]
    return [row[0] for row in rows if row[1] == "yes" and row[0] not in ("cuda", "opencl")]


def write_figures(lines):
    """The rows of docs/reliability.md."""
    kernels, results = KERNELS * len(lines), sum(int(line[3]) for line in lines)
    names = ", ".join(line[1] for line in lines)
    figures = pathlib.Path(os.environ["QDQ_FIGURES"])
    figures.parent.mkdir(parents=True, exist_ok=True)
    figures.write_text(json.dumps([
        {"what": "kernels with the published digests", "asked": "every one", "command": "qdq verify",
         "measured": f"{kernels} of {names}; {results} results, default and hostile environments"},
    ], indent=1) + "\n")  # fmt: skip


class Verify(CliTest):
    def test_every_target_gives_what_is_published(self):
        lines = self.succeed("verify", cwd=self.dir).splitlines()
        matches = [match for match in map(LINE.fullmatch, lines) if match]
        self.assertEqual([match[1] for match in matches], usable_targets(), lines)
        self.assertEqual(self.files(), [])  # nothing is written
        others = [line for line in lines if not LINE.fullmatch(line)]
        self.assertTrue(all(": not checked: " in line for line in others), others)
        write_figures(matches)

    @unittest.skipIf(THINNED, "QDQ_TEST_THIN is set")
    def test_one_target_on_two_threads(self):
        name = usable_targets()[-1]
        self.assertEqual(LINE.fullmatch(self.succeed("verify", "--target", name, "--threads", 2).strip())[1], name)

    def test_json_has_a_row_for_each_target(self):
        name = usable_targets()[-1]
        (row,) = json.loads(self.succeed("verify", "--target", name, "--json"))["targets"]
        self.assertEqual((row["target"], row["as_published"]), (name, True))
        self.assertRegex(row["text"], r"^\d+ results")

    def test_a_target_that_there_is_not(self):
        self.fail_with("--target pdp11: ", "verify", "--target", "pdp11")

    def test_a_wrong_result_is_found_and_shown(self):
        name = usable_targets()[-1]
        result = subprocess.run([BROKEN, "verify", "--target", name], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stderr, "qdq: 1 of 1 targets do not give the published results\n")
        self.assertIn(" results; 3 of the kernels differ, the first\n", result.stdout)
        self.assertRegex(result.stdout, r"quantize_bf16_u8_row: multiply, up, element 1000, x 0x\w+ \(\S+\), "
                                        r"scale 0x41200000 \(10\): expected \d+, got \d+\n")  # fmt: skip

    @unittest.skipIf(THINNED, "QDQ_TEST_THIN is set")
    def test_a_bar_on_a_terminal(self):
        master, terminal = pty.openpty()
        with subprocess.Popen([QDQ, "verify", "--target", usable_targets()[-1]], stdout=subprocess.PIPE,
                              stderr=terminal) as process:  # fmt: skip
            self.assertEqual(process.wait(), 0)
        os.close(terminal)
        self.assertRegex(os.read(master, 1 << 16).decode(), r"\[#*\.*\] +\d+%")
        os.close(master)

    def test_a_signal_ends_a_full_run_soon(self):
        process = subprocess.Popen([QDQ, "verify", "--full"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        output, errors = process.communicate()
        self.assertEqual((errors, process.returncode), (b"", -signal.SIGINT))
        self.assertRegex(output.decode(), r"^(\w+: not checked: .*\n)*$")
        self.assertLess(time.monotonic() - begin, 30)


if __name__ == "__main__":
    unittest.main()

"""The tuner keeps or improves what it touches, and may be killed at any moment.

usage: tuner_test.py BUILD
"""

import collections
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tuning import processor  # noqa: E402
from tuning.kernels import Build  # noqa: E402
from tuning.search import LEAST_GAIN  # noqa: E402
from usable_targets import usable_targets  # noqa: E402

BUILD = pathlib.Path(sys.argv[1])
WORK = BUILD / "tests/schedules/tuner"
KERNELS = "^(quantize_bf16_f8e4m3|dequantize_f4e2m1_f32)_row$"


class Tuner(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(WORK, ignore_errors=True)
        self.build = Build(BUILD, WORK / "list")
        self.target = usable_targets(self.build.library)[0]

    def start(self, *options):
        return subprocess.Popen([sys.executable, ROOT / "tools/tune.py", "--build", BUILD, "--work", WORK, "--output",
                                 WORK / "tuned.json", "--target", self.target, "--kernels", KERNELS, "--trials", "8",
                                 *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run_to_the_end(self, *options):
        process = self.start(*options)
        output, _ = process.communicate()
        self.assertEqual(process.returncode, 0, output)
        return output

    def record(self):
        """Its whole lines: a kill may leave a part of one at the end."""
        path = WORK / f"{self.target}.jsonl"
        data = path.read_bytes() if path.exists() else b""
        return [json.loads(line) for line in data[:data.rfind(b"\n") + 1].splitlines()]

    def check_record(self):
        """Every line is whole, and nothing was measured twice."""
        trials = [e for e in self.record() if e["what"] == "trial"]
        sets = collections.Counter(json.dumps([e["kernel"], e["parameters"]], sort_keys=True) for e in trials)
        self.assertEqual([s for s, count in sets.items() if count > 1], [])
        timed = collections.Counter((e["kernel"], e["code"]) for e in trials if e.get("timed"))
        self.assertEqual([code for code, count in timed.items() if count > 1], [])
        return trials

    def test_a_minute_improves_or_keeps_every_kernel(self):
        output = self.run_to_the_end("--budget", "1")
        self.assertTrue(self.check_record())
        tuned = json.loads((WORK / "tuned.json").read_text())
        self.assertIn(f"{len(tuned['kernels'])} of 2 kernels are faster", output)
        legal = {p.name: p.choices for p in self.build.parameters.values()}
        for name, parameters in tuned["kernels"].items():
            for parameter, value in parameters.items():
                self.assertIn(str(value), legal[parameter])
            self.assertLess(tuned["measured"][name]["interval"][1], 1 - LEAST_GAIN)

    def test_it_resumes_after_being_killed_twenty_times(self):
        draw = random.Random(1)
        for _ in range(20):
            process = self.start("--budget", "10")
            time.sleep(draw.uniform(1, 5))
            subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=False)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            if (WORK / "tuned.json").exists():
                json.loads((WORK / "tuned.json").read_text())
        killed = self.record()
        self.run_to_the_end("--budget", "5")
        self.assertEqual(self.record()[:len(killed)], killed)
        self.assertTrue((WORK / f"{self.target}.jsonl").read_bytes().endswith(b"\n"))
        self.check_record()
        finished = len(self.record())
        self.run_to_the_end("--budget", "5")
        self.assertEqual(len(self.record()), finished, "a finished search has nothing left to measure")


class Processor(unittest.TestCase):
    def test_its_name_tells_its_newest_ability(self):
        for vendor, flags, name in [("GenuineIntel", "avx2 avx512f avx512vbmi avx512_bf16 avx512_fp16", "intel_avx512_fp16"),
                                    ("AuthenticAMD", "avx2 avx512f avx512vbmi avx512_bf16", "amd_avx512_bf16"),
                                    ("GenuineIntel", "avx2 avx512f avx512vbmi", "intel_avx512_vbmi"),
                                    ("AuthenticAMD", "fma avx2", "amd_avx2")]:
            self.assertEqual(processor.name({"vendor_id": vendor, "flags": flags}), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""tools/gpu_lease.sh, as on a machine with a GPU: packed, run, and stopped at any moment.

usage: lease_test.py BUILD FOLDER_OF_DRIVER
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/gpu_lease.sh"
LEAST = {"QDQ_TEST_THIN": "128", "QDQ_LEASE_SHORT": "1", "QDQ_LEASE_PARTS": "1", "QDQ_LEASE_ELEMENTS": "4096",
         "QDQ_LEASE_FILTER": "*cuda_f8e4m3:*/cuda:Cuda*:*device_target/quantize_f8e4m3_rows"}  # fmt: skip


class Lease(unittest.TestCase):
    build = driver = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.packed = pathlib.Path(cls.folder.name) / "packed"
        subprocess.run([SCRIPT, "pack", cls.packed], env=os.environ | {"QDQ_LEASE_BUILD": cls.build}, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def start(self, name, **environment):
        self.out = pathlib.Path(self.folder.name) / name
        return subprocess.Popen([self.packed / "gpu_lease.sh", "run", self.out], stdout=subprocess.PIPE, text=True,
                                env=os.environ | LEAST | {"LD_LIBRARY_PATH": self.driver} | environment,
                                start_new_session=True)  # fmt: skip

    def summary(self):
        return (self.out / "summary.txt").read_text().splitlines()

    def test_programs_share_what_they_repeat(self):
        self.assertLess((self.packed / "programs.tar.xz").stat().st_size, 20e6)

    def test_every_step_passes(self):
        process = self.start("whole")
        printed = process.communicate()[0].splitlines()
        self.assertEqual(process.returncode, 0, printed)
        self.assertEqual(printed, self.summary())
        for step in ("calls", "dynamic", "faults", "every_kernel", "quantize.0", "dequantize.0", "unsupported", "consistency", "bench"):
            self.assertTrue(any(re.match(rf"\d+ s: {step}: passed", line) for line in printed), (step, printed))
        self.assertRegex(printed[-1], r"done: 9 steps passed, 0 failed")
        self.assertEqual((self.out / "bench.json").read_text().count('"ratio"'), 96)

    def test_what_is_there_when_it_is_stopped_can_be_read(self):
        for kill in (signal.SIGTERM, signal.SIGKILL):
            for lines in (0, 1, 3, 5):
                with self.subTest(kill=kill, lines=lines):
                    process = self.start(f"stopped-{kill}-{lines}")
                    printed = [process.stdout.readline().rstrip("\n") for _ in range(lines)]
                    os.killpg(process.pid, kill)
                    process.communicate()
                    there = self.summary() if lines else []
                    self.assertEqual(there[:lines], printed)
                    self.assertTrue(all(re.match(r"\d+ s: ", line) for line in there), there)

    def test_time_ends_it(self):
        begin = time.monotonic()
        process = self.start("short", QDQ_LEASE_SECONDS="6", QDQ_TEST_THIN="1")
        process.communicate()
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("done", self.summary()[-1])


if __name__ == "__main__":
    Lease.build, Lease.driver = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)

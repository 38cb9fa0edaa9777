"""Where OpenCL's driver is missing, broken or without devices, `qdq targets` says so and the processor's are usable."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

QDQ = sys.argv.pop(1)


class Driver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="qdq-test-")
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)

    def problem(self, **environment):
        result = subprocess.run([QDQ, "targets"], capture_output=True, text=True, env={**os.environ, **environment})
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertRegex(result.stdout, r"(?m)^\w+ +yes +yes$", "a target of the processor is chosen")
        row = re.search(r"(?m)^opencl +(yes|no)(?: +(.*))?$", result.stdout)
        self.assertIsNotNone(row, result.stdout)
        self.assertEqual(row[1] == "no", row[2] is not None, result.stdout)
        return row[2]

    def test_a_driver_with_a_device_is_usable(self):
        self.assertIsNone(self.problem())

    def test_a_library_that_cannot_be_loaded_is_named(self):
        (self.dir / "libOpenCL.so.1").write_text("not a library")
        self.assertIn("libOpenCL.so.1: ", self.problem(LD_LIBRARY_PATH=str(self.dir)))

    def test_a_library_without_the_functions_is_named(self):
        (self.dir / "libOpenCL.so.1").symlink_to(loaded_library("libc.so.6"))
        self.assertEqual(self.problem(LD_LIBRARY_PATH=str(self.dir)), "libOpenCL.so.1 lacks functions of OpenCL 1.2")

    def test_a_loader_that_finds_no_driver_has_no_device(self):
        self.assertEqual(self.problem(OCL_ICD_VENDORS=str(self.dir)), "no OpenCL platform has a device")


def loaded_library(name):
    """The file of a library that this process has loaded."""
    return next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(name))


if __name__ == "__main__":
    unittest.main()

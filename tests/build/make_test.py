"""What make's commands build."""

import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def builds(goal):
    """The targets of each build that `make <goal>` starts; none named: all, the tests among them."""
    said = subprocess.run(["make", "--dry-run", goal], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"--build \S+(?: --target (.*))?$", said, re.M)


class Make(unittest.TestCase):
    def test_what_needs_no_tests_builds_none(self):
        for goal in ("demo", "wheel", "tune"):
            with self.subTest(goal):
                targets = builds(goal)
                self.assertEqual(len(targets), 1)
                self.assertNotIn("", targets)

    def test_test_builds_all(self):
        self.assertEqual(builds("test"), [""])


if __name__ == "__main__":
    unittest.main()

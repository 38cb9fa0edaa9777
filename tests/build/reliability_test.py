"""tools/reliability.py renews the sections of checks that have run, and keeps the others with their dates."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import reliability  # noqa: E402

ROW = {"what": "faults planted in the code", "asked": "at least 80", "measured": "7 faults: 7 caught", "command": "make mutants"}


class Reliability(unittest.TestCase):
    def setUp(self):
        self.before = (ROOT / "docs/reliability.md").read_text()

    def page(self, rows_of, before=None):
        with tempfile.TemporaryDirectory() as name:
            for check, rows in rows_of.items():
                pathlib.Path(name, f"{check}.json").write_text(json.dumps(rows))
            return reliability.page(pathlib.Path(name), self.before if before is None else before)

    def test_without_new_figures_the_page_stays(self):
        self.assertEqual(self.page({}), self.before)

    def test_a_check_that_ran_is_renewed_and_dated_and_no_other(self):
        after = self.page({"mutants": [ROW]})
        new, old = map(reliability.sections_of, (after, self.before))
        self.assertEqual([title for title in new if new[title] != old[title]], ["Planted faults"])
        self.assertIn("| 7 faults: 7 caught | `make mutants` |\n\nMeasured ", new["Planted faults"])
        self.assertRegex(new["Planted faults"], r"Measured \d{4}-\d\d-\d\d, commit `[0-9a-f]{7,}`, of ")

    def test_a_check_that_never_ran_stops_it(self):
        with self.assertRaisesRegex(SystemExit, "not measured yet: .*tests.json"):
            self.page({}, before="# Reliability\n")


if __name__ == "__main__":
    unittest.main()

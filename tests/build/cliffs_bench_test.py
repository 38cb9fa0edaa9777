"""qdq_cliffs_bench draws calls that the library takes, the same ones again, and measures its table."""

import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import report  # noqa: E402

BINARY = sys.argv.pop()


def printed(*given):
    shortest = ("--rounds", "1", "--seconds", "0")
    return subprocess.run([BINARY, *shortest, *given], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


class Cliffs(unittest.TestCase):
    def test_drawn_calls_repeat(self):
        *sentences, table = report.cliffs(printed("--calls", "64", "--seed", "3"))
        self.assertRegex(sentences[0].text, r"all: 64 calls, median [\d.]+, p90 [\d.]+, p99 [\d.]+, worst [\d.]+")
        self.assertEqual(len(table.rows), 20)
        for *_, elements, call in table.rows[:3]:
            again = report.cliffs(printed(*call.split("  ")[0].split()))[-1]
            self.assertEqual([row[5:] for row in again.rows], [[elements, call]])

    def test_dynamic_calls_are_drawn(self):
        *sentences, table = report.cliffs(printed("--dynamic", "--calls", "64", "--worst", "64"))
        self.assertRegex(sentences[0].text, r"all: 64 calls, ")
        self.assertEqual(len(table.rows), 64)
        self.assertTrue(any(", rounding 5," in call for *_, call in table.rows))  # stochastic

    def test_memory_begins_within_cache_lines_too(self):
        *_, table = report.cliffs(printed("--calls", "64", "--worst", "64"))
        for place in ("16", "32", "48"):
            self.assertTrue(any(f"] at {place}" in call for *_, call in table.rows), place)

    def test_large_calls_are_past_the_caches(self):
        *_, table = report.cliffs(printed("--large", "--calls", "2", "--worst", "2"))
        self.assertTrue(all(int(row[5]) > 1 << 22 for row in table.rows))

    def test_transcodings_are_drawn(self):
        *sentences, table = report.cliffs(printed("--transcode", "--calls", "64"))
        self.assertRegex(sentences[0].text, r"all: 64 calls, ")
        for *_, elements, call in table.rows[:2]:
            self.assertRegex(call, r"^--transcode --seed 1 --call \d+ .* to f32.*; f32.* to ")
            again = report.cliffs(printed(*call.split("  ")[0].split()))[-1]
            self.assertEqual([row[5:] for row in again.rows], [[elements, call]])

    def test_other_calls_are_drawn_and_repeat(self):
        for kind, words in (("pair", "; and "), ("groups", ", groups from [0 "), ("blocks", "_")):
            with self.subTest(kind=kind):
                *sentences, table = report.cliffs(printed(f"--{kind}", "--calls", "64"))
                self.assertRegex(sentences[0].text, r"all: 64 calls, ")
                *_, elements, call = table.rows[0]
                self.assertTrue(call.startswith(f"--{kind} --seed 1 --call ") and words in call, call)
                again = report.cliffs(printed(*call.split("  ")[0].split()))[-1]
                self.assertEqual([row[5:] for row in again.rows], [[elements, call]])

    def test_one_kind_is_drawn_at_a_time(self):
        done = subprocess.run([BINARY, "--pair", "--blocks"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)

    def test_the_report_has_each_kind(self):
        for kind in report.DRAWN:
            calls = 2 if kind == "large" else 8
            lines = printed(f"--{kind}", "--calls", str(calls))
            self.assertEqual(len(report.cliffs(lines)[-1].rows), calls, kind)

    def test_the_picture_has_a_ratio_for_each_percent_of_calls(self):
        ratios = report.percentiles({"cliffs": {"drawn": printed("--calls", "64")}})
        self.assertEqual((len(ratios), ratios), (101, sorted(ratios)))
        self.assertEqual(report.percentiles({}), [])

    def test_the_table_has_every_kind_of_row(self):
        (table,) = report.cliffs(printed("--table"))
        names = "\n".join(row[-1] for row in table.rows)
        for part in ("blocks of 128", "pitch 4", "a scale a row", "rounding 3", "packing 2", "no plan", "n from 1 to 128"):
            self.assertIn(part, names)

    def test_a_target_that_is_not_there_is_named(self):
        done = subprocess.run([BINARY, "--target", "nothing"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing", done.stderr)


if __name__ == "__main__":
    unittest.main()

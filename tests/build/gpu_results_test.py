"""What tools/gpu_results.py keeps of a run on a machine with a GPU."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

import gpu_results  # noqa: E402

ROW = '{"row": "a", "GB/s": 1}'
BENCH = '{"device": "GPU 1", "launch microseconds": 4.5, "rows": [\n' + ROW + ",\n" + ROW


class GpuResults(unittest.TestCase):
    def test_rows_of_a_benchmark_that_was_stopped_are_kept(self):
        for said, rows in ((BENCH + "\n]}\n", 2), (BENCH + ",\n", 2), (BENCH[:-5], 1), ('{"device": "GPU 1", ', 0), ("", 0)):
            with self.subTest(said=said), tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                (folder / "summary.txt").write_text(
                    "0 s: GPU 1, 580.1, 9.0\n4 s: calls: passed  3 tests. \n5 s: no wheel\n6 s: stopped\n"
                )
                (folder / "bench.json").write_text(said)
                results = gpu_results.results_of(folder)
                self.assertEqual((len(results["rows"]), results["peers"]), (rows, []))
                self.assertEqual((results["gpu"], results["steps"]), ("GPU 1", {"calls": "passed 3 tests."}))


if __name__ == "__main__":
    unittest.main()

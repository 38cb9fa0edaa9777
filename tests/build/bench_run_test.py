"""bench/run.py measures what it is asked for: programs stand in for those that measure, and say how they are called."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench/run.py"
KERNELS = """#!/usr/bin/env python3
import json, sys
names = ["quantize_f32_i8/tensor/divide/4096/qdq:x86_avx2", "copy/4096/32:8/memcpy"]
if "--benchmark_list_tests" in sys.argv:
    print(*names, sep="\\n")
else:
    print(json.dumps({"context": {}, "benchmarks": [
        {"name": name, "run_name": name, "aggregate_name": "min", "cpu_time": 1, "real_time": 1, "time_unit": "us"}
        for name in names]}))
"""
CALLS = """#!/usr/bin/env python3
import sys
print("all: 1 calls, median 1, p90 1, p99 1, worst 1")
print("1.00 10.0 10.0 5.0 4096", *sys.argv[1:])
"""


class Run(unittest.TestCase):
    def calls(self, *given):
        """What its record has of calls: of each kind the lines that were printed."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("qdq_kernels_bench", KERNELS), ("qdq_cliffs_bench", CALLS)):
                program = pathlib.Path(folder) / name
                program.write_text(text)
                program.chmod(0o755)
            called = [sys.executable, RUN, "--binary", pathlib.Path(folder) / "qdq_kernels_bench", "--no-peers", "--threads", "1", *given]
            subprocess.run([*called, "--results", folder], capture_output=True, check=True)
            record, = pathlib.Path(folder).glob("*.json")
            return json.loads(record.read_text())["cliffs"]

    def test_all_of_it_has_a_table_of_calls_and_drawn_ones_of_every_kind(self):
        of_kind = {"table": "--table", "drawn": "--calls 2000", "large": "--large --calls 40"}
        of_kind |= {kind: f"--{kind} --calls 400" for kind in ("dynamic", "transcode", "pair", "groups", "blocks")}
        self.assertEqual({kind: lines[1].split("4096 ")[1] for kind, lines in self.calls().items()},
                         {kind: f"{flags} --rounds {3 if kind == 'large' else 15}" for kind, flags in of_kind.items()})

    def test_a_part_of_it_has_rows_alone(self):
        for part in (("--elements", "4096"), ("--filter", "f32_i8")):
            self.assertEqual(self.calls(*part), {})


if __name__ == "__main__":
    unittest.main()

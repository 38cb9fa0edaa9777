"""The benchmarks' report, made from a few figures."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import report  # noqa: E402

ROW, OTHER = "quantize_f32_i8/tensor/divide", "dequantize_f4e2m1_bf16/block32/multiply"


def measured(row, elements, ns, hand_ns, threads=1):
    return {"row": row, "elements": elements, "threads": threads, "target": "x86_avx2", "ns": ns,
            "hand_ns": hand_ns}


def copies(elements, bits, memcpy, stream, threads=1):
    return {"elements": elements, "threads": threads, "bits": bits,
            "ns": {"memcpy": memcpy, "stream": stream, "stream_prefetch": 0.9 * stream}}


def peer(ns, python, arithmetic):
    return {"ns": ns, "python": python, "arithmetic": arithmetic}


def results():
    return {
        "cpu": "A <processor>", "system": "Linux", "date": "2026-01-01", "commit": "0", "compiler": "g++", "command": "run.py",
        "benchmark_commands": [], "benchmark_context": {"load_avg": [0.5]},
        "entries": [measured(ROW, 4096, 200.0, {"fma": 150.0, "vdivps": 400.0}), measured(ROW, 65536, 4000.0, {"fma": 4000.0}),
                    measured(OTHER, 4096, 100.0, {}), measured(OTHER, 65536, 1000.0, {}),
                    measured(OTHER, 65536, 500.0, {}, threads=2)],
        "copies": [copies(4096, "32:8", 50.0, 400.0), copies(4096, "4:16", 40.0, 90.0), copies(65536, "4:16", 900.0, 600.0),
                   copies(65536, "4:16", 360.0, 600.0, threads=2)],
        "peers": {
            "peers": {"FBGEMM": {"version": "1"}, "torchao": {"version": "2"}, "ggml": {"missing": "no package pywhispercpp"}},
            "empty_call_ns": {"C": 1.0, "Python": 90.0},
            "rows": [{"row": ROW, "elements": 4096, "ns": 200.0, "python_ns": 800.0,
                      "peers": {"FBGEMM": peer(100.0, False, "multiply"), "torchao": peer(8000.0, True, "divide")}}],
        },
    }


class Report(unittest.TestCase):
    def setUp(self):
        self.figures = report.Figures(results())

    def test_the_limit_is_the_fastest_hand_loop(self):
        self.assertEqual(self.figures.limit(self.figures.entry(ROW, 4096)), ("fma", 150.0))
        self.assertEqual(self.figures.speed_to_limit(self.figures.entry(ROW, 4096)), 0.75)

    def test_the_limit_without_a_hand_loop_is_the_fastest_copy(self):
        self.assertEqual(self.figures.limit(self.figures.entry(OTHER, 4096)), ("memcpy", 40.0))
        self.assertEqual(self.figures.limit(self.figures.entry(OTHER, 65536)), ("stream", 540.0))

    def test_rows_below(self):
        """Without a hand loop only where the copy is of the largest size."""
        beside_loops, beside_copies = report.rows_below(self.figures)
        self.assertEqual(beside_loops.rows, [[ROW, "0.75", ""]])
        self.assertEqual(beside_copies.rows, [[OTHER, "0.54", "164", "stream"]])

    def test_scaling(self):
        entry = self.figures.entry(OTHER, 65536, 2)
        self.assertEqual((self.figures.scaling(entry), self.figures.copy_scaling(entry)), (2, 1.5))

    def test_peers_stand_beside_the_same_road(self):
        self.assertEqual(self.figures.peer_speeds(), {"FBGEMM": [0.5], "torchao": [10]})
        self.assertEqual(report.faster_peers(self.figures).rows, [[ROW, "4 Ki", "FBGEMM*", "0.50"]])

    def test_written_files(self):
        with tempfile.TemporaryDirectory() as folder:
            stem = pathlib.Path(folder) / "results/a"
            report.write(results(), stem)
            for name in ("limits", "sizes", "peers"):
                self.assertEqual(stem.with_name(f"a-{name}.png").read_bytes()[:4], b"\x89PNG")
            text, page = (stem.with_suffix(suffix).read_text() for suffix in (".md", ".html"))
            self.assertEqual(report.json.loads(stem.with_suffix(".json").read_text()), results())
        for line in ("| of the best hand loop | 0.75 (1) | 1.00 (1) |", "| ggml | not measured: no package pywhispercpp |",
                     f"| {ROW} | 102 (0.75h) | 81.9 (1.00h) |", "](a-limits.png)", "| 2 threads over one |  | 2.00 (1) |"):
            self.assertIn(line, text)
        self.assertIn("<h1>qdq on A &lt;processor&gt;</h1>", page)
        self.assertIn("data:image/png;base64,", page)
        self.assertNotIn("src=\"http", page)


if __name__ == "__main__":
    unittest.main()

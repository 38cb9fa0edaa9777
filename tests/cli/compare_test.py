import html
import json
import re
import shlex
import subprocess
import unittest
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from support import QDQ, CliTest, entry, random, safetensors_bytes


def sqnr(x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    return 10 * np.log10((x * x).sum() / ((x - y) ** 2).sum())


class Compare(CliTest):
    def setUp(self):
        super().setUp()
        self.a = self.dir / "a.safetensors"
        self.b = self.dir / "b.safetensors"

    def save(self, a, b):
        save_file(a, self.a)
        save_file(b, self.b)

    def json(self):
        report = json.loads(self.succeed("compare", self.a, self.b, "--json"))
        return {each["name"]: each for each in report["tensors"]}, report["total"]

    def refuse(self, message, a, b):
        self.save(a, b)
        self.fail_with(message, "compare", self.a, self.b)

    def make_quantized(self, *options):
        original = {"w": random((6, 40)), "v": random((5, 3), 2) * 7, "bias": random((5,))}
        save_file(original, self.a)
        self.succeed("quantize", self.a, "-o", self.b, *options)
        return original, load_file(self.b)

    def test_table(self):
        original, codes = self.make_quantized()
        restored = {name: codes[name].astype(np.float32) * codes[name + "_scale"] for name in "vw"}
        steps = {name: (np.abs(original[name] - restored[name]) / codes[name + "_scale"]).max() for name in "vw"}
        lines = self.succeed("compare", self.a, self.b).splitlines()
        self.assertRegex(lines[0], "^tensor +shape +bytes before +bytes after +SQNR dB +max error .steps. +clipped$")
        rows = [re.split(" {2,}", line) for line in lines[1:]]
        both = [np.concatenate([each["v"].ravel(), each["w"].ravel()]) for each in (original, restored)]
        self.assertEqual(rows, [
            ["v", "[5, 3]", "60", "35", f"{sqnr(original['v'], restored['v']):.2f}", f"{steps['v']:.3f}", "0"],
            ["w", "[6, 40]", "960", "264", f"{sqnr(original['w'], restored['w']):.2f}", f"{steps['w']:.3f}", "0"],
            ["(1 unchanged)", "20", "20", "-", "-", "-"],
            ["total", "1040", "319", f"{sqnr(*both):.2f}", f"{max(steps.values()):.3f}", "0"],
        ])
        self.assertEqual(len({line.rfind(" ") for line in lines[1:]}), 1)  # the last column is aligned

    def test_json_has_what_the_table_has(self):
        original, codes = self.make_quantized("--asymmetric")
        tensors, total = self.json()
        w = (codes["w"].astype(np.float32) - codes["w_zero_point"].astype(np.float32)) * codes["w_scale"]
        self.assertEqual(set(tensors), {"w", "v", "bias"})
        self.assertEqual(tensors["w"]["shape"], [6, 40])
        self.assertEqual((tensors["w"]["bytes_before"], tensors["w"]["bytes_after"]), (960, 240 + 24 + 6))
        self.assertAlmostEqual(tensors["w"]["sqnr_db"], sqnr(original["w"], w), 9)
        self.assertEqual(tensors["w"]["max_error"], np.abs(original["w"].astype(np.float64) - w).max())
        self.assertLess(tensors["w"]["max_error_steps"], 1.01)
        self.assertFalse(tensors["w"]["unchanged"])
        self.assertTrue(tensors["bias"]["unchanged"])
        self.assertIsNone(tensors["bias"]["sqnr_db"])
        self.assertEqual(total["bytes_before"], 1040)
        self.assertEqual(total["max_error"], max(t["max_error"] for t in tensors.values()))

    def test_steps_and_clipping_follow_each_scale(self):
        a = np.array([[0.4, 127.4, 128.0, -128.4, -129.0], [80, -5.2, 0, 1000, -1000]], np.float32)
        codes = np.array([[0, 127, 127, -128, -128], [8, -1, 0, 100, -100]], np.int8)
        scale = np.array([[1], [10]], np.float32)
        self.save({"x": a}, {"x": codes, "x_scale": scale})
        tensors, _ = self.json()
        self.assertEqual(tensors["x"]["clipped"], 2)  # 128 and -129
        self.assertEqual(tensors["x"]["max_error_steps"], 1)
        self.assertEqual(tensors["x"]["max_error"], np.float64(np.float32(-5.2)) + 10)
        self.save({"x": a}, {"x": codes, "x_scale": scale, "x_zero_point": np.array([[0], [100]], np.int8)})
        self.assertEqual(self.json()[0]["x"]["clipped"], 3)  # 1000 / 10 + 100 too

    def test_steps_along_the_last_axis(self):
        a = np.array([[1, 20, 300], [1, 20, 350]], np.float32)
        codes = np.array([[1, 2, 3], [1, 2, 3]], np.int8)
        self.save({"x": a}, {"x": codes, "x_scale": np.array([[1, 10, 100]], np.float32)})
        self.assertEqual(self.json()[0]["x"]["max_error_steps"], 0.5)

    def test_steps_in_blocks(self):
        a = np.array([[1, 2, 10, 20, 100]], np.float32)
        codes = np.array([[1, 2, 1, 2, 2]], np.int8)
        record = json.dumps({"x": {"source_dtype": "F32", "axis": 1, "block_size": 2}})
        save_file({"x": a}, self.a)
        save_file({"x": codes, "x_scale": np.array([[1, 10, 80]], np.float32)}, self.b, {"qdq": record})
        tensors, _ = self.json()
        self.assertEqual((tensors["x"]["max_error"], tensors["x"]["max_error_steps"]), (60, 0.75))

    def test_half_a_step_is_not_clipped(self):
        x = random((64, 64))
        save_file({"x": x}, self.a)
        self.succeed("quantize", self.a, "-o", self.b)
        self.assertEqual(self.json()[0]["x"]["clipped"], 0)
        codes = load_file(self.b)["x"]
        self.assertTrue(((codes.max(axis=1) == 127) | (codes.min(axis=1) <= -127)).all())

    def test_one_zero_point_is_of_all_scales(self):
        a = np.array([[1, 2], [500, 510]], np.float32)
        codes = np.array([[101, 102], [127, 127]], np.int8)
        self.save({"x": a}, {"x": codes, "x_scale": np.array([[1], [10]], np.float32),
                             "x_zero_point": np.array([100], np.int8)})  # fmt: skip
        self.assertEqual(self.json()[0]["x"]["clipped"], 2)  # 50 + 100 and 51 + 100

    def test_the_total_is_of_all_tensors(self):
        a = {"v": np.array([[0.5, 130, -140, 300]], np.float32), "w": np.array([[0.25, 131, 1, 2]], np.float32)}
        b = {name: np.clip(np.floor(x), -128, 127).astype(np.int8) for name, x in a.items()}
        self.save(a, b | {name + "_scale": np.ones((1, 1), np.float32) for name in a})
        tensors, total = self.json()
        self.assertEqual([tensors[name]["clipped"] for name in "vw"], [3, 1])
        self.assertEqual((total["clipped"], total["max_error_steps"], total["max_error"]), (4, 173, 173))

    def report(self):
        path = self.dir / "report.html"
        self.succeed("compare", self.a, self.b, "--report", path)
        return path.read_text()

    def save_layers(self):
        """0.5 from 1 are 6.02 dB, 0.25 are 12.04 dB, 0.125 are 18.06 dB."""
        ones = np.ones((4, 8), np.float32)
        errors = {"model.layers.10.w.weight": 0.5, "model.layers.2.w.weight": 0.25, "model.layers.2.v.weight": 0.25,
                  "model.layers.2.experts.0.u": 0.25, "model.layers.2.experts.1.u": 0.25, "head": 0.125, "same": 0}
        self.save({name: ones for name in errors}, {name: ones + np.float32(e) for name, e in errors.items()})

    def rows_of(self, page, table):
        rows = re.findall(r"<tr>(.*?)</tr>", page.partition(f'<table id="{table}">')[2].partition("</table>")[0])
        return [re.findall(r"<t[dh][^>]*>(?:<button>)?(.*?)(?:</button>)?</t[dh]>", row) for row in rows]

    def test_report_has_a_grid_of_layers_by_modules(self):
        self.save_layers()
        page = self.report()
        self.assertIn("6 of 7 tensors differ. 896 B became 896 B; ", page)
        self.assertEqual(self.rows_of(page, "grid"), [
            ["layer", "experts.*.u", "v", "w", "whole layer"],
            ["model.layers.2", "12.04", "12.04", "12.04", "12.04"],
            ["model.layers.10", "", "", "6.02", "6.02"],
        ])
        self.assertRegex(page, r'<td style="background:hsl\(212 52% 30%\);color:#fff">6.02</td>')
        self.assertRegex(page, r'<td style="background:hsl\(212 52% 92%\);color:#000">12.04</td>')

    def test_report_has_no_grid_of_layers_that_share_no_module(self):
        ones = np.ones((1, 1), np.float32)
        names = [f"layers.{i}.module{i}" for i in range(9)]
        self.save({name: ones for name in names}, {name: ones * 2 for name in names})
        self.assertNotIn("SQNR by layer", self.report())

    def test_report_has_all_tensors_with_the_lowest_sqnr_first(self):
        self.save_layers()
        rows = self.rows_of(self.report(), "tensors")
        self.assertEqual(rows[0], ["tensor", "shape", "type", "before", "after", "SQNR dB", "max error", "in steps", "clipped"])
        self.assertEqual([(row[0], row[5], row[6]) for row in rows[1:]], [
            ("model.layers.10.w.weight", "6.02", "0.5"), ("model.layers.2.experts.0.u", "12.04", "0.25"),
            ("model.layers.2.experts.1.u", "12.04", "0.25"), ("model.layers.2.v.weight", "12.04", "0.25"),
            ("model.layers.2.w.weight", "12.04", "0.25"), ("head", "18.06", "0.125"), ("same", "-", "0"),
        ])

    def test_report_sorts_nan_as_the_lowest_sqnr_and_the_largest_error(self):
        ones = np.ones((1, 2), np.float32)
        self.save({"a": ones, "b": ones}, {"a": ones * 2, "b": np.array([[1, np.nan]], np.float32)})
        page = self.report()
        self.assertEqual([row[0] for row in self.rows_of(page, "tensors")[1:]], ["b", "a"])
        self.assertRegex(page, r'<td>b</td>.*<td data-key="-Infinity">nan</td><td data-key="Infinity">nan</td>')

    def test_report_has_the_command_that_wrote_it(self):
        self.save_layers()
        self.b = self.b.rename(self.dir / "it's <b>.safetensors")
        command = html.unescape(re.search(r'<pre id="command">(.*?)</pre>', self.report(), re.DOTALL)[1])
        program, *arguments = shlex.split(command)
        self.assertEqual(Path(program).name, "qdq")  # QDQ is a script that emulates it where it was built for another CPU
        self.assertEqual(arguments, ["compare", str(self.a), str(self.b), "--report", str(self.dir / "report.html")])

    def test_report_has_the_errors_in_percent_and_the_sizes_by_type(self):
        ones = np.ones((1, 800), np.float32)
        codes = np.full(ones.shape, 5, np.int8)  # 1.25 by a scale of 0.25
        self.save({"x": ones}, {"x": codes, "x_scale": np.full((1, 1), 0.25, np.float32)})
        page = self.report()
        errors = page[page.index("<h2>Errors") : page.index("<h2>Tensors")]
        self.assertIn("<title>800 errors from 2^-2 to 2^-1</title>", errors)
        self.assertEqual(re.findall(r'"middle">(\d+)</text>', errors), ["0", "20", "40", "60", "80", "100"])
        self.assertIn("<td>I8</td><td>1</td><td>3.2 kB</td><td>804 B</td>", page)

    def test_report_replaces_reports_alone(self):
        self.save({"x": random((4, 8))}, {"x": random((4, 8), 2)})
        before = self.a.read_bytes()
        self.fail_with("exists already, and is no report", "compare", self.a, self.b, "--report", self.a)
        self.assertEqual(self.a.read_bytes(), before)
        (self.dir / "report.html").touch()  # as mktemp does
        self.assertEqual(self.report(), self.report())

    def test_report_has_no_markup_of_names(self):
        name = '<b>&"'
        self.save({name: random((2, 2))}, {name: random((2, 2), 2)})
        page = self.report()
        self.assertIn("&lt;b&gt;&amp;&quot;", page)
        self.assertNotIn("<b>", page)

    def test_restored_file_has_the_same_sqnr_but_no_steps(self):
        self.make_quantized()
        with_codes = self.json()[0]["w"]
        restored = self.dir / "restored.safetensors"
        self.succeed("dequantize", self.b, "-o", restored)
        self.b = restored
        without_codes = self.json()[0]["w"]
        self.assertEqual(without_codes["sqnr_db"], with_codes["sqnr_db"])
        self.assertEqual((without_codes["max_error_steps"], without_codes["clipped"]), (None, None))
        self.assertRegex(self.succeed("compare", self.a, self.b), r"(?m)^w .* - +-$")

    def test_the_original_may_be_the_quantized_one(self):
        self.make_quantized()
        restored = self.dir / "restored.safetensors"
        self.succeed("dequantize", self.b, "-o", restored)
        self.a, self.b = self.b, restored
        self.assertEqual(self.json()[0]["w"]["max_error"], 0)
        self.assertRegex(self.succeed("compare", self.a, self.b), r"(?m)^w +\[6, 40\] +264 +960 +inf ")

    def test_equal_files(self):
        x = {"x": random((3, 3)), "ids": np.arange(4)}
        self.save(x, x)
        tensors, total = self.json()
        self.assertTrue(total["unchanged"] and tensors["ids"]["unchanged"])
        self.assertIn("(2 unchanged)", self.succeed("compare", self.a, self.b))

    def test_infinite_and_nan_halves_are_equal_to_themselves(self):
        special = np.array([[np.inf, -np.inf], [np.nan, 1]], np.float16)
        self.save({"x": special}, {"x": special.astype(np.float32)})
        self.assertEqual(self.json()[0]["x"]["max_error"], 0)

    def test_nan_in_only_one_file_shows(self):
        a, b = random((3, 3)), random((3, 3))
        b[0, 0] = np.nan
        self.save({"x": a}, {"x": b})
        self.assertIsNone(self.json()[0]["x"]["max_error"])
        self.assertRegex(self.succeed("compare", self.a, self.b), r"(?m)^x +\[3, 3\] +36 +36 +nan ")

    def test_exact_codes_have_an_infinite_sqnr(self):
        """Those of zeros, and of no elements at all, too."""
        for x in (np.zeros((2, 3), np.float32), np.zeros((0, 3), np.float32), np.ones((1, 3), np.float32)):
            codes = np.round(x).astype(np.int8)
            self.save({"x": x}, {"x": codes, "x_scale": np.ones(1, np.float32)})
            self.assertRegex(self.succeed("compare", self.a, self.b), r"(?m)^x .* inf +0\.000 +0$")
            self.assertIsNone(self.json()[0]["x"]["sqnr_db"])

    def test_half_precision_widens_exactly(self):
        values = np.array([[1, -2.5, 6e-8, 65504, 0, -6.1e-5, 1 / 3, 1e-4]])
        f16 = values.astype(np.float16)
        bf16 = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        widened = {"F16": f16.astype(np.float32), "BF16": (bf16.astype(np.uint32) << 16).view(np.float32)}
        for dtype, raw in (("F16", f16.tobytes()), ("BF16", bf16.tobytes())):
            self.a.write_bytes(safetensors_bytes({"x": entry(dtype, [1, 8], 0, 16)}, raw))
            save_file({"x": widened[dtype]}, self.b)
            self.assertEqual(self.json()[0]["x"]["max_error"], 0)
            save_file({"x": widened[dtype] + np.float32([[0, 0, 0, 0, 0, 0, 0, 0.25]])}, self.b)
            self.assertAlmostEqual(self.json()[0]["x"]["max_error"], 0.25, 6)

    def test_refuses_different_models(self):
        x, ids = random((2, 3)), np.arange(3)
        self.refuse("y (F32 [2, 3]): it is not in", {"x": x, "y": x}, {"x": x})
        self.refuse("y is not in", {"x": x}, {"x": x, "y": x})
        self.refuse("x (F32 [2, 3]): its shape in", {"x": x}, {"x": x.T.copy()})
        self.refuse("ids (I64 [3]): it differs", {"x": x, "ids": ids}, {"x": x, "ids": ids + 1})
        self.refuse("ids (I64 [3]): it differs", {"ids": ids}, {"ids": ids.astype(np.float32)})

    def test_escapes_control_characters_of_names(self):
        x = {"evil\x1b[2J\n\u0085": random((2, 2)), "größe": random((2, 2))}
        self.save(x, {name: tensor + 1 for name, tensor in x.items()})
        text = self.succeed("compare", self.a, self.b)
        self.assertIn("evil\\x1b[2J\\x0a\\xc2\\x85 ", text)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u0085", text)
        self.assertIn("größe", text)
        self.assertEqual(set(self.json()[0]), set(x))

    def test_reports_output_that_cannot_be_written(self):
        self.make_quantized()
        with open("/dev/full", "w") as full:
            result = subprocess.run([QDQ, "compare", self.a, self.b], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual((result.returncode, result.stderr), (1, "qdq: cannot write to standard output\n"))


if __name__ == "__main__":
    unittest.main()

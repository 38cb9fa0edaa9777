"""docs/status.md says of every kernel row what the tests do on every target, and docs/reliability.md is of every kernel.

usage: status_test.py KERNELS_TXT     the list of the build's kernels
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import status  # noqa: E402

KERNELS = pathlib.Path(sys.argv.pop(1))


def name_of(direction, real, stored):
    return f"{direction}_{real}_{stored}" if direction == "quantize" else f"{direction}_{stored}_{real}"


def rows_of(page):
    """The name of each kernel row in the first table, with its letters by target."""
    lines = [[cell.strip() for cell in line.strip("| \n").split("|")] for line in page.partition("\n## ")[0].splitlines()
             if line.startswith("| ")]  # fmt: skip
    heads = lines[0]
    for direction, floats, stored_types, *letters in lines[1:]:
        for real in floats.split(", "):
            for stored in stored_types.split(", "):
                yield name_of(direction, real, stored), dict(zip(heads[3:], letters, strict=True))


class Status(unittest.TestCase):
    def setUp(self):
        self.manifest, self.tests = status.Manifest(status.read("kernels/manifest.cmake")), status.Tests()

    def letter(self, target, direction, real, stored):
        return status.letter(self.manifest, self.tests, (direction, real, stored), target)

    def test_the_page_is_up_to_date(self):
        self.assertEqual((ROOT / "docs/status.md").read_text(), status.page(), "run tools/status.py")

    def test_the_figures_are_of_every_kernel_of_this_processor_and_of_every_source(self):
        page = (ROOT / "docs/reliability.md").read_text()
        targets = [name for name, processor in self.manifest.processors.items() if processor == "x86_64"]
        kernels = len(self.manifest.rows()) * len(self.manifest.forms) * len(targets)
        self.assertIn(f"| {kernels} of {', '.join(targets)};", page, "`qdq verify` has not run since a target was added")
        self.assertNotRegex(page, r"\d+ sources", "sources are added")

    def test_every_kernel_of_the_build_is_in_the_table_once(self):
        rows = list(rows_of(status.page()))
        letters = dict(rows)
        self.assertEqual(len(rows), len(letters))
        for line in KERNELS.read_text().splitlines():
            target, kernel = line.split()[:2]
            if row := re.fullmatch(r"((?:de)?quantize_\w+?_\w+?)_(?:row|column|block|group|each|strided)", kernel):
                with self.subTest(kernel=line):
                    self.assertIn(target, letters[row[1]])

    def test_a_new_type_and_a_new_target_are_in_the_table(self):
        text = status.read("kernels/manifest.cmake")
        text += "qdq_type(i3 QDQ_I3 8 SIGNED ROLES stored BLOCK 32)\nqdq_target(x86_new\n  PROCESSOR x86_64\n  HALIDE x)\n"
        rows = dict(rows_of(status.table(status.Manifest(text), self.tests)))
        self.assertEqual(rows["quantize_f32_i3"]["x86_new"], "F")
        self.assertEqual(rows["dequantize_i3_bf16"]["x86_new"], "A")

    def test_devices_have_no_kernels_of_types_of_the_host(self):
        self.assertEqual(self.letter("cuda", "quantize", "f32", "f4e1m2"), "-")
        self.assertEqual(self.letter("x86_avx2", "dequantize", "f32", "f4e1m2"), "A")

    def test_f32_are_swept_where_that_test_runs(self):
        self.assertEqual(self.letter("x86_avx2", "quantize", "f32", "i8"), "F")
        self.assertEqual(self.letter("x86_avx2", "dequantize", "f32", "i8"), "A")

    def test_codes_of_more_than_16_bits_are_chosen(self):
        self.assertEqual(self.letter("x86_avx2", "dequantize", "f32", "i32"), "S")
        self.assertEqual(self.letter("x86_avx2", "dequantize", "f32", "u16"), "A")

    def test_a_thinned_sweep_does_not_have_all_inputs(self):
        self.assertEqual(self.letter("arm_neon", "quantize", "f32", "i8"), "s")
        self.tests.presets["thinned"]["environment"].pop("QDQ_SWEEP")
        self.assertEqual(self.letter("arm_neon", "quantize", "f32", "i8"), "f")

    def test_what_a_preset_leaves_out_is_compiled_only(self):
        self.assertEqual(self.letter("riscv_rvv", "quantize", "bf16", "i8"), "s")
        self.assertEqual(self.letter("riscv_rvv", "quantize", "bf16", "i4"), "C")
        self.tests.presets["cross-riscv64"]["filter"]["include"]["name"] = "cli.usage"
        self.assertEqual(self.letter("riscv_rvv", "quantize", "bf16", "i8"), "C")

    def test_devices_without_a_test_are_compiled_only(self):
        for target, tests in (("opencl", self.tests.on_devices), ("cuda", self.tests.on_ptx)):
            self.assertEqual(self.letter(target, "dequantize", "f32", "i8"), "a")
            tests.remove("kernel.dequantize")
            self.assertEqual(self.letter(target, "dequantize", "f32", "i8"), "C")

    def test_a_call_that_a_preset_leaves_out_is_compiled_only_and_one_that_devices_refuse_is_not_there(self):
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in status.calls(self.manifest, self.tests).splitlines()]
        places, of = cells[0][1:], {row[0]: row[1:] for row in cells[2:]}
        (grouped,) = (letters for name, letters in of.items() if "qdq_quantize_grouped" in name)
        (pair,) = (letters for name, letters in of.items() if "qdq_quantize_dynamic_pair" in name)
        self.assertEqual(dict(zip(places, grouped)), {"x86_64": "S", "aarch64": "s", "riscv64": "C", "cuda": "no", "opencl": "no"})
        self.assertEqual(dict(zip(places, pair)), {"x86_64": "S", "aarch64": "s", "riscv64": "C", "cuda": "s", "opencl": "s"})

    def test_the_tests_of_calls_are_there(self):
        for _, *tests in status.OTHER_CALLS:
            for folder, name in (test.split(".") for test in tests if test):
                self.assertTrue((ROOT / f"tests/{folder}/{name}_test.cpp").exists(), name)


if __name__ == "__main__":
    unittest.main()

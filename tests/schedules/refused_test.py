"""A parameter that is not legal is refused by name and range: by a generator, and by a build that reads it from a file.

usage: refused_test.py BUILD CMAKE
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tuning.kernels import Build, Refused  # noqa: E402

build, cmake = Build(sys.argv[1], pathlib.Path(sys.argv[1]) / "tests/schedules/refused"), sys.argv[2]

# Configures what reads the parameters and nothing else.
PROJECT = """
cmake_minimum_required(VERSION 3.28)
project(reads_parameters LANGUAGES NONE)
include({root}/cmake/QdqTuned.cmake)
include({root}/schedules/parameters.cmake)
qdq_check_microarchitecture()
qdq_tuned(some_target quantize quantize_f32_i8_row tuned)
message(STATUS "tuned: ${{tuned}}")
"""
DEFAULTS = {}
for name in ("common", "x86_avx512"):
    DEFAULTS |= json.loads((ROOT / f"schedules/tuned/{name}.json").read_text())["defaults"]


class Generators(unittest.TestCase):
    def setUp(self):
        self.kernels = {}
        for kernel in build.kernels:
            self.kernels.setdefault(kernel.generator, kernel)

    def refusal(self, kernel, **parameters):
        with self.assertRaises(Refused) as refused:
            build.compile(kernel, {**kernel.tuned, **parameters}, "refused")
        return str(refused.exception)

    def test_every_parameter_names_itself_and_what_it_may_be(self):
        for kernel in self.kernels.values():
            for parameter in build.parameters_of(kernel):
                most = parameter.choices[-1]
                past_it = [str(2 * int(most))] if most.isdecimal() else []
                for wrong in ("0", "-1", "2000000000000", "3x", "none", *past_it):
                    with self.subTest(kernel=kernel.name, parameter=parameter.name, value=wrong):
                        refusal = self.refusal(kernel, **{parameter.name: wrong})
                        self.assertIn(f"{parameter.name} is {wrong}, not ", refusal)
                        self.assertIn(most, refusal)

    def test_a_power_of_two_is_asked_for(self):
        self.assertIn("vector is 12, not a power of two in 4..64", self.refusal(self.kernels["quantize"], vector="12"))

    def test_a_method_names_the_ability_it_lacks(self):
        kernel = self.kernels["quantize"]
        kernel.arguments = [a for a in kernel.arguments if not a.startswith("instructions=")]
        self.assertIn("exact_division is fma, for which the target's instructions lack fma",
                      self.refusal(kernel, exact_division="fma", narrowing="direct"))


class Files(unittest.TestCase):
    def configure(self, defaults, kernels, refinement=None, microarchitecture="", common=None):
        with tempfile.TemporaryDirectory() as folder:
            tuned = pathlib.Path(folder) / "schedules/tuned"
            tuned.mkdir(parents=True)
            (tuned / "some_target.json").write_text(json.dumps({"defaults": defaults, "kernels": kernels}))
            if common is not None:
                (tuned / "common.json").write_text(json.dumps({"defaults": common, "kernels": {}}))
            if refinement is not None:
                (tuned / "some_target.zen9.json").write_text(json.dumps({"defaults": {}, "kernels": refinement}))
            (pathlib.Path(folder) / "CMakeLists.txt").write_text(PROJECT.format(root=ROOT))
            done = subprocess.run([cmake, "-S", folder, "-B", f"{folder}/build", f"-DQDQ_MICROARCHITECTURE={microarchitecture}"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.returncode, " ".join(done.stdout.split())

    def refusal(self, defaults, kernels):
        status, output = self.configure(defaults, kernels)
        self.assertNotEqual(status, 0, output)
        return output

    def test_an_unknown_name_stops_the_build(self):
        self.assertIn('there is no parameter "vectors"', self.refusal({**DEFAULTS, "vectors": 16}, {}))

    def test_a_number_out_of_range_stops_the_build(self):
        self.assertIn("vector is 128, not an integer in 4..64", self.refusal({**DEFAULTS, "vector": 128}, {}))
        self.assertIn("quantize_*: vector is 12, not a power of two", self.refusal(DEFAULTS, {"quantize_*": {"vector": 12}}))

    def test_an_unknown_choice_stops_the_build(self):
        self.assertIn("narrowing is both, not one of direct, saturating", self.refusal({**DEFAULTS, "narrowing": "both"}, {}))

    def test_a_missing_parameter_stops_the_build(self):
        defaults = {name: value for name, value in DEFAULTS.items() if name != "unroll"}
        self.assertIn("unroll is missing", self.refusal(defaults, {}))

    def test_a_target_refines_what_all_have_in_common(self):
        defaults = {name: value for name, value in DEFAULTS.items() if name != "unroll"}
        status, output = self.configure({**defaults, "vector": 32}, {}, common={"unroll": 4, "vector": 8})
        self.assertEqual(status, 0, output)
        self.assertIn("unroll=4", output)
        self.assertIn("vector=32", output)

    def test_a_microarchitecture_refines_its_target(self):
        status, output = self.configure(DEFAULTS, {"*": {"unroll": 2, "vector": 32}}, {"quantize_f32_i8_row": {"unroll": 8}}, "zen9")
        self.assertEqual(status, 0, output)
        self.assertIn("unroll=8", output)
        self.assertIn("vector=32", output)

    def test_a_microarchitecture_that_no_target_has_stops_the_build(self):
        status, output = self.configure(DEFAULTS, {}, {}, "zen8")
        self.assertNotEqual(status, 0, output)
        self.assertIn('QDQ_MICROARCHITECTURE: schedules/tuned has no parameters of "zen8", only of zen9', output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

"""No schedule changes a result: kernels compiled with random legal parameters have the published digests.

Of every generator and target of the build so many kernels are drawn, and each is compiled with parameters drawn from what
schedules/parameters.cmake allows. What a target's instructions lack is drawn again; nothing else may be refused. Tests,
relinked with those kernels in place of the build's, must then pass.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from tuning.kernels import Build, Refused  # noqa: E402

LACKS = "for which the target's instructions lack"


def compile_drawn(build, kernel, seed):
    """The kernel's object with parameters drawn from a seed, and those; what the dispatcher has of a pair is no object."""
    draw = random.Random(f"{kernel.symbol} {seed}")
    while True:
        parameters = {p.name: draw.choice(p.choices) for p in build.parameters_of(kernel)}
        if kernel.kind == "dispatch":
            return None, parameters
        try:
            return build.compile(kernel, parameters, kernel.symbol), parameters
        except Refused as refusal:
            if LACKS not in str(refusal):
                raise AssertionError(f"{kernel.symbol} {parameters}: {refusal}") from refusal


def drawn_kernels(build, sets, match, seed):
    """Up to so many kernels of each generator and target, and pairs of types that the dispatcher has parameters for."""
    families = {}
    for kernel in [*build.kernels, *build.dispatched]:
        if build.parameters_of(kernel) and re.search(match, kernel.symbol):
            families.setdefault((kernel.target, kernel.generator), []).append(kernel)
    draw = random.Random(seed)
    return [kernel for family in families.values() for kernel in draw.sample(family, min(sets, len(family)))]


class Invariance(unittest.TestCase):
    def test_results_are_the_same_by_any_legal_parameters(self):
        build = Build(options.build, pathlib.Path(options.build) / "tests/schedules" / options.tests[0])
        sets = max(1, options.sets // int(os.environ.get("QDQ_TEST_THIN", "1")))
        kernels = drawn_kernels(build, sets, options.match, options.seed)
        self.assertTrue(kernels)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            compiled = list(pool.map(lambda kernel: compile_drawn(build, kernel, options.seed), kernels))
        objects = [item for item, _ in compiled if item]
        in_table = [(kernel, drawn) for kernel, (_, drawn) in zip(kernels, compiled) if kernel.kind in ("device", "dispatch")]
        if in_table:
            objects.append(build.compile_table(in_table, build.work))
        for test in options.tests:
            program = build.relink(options.ninja, test, objects)
            done = subprocess.run([program, "--gtest_brief=1", f"--gtest_filter={options.filter}"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env={"QDQ_TEST_THIN": options.thin, **os.environ})
            drawn = f"{test}: {len(kernels)} kernels with parameters drawn from seed {options.seed}"
            self.assertEqual(done.returncode, 0, f"{drawn}: {program}\n{done.stdout[-4000:]}")
            print(f"{drawn}:", done.stdout.strip().splitlines()[-1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("ninja")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--filter", default="*")
    parser.add_argument("--match", default="", help="regular expression of kernels' symbols")
    parser.add_argument("--thin", default="1", help="what the tests leave out: CONTRIBUTING.md, QDQ_TEST_THIN")
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--seed", default=os.environ.get("QDQ_TEST_SEED", "1"))
    options = parser.parse_args()
    unittest.main(argv=[sys.argv[0]])

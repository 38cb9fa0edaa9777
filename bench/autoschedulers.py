#!/usr/bin/env python3
"""Compares this project's schedules with those of Halide's autoschedulers, kernel by kernel.

    bench/autoschedulers.py --target x86_avx512 --kernels '_row$'

Each kernel is compiled by each autoscheduler from the same algorithm, with the generators' estimates, and timed interleaved
with the build's own, which it must agree with bit for bit. Autoschedulers make no copies of a loop for the variants of a
call (kernels/variants.h), so theirs are of the one that is timed: quantize by an exact division, dequantize without a zero
point. All run on one thread. Writes build/tune/<target>.autoschedulers.json for tools/tune_report.py.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

import tqdm

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tuning import timing  # noqa: E402
from tuning.kernels import Build, Refused  # noqa: E402

AUTOSCHEDULERS = ["Mullapudi2016", "Adams2019", "Li2018"]
TIMED_VARIANT = {"quantize": "3", "dequantize": "0"}  # quantize_variant::divide, dequantize_variant::plain


def plugin(name):
    """The file of an autoscheduler."""
    found = list(ROOT.glob(f".venv/lib/python3*/site-packages/halide/lib64/libautoschedule_{name.lower()}.so"))
    return str(found[0])


def autoscheduled(build, kernel, name):
    """The library with the kernel as an autoscheduler maps it."""
    parameters = {**kernel.tuned, "only_variant": TIMED_VARIANT[kernel.kind], "autoscheduler": name,
                  "autoscheduler.parallelism": "1"}
    compiled = build.compile(kernel, parameters, name, ["-p", plugin(name)])
    return build.link([compiled, build.halide_runtime()], build.work / name / "libqdq.so")


def compare(build, kernel, elements, rounds):
    """The median time of each autoscheduler's kernel over ours, and what is to be said of those without one."""
    libraries, ratios = {}, {}
    for name in AUTOSCHEDULERS:
        try:
            libraries[name] = autoscheduled(build, kernel, name)
        except Refused as refusal:
            ratios[name] = f"not scheduled: {refusal}"
    timed = timing.measure(build, kernel, [build.library, *libraries.values()], elements, rounds, ["--one-variant"])
    for i, name in enumerate(libraries, 1):
        if timed is None or timed.differences[i]:
            ratios[name] = timed.differences[i] if timed else "a build brings the process down"
        else:
            ratios[name] = timing.median(timed.log_ratios(i))
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", required=True)
    parser.add_argument("--kernels", default="", help="regular expression: only kernels whose names contain a match")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--elements", type=int, nargs="+", default=[4096, 65536])
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    os.environ["HL_NUM_THREADS"] = "1"

    build = Build(options.build, ROOT / "build/tune" / options.target / "autoschedulers")
    chosen = [k for k in build.kernels if k.target == options.target and k.kind in TIMED_VARIANT
              and re.search(options.kernels, k.name)]
    rows = {kernel.name: compare(build, kernel, options.elements, options.rounds)
            for kernel in tqdm.tqdm(chosen, unit="kernel", dynamic_ncols=True)}
    (ROOT / f"build/tune/{options.target}.autoschedulers.json").write_text(json.dumps(rows, indent=1))

    best = {}
    print(f"{'kernel':36}" + "".join(f"{name:>16}" for name in AUTOSCHEDULERS) + "   (their time over ours)")
    for name, ratios in rows.items():
        print(f"{name:36}" + "".join(f"{r:16.2f}" if isinstance(r := ratios[a], float) else f"{'-':>16}"
                                     for a in AUTOSCHEDULERS))
        timed = [r for r in ratios.values() if isinstance(r, float)]
        if timed:
            best[name] = min(timed)
    print(f"{len(best)} kernels: the fastest of the autoschedulers takes {statistics.geometric_mean(best.values()):.2f} "
          "of our time (geometric mean)")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares two builds of qdq_kernels_bench in one run, and lists the rows that one of them computes faster.

    bench/compare.py HEAD~5 build/release/bench/qdq_kernels_bench
    bench/compare.py v1 HEAD --filter f32_i8 --elements 4096 67108864

BEFORE and AFTER are programs or git revisions, which are built in build/compare. They alternate, round by round, so that
they share what the machine does to them. A row's ratio is that of the times per round, AFTER / BEFORE: the median, and an
interval that holds it with 95 % confidence (bootstrap). A row differs where the whole interval lies beyond --tolerance of 1.
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = [4 << 10, 64 << 10, 1 << 20, 64 << 20]
IN_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def built(revision):
    """The program of a revision."""
    sha = subprocess.run(["git", "rev-parse", "--verify", f"{revision}^{{commit}}"], cwd=ROOT, stdout=subprocess.PIPE,
                         text=True, check=True).stdout.strip()
    tree = ROOT / "build/compare" / sha[:12]
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", tree, sha], cwd=ROOT, check=True)
        (tree / ".venv").symlink_to(ROOT / ".venv")
    cmake = ROOT / ".venv/bin/cmake"
    subprocess.run([cmake, "--preset", "release", "--log-level=WARNING"], cwd=tree, check=True, stdout=sys.stderr)
    subprocess.run([cmake, "--build", "build/release", "--target", "qdq_kernels_bench"], cwd=tree, check=True,
                   stdout=sys.stderr)
    return tree / "build/release/bench/qdq_kernels_bench"


def program(named):
    path = pathlib.Path(named)
    return path.resolve() if path.is_file() else built(named)


def times_of(binary, options, elements):
    """The smallest time of each row in ns, by row and target."""
    targets = "|".join(options.targets) if options.targets else ".*"
    row = f".*({options.filter}).*" if options.filter else "[qd].*"
    done = subprocess.run([str(binary), f"--benchmark_filter=^{row}/{elements}/qdq:({targets})$", "--benchmark_format=json",
                           f"--benchmark_min_time={options.min_time}", "--benchmark_repetitions=3",
                           "--benchmark_report_aggregates_only=true"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0 or not done.stdout:
        sys.exit(f"{binary} ended with {done.returncode} and has no row that {row}/{elements} names")
    return {b["run_name"]: b["cpu_time"] * IN_NS[b["time_unit"]]
            for b in json.loads(done.stdout)["benchmarks"] if b.get("aggregate_name") == "min"}


def interval(ratios, samples=1000):
    """Of the median, by the bootstrap's percentiles."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(samples))
    return medians[samples // 40], medians[-samples // 40]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--filter", default="", help="regular expression: only rows that contain a match")
    parser.add_argument("--elements", type=int, nargs="+", default=[4 << 10, 64 << 20], choices=SIZES)
    parser.add_argument("--targets", nargs="+", help="only these targets")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--min-time", type=float, default=0.01, help="seconds of each repetition")
    parser.add_argument("--tolerance", type=float, default=0.03)
    options = parser.parse_args()
    programs = [program(options.before), program(options.after)]

    ratios, shortest = {}, {}
    for elements in options.elements:
        for turn in range(options.rounds):
            order = [0, 1] if turn % 2 == 0 else [1, 0]
            times = {which: times_of(programs[which], options, elements) for which in order}
            for name in times[0].keys() & times[1].keys():
                ratios.setdefault(name, []).append(times[1][name] / times[0][name])
                pair = shortest.setdefault(name, [times[0][name], times[1][name]])
                shortest[name] = [min(old, times[which][name]) for which, old in enumerate(pair)]
            print(f"\r{elements} elements: round {turn + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)

    slower = faster = 0
    print(f"{'row':60} {'before ns':>12} {'after ns':>12} {'minima':>7} {'median':>7}  95 %")
    for name, row in sorted(ratios.items(), key=lambda item: -statistics.median(item[1])):
        low, high = interval(row)
        is_slower, is_faster = low > 1 + options.tolerance, high < 1 - options.tolerance
        slower, faster = slower + is_slower, faster + is_faster
        if is_slower or is_faster:
            before, after = shortest[name]
            print(f"{name:60} {before:12.1f} {after:12.1f} {after / before:7.3f} {statistics.median(row):7.3f}  "
                  f"{low:.3f}..{high:.3f}")
    overall = statistics.geometric_mean([after / before for before, after in shortest.values()])
    print(f"{len(ratios)} rows: {slower} slower, {faster} faster; the geometric mean of after / before, minima: {overall:.4f}")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()

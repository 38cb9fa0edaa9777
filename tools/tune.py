#!/usr/bin/env python3
"""Tunes the parameters of kernels for this machine, and writes what won to schedules/tuned.

    tools/tune.py --target x86_avx512 --kernels 'bf16_(i8|f8e4m3)' --budget 30

Candidates are compiled while others are timed, must give the published digests before they are, and are timed interleaved
with the build's own kernel at several sizes. What is ahead after a search is measured again in separate processes; only a
gain whose 95 % interval lies beyond 1 % is written. It can be stopped at any moment, and goes on where it was: every
result is a line of the record.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import tqdm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tuning import processor  # noqa: E402
from tuning import record as records  # noqa: E402
from tuning import search  # noqa: E402
from tuning.kernels import ROOT, Build  # noqa: E402
from usable_targets import usable_targets  # noqa: E402


def choices_of(record):
    """The last confirmed entry of each kernel, by its symbol."""
    return {entry["kernel"]: entry for entry in record.entries if entry["what"] == "confirmed"}


def write(output, build, record, machine):
    """The tuned file: parameters of kernels for which others than the build's won, and the figures."""
    tuned = json.loads(output.read_text()) if output.exists() else {"defaults": {}, "kernels": {}, "measured": {}}
    kernels = {k.symbol: k for k in [*build.kernels, *build.dispatched]}
    for symbol, entry in choices_of(record).items():
        name = kernels[symbol].name
        tuned["kernels"][name] = entry["parameters"]
        tuned["measured"][name] = {**machine, "ratio": round(entry["ratio"], 4),
                                   "interval": [round(end, 4) for end in entry["interval"]],
                                   "ns": {row: [round(ns, 1) for ns in pair] for row, pair in entry["ns"].items()}}
    lines = ["{", f'  "defaults": {json.dumps(tuned["defaults"])},']
    for part, end in (("kernels", ","), ("measured", "")):
        rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(tuned[part].items()))
        lines.append(f'  "{part}": {{' + (f"\n{rows}\n  " if rows else "") + "}" + end)
    temporary = output.with_suffix(".new")
    temporary.write_text("\n".join(lines + ["}", ""]))
    os.replace(temporary, output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", help="of the build; otherwise the best that this machine can run")
    parser.add_argument("--kernels", default="", help="regular expression: only kernels whose names contain a match")
    parser.add_argument("--budget", type=float, default=60, help="minutes")
    parser.add_argument("--trials", type=int, default=24, help="candidates of a kernel")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--microarchitecture", default=processor.name(processor.described()),
                        help="name of this processor (%(default)s)")
    parser.add_argument("--output", type=pathlib.Path, help="schedules/tuned/<target>.<microarchitecture>.json")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/tune", help="folder of the record")
    options = parser.parse_args()

    target = options.target or usable_targets(options.build / "runtime/libqdq.so")[0]
    build = Build(options.build, options.work / target)
    chosen = [k for k in [*build.kernels, *build.dispatched] if k.target == target
              and k.kind in ("quantize", "dequantize", "dispatch")
              and re.search(options.kernels, k.name)]
    if not chosen:
        parser.error(f"the build has no kernel of {target} that --kernels names")
    output = options.output or ROOT / f"schedules/tuned/{chosen[0].target}.{options.microarchitecture}.json"
    record = records.Record(options.work / f"{target}.jsonl", build.version())
    compiler = subprocess.run([build.compiler, "-dumpfullversion"], stdout=subprocess.PIPE, text=True).stdout.strip()
    machine = {"machine": processor.model(), "compiler": f"Halide 21, {pathlib.Path(build.compiler).name} {compiler}",
               "date": datetime.date.today().isoformat()}

    began, seconds = time.monotonic(), 60 * options.budget
    with tqdm.tqdm(chosen, unit="kernel", desc=target, dynamic_ncols=True) as line:
        for done, kernel in enumerate(line):
            left = began + seconds - time.monotonic()
            if left <= 0:
                break
            until = time.monotonic() + left / (len(chosen) - done)
            best = min((e["ratio"] for e in choices_of(record).values()), default=1)
            line.set_postfix_str(f"best {best:.2f}, {left / 60:.0f} min left, {kernel.name}")
            search.KernelSearch(build, kernel, record, options.trials).run(until, line.refresh)
            write(output, build, record, machine)
    won = choices_of(record)
    print(f"{len(won)} of {len(chosen)} kernels are faster with other parameters: {output}")


if __name__ == "__main__":
    main()

"""Runs the fuzzers, one after another, each on all processors, and adds what they did up.

usage: tools/fuzz.py --build build/fuzz --minutes N [--only NAME ...] [--jobs N] [--figures build/reliability/fuzz.json]

Each fuzzer has an equal share of the minutes. It begins with the inputs of tests/fuzz/corpus/<name> and those it has
found before, which it keeps in <build>/corpus/<name>. Inputs that broke something in any run are in <build>/findings; the
exit code is 1 where one of them still does. Executions, processor time and findings add up over runs in the file of figures.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

FUZZERS = {
    "calls": "valid calls in guarded memory, on two targets, against the oracle",
    "descriptors": "descriptors that nothing keeps valid, with no memory behind them",
    "files": "whole commands on .safetensors, .npy, .onnx and .gguf files",
    "folders": "models' folders with links, and what is found beside their output",
    "front_ends": "the five front ends on any arguments, on two targets",
    "gguf": "whole commands on drawn GGUF files",
    "int4_layers": "whole commands on drawn folders of GPTQ and AWQ",
    "onnx": "whole commands on drawn ONNX models, with external data, subgraphs and functions",
    "python": "calls of the Python package with any arguments, which change, lie or overflow while they are read",
    "recipes": "recipes in JSON and YAML",
}
ASKED_CPU_HOURS = 7
LONGEST_INPUT = {"files": 4096, "folders": 1024, "gguf": 1024, "int4_layers": 1024, "onnx": 1024,
                 "recipes": 1024}  # of the others: 512
LARGEST_ALLOCATION = 256  # MB, by commands on files of some kilobytes
CORPUS = pathlib.Path(__file__).parents[1] / "tests/fuzz/corpus"


def program_of(name, build):
    return build / "tests/fuzz" / f"fuzz.{name}"


class Run:
    """One process of a fuzzer."""

    def __init__(self, name, build, seconds, number):
        self.log = build / "logs" / f"{name}-{number}.log"
        corpus = build / "corpus" / name
        for folder in (self.log.parent, corpus, build / "findings"):
            folder.mkdir(parents=True, exist_ok=True)
        command = [program_of(name, build), f"-max_total_time={seconds}", "-reload=10", "-len_control=0",
                   f"-max_len={LONGEST_INPUT.get(name, 512)}", "-timeout=100", "-report_slow_units=100",
                   f"-malloc_limit_mb={LARGEST_ALLOCATION if name in LONGEST_INPUT else 0}",
                   "-print_final_stats=1", "-use_value_profile=1", f"-artifact_prefix={build / 'findings'}/{name}-",
                   corpus, CORPUS / name]
        symbolizer = {"ASAN_SYMBOLIZER_PATH": "/usr/bin/llvm-symbolizer-19"}
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={**os.environ, **symbolizer})

    def finish(self):
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        text = self.log.read_text(errors="replace")
        executed = re.findall(r"stat::number_of_executed_units: (\d+)", text)
        covered = re.findall(r"cov: (\d+)", text)
        points = re.search(r"\((\d+) +inline 8-bit counters", text)
        self.executions = int(executed[-1]) if executed else 0
        self.coverage = int(covered[-1]) if covered else 0
        self.points = int(points[1]) if points else 0
        self.cpu_seconds = used.ru_utime + used.ru_stime
        if self.process.returncode != 0:
            print(f"\n{self.log}, the end:\n" + "\n".join(text.splitlines()[-30:]), flush=True)
        return self.process.returncode == 0


def breaks(program, path):
    return subprocess.run([program, "-timeout=100", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode != 0


def left(name, build):
    """How many findings of all runs still are some: not those mended since, nor what a machine that stood still slowed."""
    found = [path for path in (build / "findings").glob(f"{name}-*") if "-slow-unit-" not in path.name]
    return sum(breaks(program_of(name, build), path) for path in found)


def fuzz(name, build, seconds, jobs):
    """What so many processes of one fuzzer did, in `seconds` of them side by side."""
    began = time.time()
    runs = [Run(name, build, seconds, number) for number in range(jobs)]
    failures = [run for run in runs if not run.finish()]
    figures = {
        "executions": sum(run.executions for run in runs),
        "cpu_seconds": sum(run.cpu_seconds for run in runs),
        "coverage": max(run.coverage for run in runs),
        "points": max(run.points for run in runs),
        "findings": len(failures),
        "left": left(name, build),
    }
    print("{:12} {executions:10} executions, {cpu_seconds:7.0f} s of CPU in {:.0f} s, {coverage} of {points} edges, "
          "{findings} findings, {left} left in all".format(name, time.time() - began, **figures), flush=True)
    return figures


def add(before, now):
    total = {key: before.get(key, 0) + now[key] for key in ("executions", "cpu_seconds", "findings")}
    return {**total, **{key: now[key] for key in ("coverage", "points", "left")}}


def row(name, figures):
    return {
        "what": f"fuzzing: {FUZZERS[name]}",
        "asked": "no finding left",
        "measured": "{executions} executions, {coverage} of {points} edges, {:.2f} CPU-hours, {findings} findings, {left} left"
                    .format(figures["cpu_seconds"] / 3600, **figures),
        "command": "make fuzz MINUTES=n",
        "fuzzer": name,
        **figures,
    }


def total_row(rows):
    hours = sum(row["cpu_seconds"] for row in rows) / 3600
    return {"what": "fuzzing: processor time of all runs", "asked": f"at least {ASKED_CPU_HOURS} CPU-hours",
            "measured": f"{hours:.2f} CPU-hours", "command": "make fuzz MINUTES=n"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--only", nargs="+", choices=FUZZERS, default=list(FUZZERS), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--figures", type=pathlib.Path, default=pathlib.Path("build/reliability/fuzz.json"))
    options = parser.parse_args()
    build = options.build.resolve()
    before = json.loads(options.figures.read_text()) if options.figures.exists() else []
    totals = {row["fuzzer"]: row for row in before if "fuzzer" in row}
    options.figures.parent.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        now = fuzz(name, build, max(int(options.minutes * 60 / len(options.only)), 1), options.jobs)
        totals[name] = row(name, add(totals.get(name, {}), now))
        rows = [totals[known] for known in FUZZERS if known in totals]
        options.figures.write_text(json.dumps([*rows, total_row(rows)], indent=1) + "\n")
    print(f"in all runs: {total_row(rows)['measured']}")
    if any(row["left"] for row in rows):
        sys.exit(f"findings: {build / 'findings'}")


if __name__ == "__main__":
    main()

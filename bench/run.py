#!/usr/bin/env python3
"""Runs qdq_kernels_bench and peers.py, prints how qdq compares with hand-written loops, copies and other libraries, and
writes the report.

    .venv/bin/python bench/run.py                   everything, some twelve minutes
    bench/run.py --filter f32_i8/tensor --elements 4096 1048576 --no-peers

A run of everything writes bench/results/<cpu>-<target>.{json,md,png,html}, a run of a part only what --results names.
Processors of different instruction sets share a name: AMD EPYC is Zen 3, without AVX-512, and Zen 5.
README.md says what is measured and how to read it.
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile

import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS_PYTHON = ROOT / ".venv-peers/bin/python"
PEERS_ELEMENTS = [4 << 10, 64 << 10, 1 << 20, 64 << 20]  # below, a call through Python hides what is called
IN_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bench/qdq_kernels_bench")
    parser.add_argument("--filter", default="", help="regular expression: only rows that contain a match")
    parser.add_argument("--elements", type=int, nargs="+", help="only these sizes")
    parser.add_argument("--targets", nargs="+", help="these targets, or all; otherwise the best usable one")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--no-peers", action="store_true", help="qdq, hand loops and copies only")
    parser.add_argument("--quick", action="store_true", help="3 short repetitions: shows what is slow, and no more")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--min-time", type=float, default=0.003, help="seconds for each repetition")
    parser.add_argument("--results", type=pathlib.Path, help="folder for the report")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args()
    options.threads.sort()  # one first: what more are compared with
    if options.quick:
        options.repetitions, options.min_time = 3, 0.001
    partial = options.filter or options.elements or options.targets or options.quick or options.no_peers
    if options.results is None and not partial and not options.no_save:
        options.results = HERE / "results"
    return options


def benchmark_names(binary, threads):
    """What the program can measure with so many threads; nothing if it has no such option."""
    listed = subprocess.run([str(binary), *thread_option(threads), "--benchmark_list_tests"], capture_output=True, text=True)
    return listed.stdout.split() if listed.returncode == 0 else []


def thread_option(threads):
    return ["--threads", str(threads)] if threads > 1 else []


def command(options, benchmarks, threads):
    """Benchmarks run together in random order: contenders then share what the machine does to them in that minute."""
    return [str(options.binary), *thread_option(threads), f"--benchmark_filter=^({benchmarks})", "--benchmark_format=json",
            "--benchmark_enable_random_interleaving=true", "--benchmark_report_aggregates_only=true",
            f"--benchmark_repetitions={options.repetitions}", f"--benchmark_min_time={options.min_time}"]


def kernels(options, elements, threads):
    """A regular expression: qdq's kernels of one size, and beside one thread what has only one: copies and hand loops."""
    row = f".*({options.filter}).*" if options.filter else "[qd].*"
    own = f"{row}/{elements}/qdq:({'|'.join(options.targets)})(/|$)"
    return f"copy/{elements}/|{row}/{elements}/hand:|{own}" if threads == 1 else own


def measure(commands):
    """What commands that run at the same time have measured."""
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    found = []
    for process in running:
        output = process.communicate()[0]
        if process.returncode != 0:
            sys.exit(f"{process.args[0]} ended with {process.returncode}")
        found.append(json.loads(output))
        broken = {b["name"]: b.get("error_message") for b in found[-1]["benchmarks"] if b.get("error_occurred")}
        if broken:
            sys.exit(f"benchmarks that failed: {broken}")
    return found


def times_of(found, clock, aggregate="min"):
    """By name, in ns, the smallest of all repetitions or another aggregate."""
    return {b["run_name"].removesuffix("/real_time"): b[clock] * IN_NS[b["time_unit"]]
            for b in found["benchmarks"] if b.get("aggregate_name") == aggregate}


def copy_times(options, elements, threads):
    """Of copies on all threads: as many processes copy at a time. Their medians, as the smallest time is one's alone."""
    found = measure([command(options, f"copy/{elements}/", 1)] * threads)
    medians = [times_of(each, "real_time", "median") for each in found]
    return {name: max(times[name] for times in medians) / threads for name in medians[0]}


def entries_of(times, threads):
    """One entry for each qdq kernel, with the hand loops of its row and instruction set: x86_avx512's are those of
    x86_avx512_bf16, too."""
    hand = collections.defaultdict(dict)
    for name, ns in times.items():
        row, elements, contender = name.rsplit("/", 2)
        if contender.startswith("hand:"):
            target, loop = contender.removeprefix("hand:").split(":")
            hand[row, elements][target, loop] = figure(ns)
    entries = []
    for name, ns in times.items():
        row, elements, contender = name.rsplit("/", 2)
        if contender.startswith("qdq:"):
            target = contender.removeprefix("qdq:")
            loops = {loop: time for (of, loop), time in hand[row, elements].items() if target.startswith(of)}
            entries.append({"row": row, "elements": int(elements), "threads": threads, "target": target,
                            "ns": figure(ns), "hand_ns": loops})
    return entries


def copies_of(times, threads):
    """The copies' times, by the bits of x and y whose traffic they are."""
    copies = {}
    for name, ns in times.items():
        if name.startswith("copy/"):
            _, elements, bits, contender = name.split("/")
            copies.setdefault((int(elements), bits), {})[contender] = figure(ns)
    return [{"elements": elements, "threads": threads, "bits": bits, "ns": ns} for (elements, bits), ns in copies.items()]


def figure(ns):
    return float(f"{ns:.5g}")


def run_peers(options, sizes):
    """What peers.py finds in its own virtual environment, of those sizes that it compares."""
    if not PEERS_PYTHON.exists():
        return missing("no .venv-peers, which `make bench` makes")
    elements = [e for e in sizes if e in PEERS_ELEMENTS]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "peers.json"
        called = [str(PEERS_PYTHON), str(HERE / "peers.py"), "--filter", options.filter, "--json", str(path), "--elements",
                  *map(str, elements), *(["--rounds", "3"] if options.quick else [])]
        build = options.binary.resolve().parent.parent
        done = subprocess.run(called, stdout=sys.stderr, env=os.environ | {"QDQ_BUILD": str(build)})
        if done.returncode != 0:
            return missing(f"peers.py ended with {done.returncode}")
        return json.loads(path.read_text())


def run_cliffs(options):
    """What qdq_cliffs_bench prints of the table and of drawn calls, line by line; nothing where it is not built, or where rows or
    sizes are picked."""
    binary = options.binary.with_name("qdq_cliffs_bench")
    if not binary.exists() or options.filter or options.elements:
        return {}
    print("measuring calls beside dense ones", file=sys.stderr)
    rounds = "3" if options.quick else "15"
    ways = {"table": ["--table"], "drawn": ["--calls", "2000"]}
    ways |= {kind: [f"--{kind}", "--calls", "400"] for kind in report.DRAWN}
    ways["large"] = ["--large", "--calls", "40"]

    def printed(way, given):
        called = [str(binary), *given, "--rounds", "3" if way == "large" else rounds]
        return subprocess.run(called, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()

    return {way: printed(way, given) for way, given in ways.items()}


def missing(reason):
    return {"peers": {"all": {"missing": reason}}, "rows": []}


def cpu_name():
    try:
        return re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)[1].strip()
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def file_name(cpu, target):
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"\([^)]*\)", "", f"{cpu} {target}".lower())).strip("-")


def commit():
    found = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=12"],
                           capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def main():
    options = arguments()
    if options.results:
        import matplotlib  # which the report needs: rather missed now than after the measurements  # noqa: F401
    names = {threads: benchmark_names(options.binary, threads) for threads in options.threads}
    names = {threads: found for threads, found in names.items() if found}
    if not names:
        sys.exit(f"{options.binary} lists no benchmarks")
    listed = next(iter(names.values()))
    if not options.targets:  # the best usable one is listed first
        options.targets = [next(re.search("/qdq:(.*?)(/|$)", name)[1] for name in listed if "/qdq:" in name)]
    elif options.targets == ["all"]:
        options.targets = [".*"]
    known = sorted({int(name.split("/")[1]) for name in listed if name.startswith("copy/")})
    sizes = [e for e in known if not options.elements or e in options.elements]

    entries, copies, context, commands = [], [], {}, []
    for threads in names:
        for elements in sizes:
            print(f"measuring {elements} elements, threads: {threads}", file=sys.stderr)
            commands.append(command(options, kernels(options, elements, threads), threads))
            found = measure([commands[-1]])[0]
            context = found["context"]
            times = times_of(found, "cpu_time" if threads == 1 else "real_time")
            entries += entries_of(times, threads)
            copies += copies_of(times if threads == 1 else copy_times(options, elements, threads), threads)
    if not entries:
        sys.exit("no row matches")
    entries.sort(key=lambda e: (e["threads"], e["elements"], e["target"], e["row"]))
    results = {
        "cpu": cpu_name(), "system": platform.platform(), "date": datetime.date.today().isoformat(), "commit": commit(),
        "compiler": context.get("compiler"), "command": shlex.join(sys.argv),
        "benchmark_commands": list(map(shlex.join, commands)), "benchmark_context": context,
        "entries": entries, "copies": copies, "cliffs": run_cliffs(options),
        "peers": {"peers": {}, "rows": []} if options.no_peers else run_peers(options, sizes),
    }
    print(report.as_text(results))
    if options.results:
        report.write(results, options.results / file_name(cpu_name(), options.targets[0]))


if __name__ == "__main__":
    main()

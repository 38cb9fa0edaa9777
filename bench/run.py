#!/usr/bin/env python3
"""Runs qdq_kernels_bench, prints how qdq compares with loops written by hand and with copies, and saves the numbers.

    bench/run.py                                    everything, some ten minutes
    bench/run.py --filter f32_i8/tensor --elements 4096 1048576

README.md says what is measured and how to read the table.
"""

import argparse
import datetime
import json
import pathlib
import platform
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SIZES = [64, 4 << 10, 64 << 10, 1 << 20, 64 << 20]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, default=HERE.parent / "build/release/bench/qdq_kernels_bench")
    parser.add_argument("--filter", default="", help="regular expression: only rows that contain a match")
    parser.add_argument("--elements", type=int, nargs="+", default=SIZES, choices=SIZES)
    parser.add_argument("--targets", nargs="+", help="only these targets")
    parser.add_argument("--threads", type=int, default=1, help="of the library; its rivals have one")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--min-time", type=float, default=0.02, help="seconds for each repetition")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results", help="folder for the JSON file")
    parser.add_argument("--no-save", action="store_true", help="print the table only")
    return parser.parse_args()


def command(options, elements):
    """Benchmarks of one size run together: contenders then share what the machine does to them in that minute."""
    targets = "|".join(options.targets) if options.targets else ".*"
    row = f".*({options.filter}).*" if options.filter else "[qd].*"
    return [str(options.binary), f"--benchmark_filter=^(copy/{elements}/|{row}/{elements}/(hand|qdq):({targets}))", "--benchmark_format=json",
            "--threads", str(options.threads),
            "--benchmark_enable_random_interleaving=true", "--benchmark_report_aggregates_only=true",
            f"--benchmark_repetitions={options.repetitions}", f"--benchmark_min_time={options.min_time}"]


def measure(options, elements):
    """By name: the smallest time in ns, for one thread of its CPU, and the bytes read and written. Then what is known of
    the machine."""
    finished = subprocess.run(command(options, elements), stdout=subprocess.PIPE, text=True)
    if finished.returncode != 0:
        sys.exit(f"{options.binary} ended with {finished.returncode}")
    report = json.loads(finished.stdout)
    broken = {b["name"]: b.get("error_message") for b in report["benchmarks"] if b.get("error_occurred")}
    if broken:
        sys.exit(f"benchmarks that failed: {broken}")
    in_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    time = "cpu_time" if options.threads == 1 else "real_time"
    times = {b["run_name"]: b[time] * in_ns[b["time_unit"]]
             for b in report["benchmarks"] if b.get("aggregate_name") == "min"}
    moved = {b["run_name"]: b["bytes"] for b in report["benchmarks"] if b.get("aggregate_name") == "min"}
    return times, moved, report["context"]


def parse(name):
    """('quantize_f32_i8/tensor/divide', 4096, 'qdq:x86_avx2')"""
    row, elements, contender = name.rsplit("/", 2)
    return row, int(elements), contender


def bits_of(dtype):
    """In memory: the number in the type's name, f6e2m3 being one to a byte."""
    return 1 << (int(re.search(r"\d+", dtype)[0]) - 1).bit_length()


def copies_of(times, row, elements):
    """Times of the copies that read and write as many bytes, by name."""
    x, y = row.split("/")[0].split("_")[1:]
    prefix = f"copy/{elements}/{bits_of(x)}:{bits_of(y)}/"
    return {name.removeprefix(prefix): ns for name, ns in times.items() if name.startswith(prefix)}


def compare(times, bytes_of):
    """One entry for each qdq kernel, with its rivals' times. A speed of 0.9 is 0.9 times as fast as the rival."""
    entries = []
    for name, ns in times.items():
        if "/qdq:" not in name:
            continue
        row, elements, contender = parse(name)
        target = contender.removeprefix("qdq:")
        hand = {other.rsplit(":", 1)[1]: t for other, t in times.items()
                if other.startswith(f"{row}/{elements}/hand:{target}:")}
        copies = copies_of(times, row, elements)
        stream = min((t for other, t in copies.items() if other.startswith("stream")), default=None)
        best = min(hand, key=hand.get) if hand else None
        entries.append({
            "row": row, "elements": elements, "target": target, "ns": ns, "gb_per_s": bytes_of[name] / ns,
            "hand_ns": hand, "copy_ns": copies, "rival": best, "speed_to_hand": hand[best] / ns if best else None,
            "speed_to_memcpy": copies["memcpy"] / ns if "memcpy" in copies else None,
            "speed_to_stream": stream / ns if stream else None,
        })
    return sorted(entries, key=lambda e: (e["elements"], e["speed_to_stream"] or 0))  # slowest first


def print_table(entries):
    def shown(speed):
        return f"{speed:8.2f}" if speed is not None else "       -"

    print(f"{'row':44} {'elements':>9} {'target':13} {'ns':>12} {'GB/s':>6} {'stream':>8} {'memcpy':>8} "
          f"{'hand':>8} best hand loop")
    for e in entries:
        print(f"{e['row']:44} {e['elements']:9} {e['target']:13} {e['ns']:12.1f} {e['gb_per_s']:6.1f} "
              f"{shown(e['speed_to_stream'])} {shown(e['speed_to_memcpy'])} {shown(e['speed_to_hand'])} {e['rival'] or '-'}")


def cpu_name():
    try:
        return re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)[1].strip()
    except (OSError, TypeError):
        return platform.processor() or platform.machine()


def commit():
    found = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=12"],
                           capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def save(options, entries, context, commands):
    """bench/results/<cpu>-<date>.json; a second run on the same day replaces the first."""
    date = datetime.date.today().isoformat()
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\([^)]*\)", "", cpu_name().lower())).strip("-")
    options.results.mkdir(parents=True, exist_ok=True)
    path = options.results / f"{slug}-{date}.json"
    path.write_text(json.dumps({
        "cpu": cpu_name(), "system": platform.platform(), "date": date, "commit": commit(),
        "compiler": context.get("compiler"), "command": shlex.join(sys.argv), "benchmark_commands": commands,
        "benchmark_context": context, "entries": entries,
    }, indent=1) + "\n")
    print(f"\nsaved {path}")


def main():
    options = arguments()
    times, bytes_of, context, commands = {}, {}, {}, []
    for elements in options.elements:
        print(f"measuring {elements} elements", file=sys.stderr)
        more_times, more_bytes, context = measure(options, elements)
        times |= more_times
        bytes_of |= more_bytes
        commands.append(shlex.join(command(options, elements)))
    entries = compare(times, bytes_of)
    if not entries:
        sys.exit("no row matches")
    print(f"{cpu_name()}; {context.get('compiler')}; commit {commit()}; load {context.get('load_avg')}\n")
    print_table(entries)
    if not options.no_save:
        save(options, entries, context, commands)


if __name__ == "__main__":
    main()

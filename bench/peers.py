#!/usr/bin/env python3
"""qdq beside other libraries' code for the same conversions, one thread each, in one run.

    make .venv-peers/.installed && .venv-peers/bin/python bench/peers.py --elements 4096 --filter i8

A peer that is not installed is left out, and the report says why. README.md says how the calls are made.
QDQ_BUILD names another build than build/release.
"""

import argparse
import json
import os
import pathlib
import re
import sys

import numpy

import native_peers
import python_peers
from conversion import Conversion, NativeCall, PythonCall, Qdq, smallest_times
from model_rows import MODEL_ROWS, modes_of, row_name
from report import peer_speed

EXTENTS = {4 << 10: (64, 64), 64 << 10: (256, 256), 1 << 20: (1024, 1024), 64 << 20: (8192, 8192)}
# A peer may round otherwise, or twice; one that differs in more computes something else.
MOST_DIFFERENT = 0.03
CHECKED_ELEMENTS = 1 << 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--filter", default="", help="regular expression: only rows that contain a match")
    parser.add_argument("--elements", type=int, nargs="+", default=list(EXTENTS), choices=list(EXTENTS))
    parser.add_argument("--peers", nargs="+", help="only these")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=pathlib.Path, help="where the figures go, for the report")
    return parser.parse_args()


def load(names):
    """The peers that are there, and for every one its version or why it is missing."""
    loaded, known = {}, {}
    for name, peer in (native_peers.PEERS | python_peers.PEERS).items():
        if names and name not in names:
            continue
        try:
            loaded[name] = peer()
            known[name] = {"version": loaded[name].version}
        except (ImportError, OSError, AttributeError, RuntimeError) as reason:
            known[name] = {"missing": str(reason).splitlines()[0]}
    return loaded, known


def different(call, expected):
    """The part of what it has just computed that is not qdq's; 0 where that lies differently in memory, or is not known."""
    if call.result is None or expected is None:
        return 0.0
    theirs, ours = (numpy.ascontiguousarray(a).reshape(-1).view(f"u{expected.itemsize}") for a in (call.result(), expected))
    return numpy.count_nonzero(theirs != ours) / ours.size


def peer_calls(peers, conversion, expected):
    """The peers' calls by name and mode."""
    calls = {}
    for name, peer in peers.items():
        try:
            for mode, call in peer.calls(conversion).items():
                conversion.y[:] = 0  # all have the same y: what is not written is not qdq's
                call.run()
                part = different(call, expected[mode])
                if part <= MOST_DIFFERENT:
                    calls[name, mode] = call
                else:
                    print(f"{conversion.name}: {part:.1%} of what {name} gives is different", file=sys.stderr)
        except Exception as reason:  # each peer refuses in its own way what it has no kernel for
            print(f"{conversion.name}: {name} refuses: {str(reason).splitlines()[0]}", file=sys.stderr)
    return calls


def rows_of(conversion, qdq, peers, rounds):
    """One entry for each mode, with the times of qdq by both roads and of each peer."""
    calls, expected = {}, {}
    for mode in conversion.modes:
        calls["plan", mode], calls["call", mode] = qdq.calls(conversion, mode)
        calls["plan", mode].run()
        expected[mode] = conversion.y.copy() if conversion.elements <= CHECKED_ELEMENTS else None
    calls |= peer_calls(peers, conversion, expected)
    times = {call: float(f"{ns:.5g}") for call, ns in smallest_times(calls, most_rounds=rounds).items()}
    for mode in conversion.modes:
        entry = {"row": conversion.row(mode), "elements": conversion.elements, "ns": times["plan", mode],
                 "python_ns": times["call", mode], "peers": {}}
        for name in peers:
            # What has but one arithmetic stands beside both of qdq's.
            arithmetic = next((m for m in (mode, *conversion.modes) if (name, m) in calls), None)
            if arithmetic:
                call = name, arithmetic
                entry["peers"][name] = {"ns": times[call], "python": isinstance(calls[call], PythonCall),
                                        "arithmetic": arithmetic}
        yield entry


def empty_call_ns():
    """What a call costs by each road before it does anything."""
    library = Qdq().library
    return smallest_times({"C": NativeCall(library.qdq_target_count, []), "Python": PythonCall(library.qdq_target_count)})


def main():
    options = arguments()
    # One processor: no library can use a second one unseen.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    qdq = Qdq()
    peers, known = load(options.peers)
    report = {"peers": known, "empty_call_ns": empty_call_ns(), "rows": []}
    for elements in options.elements:
        for name, zero_point in MODEL_ROWS:
            if not any(re.search(options.filter, row_name(name, zero_point, mode)) for mode in modes_of(name)):
                continue
            conversion = Conversion(name, zero_point, *EXTENTS[elements])
            for entry in rows_of(conversion, qdq, peers, options.rounds):
                report["rows"].append(entry)
                shown = "  ".join(f"{peer} {peer_speed(entry, peer):.2f}" for peer in entry["peers"])
                print(f"{entry['row']:44} {elements:9} {entry['ns']:12.1f} ns  {shown}", flush=True)
    for name, what in known.items():
        print(f"{name}: {what.get('version') or 'missing: ' + what['missing']}")
    if options.json:
        options.json.write_text(json.dumps(report))


if __name__ == "__main__":
    main()

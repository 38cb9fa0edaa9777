"""Puts what `gpu_lease.sh run` left into bench/results/, from where tools/figures.py writes docs/gpu.md.

usage: gpu_results.py OUT [COMMIT]     OUT: the folder with summary.txt, bench.json and peers.json; COMMIT: of what was packed
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rows_in(path):
    """Of a run that was stopped, those that are there."""
    text = path.read_text() if path.exists() else ""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        whole, ends, _ = text.rpartition("}")
        return json.loads(whole + ends + "]}") if ends else {"rows": []}


def results_of(out):
    """Without what is known of the tree alone."""
    first, *lines = (out / "summary.txt").read_text().splitlines()
    gpu, driver = first.split(": ", 1)[1].split(", ")[:2]
    steps = {name: " ".join(said.split()) for name, said in (line.split(": ", 2)[1:] for line in lines[:-1] if line.count(": ") > 1)}
    bench, peers = (rows_in(out / name) for name in ("bench.json", "peers.json"))
    return {"gpu": gpu, "driver": driver, "steps": steps, "launch microseconds": bench.get("launch microseconds"),
            "rows": bench["rows"], "torch": peers.get("torch"), "peers": peers["rows"],
            "microseconds of a call": peers.get("microseconds of a call", {})}  # fmt: skip


def main():
    commit = subprocess.run(["git", "rev-parse", "--short", *(sys.argv[2:] or ["HEAD"])], cwd=ROOT, capture_output=True, text=True, check=True)
    results = {"date": str(datetime.date.today()), "commit": commit.stdout.strip(), **results_of(pathlib.Path(sys.argv[1]))}
    path = ROOT / f"bench/results/{'-'.join(re.findall(r'[a-z0-9]+', results['gpu'].lower())[:2])}.json"
    path.write_text(json.dumps(results, indent=0) + "\n")
    print(path)


if __name__ == "__main__":
    main()

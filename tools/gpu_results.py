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
        whole, _, _ = text.rpartition("}")
        return json.loads(whole.rstrip(",\n") + "}]}")


def main():
    out = pathlib.Path(sys.argv[1])
    summary = (out / "summary.txt").read_text().splitlines()
    gpu, driver = summary[0].split(": ", 1)[1].split(", ")[:2]
    commit = subprocess.run(["git", "rev-parse", "--short", *(sys.argv[2:] or ["HEAD"])], cwd=ROOT, capture_output=True, text=True, check=True)
    bench, peers = (rows_in(out / name) for name in ("bench.json", "peers.json"))
    steps = {name: " ".join(said.split()) for name, said in (line.split(": ", 2)[1:] for line in summary[1:-1] if line.count(": ") > 1)}
    results = {"gpu": gpu, "driver": driver, "date": str(datetime.date.today()), "commit": commit.stdout.strip(), "steps": steps,
               "launch microseconds": bench["launch microseconds"], "rows": bench["rows"], "torch": peers["torch"],
               "peers": peers["rows"], "microseconds of a call": peers.get("microseconds of a call", {})}  # fmt: skip
    name = "-".join(re.findall(r"[a-z0-9]+", gpu.lower())[:2])
    path = ROOT / f"bench/results/{name}.json"
    path.write_text(json.dumps(results, indent=0) + "\n")
    print(path)


if __name__ == "__main__":
    main()

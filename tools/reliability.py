"""Renders docs/reliability.md: what every check of qdq's reliability asks, what it measured, and the command.

usage: tools/reliability.py [--figures build/reliability] [--output docs/reliability.md]

Each check writes its rows to <figures>/<check>.json as it runs: a list of objects with the fields "what", "asked",
"measured" and "command". `make reliability` runs them all and then this. A check that has no file, as it did not run here, keeps the
section that the page has, with its date.
"""

import argparse
import datetime
import json
import pathlib
import platform
import subprocess
import sys

# Each check: its heading, and what its figures are of.
CHECKS = {
    "tests": ("Tests", "`runtime/`, `kernels/`, `generators/`, `schedules/`, `model/`, `cli/`, `python/`, `tests/`"),
    "verify": ("Published digests", "`runtime/src/`, `kernels/`, `generators/`, `schedules/`"),
    "oracle": ("The oracle", "`conformance/reference/`"),
    "ptx": ("CUDA's kernels, interpreted", "`kernels/`, `generators/`, `schedules/`, `runtime/src/device/`, `tests/ptx/`"),
    "coverage": ("Executed lines", "`runtime/`, `kernels/handwritten/`, `model/`, `cli/`, `tests/`"),
    "lint": ("Lint", "`runtime/`, `kernels/`, `generators/`, `schedules/`, `model/`, `cli/`, `docs/`"),
    "mutants": ("Planted faults", "`tools/mutants.toml`"),
    "fuzz": ("Fuzzing", "`runtime/`, `kernels/`, `model/`, `cli/`, `python/`, `tests/fuzz/`"),
}
FIELDS = ["what", "asked", "measured", "command"]
INTRODUCTION = """# Reliability

What each check asks, and what it measured when it ran last. `make reliability` runs all of them. [Planted
faults](mutants.md) lists the faults, [Status](status.md) how far each kernel is checked on each target,
[Conformance](conformance.md) what `qdq verify` promises, [Security](../SECURITY.md) what is trusted.
"""


def processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} processors" if names else platform.machine()


def read_rows(path):
    rows = json.loads(path.read_text())
    for row in rows:
        missing = [field for field in FIELDS if field not in row]
        if missing:
            sys.exit(f"{path}: a row lacks {', '.join(missing)}")
    return rows


def table(rows):
    lines = ["| " + " | ".join(FIELDS) + " |", "|" + "---|" * len(FIELDS)]
    for row in rows:
        cells = [str(row[field]).replace("|", "\\|") for field in FIELDS]
        cells[-1] = f"`{cells[-1]}`"
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def commit_at(time):
    """The last commit before it."""
    done = subprocess.run(["git", "log", "-1", "--format=%h", f"--until={time.isoformat()}"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def section(check, path):
    title, paths = CHECKS[check]
    time = datetime.datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    measured = f"Measured {time.date()}, commit `{commit_at(time)}`, of {paths}, on {processor()}."
    return f"## {title}\n\n{table(read_rows(path))}\n{measured}\n"


def sections_of(page):
    """Of a page that is there, by their headings."""
    return {text.partition("\n")[0]: f"## {text.rstrip()}\n" for text in page.split("\n## ")[1:]}


def page(figures, before):
    """The page after checks have written to `figures`."""
    sections = sections_of(before)
    for check, (title, _) in CHECKS.items():
        if (path := figures / f"{check}.json").exists():
            sections[title] = section(check, path)
        elif title not in sections:
            sys.exit(f"not measured yet: {path}; `make reliability` runs every check")
    return "\n".join([INTRODUCTION, *(sections[title] for title, _ in CHECKS.values())])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=pathlib.Path, default=pathlib.Path("build/reliability"))
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("docs/reliability.md"))
    options = parser.parse_args()
    options.output.write_text(page(options.figures, options.output.read_text()))


if __name__ == "__main__":
    main()

"""Prints which lines of runtime/, kernels/handwritten/, model/ and cli/ the tests of a coverage build executed; fails below 95 % of one.

usage: tools/coverage.py BUILD_DIR [--figures build/reliability]
"""

import argparse
import json
import pathlib
import subprocess
import sys

ASKED = 95
DIRECTORIES = ["runtime", "kernels/handwritten", "model", "cli"]
# What this build does not compile, and so nobody counts.
LEFT_OUT = {"device/cuda": "needs a GPU and its driver", "_aarch64": "for another processor",
            "_riscv64": "for another processor"}


def remove_former_notes(build):
    """What an earlier build left of objects that are no longer made would be counted as lines that never ran."""
    commands = json.loads((build / "compile_commands.json").read_text())
    made = {(build / command["output"]).with_suffix(".gcno") for command in commands}
    others = {cache.parent for cache in build.rglob("CMakeCache.txt")} - {build}  # what tests of installing build
    for notes in set(build.rglob("*.gcno")) - made:
        if others.isdisjoint(notes.parents):
            notes.unlink()


def count_lines(build, summary):
    filters = [option for directory in DIRECTORIES for option in ("--filter", f"{directory}/")]
    command = [sys.executable, "-m", "gcovr", "--root", ".", *filters, "--merge-mode-functions", "separate", "--merge-lines",
               "--txt", "-", "--json-summary", summary, build]
    subprocess.run(command, check=True)
    return {file["filename"]: file for file in json.loads(summary.read_text())["files"]}


def reason(path):
    return next((why for part, why in LEFT_OUT.items() if part in path), None)


def not_counted(counted):
    sources = [str(path) for directory in DIRECTORIES for path in sorted(pathlib.Path(directory).rglob("*.cpp"))]
    return [path for path in sources if path not in counted]


def row(directory, files):
    lines = sum(file["line_total"] for file in files)
    covered = sum(file["line_covered"] for file in files)
    return {"what": f"lines of {directory}/ that tests execute", "asked": f"at least {ASKED} %",
            "measured": f"{100 * covered / lines:.1f} % of {lines}", "command": "make coverage"}, 100 * covered / lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--figures", type=pathlib.Path, default=pathlib.Path("build/reliability"))
    options = parser.parse_args()

    options.figures.mkdir(parents=True, exist_ok=True)
    remove_former_notes(options.build.resolve())
    files = count_lines(options.build, options.build / "coverage.json")
    rows, too_few = [], []
    for directory in DIRECTORIES:
        figures, percentage = row(directory, [f for name, f in files.items() if name.startswith(f"{directory}/")])
        rows.append(figures)
        print(f"{figures['what']}: {figures['measured']}")
        if percentage < ASKED:
            too_few.append(directory)
    for path in not_counted(files):
        print(f"left out: {path}: {reason(path) or 'not compiled, or it holds no code'}")
    (options.figures / "coverage.json").write_text(json.dumps(rows, indent=2) + "\n")
    if too_few:
        sys.exit(f"less than {ASKED} % of {' and of '.join(too_few)}")


if __name__ == "__main__":
    main()

"""Writes what the unthinned tests of CUDA's kernels over tests/ptx executed: figures for docs/reliability.md.

usage: tools/ptx_figures.py JUNIT_FILE BUILD FIGURES_FILE COMMAND
"""

import datetime
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def printed(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def main():
    junit, build, figures, command = sys.argv[1:]
    suite = ElementTree.parse(junit).getroot().attrib
    minutes, seconds = divmod(round(float(suite["time"])), 60)
    said = printed(sys.executable, "-B", "tests/ptx/executed_test.py", f"{build}/generators/kernels/cuda",
                   *(f"{build}/tests/ptx/ptx.{test}.report" for test in ("quantize", "dequantize", "dynamic")))  # fmt: skip
    executed = re.search(r"(\d+ of \d+ kernels) .*? ([\d.]+ G instructions)", said)
    row = {"what": "CUDA's kernels, executed by the interpreter of their PTX, in all cases of the tests of kernels",
           "asked": "all, with the oracle's results",
           "measured": f"{executed[1]}, {executed[2]}, {suite['failures']} tests fail, {minutes} min {seconds} s; "
                       f"{datetime.date.today()}, commit {printed('git', 'rev-parse', '--short', 'HEAD').strip()}",
           "command": command}  # fmt: skip
    pathlib.Path(figures).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(figures).write_text(json.dumps([row], indent=2) + "\n")


if __name__ == "__main__":
    main()

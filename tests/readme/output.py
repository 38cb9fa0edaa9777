"""Fails unless README.md shows what a program prints: output.py <program> <the path it is shown with>

A block of README.md that starts with "$ <path>" ends with the program's output.
"""

import pathlib
import subprocess
import sys

program, shown = sys.argv[1:]
printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
readme = (pathlib.Path(__file__).parent / "../../README.md").read_text()
block = f"\n$ {shown}\n{printed}"
if not any(block + end in readme for end in ("$ ", "```")):
    sys.exit(f"README.md does not contain, on its own:{block}")

"""Fails unless a page shows what a program prints: output.py <page> <program> <the path it is shown with>

A block of the page that starts with "$ <path>" ends with the program's output.
"""

import pathlib
import subprocess
import sys

page, program, shown = sys.argv[1:]
printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
text = (pathlib.Path(__file__).parent / "../.." / page).read_text()
block = f"\n$ {shown}\n{printed}"
if not any(block + end in text for end in ("$ ", "```")):
    sys.exit(f"{page} does not contain, on its own:{block}")

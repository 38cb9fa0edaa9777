"""Writes how many tests passed, and in what time, from what ctest --output-junit wrote.

usage: tools/test_figures.py JUNIT_FILE FIGURES_FILE COMMAND
"""

import json
import os
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def main():
    junit, figures, command = sys.argv[1:]
    suite = ElementTree.parse(junit).getroot().attrib
    count, failed, skipped = (int(suite[name]) for name in ("tests", "failures", "skipped"))
    minutes, seconds = divmod(round(float(suite["time"])), 60)
    row = {"what": f"tests, on {len(os.sched_getaffinity(0))} processors",
           "asked": "all pass" + (", within 8 minutes on two processors" if command == "make test" else ""),
           "measured": f"{count - failed - skipped} pass, {failed} fail, {skipped} skipped, {minutes} min {seconds} s",
           "command": command}
    pathlib.Path(figures).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(figures).write_text(json.dumps([row], indent=2) + "\n")


if __name__ == "__main__":
    main()

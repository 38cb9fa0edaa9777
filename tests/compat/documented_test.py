"""Fails unless docs/frontends.md names every test of the front ends, and only such: documented_test.py <program>..."""

import pathlib
import re
import subprocess
import sys


def tests_of(program):
    """Bare names, without suites and parameters."""
    listed = subprocess.run([program, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {re.match(r"  (\w+)", line)[1] for line in listed.splitlines() if line.startswith("  ")}


def named_in(page):
    """The last cell of each row of its tables."""
    rows = [line.strip().strip("|").split("|") for line in page.splitlines() if line.startswith("|")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row[-1])}


page = (pathlib.Path(__file__).parent / "../../docs/frontends.md").read_text()
tests = set().union(*map(tests_of, sys.argv[1:]))
if tests != named_in(page):
    sys.exit(f"not in docs/frontends.md: {tests - named_in(page)}\nno such test: {named_in(page) - tests}")

"""Fails where a rule of SECURITY.md names no test, or one that is not there."""

import pathlib
import re
import sys

ROOT = (pathlib.Path(__file__).parent / "../..").resolve()
SECTIONS = ("What is not trusted", "Limits")  # whose tables end with the tests of each row


def section(title):
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", (ROOT / "SECURITY.md").read_text(), re.M | re.S)
    return found[1] if found else sys.exit(f"SECURITY.md has no section {title}")


def rows(text):
    """The cells of each row of tables, without the heads."""
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        yield from (line.strip("| ").split(" | ") for line in table.splitlines()[2:])


def problem_of(test):
    """`folder.name`, and the name of a case where one is said."""
    name, _, case = test.partition(" ")
    folder, _, base = name.partition(".")
    files = [path for pattern in (f"{base}_test.*", f"{base}_fuzzer.*", f"{base}.*")
             for path in (ROOT / "tests" / folder).glob(pattern)]  # fmt: skip
    if not files:
        return f"no test {name}"
    return "" if not case or any(case in path.read_text() for path in files) else f"{name} has no {case}"


def problems():
    for title in SECTIONS:
        text = section(title)
        if prose := [line for line in text.splitlines() if line and not line.startswith(("|", "Each row", "A row"))]:
            yield f"{title}: not in a table: {prose[0]}"
        for row in rows(text):
            tests = re.findall(r"`([^`]+)`", row[-1])
            yield from (f"{row[0][:60]}: {found}" for found in map(problem_of, tests) if found)
            if not tests:
                yield f"{title}: no test: {row[0][:60]}"


if found := list(problems()):
    sys.exit("SECURITY.md:\n" + "\n".join(found))

"""Fails where a Markdown file of the repository links to, or names in backquotes, a file or a heading that is not there."""

import pathlib
import re
import sys

ROOT = (pathlib.Path(__file__).parent / "../..").resolve()
# `make reliability`, `make mutants`: they may be missing, and name files as these were when it ran.
WRITTEN_BY_MAKE = {"docs/reliability.md", "docs/mutants.md"}
FOLDERS = "bench cli cmake conformance docs examples generators kernels model packaging requirements runtime schedules tests tools".split()


def pages():
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "bench").glob("*.md")])


def anchors(page):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_there(path):
    return path.exists() or path.is_relative_to(ROOT) and str(path.relative_to(ROOT)) in WRITTEN_BY_MAKE


def broken_links(page):
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", page.read_text()):
        path = (page.parent / target).resolve() if target else page
        if not is_there(path):
            yield target
        elif anchor and anchor not in anchors(path):
            yield f"{target}#{anchor}"


def missing_files(page):
    """Of paths from the root, without those that a <word> or a * leaves open."""
    if str(page.relative_to(ROOT)) in WRITTEN_BY_MAKE:
        return
    for path in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", page.read_text()):
        if not is_there(ROOT / path):
            yield path


broken = [f"{page.relative_to(ROOT)}: {what}" for page in pages() for what in (*broken_links(page), *missing_files(page))]
if broken:
    sys.exit("not there:\n" + "\n".join(broken))

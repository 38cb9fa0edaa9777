"""Installs the wheel of a folder that suits a version of Python, in an environment of its own, and runs tests of the package there.

usage: try_wheel.py FOLDER PYTHON TEST...     PYTHON: python3.12, for one; TEST: quantize, for one, of tests/python/quantize_test.py
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
# For any of the tests that wheels.sh names.
NEEDED = ("hypothesis", "ml_dtypes", "numpy", "onnx", "pytest", "safetensors")


def run(*command, **options):
    subprocess.run(command, check=True, **options)


def main():
    wheels, python, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="qdq-wheel-") as folder:
        environment = pathlib.Path(folder)
        run(python, "-m", "venv", "--without-pip", environment)
        made = environment / "bin"
        install = [*PIP, "--python", made / "python", "install", "--quiet", "--no-compile"]
        run(*install, "--no-index", "--no-deps", "--only-binary", "qdq", "--find-links", wheels, "qdq")
        for command in ([made / "qdq"], [made / "python", "-m", "qdq"]):
            run(*command, "targets")
        if names:
            run(*install, "--constraint", ROOT / "requirements" / "base.txt", *NEEDED)
            tests = [ROOT / "tests" / "python" / f"{name}_test.py" for name in names]
            pytest = (made / "python", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider")
            run(*pytest, *tests, env={**os.environ, "QDQ_CLI": made / "qdq"})


main()

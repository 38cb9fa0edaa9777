"""Builds the wheel of this interpreter over a finished build's kernels.

usage: build_wheel.py BUILD_DIR FOLDER

`pip install .` compiles the kernels, for minutes; here they are those of BUILD_DIR. FOLDER/wheels gets the wheel.
"""

import pathlib
import shutil
import subprocess
import sys


def build_wheel(source, build, folder):
    """The wheel's path."""
    shutil.rmtree(folder / "wheels", ignore_errors=True)
    settings = {
        "cmake.source-dir": source / "python",
        "cmake.define.QDQ_BUILD": build,
        "build-dir": folder / "build",
    }
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", source]
    command += ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder / "wheels"]
    command += [f"--config-settings={name}={value}" for name, value in settings.items()]
    subprocess.run(command, check=True)
    (wheel,) = (folder / "wheels").glob("qdq-*.whl")
    return wheel


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parents[1]
    print(build_wheel(root, *(pathlib.Path(path).absolute() for path in sys.argv[1:])))

"""Builds the wheel of this interpreter over a finished build's kernels.

usage: build_wheel.py BUILD_DIR FOLDER

`pip install .` compiles the kernels, for minutes; here they are what `cmake --install` gives. FOLDER/wheels gets the wheel.
"""

import pathlib
import subprocess
import sys


def build_wheel(source, build, folder):
    """The wheel's path."""
    prefix = folder / "prefix"
    cmake = pathlib.Path(sys.executable).with_name("cmake")
    subprocess.run([cmake, "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    settings = {
        "cmake.source-dir": source / "python",
        "cmake.define.qdq_ROOT": prefix,
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
    print(build_wheel(root, *map(pathlib.Path, sys.argv[1:])))

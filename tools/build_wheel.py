"""Builds the wheel of an interpreter over a finished build's kernels.

`pip install .` compiles the kernels, for minutes.
"""

import shutil
import subprocess
import sys


def build_wheel(python, source, build, folder):
    """The path of the wheel for PYTHON, which has what builds it beside it, in FOLDER/wheels."""
    for name in ("build", "wheels"):  # a build for another processor's compiler stays with it
        shutil.rmtree(folder / name, ignore_errors=True)
    settings = {
        "cmake.source-dir": source / "python",
        "cmake.define.QDQ_BUILD": build,
        "build-dir": folder / "build",
    }
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "wheel", "--quiet", source]
    command += ["--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder / "wheels"]
    command += [f"--config-settings={name}={value}" for name, value in settings.items()]
    subprocess.run(command, check=True)
    (wheel,) = (folder / "wheels").glob("qdq-*.whl")
    return wheel


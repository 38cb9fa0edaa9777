"""Environments of an interpreter, which may be another processor's, emulated."""

import subprocess
import sys

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
DESCRIBED = """
import platform, sys, sysconfig
print(platform.machine(), "%d.%d" % sys.version_info[:2], "cp%d%d" % sys.version_info[:2] + sys.abiflags, sysconfig.get_path("purelib"))
"""


def make_environment(folder, python):
    """Its interpreter. It has no pip."""
    subprocess.run([python, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


def install(python, *requirements):
    """From PyPI, by pip of this machine: under an emulator it takes minutes."""
    processor, version, abi, packages = subprocess.check_output([python, "-c", DESCRIBED], text=True).split()
    platforms = [f"--platform=manylinux_2_{minor}_{processor}" for minor in range(17, 37)]
    of_it = ["--target", packages, "--python-version", version, "--abi", abi, "--only-binary", ":all:", *platforms]
    subprocess.run([*PIP, "install", "--quiet", "--no-compile", *of_it, *requirements], check=True)


def pip(python, *arguments):
    """pip of this machine, run by PYTHON."""
    subprocess.run([*PIP, "--python", python, *arguments], check=True)

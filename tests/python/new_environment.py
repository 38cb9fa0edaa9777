"""Builds the wheel over a finished build's kernels, and installs it into an environment that has nothing else of qdq's.

usage: new_environment.py SOURCE_DIR BUILD_DIR FOLDER

FOLDER/wheels gets the wheel and FOLDER/environment the environment, with the packages of this interpreter's beside it.
"""

import pathlib
import subprocess
import sys
import sysconfig

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import build_wheel  # noqa: E402


def main():
    source, build, folder = map(pathlib.Path, sys.argv[1:])
    wheel = build_wheel.build_wheel(sys.executable, source, build, folder)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    (packages,) = environment.glob("lib/python3*/site-packages")
    (packages / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *install], check=True
    )
    where = subprocess.run(
        [python, "-c", "import qdq; print(qdq.__file__)"], check=True, capture_output=True, text=True
    )
    assert where.stdout.strip() == str(packages / "qdq" / "__init__.py"), where.stdout
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB")
    has_devices = "QDQ_DEVICE_TARGETS:STRING=\n" not in (build / "CMakeCache.txt").read_text()
    assert wheel.stat().st_size < (17.5e6 if has_devices else 6e6)


main()

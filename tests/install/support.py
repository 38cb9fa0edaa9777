"""What the tests of installed files share: the build, as CMake wrote it down, and programs of someone else's."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCES = pathlib.Path(__file__).parents[2]
BUILD = json.loads(pathlib.Path(sys.argv[1]).read_text())


def run(*command, **options):
    """What a command prints; where it fails, the test does, with its whole output."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class InstalledTest(unittest.TestCase):
    """Has self.prefix: what `cmake --install` left, in a folder that it was moved to afterwards."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="qdq-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.prefix = cls.folder / "moved"
        cls.installed = cls.folder / "installed"
        run(BUILD["cmake"], "--install", BUILD["folder"], "--config", BUILD["config"], "--prefix", cls.installed)
        cls.installed.rename(cls.prefix)
        cls.libraries = next(cls.prefix.glob("lib*/**/libqdq.a")).parent

    def pkg_config(self, *arguments):
        """What pkg-config says of the moved files, told of their new folder."""
        return self.installed_pkg_config(f"--define-variable=prefix={self.prefix}", *arguments)

    def installed_pkg_config(self, *arguments):
        """What it says without being told."""
        folders = {"PKG_CONFIG_LIBDIR": str(self.libraries / "pkgconfig")}
        return run("pkg-config", *arguments, "qdq", env={**os.environ, **folders}).split()

    def link(self, compiler, source, *flags, static=False):
        """A program by someone's own compiler command."""
        program = self.folder / "program"
        libraries = self.pkg_config("--cflags", "--libs", *(["--static"] if static else []))
        mode = ["-static"] if static else []
        run(*compiler, "-Wall", "-Wextra", "-Werror", *flags, *mode, SOURCES / source, "-o", program, *libraries)
        return program

    def output(self, *command):
        """What a program of this build's processor prints."""
        return run(*BUILD["emulator"], *command, env={**os.environ, "LD_LIBRARY_PATH": str(self.libraries)})


def first_command(*names):
    """The first of some commands that is there; without one the test is not run."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise unittest.SkipTest(f"not run: none of {', '.join(names)} is installed")
    return found


def skip_where_cross_compiled(what):
    if BUILD["emulator"]:
        raise unittest.SkipTest(f"not run: {what} is not there for another processor")


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)

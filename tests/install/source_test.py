"""Projects that build qdq's sources as a part of their own: a folder of theirs, or an archive that CMake downloads. They
build few kernels, by the generators of this build.

usage: source_test.py BUILD.json
"""

import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from support import BUILD, SOURCES, main, run

# What a build of the library reads.
OF_LIBRARY = ("CMakeLists.txt", "LICENSE", "cmake", "docs/conformance_digests.txt", "generators", "kernels", "runtime",
              "schedules")


class Sources(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="qdq-sources-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def build_and_run(self, name, **settings):
        build = self.folder / "build"
        settings |= {"QDQ_GENERATORS": BUILD["generators"], "QDQ_TARGETS": BUILD["target"], "QDQ_FLOAT_TYPES": "f32",
                     "QDQ_STORED_TYPES": "i8", "HalideHelpers_DIR": BUILD["halide_helpers"],
                     "CMAKE_BUILD_TYPE": "Release", "CMAKE_TOOLCHAIN_FILE": BUILD["toolchain"], "CMAKE_C_COMPILER": BUILD["c"],
                     "CMAKE_CXX_COMPILER": BUILD["cxx"]}
        run(BUILD["cmake"], "-S", SOURCES / "tests/install" / name, "-B", build, "-G", BUILD["generator"],
            *(f"-D{option}={value}" for option, value in settings.items() if value))
        run(BUILD["cmake"], "--build", build, "--target", "consumer")
        run(*BUILD["emulator"], build / "consumer")

    def test_are_a_folder_of_a_project(self):
        self.build_and_run("subdirectory", QDQ_SOURCES=SOURCES)

    def test_are_fetched_by_a_project(self):
        archive = self.folder / "qdq.tar.gz"
        with tarfile.open(archive, "w:gz") as file:
            for part in OF_LIBRARY:
                file.add(SOURCES / part, arcname=f"qdq/{part}")
        self.build_and_run("fetch_content", QDQ_ARCHIVE=archive)

    def test_name_the_cmake_that_they_want(self):
        """Debian 12's is 3.25."""
        cmake = "/usr/bin/cmake"
        if not Path(cmake).exists() or re.search(r"version (3\.(\d|1\d|2[0-7])\.)", run(cmake, "--version")) is None:
            self.skipTest(f"not run: no CMake before 3.28 is {cmake}")
        done = subprocess.run([cmake, "-S", SOURCES, "-B", self.folder / "build"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("qdq wants CMake 3.28 or later", done.stderr)
        self.assertIn("pip install cmake", done.stderr)


if __name__ == "__main__":
    main()

"""What a release is made of: one version everywhere, Debian's symbols, and the files that tools/release.py gathers."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = ".".join(re.findall(r"#define QDQ_VERSION_[A-Z]+ (\d+)", (ROOT / "runtime/include/qdq/qdq.h").read_text()))


class Version(unittest.TestCase):
    def test_is_the_packages(self):
        self.assertEqual(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"], VERSION)

    def test_is_the_recipes(self):
        self.assertEqual(json.loads((ROOT / "packaging/vcpkg/qdq/vcpkg.json").read_text())["version"], VERSION)
        self.assertEqual(re.findall(r'version: "(.*)"', (ROOT / "packaging/conda/recipe.yaml").read_text()), [VERSION])

    def test_is_the_debian_packages(self):
        first = (ROOT / "packaging/debian/changelog").read_text().splitlines()[0]
        self.assertRegex(first, rf"^qdq \({re.escape(VERSION)}-\d+\) ")

    def test_is_the_changelogs_first(self):
        headings = re.findall(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        self.assertEqual(headings[0][0], VERSION)


class DebianSymbols(unittest.TestCase):
    def test_are_the_recorded_interface(self):
        recorded = re.findall(r"^export (\w+) (\w+)$", (ROOT / "tests/abi/recorded.txt").read_text(), re.MULTILINE)
        listed = re.findall(r"^ (qdq_\w+)@(\w+) ", (ROOT / "packaging/debian/libqdq0.symbols").read_text(), re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(recorded))


@unittest.skipUnless(importlib.util.find_spec("cyclonedx"), "not run: cyclonedx is not installed, which `make release` does")
class Release(unittest.TestCase):
    def setUp(self):
        self.build = Path(tempfile.mkdtemp(prefix="qdq-release-"))
        self.addCleanup(shutil.rmtree, self.build)
        for folder in ("wheels", "packages", "debian", "dist"):
            (self.build / folder).mkdir()
        self.add_wheel("Halide")
        self.add_archive("wheels", f"qdq-{VERSION}.tar.gz")
        self.add_archive("dist", f"qdq-{VERSION}-x86_64-cuda.tar.gz", "Halide", "LZMA")
        self.add_package("qdq-tools", "CLI11")
        self.add_debian_source()

    def add_wheel(self, *libraries):
        with zipfile.ZipFile(self.build / f"wheels/qdq-{VERSION}-cp312-abi3-manylinux.whl", "w") as wheel:
            for name in libraries:
                wheel.writestr(f"qdq/licenses/{name}.txt", "")

    def add_archive(self, folder, name, *libraries):
        with tarfile.open(self.build / folder / name, "w:gz") as archive:
            for library in libraries:
                archive.addfile(tarfile.TarInfo(f"qdq/share/doc/qdq/licenses/{library}.txt"))

    def add_package(self, name, *libraries):
        root = self.build / name
        (root / "DEBIAN").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: {VERSION}\nArchitecture: amd64\nMaintainer: a <a@b.c>\nDescription: d\n")
        licenses = root / "usr/share/doc/qdq/licenses"
        licenses.mkdir(parents=True)
        for library in libraries:
            (licenses / f"{library}.txt").touch()
        for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
            folder.chmod(0o755)
        file = self.build / f"packages/{name}_{VERSION}_amd64.deb"
        subprocess.run(["dpkg-deb", "--build", root, file], check=True, stdout=subprocess.PIPE)

    def add_debian_source(self):
        (self.build / f"debian/qdq_{VERSION}-1.dsc").write_text("Format: 3.0 (quilt)\n")
        for name in (f"qdq_{VERSION}.orig", f"qdq_{VERSION}-1.debian"):
            tarfile.open(self.build / f"debian/{name}.tar.xz", "w:xz").close()

    def gather(self):
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        return subprocess.run([sys.executable, "-B", ROOT / "tools/release.py", self.build, self.build / "out"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, env=environment)

    def gathered(self):
        done = self.gather()
        self.assertEqual(done.returncode, 0, done.stderr)
        return {path.name: path.read_bytes() for path in (self.build / "out").iterdir()}

    def test_has_every_file_of_the_version_with_its_checksum(self):
        files = self.gathered()
        sums = dict(reversed(line.split("  ")) for line in files.pop("SHA256SUMS").decode().splitlines())
        self.assertEqual(sums, {name: hashlib.sha256(content).hexdigest() for name, content in files.items()})
        self.assertEqual(set(sums), {f"qdq-{VERSION}-cp312-abi3-manylinux.whl", f"qdq-{VERSION}.tar.gz",
                                     f"qdq-{VERSION}-x86_64-cuda.tar.gz", f"qdq-tools_{VERSION}_amd64.deb",
                                     f"qdq_{VERSION}-1.dsc", f"qdq_{VERSION}.orig.tar.xz", f"qdq_{VERSION}-1.debian.tar.xz",
                                     f"qdq-{VERSION}.cdx.json"})  # fmt: skip

    def test_says_what_is_inside_each_file(self):
        bill = json.loads(self.gathered()[f"qdq-{VERSION}.cdx.json"])
        self.assertEqual((bill["bomFormat"], bill["metadata"]["component"]["version"]), ("CycloneDX", VERSION))
        inside = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
        self.assertEqual(inside[f"qdq-{VERSION}-cp312-abi3-manylinux.whl"], ["Halide"])
        self.assertEqual(inside[f"qdq-{VERSION}-x86_64-cuda.tar.gz"], ["Halide", "LZMA"])
        self.assertEqual(inside[f"qdq-tools_{VERSION}_amd64.deb"], ["CLI11"])
        self.assertEqual(inside[f"qdq-{VERSION}.tar.gz"], [])

    def test_is_the_same_bytes_each_time(self):
        self.assertEqual(self.gathered(), self.gathered())

    def test_is_refused_while_a_part_is_missing(self):
        (self.build / f"wheels/qdq-{VERSION}.tar.gz").rename(self.build / "wheels/qdq-0.0.0.tar.gz")
        self.assertIn(f"there is no qdq-{VERSION}.tar.gz", self.gather().stderr)

    def test_is_refused_with_a_library_that_the_list_lacks(self):
        self.add_archive("dist", f"qdq-{VERSION}-x86_64.tar.gz", "zlib")
        self.assertIn("has the license of zlib, which LIBRARIES of tools/release.py lacks", self.gather().stderr)


if __name__ == "__main__":
    unittest.main()

"""The packages of cpack, unpacked into an empty root, and a consumer that finds qdq there alone.

usage: package_test.py BUILD.json
"""

import os
import re
import subprocess
import tarfile
import unittest
from pathlib import Path

from support import BUILD, SOURCES, InstalledTest, first_command, main, run

CPACK = Path(BUILD["cmake"]).with_name("cpack")


class Packages(InstalledTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.packages, cls.root = cls.folder / "packages", cls.folder / "root"
        first_command("dpkg-deb")
        first_command("dpkg-shlibdeps")
        run(CPACK, "--config", f"{BUILD['folder']}/CPackConfig.cmake", "-C", BUILD["config"], "-B", cls.packages)
        for package in cls.packages.glob("*.deb"):
            run("dpkg-deb", "-x", package, cls.root)

    def field(self, package, name):
        return run("dpkg-deb", "-f", *self.packages.glob(f"{package}_*.deb"), name).strip()

    def files(self, package):
        listing = run("dpkg-deb", "-c", *self.packages.glob(f"{package}_*.deb"))
        return [line.split()[5].removeprefix("./") for line in listing.splitlines() if not line.endswith("/")]

    def test_are_of_one_version_each_with_what_it_needs(self):
        versions = {name: self.field(name, "Version") for name in ("libqdq0", "libqdq-dev", "qdq-tools")}
        self.assertEqual(set(versions.values()), set(self.pkg_config("--modversion")))
        self.assertEqual(self.field("libqdq-dev", "Depends"), f"libqdq0 (= {versions['libqdq0']})")
        self.assertRegex(self.field("libqdq0", "Depends"), r"^libc6 \(>= [0-9.]+\)$")

    def test_have_each_file_once(self):
        self.assertTrue(all(re.search(r"/libqdq\.so\.|^usr/share/doc/", f) for f in self.files("libqdq0")))
        libraries = f"usr/{self.libraries.relative_to(self.prefix)}"
        self.assertTrue({f"{libraries}/libqdq.a", f"{libraries}/libqdq.so", "usr/include/qdq/qdq.h",
                         f"{libraries}/pkgconfig/qdq.pc"} <= set(self.files("libqdq-dev")))
        self.assertTrue({"usr/bin/qdq", "usr/share/man/man1/qdq.1"} <= set(self.files("qdq-tools")))
        names = [f for package in ("libqdq0", "libqdq-dev", "qdq-tools") for f in self.files(package)]
        self.assertEqual(len(names), len(set(names)))

    def test_name_the_folder_of_debian(self):
        text = next(self.root.glob("usr/lib/**/qdq.pc")).read_text()
        self.assertIn("prefix=/usr\n", text)
        self.assertNotIn("..", text)

    def test_have_the_licenses_of_what_is_inside(self):
        inside = {"libqdq0": "Halide", "qdq-tools": "CLI11 nlohmann_json protozero xxHash yaml-cpp"}
        for package, names in inside.items():
            for name in names.split():
                with self.subTest(name):
                    self.assertIn(f"usr/share/doc/qdq/licenses/{name}.txt", self.files(package))
                    self.assertIn("Copyright", (self.root / f"usr/share/doc/qdq/licenses/{name}.txt").read_text())

    def test_serve_a_consumer_in_a_clean_root(self):
        build = self.folder / "consumer"
        run(BUILD["cmake"], "-S", SOURCES / "tests/install/c_alone", "-B", build, "-G", BUILD["generator"],
            f"-DCMAKE_C_COMPILER={BUILD['c']}", f"-DCMAKE_FIND_ROOT_PATH={self.root}",
            "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY")
        run(BUILD["cmake"], "--build", build)
        for program in ("consumer", "shared_consumer", "aclnn_consumer"):
            run(build / program)
        found = re.search(r"^qdq_DIR:PATH=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)[1]
        self.assertTrue(found.startswith(str(self.root)), found)

    def test_have_a_command_line_that_runs(self):
        self.assertRegex(run(self.root / "usr/bin/qdq", "targets"), "yes")

    def test_have_an_archive_of_everything(self):
        with tarfile.open(next(self.packages.glob("*.tar.gz"))) as archive:
            inside = {name.partition("/usr/")[2] for name in archive.getnames()}
        installed = {str(f.relative_to(self.prefix)) for f in self.prefix.rglob("*") if not f.is_dir()}
        self.assertEqual(installed - inside, set())

    def test_install_as_an_ordinary_user(self):
        root = self.folder / "dpkg"
        for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates"):
            (root / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        ordinary = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        done = subprocess.run(
            [first_command("fakeroot"), "dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--install",
             *self.packages.glob("*.deb")], capture_output=True, text=True, env=ordinary)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        listing = run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Package} ${db:Status-Status}\n")
        self.assertEqual(sorted(listing.splitlines()),
                         ["libqdq-dev installed", "libqdq0 installed", "qdq-tools installed"])
        self.assertTrue(list(root.glob("usr/lib/**/libqdq.so.0")))


if __name__ == "__main__":
    main()

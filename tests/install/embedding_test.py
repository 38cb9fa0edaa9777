"""Programs of someone else's by their own compiler commands, with the flags of pkg-config: each in C or C++, against the
shared library and the static one.

usage: embedding_test.py BUILD.json [CLASS...]
"""

import re

from elftools.elf.elffile import ELFFile

from support import BUILD, SOURCES, InstalledTest, first_command, main, run, skip_where_cross_compiled

CODES = "  64  0.50394\n-127 -1.00000\n  32  0.25197\n 127  4.00000\n  64  2.01575\n -95 -2.99213\n"
C, CXX = [BUILD["c"]], [BUILD["cxx"]]


def clang(name):
    skip_where_cross_compiled("clang")
    return [first_command(f"{name}-19", f"{name}-16", f"{name}-14", name)]


class PkgConfig(InstalledTest):
    def test_knows_the_version_of_header_and_library(self):
        header = (self.prefix / "include/qdq/qdq.h").read_text()
        version = ".".join(re.findall(r"^#define QDQ_VERSION_[A-Z]+ (\d+)$", header, re.MULTILINE))
        self.assertEqual(self.pkg_config("--modversion"), [version])
        self.assertIn(version.encode(), (self.libraries / "libqdq.a").read_bytes())

    def test_names_the_folder_that_was_installed_to(self):
        libraries = self.installed / self.libraries.relative_to(self.prefix)
        self.assertEqual(self.installed_pkg_config("--cflags", "--libs"),
                         [f"-I{self.installed}/include", f"-L{libraries}", "-lqdq"])

    def test_links_the_shared_library(self):
        program = self.link(C, "examples/quantize.c")
        with open(program, "rb") as file:
            needed = [tag.needed for tag in ELFFile(file).get_section_by_name(".dynamic").iter_tags("DT_NEEDED")]
        self.assertIn("libqdq.so.0", needed)
        self.assertEqual(self.output(program), CODES)

    def test_links_the_static_library(self):
        program = self.link(C, "examples/quantize.c", static=True)
        with open(program, "rb") as file:
            self.assertIsNone(ELFFile(file).get_section_by_name(".dynamic"))
        self.assertEqual(self.output(program), CODES)


class Embedding(InstalledTest):
    def test_headers_alone_are_in_the_include_folder(self):
        others = [file for file in (self.prefix / "include").rglob("*") if file.is_file() and file.suffix not in (".h", ".hpp")]
        self.assertEqual(others, [])

    def test_the_archive_by_its_path_wants_the_mathematical_library_alone(self):
        program = self.folder / "program"
        run(*C, SOURCES / "examples/quantize.c", f"-I{self.prefix}/include", self.libraries / "libqdq.a", "-lm", "-o", program)
        self.assertEqual(self.output(program), CODES)

    def expect_codes(self, compiler, source, *flags):
        for static in (False, True):
            with self.subTest(flags=flags, static=static):
                self.assertEqual(self.output(self.link(compiler, source, *flags, static=static)), CODES)

    def test_in_c(self):
        for standard in ("c99", "c11", "c17"):
            self.expect_codes(C, "examples/quantize.c", f"-std={standard}", "-pedantic")

    def test_in_c_by_clang(self):
        self.expect_codes(clang("clang"), "examples/quantize.c", "-std=c99")

    def test_in_cxx_without_exceptions_and_run_time_types(self):
        self.expect_codes(CXX, "examples/quantize.cpp", "-std=c++20", "-fno-exceptions", "-fno-rtti")

    def test_in_cxx_by_clang_without_exceptions_and_run_time_types(self):
        self.expect_codes(clang("clang++"), "examples/quantize.cpp", "-std=c++20", "-fno-exceptions", "-fno-rtti")

    def test_with_link_time_optimization(self):
        self.expect_codes(C, "examples/quantize.c", "-O2", "-flto")
        self.expect_codes(CXX, "examples/quantize.cpp", "-std=c++20", "-O2", "-flto")

    def test_without_position_independence(self):
        self.expect_codes(C, "examples/quantize.c", "-O2", "-fno-pie", "-no-pie")

    def test_the_header_in_old_cxx(self):
        self.expect_codes(CXX, "tests/install/embedding/old.cpp", "-std=c++11", "-pedantic")


class ExampleC(InstalledTest):
    def test(self):
        self.assertEqual(self.output(self.link(C, "examples/quantize.c")), CODES)


class ExampleCxx(InstalledTest):
    def test(self):
        self.assertEqual(self.output(self.link(CXX, "examples/quantize.cpp", "-std=c++20")), CODES)


class ExamplePython(InstalledTest):
    def test(self):
        skip_where_cross_compiled("Python")
        self.assertEqual(self.output(BUILD["python"], SOURCES / "examples/quantize.py", "libqdq.so.0"), CODES)


class ExampleRust(InstalledTest):
    def test(self):
        skip_where_cross_compiled("Rust")
        program = self.folder / "program"
        run(first_command("rustc"), SOURCES / "examples/quantize.rs", "-o", program,
            "-L", f"native={self.libraries}", "-l", "static=qdq", "-l", "m")
        self.assertEqual(self.output(program), CODES)


class ExampleEmbedded(InstalledTest):
    def test(self):
        lines = self.output(self.link(C, "examples/embedded.c", static=True)).splitlines()
        first = (-127, -27, 73, -80)
        self.assertEqual(lines, [f"frame {i}: first code {code}, sum -127" for i, code in enumerate(first)])


if __name__ == "__main__":
    main()

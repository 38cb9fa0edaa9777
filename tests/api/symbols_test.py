"""What the built libraries contain: no compiler, no way to print, stop or throw, and nothing exported but the C API: of the
shared library that, of one that links the static library nothing.

usage: symbols_test.py NM READELF STATIC_LIBRARY SHARED_LIBRARY PLUGIN
"""

import pathlib
import re
import subprocess
import sys
import unittest

# Halide's own run-time support, which is there for device targets: what it refers to is not ours to choose.
HALIDE_RUNTIME = re.compile(r"halide_runtime[^/]*\.o$")

# A library that reports errors by status has no use for any of these.
FORBIDDEN = {
    "abort", "exit", "_exit", "_Exit", "quick_exit", "raise", "__assert_fail",
    "printf", "__printf_chk", "fprintf", "__fprintf_chk", "vfprintf", "__vfprintf_chk", "puts", "fputs", "putchar",
    "fputc", "putc", "fwrite", "write", "perror", "stdout", "stderr",
    "__cxa_throw", "__cxa_rethrow", "__cxa_allocate_exception", "std::terminate()",
    "malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign",
    "halide_malloc", "halide_free", "halide_print", "halide_error",
}
# Beside a driver that compiles a kernel, what it compiles is decompressed.
MAY_ALLOCATE = re.compile(r"kernel_text\.cpp\.o$")
FORBIDDEN_PREFIXES = ("operator new", "std::__throw_", "std::cout", "std::cerr", "std::ostream", "std::basic_ostream")


# Where Halide's run time asks for a device's context, stream and library: device targets answer by defining these.
HALIDE_HOOKS = {
    "halide_acquire_cl_context", "halide_release_cl_context", "halide_opencl_get_symbol", "halide_cuda_acquire_context",
    "halide_cuda_release_context", "halide_cuda_get_stream", "halide_cuda_get_symbol",
}


class Symbol:
    def __init__(self, member, kind, name):
        self.member, self.kind, self.name = member, kind, name

    @property
    def undefined(self):
        return self.kind == "U"

    def __repr__(self):
        return f"{self.member}: {self.kind} {self.name}"


def symbols(nm, library, *options):
    """Every symbol of every object of a library."""
    text = subprocess.run([nm, "-C", *options, library], check=True, capture_output=True, text=True).stdout
    member, found = library, []
    for line in text.splitlines():
        if line.endswith(":") and " " not in line:
            member = line[:-1]
        elif match := re.match(r"(?:[0-9a-f]+)?\s+(\S) (.*)", line):
            kind, name = match.groups()
            found.append(Symbol(member, kind, name.partition("@@")[0]))  # without the version of the interface
    return found


def forbidden(symbol):
    name = re.sub(r"@.*", "", symbol.name)
    if name == "malloc" and MAY_ALLOCATE.search(symbol.member):
        return False
    return symbol.undefined and (name in FORBIDDEN or name.startswith(FORBIDDEN_PREFIXES))


class StaticLibrary(unittest.TestCase):
    nm = readelf = library = None

    @classmethod
    def setUpClass(cls):
        cls.all = symbols(cls.nm, cls.library)
        cls.ours = [s for s in cls.all if not HALIDE_RUNTIME.search(s.member)]
        cls.runtime = [s for s in cls.all if HALIDE_RUNTIME.search(s.member)]

    def test_has_our_objects(self):
        self.assertTrue(any(s.name == "qdq_quantize" and s.kind == "T" for s in self.ours))

    def test_nothing_of_halide_is_there_without_device_targets(self):
        if any("_cuda_" in s.name or "_opencl_" in s.name for s in self.ours):
            self.skipTest("device targets need Halide's run time")
        self.assertEqual([s for s in self.all if re.match("halide_|Halide::", s.name)], [])

    def test_our_objects_contain_and_need_nothing_of_the_compiler(self):
        self.assertEqual([s for s in self.ours if "Halide::" in s.name], [])

    def test_the_runtime_object_is_only_the_runtime(self):
        own = re.compile(r"Halide::(Runtime::|Internal::GPUCompilationCache<)")
        self.assertEqual([s for s in self.runtime if "Halide::" in s.name and not own.search(s.name)], [])

    def test_our_objects_cannot_stop_print_throw_or_allocate(self):
        self.assertEqual([s for s in self.ours if forbidden(s)], [])

    def test_our_objects_link_without_the_cxx_library(self):
        of_libc = {"__cxa_atexit", "__cxa_finalize"}
        needed = [s for s in self.ours if s.undefined and s.name.startswith(("std::", "__cxa_", "__gxx_", "operator "))]
        self.assertEqual([s for s in needed if s.name not in of_libc], [])

    def test_nothing_of_ours_runs_before_main(self):
        """Halide's run time, which is there for device targets, registers its three pools of device memory."""
        text = subprocess.run([self.readelf, "-SW", self.library], check=True, capture_output=True, text=True).stdout
        sections = "".join(part for part in text.split("\nFile: ") if "(halide_runtime" not in part.partition("\n")[0])
        self.assertIn(".fini_array", sections)  # which ends the threads
        self.assertEqual(re.findall(r" (\.(?:preinit_array|init_array|ctors)\S*)", sections), [])

    def test_our_global_names_carry_our_name(self):
        foreign = [s for s in self.ours
                   if s.kind in "TDBR" and not re.search(r"\bqdq(_|::(runtime|kernels)::)", s.name)]
        self.assertEqual([s for s in foreign if s.name not in HALIDE_HOOKS], [])

    def test_no_name_is_one_that_qdq_hpp_may_define(self):
        # Both had a qdq::plan once; without optimization the linker took one's constructor for the other's.
        self.assertEqual([s for s in self.ours if re.match(r"qdq::(?!runtime::|kernels::)", s.name)], [])


class Plugin(unittest.TestCase):
    nm = library = None

    def test_exports_nothing_of_the_static_library_that_it_links(self):
        self.assertEqual([s for s in symbols(self.nm, self.library, "-D", "--defined-only")
                          if re.search("qdq|halide", s.name, re.IGNORECASE)], [])


class SharedLibrary(unittest.TestCase):
    nm = library = None

    def test_exports_every_function_of_the_header(self):
        header = pathlib.Path(__file__).parents[2] / "runtime/include/qdq/qdq.h"
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.DOTALL)
        declared = set(re.findall(r"\b(qdq_[a-z_]+)\(", text))
        exported = {s.name for s in symbols(self.nm, self.library, "-D", "--defined-only")}
        self.assertEqual(declared - exported, set())

    def test_exports_only_the_c_interface(self):
        exported = symbols(self.nm, self.library, "-D", "--defined-only")
        self.assertTrue(any(s.name == "qdq_quantize" for s in exported))
        foreign = [s for s in exported if s.kind in "TDBRVWi" and not re.fullmatch(r"qdq_[a-z_]+\d?", s.name)]
        self.assertEqual(foreign[:20], [], f"{len(foreign)} names beside the C interface")


if __name__ == "__main__":
    nm, StaticLibrary.readelf, StaticLibrary.library, SharedLibrary.library, Plugin.library = sys.argv[1:]
    StaticLibrary.nm = SharedLibrary.nm = Plugin.nm = nm
    unittest.main(argv=sys.argv[:1], verbosity=2)

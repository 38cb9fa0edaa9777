"""Fails unless the public headers compile without a warning, with plain -I: each alone as C++20, all of C together in each
standard of C and C++, by clang as it is compatible with Microsoft's compiler, too, and all of C++ as C++23. Those of C++20 say what
they need to an older standard. GCC's C++ library does not compile with -fms-compatibility, so nor do those of C++ here.

usage: headers_test.py <folder of generated headers> <C++ compiler>...
"""

import pathlib
import subprocess
import sys

INCLUDE = (pathlib.Path(__file__).parent / "../../runtime/include").resolve()
GENERATED, *COMPILERS = map(pathlib.Path, sys.argv[1:])
CANN = INCLUDE / "qdq/compat/cann"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only"]
STANDARDS = {"c": ("c99", "c11", "c17", "c2x"), "c++": ("c++17", "c++20", "c++2b")}


def output_of(compiler, standard, headers, *flags):
    """What the compiler says of a program that includes the headers, twice."""
    source = "".join(f"#include <{header}>\n" for header in headers) * 2 + "int main(void) { return 0; }\n"
    language = "c++" if "++" in standard else "c"
    folders = [f"-I{folder}" for folder in (INCLUDE, GENERATED, CANN)]
    command = [compiler, "-x", language, f"-std={standard}", *WARNINGS, *flags, *folders, "-"]
    done = subprocess.run(command, input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return f"{' '.join(map(str, command))}: {done.stdout}" if done.returncode else ""


def flags_of(compiler):
    """Each set of flags by which a compiler takes the headers of C together."""
    return [[], ["-fms-compatibility"]] if "clang" in compiler.name else [[]]


def headers_in(folder, pattern):
    return sorted(path.relative_to(folder) for path in folder.glob(pattern))


ours = [header for header in headers_in(INCLUDE, "qdq/**/*.h*") if "cann" not in header.parts]
of_c = [header for header in [*ours, *headers_in(GENERATED, "qdq/**/*.h"), *headers_in(CANN, "**/*.h")] if header.suffix == ".h"]
of_cxx = [header for header in ours if header.suffix == ".hpp"]
failures = []
for compiler in COMPILERS:
    failures += [output_of(compiler, "c++20", [header]) for header in ours]
    for flags in flags_of(compiler):
        for standard in (*STANDARDS["c"], *STANDARDS["c++"]):
            failures.append(output_of(compiler, standard, of_c, *flags))
    failures.append(output_of(compiler, "c++2b", of_cxx))
    for header in ours:
        said = output_of(compiler, "c++17", [header])
        if (said or header.name == "qdq.hpp") and "-std=c++20" not in said.partition(": ")[2]:
            failures.append(f"{compiler}: {header} does not say that it needs C++20:\n{said}")
if failures := list(filter(None, failures)):
    sys.exit("\n".join(failures))

"""Fails unless each public header compiles alone with a plain -I and no warning, and those of C++20 say what they need to
an older standard: headers_test.py <folder of generated headers>
<C++ compiler>..."""

import pathlib
import subprocess
import sys

INCLUDE = (pathlib.Path(__file__).parent / "../../runtime/include").resolve()
GENERATED, *COMPILERS = sys.argv[1:]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only", "-x", "c++"]


def output_of(compiler, standard, header):
    """What the compiler says of a program that includes the header, twice."""
    source = f"#include <{header}>\n" * 2 + "int main() {}\n"
    command = [compiler, f"-std={standard}", *WARNINGS, f"-I{INCLUDE}", f"-I{GENERATED}", "-"]
    done = subprocess.run(command, input=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else ""


headers = sorted(path.relative_to(INCLUDE) for path in INCLUDE.glob("qdq/**/*.h*") if "cann" not in path.parts)
failures = [said for compiler in COMPILERS for header in headers if (said := output_of(compiler, "c++20", header))]
for compiler in COMPILERS:
    for header in headers:
        said = output_of(compiler, "c++17", header)
        if (said or header.name == "qdq.hpp") and "-std=c++20" not in said:
            failures.append(f"{compiler}: {header} does not say that it needs C++20:\n{said}")
if failures:
    sys.exit("\n".join(failures))

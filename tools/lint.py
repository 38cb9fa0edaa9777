"""Runs the compiler's warnings, clang-tidy and cppcheck over runtime/, kernels/handwritten/, model/ and cli/, clang-format
over all C and C++, and tools/prose.py over what users read; fails where one of them has something to say.

usage: tools/lint.py [--build build/release] [--figures build/reliability] [FILE...]

Only a configured build is needed, for its compile_commands.json and its generated headers; those of hand-written kernels
come with qdq_kernels. With files, only those.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import prose

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("runtime/", "model/", "cli/")
BY_HAND = "_by_hand.cpp"  # a source that the build writes for each row that a file of kernels/handwritten/ is compiled for
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsyntax-only"]


def commands(build):
    """How each source of the folders is compiled."""
    entries = json.loads((build / "compile_commands.json").read_text())
    found = {}
    for entry in entries:
        name = os.path.relpath(entry["file"], ROOT)
        if name.startswith(FOLDERS) or name.endswith(BY_HAND):
            found[name] = entry
    return dict(sorted(found.items()))


def output_of(command, folder=ROOT):
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else ""


def compile_strictly(entry):
    command = shlex.split(entry["command"])
    del command[command.index("-o"):command.index("-o") + 2]
    return output_of([*command, *WARNINGS], entry["directory"])


def commands_for_clang(build):
    """A folder with compile_commands.json, without what GCC alone takes."""
    text = (build / "compile_commands.json").read_text()
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(re.sub(r" -f(?:tree-loop-vectorize|vect-cost-model=\w+|no-align-\w+)", "", text))
    return folder


def run_clang_tidy(folder, name):
    return output_of(["clang-tidy-19", "-p", folder, "--quiet", name])


def sources():
    """All C and C++ of the repository."""
    names = subprocess.run(["git", "ls-files", "*.c", "*.cpp", "*.h", "*.hpp"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    return names.split()


def run_clang_format(names):
    return output_of(["clang-format-19", "--dry-run", "-Werror", *names])


def run_prose(pages):
    return "".join(f"{line}\n" for line in prose.findings(pages))


def run_cppcheck(names):
    folders = ("runtime/include", "runtime/src", "kernels", "build/release/kernels", "build/release/runtime",
               "model", "build/release/model", "cli")
    includes = [f"-I{folder}" for folder in folders]
    return output_of(["cppcheck", "--quiet", "--std=c++20", "--enable=warning,performance,portability", "--error-exitcode=1",
                      "--suppressions-list=tools/cppcheck.txt", *includes, *names])


def findings_in(output):
    return sorted(set(re.findall(r"^\S+:\d+:\d+: (?:warning|error|portability|performance): .*$", output, re.M)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--figures", type=pathlib.Path, default=ROOT / "build/reliability")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    compiled = {name: entry for name, entry in commands(options.build).items()
                if not options.files or name in options.files}
    strict = [name for name in compiled if name.startswith("runtime/") or name.endswith(BY_HAND)]
    checked = "runtime/, kernels/handwritten/, model/ and cli/"
    pages = [page for page in prose.pages() if not options.files or str(page.relative_to(ROOT)) in options.files]
    for_clang = commands_for_clang(options.build)
    formatted = [name for name in sources() if not options.files or name in options.files]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checks = {
            "clang-format 19": ("all folders", formatted, [pool.submit(run_clang_format, formatted)]),
            "g++ -Wall -Wextra -Wconversion": ("runtime/ and kernels/handwritten/", strict,
                                               [pool.submit(compile_strictly, compiled[name]) for name in strict]),
            "cppcheck": (checked, compiled, [pool.submit(run_cppcheck, list(compiled))]),
            "clang-tidy 19": (checked, compiled, [pool.submit(run_clang_tidy, for_clang, name) for name in compiled]),
        }
        checks["sentences of fewer than 30 words"] = ("README.md, docs/, headers, docstrings and messages", pages, [pool.submit(run_prose, pages)])
        rows, findings = [], 0
        for check, (folders, names, outputs) in checks.items():
            printed = "".join(output.result() for output in outputs)
            found = findings_in(printed) or printed.splitlines()[:1]
            findings += len(found)
            rows.append({"what": f"{check} on every source of {folders}", "asked": "clean",
                         "measured": f"{len(found)} findings", "command": "make lint"})
            print(f"{check}: {len(found)} findings in {len(names)} sources\n{printed}", end="", flush=True)
    if not options.files:
        options.figures.mkdir(parents=True, exist_ok=True)
        (options.figures / "lint.json").write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()

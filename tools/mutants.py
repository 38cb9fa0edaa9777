"""Tests the tests: plants the faults of tools/mutants.toml, one at a time, and expects a test to fail for each.

usage: mutants.py [--only REGEX] [--again]    plant the faults whose "<file> <name>" matches and that are not yet caught
       mutants.py --check                     no building: is each fault's text still in its file, is each in the table?

Everything happens in build/mutants: a copy of the sources with builds of its own, which only ever differ in one fault:
"release", and for tests of devices "cuda", whose kernels run over tests/ptx.
docs/mutants.md is the record: its last column is the key of the entry that was planted, and it is written after each
fault. A fault that is caught counts as caught until its entry changes, as it does with the code that it replaces: an
interrupted run goes on where it was, on any machine, and one after a change plants few. That a test has lost what it
checked is noticed by --again alone, which plants all. What the record adds up to is in build/reliability/mutants.json, too.
"""

import argparse
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tools/mutants.toml"
TABLE = ROOT / "docs/mutants.md"
FIGURES = ROOT / "build/reliability/mutants.json"
WORK = ROOT / "build/mutants"
TREE = WORK / "tree"
BUILDS = {"release": [], "cuda": ["-DQDQ_DEVICE_TARGETS=cuda", "-DQDQ_TARGETS=x86_avx2"]}
KERNEL_SOURCES = ("kernels/", "generators/", "schedules/", "cmake/", "CMake")
AREAS = {  # where a fault of each lies, and on which sources, beside their own, its tests depend
    "Generators": (("kernels/", "generators/"), KERNEL_SOURCES),
    "Schedules": (("schedules/",), KERNEL_SOURCES),
    "Front ends": (("runtime/include/qdq/compat/", "runtime/compat/"), ("runtime/include/", "runtime/compat/")),
    "Runtime": (("runtime/",), ("runtime/", *KERNEL_SOURCES)),
    "Command line": (("cli/", "model/"), ("cli/", "model/", "runtime/include/")),
    "Python": (("python/",), ("python/", "model/", "cli/", "runtime/")),
    "Conformance": (("conformance/",), ("conformance/", "kernels/", "runtime/include/")),
    "Installed files": (("cmake/",), ("cmake/", "CMake", "tests/install/", "tests/build/")),
    "Tools": (("tools/",), ("tools/", "docs/", "kernels/", "tests/kernel/", "CMakePresets.json", "Makefile")),
}
SLOWEST = 120, 1200  # seconds a test may take with a fault, or twenty times as long as without; and without one

CAUGHT, SURVIVED, SAME, BROKEN, OPEN = "caught", "survived", "changes nothing", "broken", "not planted"


@dataclass(frozen=True, eq=False)
class Fault:
    name: str
    file: str
    what: str                          # in words, for the table
    find: str                          # occurs once in the file
    replace: str
    tests: list                        # "<ctest name>[ <filter of GoogleTest, or -k of unittest or pytest>]", in the
                                       # order of trying
    kernels: list = field(default_factory=list)  # regular expressions: which kernels are compiled with the fault
    changes_nothing: str = ""          # why no result differs: the tests must pass

    def area(self):
        return next(area for area, (folders, _) in AREAS.items() if self.file.startswith(folders))

    def build(self):
        return "cuda" if any(test.startswith(("ptx.", "device.", "runtime.device")) for test in self.tests) else "release"

    def sources(self):
        tests = {f"tests/{test.split('.')[0]}/" for test in self.tests}
        return tuple(sorted({*AREAS[self.area()][1], *tests, "tests/support/", "conformance/"}))

    def key(self):
        """Of its result: what is planted and what is run. The file may move."""
        said = [self.find, self.replace, self.tests, self.kernels]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:8]

    def planted_in(self, text):
        if text.count(self.find) != 1:
            raise Broken(f"{self.file}: the text is there {text.count(self.find)} times, not once: {self.find!r}")
        return text.replace(self.find, self.replace)


class Broken(Exception):
    """A fault that says nothing about the tests: its place is gone, or it does not compile."""


def read_list():
    faults = [Fault(**entry) for entry in tomllib.loads(LIST.read_text())["fault"]]
    names = [fault.name for fault in faults]
    if twice := {name for name in names if names.count(name) > 1}:
        sys.exit(f"{LIST}: two faults are named {', '.join(twice)}")
    # Faults in one file and in the same kernels follow one another: the least is compiled.
    return sorted(faults, key=lambda fault: (list(AREAS).index(fault.area()), fault.file, fault.kernels))


def source_files(of=("",)):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            stdout=subprocess.PIPE, check=True).stdout.decode()
    return [name for name in sorted(set(listed.split("\0"))) if name.startswith(of) and (ROOT / name).is_file()]


def copy_sources():
    """Brings the copy up to date; what is equal keeps its time, so that nothing is built again for it."""
    names = source_files()
    kept = set(names)
    for path in [p for top in {name.split("/")[0] for name in names} for p in (TREE / top).rglob("*") if p.is_file()]:
        if str(path.relative_to(TREE)) not in kept and "__pycache__" not in path.parts:
            path.unlink()
    for name in names:
        source, copy = ROOT / name, TREE / name
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    if not (TREE / ".venv").exists():
        (TREE / ".venv").symlink_to(ROOT / ".venv")


@functools.cache
def digest_of(sources):
    digest = hashlib.sha256()
    for name in source_files(sources):
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()


class Kernels:
    """Kernels are compiled again for the faults that name them alone, and then for the fault that follows.

    To ninja every kernel is older than the generators that a fault has changed. Those that the fault does not name are
    given a later time and stay as they are: without the fault, so that a test can only miss more.
    """

    def __init__(self, build):
        self.build = build
        self.folder = TREE / "build" / build / "generators/kernels"
        self.kept = WORK / ("kernels.json" if build == "release" else f"kernels-{build}.json")
        self.sources = digest_of(KERNEL_SOURCES)
        known = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.stale = set(known["stale"]) if known.get("sources") == self.sources else None  # None: all may be

    def build_all(self):
        """By generators without a fault."""
        if self.stale is not None:  # another build's faults may have changed the generators' times
            self.prepare([])
        ninja(self.build, "qdq")
        self.remember(set())

    def prepare(self, patterns):
        """Leaves to ninja what the patterns name, and what faults before have left behind: all of it gets this fault."""
        outputs = [path for path in self.folder.rglob("*.*") if path.suffix in (".o", ".h")]
        objects = {path.stem for path in outputs}
        named = {kernel for kernel in objects if any(re.search(pattern, kernel) for pattern in patterns)}
        if patterns and not named:
            raise Broken(f"no kernel is named {patterns}")
        together = {self.command_of(kernel) for kernel in named | self.stale}
        again = {kernel for kernel in objects if self.command_of(kernel) in together}
        ninja(self.build, "qdq_generators")
        self.remember(again)
        for path in outputs:
            if path.stem not in again:
                os.utime(path)
        ninja(self.build, "-t", "restat")  # it believes its own record of the times

    @staticmethod
    def command_of(kernel):
        """One command compiles kernels whose names differ in the last word."""
        own = kernel.removesuffix("_nontemporal")
        return re.sub(r"_(row|column|block|group|each|strided|wide|narrow|8|16|32|swap_nibbles|split_halves|join_halves)$", "", own)

    def remember(self, stale):
        self.stale = stale
        self.kept.write_text(json.dumps({"sources": self.sources, "stale": sorted(stale)}))


def quietly(command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Broken(f"{' '.join(map(str, command))[:200]}\n{done.stdout[-3000:]}")
    return done.stdout


def ninja(build, *targets):
    quietly(["ninja", "-C", TREE / "build" / build, *targets])


class Tests:
    """CTest's tests, and how one of them runs with a filter."""

    def __init__(self, wanted, build):
        """Builds those wanted."""
        self.seconds = {}
        self.folder = TREE / "build" / build
        ninja(build, *self.targets(wanted))
        self.read_commands()

    def read_commands(self):
        """CTest knows those of tests that are built."""
        shown = quietly([ROOT / ".venv/bin/ctest", "--test-dir", self.folder, "--show-only=json-v1"])
        self.commands, self.set_up_by, self.requires, self.skips_with = {}, {}, {}, {}
        for test in json.loads(shown)["tests"]:
            properties = {each["name"]: each["value"] for each in test["properties"]}
            environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
            self.commands[test["name"]] = (test.get("command"), environment)
            self.set_up_by |= dict.fromkeys(properties.get("FIXTURES_SETUP", []), test["name"])
            self.requires[test["name"]] = properties.get("FIXTURES_REQUIRED", [])
            self.skips_with[test["name"]] = properties.get("SKIP_RETURN_CODE")

    @staticmethod
    def targets(tests):
        """What CMake builds for them."""
        of_name = {"cli.verify": ["qdq_cli", "qdq_broken_cli"], "schedules.refused": ["qdq_generators"],
                   "schedules.invariance": ["qdq_generators", "kernel.rows"], "build.status": ["qdq_generators"],
                   "build.folders": ["qdq_generators"], "build.gpu_results": ["qdq_generators"],
                   "build.nontemporal_stores": ["qdq_generators"],
                   "build.reliability": ["qdq_generators"], "compat.aclnn_types": ["qdq_compat_aclnn"],
                   "ptx.calls": ["qdq_ptx_driver", "device.calls"],
                   "ptx.dynamic": ["qdq_ptx_driver", "device.dynamic"],
                   "ptx.faults": ["qdq_ptx_driver", "device.cuda_faults"],
                   "ptx.every_kernel": ["qdq_ptx_driver", "device.every_kernel"],
                   "ptx.verify": ["qdq_ptx_driver", "qdq_cli"], "ptx.cubins": ["qdq_ptx_driver", "device.cubins"],
                   "device.cuda_architectures": ["qdq_kernels", "qdq_cubins_for_test"]}
        of_name |= {f"ptx.{name}": ["qdq_ptx_driver", f"kernel.{name}"]
                    for name in ("quantize", "dequantize", "consistency", "unsupported")}
        names = {test.split()[0] for test in tests}
        of_wheel = ["qdq_cli", "qdq_compat_aclnn"]  # what a wheel's build links, and its tests run
        return sorted({target for name in names
                       for target in of_name.get(name, of_wheel if name.startswith("python.") else
                                                 ["qdq_cli"] if name.startswith("cli.") else [name])})

    def set_up(self, tests):
        """What CTest runs before them: python.wheel, whose environment has the Python of their commands."""
        fixtures = sorted({fixture for test in tests for fixture in self.requires[test.split()[0]]})
        for fixture in fixtures:
            quietly(self.commands[self.set_up_by[fixture]][0])
        if fixtures:
            self.read_commands()

    def run(self, test):
        """What failed, or "" where nothing did."""
        name, _, wanted = test.partition(" ")
        command, environment = self.commands[name]
        of_python = "python" in pathlib.Path(command[0]).name
        if of_python:
            of_kind = {"cli": ["-f"], "python": ["-x", "-vv"]}.get(name.split(".")[0])
            options = [*of_kind, *(["-k", wanted] if wanted else [])] if of_kind else []
        elif name.startswith("fuzz.") or name == "ptx.verify":  # the whole corpus, and all kernels
            options = []
        else:
            options = ["--gtest_brief=0", "--gtest_fail_fast", f"--gtest_filter={wanted or '*'}"]
        limit = max(SLOWEST[0], 20 * self.seconds[test]) if test in self.seconds else SLOWEST[1]
        begin = time.monotonic()
        try:
            done = subprocess.run(command + options, env=os.environ | environment, cwd=self.folder, timeout=limit, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace")
            return f"{last_test(output, of_python)} does not end"
        self.seconds.setdefault(test, time.monotonic() - begin)
        if re.search(r"Running 0 tests|^Ran 0 tests|^=* ?(no tests ran|\d+ deselected) in", done.stdout, re.M):
            raise Broken(f"{test}: no test has that name")
        if done.returncode == self.skips_with[name]:
            raise Broken(f"{test}: is skipped here; make peers installs what it needs")
        if done.returncode == 0:
            return ""
        return failed_test(done.stdout, of_python) or f"{last_test(done.stdout, of_python)} (status {done.returncode})"


def failed_test(output, of_python):
    of_pytest = r"^FAILED \S+::(\w+)"
    found = re.search(rf"^(?:FAIL|ERROR): (\w+)|{of_pytest}" if of_python else r"^\[  FAILED  \] ([\w./]+)", output, re.M)
    return next(filter(None, found.groups())) if found else ""


def last_test(output, of_python):
    begun = re.findall(r"^\S+::(\w+)" if of_python else r"^(?:\[ RUN      \] |\S+/corpus/)([\w./-]+)",
                       output, re.M)
    return begun[-1] if begun else "it"


def build_without_faults(faults, build):
    """A test that fails anyway catches nothing."""
    quietly([ROOT / ".venv/bin/cmake", "--preset", "release", "-S", TREE, "-B", TREE / "build" / build, *BUILDS[build],
             "--log-level=WARNING"])
    kernels = Kernels(build)
    kernels.build_all()
    sources = {test: fault.sources() for fault in faults for test in fault.tests}
    tests = Tests(sources, build)
    tests.set_up(sources)
    kept = WORK / "sound.json"
    passed_in = json.loads(kept.read_text()) if kept.exists() else {}
    for test in sorted(sources):
        key = f"{test} {digest_of(sources[test])}"
        if key in passed_in:
            tests.seconds[test] = passed_in[key]
            continue
        try:
            failed = tests.run(test)
        except Broken as problem:  # which planting the fault says again
            print(problem, flush=True)
            continue
        if failed:
            sys.exit(f"{test} fails without any fault: {failed}")
        passed_in[key] = tests.seconds[test]
        kept.write_text(json.dumps(passed_in))
    return tests, kernels


def plant(fault, tests, kernels):
    """The status, and what caught it."""
    path = TREE / fault.file
    sound = path.read_text()
    try:
        path.write_text(fault.planted_in(sound))
        if fault.file.startswith(KERNEL_SOURCES):
            kernels.prepare(fault.kernels)
        elif kernels.stale:
            kernels.build_all()
        ninja(fault.build(), *tests.targets(fault.tests))
        tests.set_up(fault.tests)
        for test in fault.tests:
            if failed := tests.run(test):
                return CAUGHT, f"{test.split()[0]}: `{failed}`"
        return SURVIVED, ""
    except Broken as problem:
        return BROKEN, str(problem)
    finally:
        path.write_text(sound)


def judged(fault, status, by):
    """What the table says: a fault that is known to change nothing must survive, any other must not."""
    return (SAME, fault.changes_nothing) if fault.changes_nothing and status == SURVIVED else (status, by)


def passed(fault, status):
    return status == (SAME if fault.changes_nothing else CAUGHT)


def recorded():
    """Of the table, by the key of an entry: the status, and what caught it."""
    rows = re.findall(r"^\| .* \| (.*) \| `([0-9a-f]{8})` \|$", TABLE.read_text() if TABLE.exists() else "", re.M)
    survived = (f"{SAME}: ", f"**{SURVIVED}**")
    return {key: (SURVIVED, "") if shown.startswith(survived) else (CAUGHT, shown) for shown, key in rows}


def outcomes_of(faults, results):
    return {fault: judged(fault, *results.get(fault.key(), (OPEN, ""))) for fault in faults}


def run(faults, chosen, again):
    begin = time.monotonic()
    WORK.mkdir(parents=True, exist_ok=True)
    copy_sources()
    results = recorded()
    known = outcomes_of(chosen, results)
    open_faults = [fault for fault in chosen if again or not passed(fault, known[fault][0])]
    done = 0
    for build in BUILDS:
        of_build = [fault for fault in open_faults if fault.build() == build]
        if of_build:
            print(f"{len(of_build)} of {len(chosen)} faults are to be planted in build/{build}; building without them", flush=True)
            tests, kernels = build_without_faults(of_build, build)
        for fault in of_build:
            start, done = time.monotonic(), done + 1
            results[fault.key()] = status, by = plant(fault, tests, kernels)
            print(f"[{done}/{len(open_faults)}] {judged(fault, status, by)[0]:9} {fault.name}  "
                  f"({time.monotonic() - start:.0f} s) {by}", flush=True)
            TABLE.write_text(table(outcomes_of(faults, results)))
    outcomes = outcomes_of(chosen, results)
    TABLE.write_text(table(outcomes_of(faults, results)))
    write_figures(outcomes_of(faults, results))
    return report(outcomes, time.monotonic() - begin)


def report(outcomes, seconds):
    wrong = [fault for fault, (status, _) in outcomes.items() if not passed(fault, status)]
    for fault in wrong:
        print(f"{outcomes[fault][0]}: {fault.name}: {fault.file}: {fault.what}")
    print(f"{seconds:.0f} s; {figures(outcomes)}")
    print(f"{len(outcomes) - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


def figures(outcomes):
    statuses = [status for status, _ in outcomes.values()]
    counts = ", ".join(f"{statuses.count(status)} {status}" for status in (CAUGHT, SAME, SURVIVED, BROKEN)
                       + ((OPEN,) if OPEN in statuses else ()))
    return f"{len(statuses)} faults: {counts}"


def write_figures(outcomes):
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    row = {"what": "faults planted in the code, one at a time",
           "asked": "at least 80; a test catches each, or it is shown to change nothing",
           "measured": figures(outcomes), "command": "make mutants"}
    FIGURES.write_text(json.dumps([row], indent=1) + "\n")


def table(outcomes):
    lines = [
        "# Faults that the tests catch",
        "",
        "Written by `make mutants`, which plants the faults of `tools/mutants.toml` one at a time, builds, and runs the tests",
        "that should fail. A generator's fault is compiled into the kernels that its entry names and no others.",
        "",
        f"{figures(outcomes)}.",
    ]
    for area in AREAS:
        rows = [(fault, outcome) for fault, outcome in outcomes.items()
                if fault.area() == area and outcome[0] not in (OPEN, BROKEN)]
        if not rows:
            continue
        lines += ["", f"## {area}: {len(rows)}", "", "| fault | file | what is wrong | caught by | entry |",
                  "|---|---|---|---|---|"]
        for fault, (status, by) in rows:
            shown = {CAUGHT: by, SAME: f"{SAME}: {by}", SURVIVED: f"**{SURVIVED}**"}[status]
            lines.append(f"| {fault.name} | `{fault.file}` | {fault.what} | {shown} | `{fault.key()}` |")
    return "\n".join(lines) + "\n"


def check(faults):
    """The list has not rotted: every fault still has its place, and the table has the outcome of these and no others."""
    problems = []
    for fault in faults:
        try:
            fault.planted_in((ROOT / fault.file).read_text() if (ROOT / fault.file).is_file() else "")
        except Broken as problem:
            problems.append(f"{fault.name}: {problem}")
    outcomes = outcomes_of(faults, recorded())
    problems += [f"{fault.name}: {outcomes[fault][0]}, by docs/mutants.md; run make mutants ONLY={fault.name}"
                 for fault in faults if not passed(fault, outcomes[fault][0])]
    listed = {fault.name for fault in faults}
    problems += [f"{name}: in docs/mutants.md, but no longer a fault; run make mutants"
                 for name in re.findall(r"^\| ([\w-]+) \| `", TABLE.read_text(), re.M) if name not in listed]
    print("\n".join(problems or [f"{len(faults)} faults have their place"]))
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="REGEX", default="", help="plant the faults whose '<file> <name>' matches")
    parser.add_argument("--again", action="store_true", help="plant those that have a result, too")
    parser.add_argument("--check", action="store_true", help="only compare the list with the sources and the table")
    options = parser.parse_args()
    faults = read_list()
    if options.check:
        return check(faults)
    chosen = [fault for fault in faults if re.search(options.only, f"{fault.file} {fault.name}")]
    try:
        return run(faults, chosen, options.again)
    except Broken as problem:
        return f"the build without faults fails: {problem}"


if __name__ == "__main__":
    sys.exit(main())

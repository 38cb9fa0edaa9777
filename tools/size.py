"""What kernels and programs that link a part of them weigh: written to docs/size.md.

usage: size.py [--build build/release] [--devices build/gpu] [--write docs/size.md] [--check]

Programs are those of tests/link/programs, statically linked against what `cmake --install` leaves, stripped, and less an
empty one. --check fails where one is over its limit, links another kernel than it names, or the shared library needs more
than libc and libm. --devices is a build with device targets, of which the shared library is measured, or held to its limit.
"""

import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys

from kernel_text import compressed_text, decompressed_text
from usable_targets import usable_targets

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
DEVICES_LIMIT = 17_000_000
OF_DEVICES = "device", "scales"  # kinds of kernels
LIMITS = {"direct_row": 60_000, "ten_rows": 400_000}
ONE_ROW = {f"quantize_f32_i8_{form}" for form in ("row", "column", "block")}
MAY_NEED = r"lib(c|m|pthread)\.so\.\d+|ld-linux.*"  # the last is the C library's loader
PROGRAMS = ("direct_row", "direct_row_gc", "linked_direct_row", "linked_direct_row_gc", "one_row", "one_row_gc", "ten_rows",
            "ten_rows_gc")
HEADINGS = ("one row, called directly", "the same, `--gc-sections`", "one row, called directly, with `qdq_link_kernels`",
            "the same, `--gc-sections`", "one row, by the dispatcher", "the same, `--gc-sections`",
            "ten rows, by the dispatcher", "the same, `--gc-sections`")


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


class Build:
    def __init__(self, folder):
        self.folder = folder
        self.cmake = shutil.which("cmake", path=str(REPOSITORY / ".venv/bin")) or "cmake"
        listed = json.loads((folder / "generators/kernels.json").read_text())
        self.compiler = listed["compiler"]
        self.kernels = [k for k in listed["kernels"] if k["object"]]
        self.targets = list(dict.fromkeys(k["target"] for k in self.kernels if k["kind"] not in OF_DEVICES))

    def kernel_bytes(self):
        """{row: {target: bytes of code and constants}}; a row is all forms of a pair of types and a direction."""
        objects = {k["object"]: k for k in self.kernels}
        past_caches = {k["object"].removesuffix(".o") + "_nontemporal.o": k for k in self.kernels}
        objects |= {path: k for path, k in past_caches.items() if pathlib.Path(path).exists()}
        sizes = collections.defaultdict(lambda: collections.Counter())
        kernel = None
        for line in output("size", "-A", *objects).splitlines():
            if line.endswith(":"):
                kernel = objects[line.split()[0]]
            elif re.match(r"\.(rodata|text)", line) and not re.search(r"_(argv|metadata)\s", line):
                row = re.sub(r"_(row|column|block|group|each|strided|wide|narrow)$", "", kernel["name"])
                sizes[row][kernel["target"]] += int(line.split()[1])
        return sizes

    def install(self, prefix):
        shutil.rmtree(prefix, ignore_errors=True)
        output(self.cmake, "--install", self.folder, "--prefix", prefix)

    def configure(self, project, prefix, target):
        """The command that configures a project of tests/link for a target, and its build folder, which is new."""
        folder = self.folder / "size" / f"{project}-{target}"
        shutil.rmtree(folder, ignore_errors=True)
        return folder, [self.cmake, "-S", REPOSITORY / "tests/link" / project, "-B", folder, "-G", "Ninja",
                        "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTARGETS={target}"]

    def build_programs(self, project, prefix, target):
        """Where the programs of a project are."""
        folder, configure = self.configure(project, prefix, target)
        output(*configure)
        output(self.cmake, "--build", folder)
        return folder

    def refusal(self, prefix, target):
        """What CMake says where it stops."""
        _, configure = self.configure("programs", prefix, target)
        said = subprocess.run([str(word) for word in configure], capture_output=True, text=True, check=False)
        return " ".join(said.stderr.split()) if said.returncode else ""

    def shared_library(self):
        return self.folder / "runtime/libqdq.so"

    def usable(self):
        """The targets that this machine can run, best first."""
        return usable_targets(self.shared_library())


def stripped_size(program):
    stripped = program.with_name(program.name + ".stripped")
    output("strip", "-o", stripped, program)
    return stripped.stat().st_size


def added_bytes(folder):
    empty = stripped_size(folder / "empty")
    return {program: stripped_size(folder / program) - empty for program in PROGRAMS}


def linked_kernels(program):
    """Those of pairs of types, generated or written by hand, and for which targets."""
    names = re.findall(r" qdq_(\w+?)_((?:de)?quantize_\w+_(?:row|column|block))(?:_by_hand)?$", output("nm", program), re.M)
    return {name for _, name in names}, {target for target, _ in names}


def needed_libraries(library):
    return set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)))


def load_ms(library, processes=40):
    """The least time that dlopen takes in a process that has loaded nothing of it."""
    code = f"import ctypes, time; t = time.perf_counter(); ctypes.CDLL({str(library)!r}); print(time.perf_counter() - t)"
    return 1000 * min(float(output(sys.executable, "-c", code)) for _ in range(processes))


def status_of(program, target, build):
    """0 where this machine cannot run the target, which is said."""
    if target not in build.usable():
        print(f"{program.name} for {target}: compiled, not executed")
        return 0
    return subprocess.run([program], check=False).returncode


def problems(folder, target, added, build):
    found = [f"{program} adds {added[program]} bytes for {target}: more than {most}"
             for program, most in LIMITS.items() if added[program] > most]
    for program in ("direct_row", "linked_direct_row", "one_row", "by_library"):
        kernels, targets = linked_kernels(folder / program)
        if kernels != ONE_ROW or targets != {target}:
            found.append(f"{program} links {sorted(kernels)} for {sorted(targets)}, not quantize_f32_i8 for {target}")
    for program in ("empty", "direct_row", "linked_direct_row", "one_row", "ten_rows", "all_rows", "by_library"):
        status = status_of(folder / program, target, build)
        if status != 0:
            found.append(f"{program} for {target} ended with {status}")
    needs = needed_libraries(build.shared_library())
    return found + [f"{build.shared_library()} needs {name}" for name in sorted(needs) if not re.fullmatch(MAY_NEED, name)]


def problems_of_projects(build, prefix, target):
    found = []
    program = build.build_programs("cpp_alone", prefix, target) / "cpp_alone"
    kernels, targets = linked_kernels(program)
    if status_of(program, target, build) != 0 or len(kernels) != 6 or targets != {target}:
        found.append(f"cpp_alone fails, or links {sorted(kernels)} for {sorted(targets)}")
    refusal = "qdq_link_kernels(linked_direct_row): TARGETS: this library has no target \"no_such_target\"; it has " + build.targets[0]
    if refusal not in build.refusal(prefix, "no_such_target"):
        found.append(f"no_such_target is not refused by {refusal}")
    return found


def device_bytes(build):
    """{target: [bytes of compressed texts for the driver, of those texts, and of code and constants on the host]}"""
    sizes = {}
    for kernel in build.kernels:
        object_file = pathlib.Path(kernel["object"])
        if kernel["kind"] in OF_DEVICES and not object_file.is_relative_to(build.folder / "tests"):  # of no library
            compressed = compressed_text(object_file)
            of_target = sizes.setdefault(kernel["target"], [0, 0, 0])
            of_target[0] += len(compressed)
            of_target[1] += len(decompressed_text(compressed))
            of_target[2] += loaded_bytes(output("size", "-A", kernel["object"])) - len(compressed)
    return sizes


def loaded_bytes(sections):
    """Of what a linker keeps that collects what nobody asks for."""
    return sum(int(size) for name, size in re.findall(r"^\.(\S+)\s+(\d+)", sections, re.M)
               if re.match("rodata|text", name) and not name.endswith("_metadata"))


def device_report(build):
    devices = device_bytes(build)
    mb = lambda n: f"{n / 1e6:.2f}"  # noqa: E731
    total = stripped_size(build.shared_library())
    rest = total - sum(compressed + host for compressed, _, host in devices.values())
    rows = [["kernels for the processor, dispatcher, Halide's run time, LZMA's decoder", mb(rest)]]
    for target, (compressed, text, host) in devices.items():
        rows.append([f"`{target}`: text for the driver, compressed from {mb(text)}", mb(compressed)])
        rows.append([f"`{target}`: code and constants on the host", mb(host)])
    rows.append(["the file, stripped", mb(total)])
    return f"""
## Device targets

The shared library with {" and ".join(f"`{target}`" for target in devices)} (preset `gpu`), in MB of 10^6 bytes. A test holds it to {DEVICES_LIMIT / 1e6:.0f}.

{table(["part", "MB"], rows)}
"""


def table(header, rows):
    rule = "|" + "---|" + "---:|" * (len(header) - 1)
    return "\n".join(["| " + " | ".join(header) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)])


def report(build, added, load):
    sizes = build.kernel_bytes()
    kib = lambda n: f"{n / 1024:.1f}"  # noqa: E731
    targets = list(dict.fromkeys(k["target"] for k in build.kernels))
    rows = [[f"`{row}`", *(kib(of[t]) if of[t] else "" for t in targets)] for row, of in sizes.items()]
    rows.append(["all", *(kib(sum(of[t] for of in sizes.values())) for t in targets)])
    library = build.shared_library()
    needs = ", ".join(sorted(needed_libraries(library)))
    return f"""# Size

Written by `make size`, with {output(build.compiler, '--version').splitlines()[0]}. KiB are 1024 bytes.

## Programs

What a static program adds to an empty one, both linked with `-static` and stripped, in KiB: by `qdq_link_kernels` for one
target, or with one header of `qdq/direct`. The ten rows are those of
[tests/link/programs](../tests/link/programs/CMakeLists.txt). Of what the dispatcher adds, 88 KiB are
the C library's: threads, and text of messages.

{table(["target", *HEADINGS], [[t, *(kib(of[p]) for p in PROGRAMS)] for t, of in added.items()])}

The shared library has {library.stat().st_size / 2**20:.1f} MiB. It needs {needs}. It is loaded in {load:.2f} ms (`dlopen`, the
least of 40 processes).

## Kernel rows

Code and constants of all forms of a row, in KiB. Transposes and changes of the order of nibbles are shared by rows.

{table(["row", *targets], rows)}
"""


def measure(build, check):
    """The report, or if that is asked for what is wrong."""
    prefix = build.folder / "size/installed"
    build.install(prefix)
    added, found = {}, []
    for target in {build.targets[0], build.usable()[0], build.targets[-1]} if check else build.targets:
        folder = build.build_programs("programs", prefix, target)
        added[target] = added_bytes(folder)
        if check:
            found += problems(folder, target, added[target], build)
            found += problems_of_projects(build, prefix, target)
    return "" if check else report(build, added, load_ms(build.shared_library())), found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--devices", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text, found = "", []
    if options.build:
        text, found = measure(Build(options.build.resolve()), options.check)
    if options.devices:
        devices = Build(options.devices.resolve())
        size = stripped_size(devices.shared_library())
        if options.check and size > DEVICES_LIMIT:
            found.append(f"{devices.shared_library()} has {size} bytes, stripped: more than {DEVICES_LIMIT}")
        elif not options.check:
            text += device_report(devices)
    print(text)
    if options.write:
        options.write.write_text(text)
    sys.exit("\n".join(found) or None)


if __name__ == "__main__":
    main()

"""Renders docs/status.md: how far each kernel row is checked on each target.

usage: tools/status.py [--output docs/status.md]

Rows and targets are those of kernels/manifest.cmake. What is checked follows from the tests that CMakePresets.json and the
Makefile run for each processor and device.
"""

import argparse
import fnmatch
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIRECTIONS = ["quantize", "dequantize"]
PRESETS = {"x86_64": "release", "aarch64": "cross-aarch64", "riscv64": "cross-riscv64"}
EMULATORS = {"aarch64": "QEMU", "riscv64": "QEMU", "cuda": "the interpreter of tests/ptx", "opencl": "PoCL"}
MEANINGS = {
    "A": "all inputs, each time the tests run: every f16 or bf16, every code of at most 16 bits",
    "F": "every f32 with `QDQ_SWEEP=full`, every 1021st each time the tests run",
    "S": "chosen and drawn inputs",
    "C": "compiled only",
    "-": "no kernels: a type of the host",
}
TEXT = """# Status of the kernels

How far each kernel is checked on each target.

Written by `tools/status.py` from `kernels/manifest.cmake` and from what the tests are told to run; a test holds that it is
up to date. The {rows} kernel rows, each in {forms} forms, have all {targets} targets, but for those marked:

{meanings}

Small letters are the same on an emulator: {emulated}. CUDA's kernels gave the published digests on [two GPUs](gpu.md), too.
All inputs are those of calls with one scale, against the oracle; other scales, zero points, options, forms and layouts are
chosen and drawn.

{table}
## Calls beside these rows

These use the rows, and kernels of their own. Inputs are chosen and drawn; **no** says that a call is `QDQ_UNSUPPORTED` there. On
devices dynamic calls take no global scale, no search of clip ratios and no diagnostics.

{calls}"""

# What a call is, a test that runs wherever its like do, and the one of devices if they have the call.
OTHER_CALLS = [
    ("scales of x and its codes: `qdq_quantize_dynamic`, `qdq_compute_scales`", "api.dynamic", "device.dynamic"),
    ("two outputs of one x: `qdq_quantize_dynamic_pair`", "api.dynamic", "device.dynamic"),
    ("rows in groups: `qdq_quantize_grouped` and its kin", "api.grouped", None),
    ("codes to other codes: `qdq_transcode`", "api.transcode", None),
    ("ggml's blocks: `qdq_quantize_blocks`, `qdq_dequantize_blocks`", "kernel.blocks", None),
    ("stochastic rounding: `QDQ_STOCHASTIC`", "api.stochastic", "kernel.quantize"),
    ("scales in layouts of tensor cores, and a global scale: `scale_layout`, `global_scale`", "api.scale_layouts", None),
    ("dense MXFP6: `QDQ_DENSE`", "api.dense_codes", None),
]


def read(path):
    return (ROOT / path).read_text()


class Manifest:
    def __init__(self, text):
        text = re.sub(r"^\s*#.*$", "", text, flags=re.M)
        self.bits = {name: int(bits) for name, bits in re.findall(r"^qdq_type\((\w+) QDQ_\w+ (\d+) ", text, re.M)}
        roles = {name: roles.split() for name, roles in re.findall(r"^qdq_type\((\w+) .*?ROLES ([a-z_ ]+)", text, re.M)}
        self.floats = [name for name in roles if "floats" in roles[name]]
        self.stored = [name for name in roles if "stored" in roles[name]]
        self.of_host = [name for name in roles if "host" in roles[name]]
        self.forms = re.search(r"set\(QDQ_FORMS ([\w ]+)\)", text)[1].split()
        self.processors = dict(re.findall(r"^qdq_target\((\w+)\s+PROCESSOR (\w+)", text, re.M))
        self.devices = re.findall(r"^qdq_device_target\((\w+)", text, re.M)
        self.targets = [*self.processors, *self.devices]

    def rows(self):
        return [(direction, real, stored) for direction in DIRECTIONS for real in self.floats for stored in self.stored]


class Tests:
    """Which tests of kernels run, where."""

    def __init__(self):
        kernels = read("tests/kernel/CMakeLists.txt")
        self.of_rows = dict(re.findall(r"STREQUAL (\w+)\).*\n.*kernel\.rows PROPERTIES ENVIRONMENT \"GTEST_FILTER=(.*)\"",
                                       kernels))
        self.presets = {preset["name"]: preset for preset in json.loads(read("CMakePresets.json"))["testPresets"]}
        self.on_devices = re.search(r"^GPU_TESTS := (.*)$", read("Makefile"), re.M)[1].split()
        self.on_ptx = re.findall(r"^qdq_test_on_ptx\(NAME \S+ TEST (\S+)", read("tests/ptx/CMakeLists.txt"), re.M)

    def setting(self, preset, *path):
        """What a preset or one that it inherits says; None if nothing."""
        value = self.presets[preset]
        for key in path:
            value = value.get(key) if value else None
        inherited = self.presets[preset].get("inherits")
        return self.setting(inherited, *path) if value is None and inherited else value

    def runs(self, place, test, row_name=""):
        """Whether a processor or a device runs a test, of a row where the test has one for each."""
        if place not in PRESETS:
            return test in (self.on_ptx if place == "cuda" else self.on_devices)
        included = self.setting(PRESETS[place], "filter", "include", "name") or ""
        excluded = self.setting(PRESETS[place], "filter", "exclude", "name")
        filters = self.of_rows.get(place, "*").split(":") if test == "kernel.rows" else ["*"]
        return (bool(re.search(included, test)) and not (excluded and re.search(excluded, test))
                and any(fnmatch.fnmatch(row_name, pattern) for pattern in filters))

    def sweeps_all(self, place):
        return self.runs(place, "kernel.sweep") and not self.setting(PRESETS[place], "environment", "QDQ_SWEEP")


def letter(manifest, tests, row, target):
    direction, real, stored = row
    place = manifest.processors.get(target, target)
    if target in manifest.devices and stored in manifest.of_host:
        return "-"
    read_type = real if direction == "quantize" else stored
    name = f"{direction}_{real}_{stored}" if direction == "quantize" else f"{direction}_{stored}_{real}"
    checked = "C"
    if tests.runs(place, f"kernel.{direction}"):
        checked = "A" if manifest.bits[read_type] <= 16 else "S"
        if read_type == "f32" and place in PRESETS and tests.sweeps_all(place):
            checked = "F"
    elif tests.runs(place, "kernel.rows", f"{name}_row"):
        checked = "S"
    return checked.lower() if place in EMULATORS and checked != "C" else checked


def grouped(manifest, tests):
    """Lists of (direction, floats, stored types, letters): rows of the same letters together."""
    stored_of = {}
    for row in manifest.rows():
        letters = tuple(letter(manifest, tests, row, target) for target in manifest.targets)
        stored_of.setdefault((row[0], letters, row[1]), []).append(row[2])
    groups = {}
    for (direction, letters, real), stored in stored_of.items():
        groups.setdefault((direction, tuple(stored), letters), []).append(real)
    return [(direction, floats, list(stored), letters) for (direction, stored, letters), floats in groups.items()]


def line(cells):
    return "| " + " | ".join(cells) + " |"


def calls(manifest, tests):
    def cell(place, test, on_devices):
        if place not in PRESETS and not on_devices:
            return "no"
        checked = "S" if tests.runs(place, test if place in PRESETS else on_devices) else "C"
        return checked.lower() if place in EMULATORS and checked != "C" else checked

    places = [*dict.fromkeys(manifest.processors.values()), *manifest.devices]
    lines = [line(["call", *places]), "|" + "---|" * (1 + len(places))]
    for name, test, on_devices in OTHER_CALLS:
        lines.append(line([name, *(cell(place, test, on_devices) for place in places)]))
    return "\n".join(lines) + "\n"


def table(manifest, tests):
    heads = ["row", "floats", "stored types", *manifest.targets]
    lines = [line(heads), "|" + "---|" * len(heads)]
    for direction, floats, stored, letters in grouped(manifest, tests):
        lines.append(line([direction, ", ".join(floats), ", ".join(stored), *letters]))
    return "\n".join(lines) + "\n"


def page():
    manifest, tests = Manifest(read("kernels/manifest.cmake")), Tests()
    targets_on = {}
    for target in manifest.targets:
        place = manifest.processors.get(target, target)
        if place in EMULATORS:
            targets_on.setdefault(EMULATORS[place], []).append(target)
    return TEXT.format(
        rows=len(manifest.rows()), forms=len(manifest.forms), targets=len(manifest.targets),
        meanings="\n".join(f"- **{mark}**: {meaning}" for mark, meaning in MEANINGS.items()),
        emulated=", ".join(f"{emulator} for {', '.join(names)}" for emulator, names in targets_on.items()),
        table=table(manifest, tests), calls=calls(manifest, tests))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/status.md")
    parser.parse_args().output.write_text(page())


if __name__ == "__main__":
    main()

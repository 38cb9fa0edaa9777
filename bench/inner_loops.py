#!/usr/bin/env python3
"""The innermost loops of compiled kernels for x86: instructions for 64 elements, and how many of each.

    bench/inner_loops.py x86_avx512 quantize_bf16_f8e4m3_row [more kernels] [--build build/release] [--assembly]

A kernel has a loop for each variant, in the order of kernels/variants.h. Elements are counted by what a loop's vector
stores write, so the type of y is to be in the kernel's name. Scalar and mask instructions are counted with the others;
loads that arithmetic instructions do themselves are not.
"""

import argparse
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*([^#]*)")
REGISTER_BYTES = {"x": 16, "y": 32, "z": 64}
# Of y: narrowing stores write a part of their register.
NARROWING = {"vpmovwb": 2, "vpmovdw": 2, "vpmovdb": 4, "vpmovqb": 8, "vcvtps2ph": 2}


def instructions_of(objects):
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", objects], check=True, capture_output=True, text=True)
    matches = (INSTRUCTION.match(line) for line in listing.stdout.splitlines())
    return [(int(m[1], 16), m[2], m[3].strip()) for m in matches if m]


def innermost_loops(instructions):
    """Between the target of a jump back and the jump, where no other such loop lies within."""
    place = {address: i for i, (address, _, _) in enumerate(instructions)}
    loops = []
    for i, (address, name, operands) in enumerate(instructions):
        to = re.match(r"[0-9a-f]+", operands)
        if name.startswith("j") and to and int(to[0], 16) <= address and int(to[0], 16) in place:
            loops.append((place[int(to[0], 16)], i))
    inner = [a for a in loops if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return [instructions[first:last + 1] for first, last in inner]


def bytes_stored(loop):
    stored = 0
    for _, name, operands in loop:
        store = re.search(r"%([xyz])mm\d+(?:\{[^}]*\})?,[^%]*\(.*\)$", operands)
        if name.startswith("v") and store and "%rsp" not in operands:  # what is spilled is not y
            stored += REGISTER_BYTES[store[1]] // NARROWING.get(name, 1)
    return stored


def bits_of_y(kernel):
    """quantize_f32_i4_row: 4; dequantize_i4_f32_row: 32. f6 types are one to a byte."""
    bits = int(re.match(r"(?:de)?quantize_[a-z0-9]+_[a-z]+(\d+)", kernel)[1])
    return 8 if bits == 6 else bits


def report(kernel, objects, assembly):
    for loop in innermost_loops(instructions_of(objects)):
        elements = bytes_stored(loop) * 8 // bits_of_y(kernel)
        if elements == 0:
            continue
        counts = collections.Counter(name for _, name, _ in loop)
        print(f"{kernel}: {len(loop) * 64 / elements:.1f} instructions for 64 elements; of {elements}: "
              + ", ".join(f"{count} {name}" for name, count in counts.most_common()))
        if assembly:
            print("\n".join(f"    {name:14} {operands}" for _, name, operands in loop))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("kernels", nargs="+")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--assembly", action="store_true", help="print the loops, too")
    options = parser.parse_args()
    for kernel in options.kernels:
        report(kernel, options.build / f"generators/kernels/{options.target}/qdq_{options.target}_{kernel}.o", options.assembly)


if __name__ == "__main__":
    main()

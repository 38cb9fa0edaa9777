#!/usr/bin/env python3
"""Counts the instructions that a kernel's inner loop executes for 16 elements, and those of a loop written by hand.

usage: bench/instructions.py [PROGRAM [PART OF A NAME]]     by default build/cross-aarch64/bench/qdq_instructions

The emulator writes a line for each instruction. What a call costs besides its loop is the same for two lengths, so the
difference between them is the loop's.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
EMULATOR = ["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"]
LENGTHS = 1024, 3072


def executed(program, family, whose, elements):
    command = [*EMULATOR, "-singlestep", "-d", "exec,nochain", program, family, whose, str(elements)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        return sum(line.startswith(b"Trace") for line in process.stderr)


def for_16(program, family, whose):
    few, many = (executed(program, family, whose, elements) for elements in LENGTHS)
    return (many - few) * 16 / (LENGTHS[1] - LENGTHS[0])


program = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/cross-aarch64/bench/qdq_instructions")
wanted = sys.argv[2] if len(sys.argv) > 2 else ""
families = subprocess.run([*EMULATOR, program], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
print("| kernel | qdq | by hand | ratio |\n|---|---|---|---|")
for family in filter(lambda name: wanted in name, families):
    qdq, hand = for_16(program, family, "qdq"), for_16(program, family, "hand")
    print(f"| {family} | {qdq:.1f} | {hand:.1f} | {qdq / hand:.2f} |", flush=True)

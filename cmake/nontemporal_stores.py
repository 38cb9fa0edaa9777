"""Makes a kernel whose stores bypass the caches of one that Halide has compiled.

usage: nontemporal_stores.py KERNEL.s NAME NONTEMPORAL.s

Reads x86 assembly in AT&T's syntax, in which the kernel is called NAME, and writes that of NAME_nontemporal. What a kernel stores
elsewhere than on its stack is y. It stores whole vector registers there, at multiples of their size from where a row
begins, which is at a cache line: what the instructions need that are put in their place. Halide 21 has no word for such stores
(Func::stream_stores is not in a release yet).
"""

import re
import sys

REGISTERS = 16  # that AVX2 has
TO_Y = r"(-?\d*\(%r(?!sp)[^)]*\))"
MOVE = re.compile(r"vmov(?:[ua]p[sd]|dq[ua])\t(%[xy]mm\d+), " + TO_Y)
CONVERSION = re.compile(r"(vcvtps2ph\t\$\d+, %ymm\d+), " + TO_Y)
STORE = re.compile(r"\w+\t(.*, )?" + TO_Y + r"(\s|$)")
COMPARISON = re.compile(r"(cmp|test)[bwlq]\t")  # the last operand is read, not written


def free_register(function):
    used = {int(number) for number in re.findall(r"%[xy]mm(\d+)", function)}
    free = set(range(REGISTERS)) - used
    if not free:
        sys.exit("no vector register is free for what vcvtps2ph would store")
    return f"%xmm{min(free)}"


def with_nontemporal_stores(function):
    lines = []
    for line in function.split("\n"):
        code = line.strip()
        if move := MOVE.match(code):
            line = f"\tvmovntdq\t{move[1]}, {move[2]}"
        elif conversion := CONVERSION.match(code):
            converted = free_register(function)
            line = f"\t{conversion[1]}, {converted}\n\tvmovntdq\t{converted}, {conversion[2]}"
        elif STORE.match(code) and not COMPARISON.match(code):
            sys.exit(f"stores to y in a way that is not known here: {code}")
        lines.append(line)
    return "\n".join(lines)


def main():
    source, name, to = sys.argv[1:]
    with open(source) as file:
        begin, label, rest = file.read().replace(name, f"{name}_nontemporal").partition(f"\n{name}_nontemporal:")
    function, end, others = rest.partition("\n.Lfunc_end0:\n")
    if not label or not end:
        sys.exit(f"{source} has no function {name}")
    size = others.partition("\n")[0]
    # The rest tells of the kernel's arguments, for which nobody asks: it would be 16 KB of a program with ten rows.
    note = '\t.section\t".note.GNU-stack","",@progbits'
    with open(to, "w") as file:
        file.write(f"{begin}{label}{with_nontemporal_stores(function)}{end}{size}\n{note}\n")


if __name__ == "__main__":
    main()

"""Hides what the objects of a static library define, so that a shared library or program that links it exports none of it.

usage: hide_symbols.py LIBRARY.a

Rewrites the visibility in the symbol tables of 64-bit little-endian ELF objects, in place. A compiler does as much by
-fvisibility=hidden, but the code generator of the kernels has no such option, and the C interface is compiled once for this
library and for the shared one, which exports it. Weak symbols of C++'s standard library stay: a program that instantiates
the same templates shares them.
"""

import mmap
import re
import struct
import sys

ARCHIVE, MEMBER_HEADER = b"!<arch>\n", 60
SYMBOL_TABLE, SYMBOL_BYTES = 2, 24
GLOBAL, WEAK, HIDDEN = 1, 2, 2
OF_STANDARD_LIBRARY = re.compile(rb"_Z(NK?|T[A-Z])?S[a-z]")


def members(archive):
    """Where the objects of an archive begin."""
    at = len(ARCHIVE)
    while at < len(archive):
        size = int(archive[at + 48:at + 58])
        at += MEMBER_HEADER
        if archive[at:at + 6] == b"\x7fELF\x02\x01":
            yield at
        at += size + size % 2


def sections(archive, elf):
    """Type, offset, size and link of each section."""
    first, = struct.unpack_from("<Q", archive, elf + 0x28)
    bytes_of_each, count = struct.unpack_from("<HH", archive, elf + 0x3A)
    if count == 0:  # more than 65279: then the first one's size says how many
        count, = struct.unpack_from("<Q", archive, elf + first + 0x20)
    for i in range(count):
        header = elf + first + i * bytes_of_each
        kind, = struct.unpack_from("<I", archive, header + 4)
        offset, size, link = struct.unpack_from("<QQI", archive, header + 24)
        yield kind, elf + offset, size, link


def hide_symbols(archive, elf):
    """Hides the symbols that one object defines."""
    all_sections = list(sections(archive, elf))
    for kind, offset, size, link in all_sections:
        if kind != SYMBOL_TABLE:
            continue
        names = all_sections[link][1]
        for symbol in range(offset, offset + size, SYMBOL_BYTES):
            name, info, other, section = struct.unpack_from("<IBBH", archive, symbol)
            binding, visibility = info >> 4, other & 3
            if section == 0 or visibility != 0 or binding not in (GLOBAL, WEAK):
                continue
            if binding == WEAK and OF_STANDARD_LIBRARY.match(archive, names + name):
                continue
            archive[symbol + 5] = other | HIDDEN


def main(path):
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as archive:
        if archive[:len(ARCHIVE)] != ARCHIVE:
            sys.exit(f"{path}: not an archive")
        for elf in members(archive):
            hide_symbols(archive, elf)


if __name__ == "__main__":
    main(sys.argv[1])

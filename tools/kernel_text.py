"""Prints the text that a device kernel's object holds for the driver: OpenCL C, or PTX.

usage: kernel_text.py OBJECT
"""

import lzma
import pathlib
import re
import struct
import sys

# As kernels/compressed_text.h says: the number of bytes that follow; a file of the format .lzma, which begins with its
# properties, the size of its dictionary and that of the text, below 16 MB.
COMPRESSED = re.compile(rb"(?=(.{4})\x03.{4}.{3}\0{5})", re.DOTALL)


def compressed_text(path):
    """As the object has it, with the number of bytes before it."""
    data = path.read_bytes()
    for match in COMPRESSED.finditer(data):
        end = match.start() + 4 + int.from_bytes(match[1], "little")
        try:
            lzma.decompress(data[match.start() + 4:end], lzma.FORMAT_ALONE)
        except lzma.LZMAError:
            continue
        return data[match.start():end]
    raise ValueError(f"{path} has no compressed text")


def decompressed_text(compressed):
    """As the driver gets it, without its NUL and the cubins behind that."""
    return lzma.decompress(compressed[4:], lzma.FORMAT_ALONE).partition(b"\0")[0].decode()


def cubins(compressed):
    """Those behind the text, by architecture."""
    whole = lzma.decompress(compressed[4:], lzma.FORMAT_ALONE)
    place, found = whole.index(b"\0") + 1, {}
    while (place := -(-place // 8) * 8) + 8 < len(whole):
        architecture, size = struct.unpack_from("<II", whole, place)
        found[architecture] = whole[place + 8:place + 8 + size]
        place += 8 + size
    return found


if __name__ == "__main__":
    print(decompressed_text(compressed_text(pathlib.Path(sys.argv[1]))))

"""Holds the binary interface of this build to recorded.txt, line by line: what the shared library exports, how its
functions are declared, and how every public type is laid out. The 64-bit ABIs of x86_64, aarch64 and riscv64 agree on it.

usage: abi_test.py SHARED_LIBRARY OBJECT_WITH_THE_TYPES     compare
       abi_test.py SHARED_LIBRARY OBJECT_WITH_THE_TYPES --record     write recorded.txt
"""

import difflib
import pathlib
import re
import sys

from elftools.elf.elffile import ELFFile

RECORDED = pathlib.Path(__file__).with_name("recorded.txt")
HEADER = pathlib.Path(__file__).parents[2] / "runtime/include/qdq/qdq.h"


def exported(path):
    """What a shared library exports, with the version of each; the versions are themselves absolute symbols."""
    with open(path, "rb") as file:
        elf = ELFFile(file)
        versions = elf.get_section_by_name(".gnu.version")
        names = {d["vd_ndx"]: next(aux).name for d, aux in elf.get_section_by_name(".gnu.version_d").iter_versions()}
        for i, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            is_defined = symbol["st_shndx"] not in ("SHN_UNDEF", "SHN_ABS")
            if is_defined and symbol["st_info"]["bind"] != "STB_LOCAL":
                yield f"export {symbol.name} {names[versions.get_symbol(i)['ndx']]}"


def soname(path):
    with open(path, "rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        return next(f"soname {tag.soname}" for tag in dynamic.iter_tags("DT_SONAME"))


def declared():
    """The functions of the header."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL)
    for declaration in re.findall(r"^(?!typedef)[a-z][\w *]*\bqdq_\w+\([^;{]*\);", text, re.MULTILINE):
        yield "function " + re.sub(r"\s+", " ", declaration)


class Type:
    """A type in DWARF: its name in C, its size and its alignment, which there is the largest among its members'."""

    def __init__(self, entry):
        self.tag = entry.tag if entry else "void"
        self.entry = entry
        has_type = entry and "DW_AT_type" in entry.attributes
        self.of = Type(entry.get_DIE_from_attribute("DW_AT_type")) if has_type else None

    def named(self):
        own = self.entry and self.entry.attributes.get("DW_AT_name")
        return own.value.decode() if own else None

    def pointee(self):
        return self.of.name() if self.of else "void"

    def name(self):
        if self.tag == "DW_TAG_pointer_type":
            return self.pointee() + " *"
        if self.tag == "DW_TAG_const_type":
            return "const " + self.pointee()
        if self.tag == "DW_TAG_array_type":
            return f"{self.of.name()}[{self.length()}]"
        return self.named()

    def length(self):
        return next(self.entry.iter_children()).attributes["DW_AT_upper_bound"].value + 1

    def size(self):
        if self.tag == "DW_TAG_array_type":
            return self.length() * self.of.size()
        own = self.entry.attributes.get("DW_AT_byte_size")
        return own.value if own else self.of.size()

    def alignment(self):
        if self.tag == "DW_TAG_structure_type":
            return max(Type(m).of.alignment() for m in self.entry.iter_children())
        if self.tag in ("DW_TAG_typedef", "DW_TAG_array_type", "DW_TAG_const_type"):
            return self.of.alignment()
        return self.size()


def types(path):
    """The public types, with their members."""
    with open(path, "rb") as file:
        for unit in ELFFile(file).get_dwarf_info().iter_CUs():
            for entry in unit.get_top_DIE().iter_children():
                if entry.tag == "DW_TAG_typedef" and Type(entry).name().startswith("qdq_"):
                    yield from described(Type(entry))


def described(type):
    kind = {"DW_TAG_structure_type": "struct", "DW_TAG_enumeration_type": "enum"}.get(type.of.tag, "pointer")
    yield f"{kind} {type.name()}: {type.size()} bytes, aligned to {type.alignment()}"
    if kind == "pointer":
        function = Type(type.of.of.entry)
        arguments = [Type(a).of.name() for a in function.entry.iter_children() if a.tag == "DW_TAG_formal_parameter"]
        yield f"    {function.pointee()} (*)({', '.join(arguments)})"
    for member in type.of.entry.iter_children() if kind != "pointer" else ():
        attributes = member.attributes
        name = attributes["DW_AT_name"].value.decode()
        if kind == "enum":
            yield f"    {name} = {attributes['DW_AT_const_value'].value}"
        else:
            of = Type(member).of
            yield f"    at {attributes['DW_AT_data_member_location'].value}: {of.name()} {name}, {of.size()} bytes"


def main(library, object_with_types, *record):
    found = [soname(library), *sorted(exported(library)), *sorted(declared()), *types(object_with_types)]
    if record:
        RECORDED.write_text("\n".join(found) + "\n")
        return
    recorded = RECORDED.read_text().splitlines()
    difference = list(difflib.unified_diff(recorded, found, "recorded", "found", n=0, lineterm=""))[2:]
    if difference:
        sys.exit("\n".join(difference) + "\nA line that is gone or has changed breaks programs that are compiled "
                 "already: CONTRIBUTING.md, \"Change the binary interface\".")
    print(f"{len(found)} lines, as recorded")


if __name__ == "__main__":
    main(*sys.argv[1:])

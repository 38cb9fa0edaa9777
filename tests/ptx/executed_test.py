"""Was every CUDA kernel executed, and all that the kernels are made of?

usage: executed_test.py FOLDER_OF_OBJECTS REPORT...

The reports are those that ptx.quantize and its kin leave: a line for each kernel's text, with its CRC, launches, threads,
instructions, sectors touched, bytes wanted, how many of its instructions ran and how many it has, and the opcodes that ran.
"""

import collections
import pathlib
import re
import sys
import unittest
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from kernel_text import compressed_text, decompressed_text  # noqa: E402

INSTRUCTION = re.compile(r"^\s*(?:\{ \.reg \S+ \w+; )?(?:@!?%\w+\s+)?([a-z][a-z0-9_.]*)\b[^;:]*;", re.M)


class Executed(unittest.TestCase):
    folder, reports = None, []

    @classmethod
    def setUpClass(cls):
        paths = sorted(pathlib.Path(cls.folder).glob("*.o"))
        cls.texts = {path.stem: decompressed_text(compressed_text(path)) for path in paths}
        cls.numbers = collections.defaultdict(lambda: [0] * 7)  # by the CRC of a text
        cls.opcodes = set()
        for report in cls.reports:
            for line in pathlib.Path(report).read_text().splitlines():
                crc, *numbers, opcodes = line.split()
                known = cls.numbers[int(crc)]
                for i, n in enumerate(map(int, numbers)):
                    known[i] = known[i] + n if i < 5 else max(known[i], n)
                cls.opcodes |= set(filter(None, opcodes.split(",")))

    def of(self, kernel):
        return self.numbers.get(zlib.crc32(self.texts[kernel].encode()))

    def test_every_kernel_ran(self):
        self.assertTrue(self.texts, f"no kernels in {self.folder}")
        self.assertEqual([kernel for kernel in self.texts if not self.of(kernel)], [])

    def test_every_opcode_ran(self):
        there = {opcode for text in self.texts.values() for opcode in INSTRUCTION.findall(text)}
        self.assertEqual(sorted(there - self.opcodes), [])

    def test_most_of_each_kernel_ran(self):
        """What did not is chosen by options that the kernel's type does not have, and by sizes."""
        parts = {kernel: self.of(kernel)[5] / self.of(kernel)[6] for kernel in self.texts if self.of(kernel)}
        least = min(parts, key=parts.get)
        launches, threads, instructions = (sum(row[i] for row in self.numbers.values()) for i in range(3))
        print(f"{len(parts)} of {len(self.texts)} kernels ({len(self.numbers)} texts), {len(self.opcodes)} opcodes: {launches} launches, "
              f"{threads / 1e6:.0f} M threads, {instructions / 1e9:.1f} G instructions; {sum(parts.values()) / len(parts):.1%} of each "
              f"kernel's instructions, at least {parts[least]:.1%} ({least})")
        self.assertGreater(parts[least], 0.6, least)


if __name__ == "__main__":
    Executed.folder, *Executed.reports = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)

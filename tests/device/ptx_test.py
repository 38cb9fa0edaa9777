"""Assembles the PTX of every CUDA kernel with ptxas, for two generations of GPUs, and looks for what must not be in it.

usage: ptx_test.py FOLDER_OF_OBJECTS [PATTERN]
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from kernel_text import compressed_text, decompressed_text  # noqa: E402

ARCHITECTURES = ("sm_80", "sm_90")
SIXTEEN_BYTES = r"{}\.global\S*\.(v4\.b32|v2\.b64|b128|v4\.f32|v4\.u32)\b"


def ptxas():
    import nvidia.cuda_nvcc

    return str(pathlib.Path(nvidia.cuda_nvcc.__path__[0]) / "bin" / "ptxas")


def assemble(source, architecture):
    """What ptxas says of a PTX file: an error, or registers and memory used."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.ptx"
        path.write_text(source)
        done = subprocess.run([ptxas(), "-v", f"-arch={architecture}", "-o", path.with_suffix(".cubin"), path],
                              capture_output=True, text=True)  # fmt: skip
        return done.returncode, done.stderr


def wider_side(name):
    """Whether a dense kernel's 16 bytes are loaded or stored: at the side with the wider elements. Scales are few."""
    if name.startswith("qdq_cuda_scales_"):
        return ["ld"]
    op, source, target = re.match(r"qdq_cuda_(quantize|dequantize)_([a-z0-9]+)_([a-z0-9]+)_", name).groups()

    def bits(dtype):
        named = int(re.search(r"\d+", dtype)[0])  # f6e2m3 takes a byte
        return 1 << (named - 1).bit_length()

    return [side for side, wide in (("ld", bits(source)), ("st", bits(target))) if wide == max(bits(source), bits(target))]


def bits_of_any_nan(source):
    """Lines that take bits of what abs.f32 and cvt.f32.f16 give: of a NaN that is any NaN. Comparisons may."""
    for kernel in source.split(".visible .entry")[1:]:  # which have registers of their own
        given = set(re.findall(r"\b(?:abs\.f32|cvt\.f32\.f16)\s+(%\w+),", kernel))
        for line in kernel.splitlines():
            taken = re.match(r"\s*(?:and|or|xor|shl|shr|lop3|prmt|bfi|bfe)\.\S+\s+%\w+,(.*);", line)
            if taken and given & set(re.findall(r"%\w+", taken[1])):
                yield line.strip()


def faults(path):
    name, source = path.stem, decompressed_text(compressed_text(path))
    found = []
    for line in source.splitlines():
        if ".ftz" in line:
            found.append(f"flushes subnormals: {line.strip()}")
        if re.match(r"\s*(mul|add|sub)\.f32", line):
            found.append(f"may be fused: {line.strip()}")
        if re.match(r"\s*setp\.(ge|le|ne)\.f32", line):
            found.append(f"may be a negated comparison, which NaN passes: {line.strip()}")
        if re.search(r"\.(approx|full)\.f32", line):
            found.append(f"is not rounded correctly: {line.strip()}")
        if re.search(r"\.local\b", line):
            found.append(f"local memory: {line.strip()}")
    found += [f"takes bits of what may be any NaN: {line}" for line in bits_of_any_nan(source)]
    if not name.endswith("_strided"):
        for access in wider_side(name):
            if not re.search(SIXTEEN_BYTES.format(access), source):
                found.append(f"no {access} of 16 bytes")
    for architecture in ARCHITECTURES:
        status, said = assemble(source, architecture)
        if status != 0:
            found.append(f"{architecture}: {said}")
        elif "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" not in said:
            found.append(f"{architecture} spills: {said}")
    registers = max(map(int, re.findall(r"Used (\d+) registers", said)), default=0)
    return name, registers, found


class Ptx(unittest.TestCase):
    folder = pattern = None

    def test_every_kernel_assembles_keeps_subnormals_and_spills_nothing(self):
        paths = sorted(pathlib.Path(self.folder).glob(self.pattern))
        self.assertTrue(paths, f"no {self.pattern} in {self.folder}")
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(faults, paths))
        for name, _, found in results:
            with self.subTest(kernel=name):
                self.assertEqual(found[:3], [], f"{len(found)} faults")
        largest = max(results, key=lambda result: result[1])
        print(f"{len(results)} kernels for {' and '.join(ARCHITECTURES)}; at most {largest[1]} registers: {largest[0]}")


if __name__ == "__main__":
    Ptx.folder = sys.argv[1]
    Ptx.pattern = sys.argv[2] if len(sys.argv) > 2 else "*.o"
    unittest.main(argv=sys.argv[:1], verbosity=2)
